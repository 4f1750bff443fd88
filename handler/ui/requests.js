// The journal.

import { call } from "./api.js";
import { attempt } from "./dialogs.js";
import { $, clockMillis, el, list, number, readable, rove, setText, short, show } from "./dom.js";
import { goBack } from "./timeline.js";
import { world } from "./world.js";

let settle = () => {};
let choose = () => {};

export function setupRequests(onChoose) {
  choose = onChoose;
  settle = rove($("requests"));
  $("requests-filter").addEventListener("change", renderRequests);
  $("requests-clear").addEventListener("click", () => attempt(() => call("DELETE", "/requests"), "The journal is empty."));
}

const bad = (e) => e.status === 0 || e.status >= 400;

function filtered() {
  const by = $("requests-filter").value;
  return world.entries.filter((e) => {
    if (by === "") return true;
    if (by === "run") return world.chosen !== "" && e.ids?.runId === world.chosen;
    return by === "bad" ? bad(e) : e.operationId === by;
  });
}

export function renderRequests() {
  const entries = filtered().reverse();
  const all = world.entries.length;
  setText($("requests-count"), all === 0 ? "" : entries.length === all ? number(all) : `${number(entries.length)} of ${number(all)}`);
  $("requests-clear").disabled = all === 0;
  show($("requests-empty"), entries.length === 0);
  setText($("requests-empty"), all === 0 ? "No request has arrived yet. Each one to the provider's routes shows up here, with what became of it."
    : "No request is of this kind. Choose another filter.");
  list($("requests"), entries, (e) => e.n, makeEntry);
  settle();
  const older = world.dropped + (entries.length > 0 ? world.entries[0].n - 1 - world.dropped : 0);
  setText($("requests-more"), older > 0 && all > 0 ? "Earlier requests are not shown; GET /__admin/requests has those that the journal keeps." : "");
}

function makeEntry(e) {
  const name = e.operationId ?? (e.unmatched ? "No such route" : "Not served");
  const run = e.ids?.runId;
  const path = run ? e.path.replace(run, short(run)) : e.path;
  const rest = [el("span", { class: "value mono", text: readable(`${e.method} ${path.length > 90 ? `${path.slice(0, 90)}…` : path}`), title: readable(e.path.slice(0, 1024)) })];
  if (run) rest.push(el("button", { type: "button", class: "plain", text: e.path.includes(run) ? "Show run" : short(run), "aria-label": e.path.includes(run) ? `Show run ${short(run)}` : `${short(run)}, show this run`, click: () => choose(run, true) }));
  if (e.faultId) rest.push(el("span", { class: "fault-name", text: readable(`fault ${e.faultId.slice(0, 80)}`) }));
  if (e.durationMs >= 0.1) rest.push(el("span", { class: "took", text: `${e.durationMs < 10 ? e.durationMs.toFixed(1) : number(Math.round(e.durationMs))} ms` }));
  return el("li", {},
    el("span", { class: "at", text: clockMillis(e.at) }),
    el("span", { class: `code ${bad(e) ? (e.status === 429 || e.status === 503 ? "warn" : "bad") : ""}`, text: e.status === 0 ? "lost" : String(e.status) }),
    el("span", { class: "op", text: name }),
    e.checkpoint ? el("button", { type: "button", class: "plain", text: "Go back", "aria-label": `Go back to after ${name}, ${clockMillis(e.at)}`, click: () => goBack(e.checkpoint) }) : el("span"),
    el("span", { class: "rest" }, ...rest));
}
