// The list of runs, and the form that submits one.

import { fetched, provider, send } from "./api.js";
import { attempt, copy, problem } from "./dialogs.js";
import { $, el, list, number, readable, setText, short, show, span } from "./dom.js";
import { line, lines, now, world } from "./world.js";

let choose = () => {};

export function setupRuns(onChoose) {
  choose = onChoose;
  const box = $("runs");
  box.addEventListener("click", (e) => {
    const item = e.target.closest("li");
    if (item) choose(item.dataset.key, true);
  });
  box.addEventListener("keydown", (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[e.key];
    if (step) {
      e.preventDefault();
      moveChoice(step);
    } else if (e.key === "Enter" && world.chosen !== "") {
      choose(world.chosen, true);
    }
  });
  $("runs-older").addEventListener("click", older);
  $("base-url-copy").addEventListener("click", () => copy(provider(), "The base URL is copied."));
  $("snippet-copy").addEventListener("click", () => copy(snippet(), "The command is copied."));
  $("new-run").addEventListener("click", () => openForm($("submit").hidden));
  $("submit").addEventListener("submit", submit);
  $("submit-input").addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) $("submit").requestSubmit();
  });
  $("submit").addEventListener("keydown", (e) => {
    if (e.key === "Escape") openForm(false);
  });
  setInterval(renderAges, 1000);
}

const snippet = () => `curl -d '{"input": "hello"}' ${provider()}/v1/runs`;

export function openForm(on) {
  show($("submit"), on);
  $("new-run").setAttribute("aria-expanded", String(on));
  (on ? $("submit-input") : $("new-run")).focus();
}

// openInside begins a submission inside a scope of supplied input.
export function openInside(scope) {
  openForm(true);
  $("submit").querySelector("details").open = true;
  $("submit-scope").value = scope.id;
  $("submit-session").value = scope.session_id;
}

// moveChoice chooses the run so many below.
export function moveChoice(step) {
  const all = lines();
  if (all.length === 0) return;
  const i = all.findIndex((r) => r.id === world.chosen);
  choose(all[Math.max(0, Math.min(all.length - 1, i + step))].id, false);
  $("runs").querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
}

async function submit(e) {
  e.preventDefault();
  const body = { input: $("submit-input").value };
  if ($("submit-model").value !== "") body.model = $("submit-model").value;
  if ($("submit-session").value !== "") body.session_id = $("submit-session").value;
  const extra = {};
  if ($("submit-key").value !== "") extra.idempotency_key = $("submit-key").value;
  if ($("submit-session-key").value !== "") extra.session_key = $("submit-session-key").value;
  if ($("submit-scope").value !== "") extra.supplied_input = $("submit-scope").value;
  const reply = $("submit-reply");
  setText(reply, "Sending…");
  reply.classList.remove("bad");
  const told = await attempt(() => send("POST", "/v1/runs", body, extra));
  if (!told) return setText(reply, "");
  if (told.problem) {
    reply.classList.add("bad");
    return setText(reply, readable(told.status ? `${told.status}: ${told.problem}` : told.problem));
  }
  let id = "";
  try {
    id = JSON.parse(told.body).run_id;
  } catch {
    return setText(reply, `${told.status}, with a body that is no JSON.`);
  }
  setText(reply, `${told.status} ${told.text}${told.header["idempotency-replayed"] ? ", replayed" : ""}`);
  choose(id, false);
}

async function older() {
  const all = lines();
  const told = await attempt(async () => {
    const reply = await fetched(`/ui/runs?before=${all[all.length - 1].number}`);
    return reply.json();
  });
  if (!told) return;
  if (!Array.isArray(told.runs)) return problem("The server does not list older runs.");
  for (const r of told.runs) world.older.set(r.id, r);
  exhausted = told.runs.length === 0;
  renderRuns();
}

let exhausted = false;

export function renderRuns() {
  const all = lines();
  if (world.older.size === 0) exhausted = exhausted && all.length > 0;
  setText($("runs-count"), all.length === world.known ? number(world.known) : `${number(all.length)} of ${number(world.known)}`);
  show($("runs-empty"), all.length === 0);
  show($("runs"), all.length > 0);
  show($("runs-older"), all.length > 0 && all.length < world.known && !exhausted);
  setText($("base-url"), provider());
  show($("welcome-choose"), all.length > 0);
  show($("welcome-first"), all.length === 0);
  show($("snippet"), all.length === 0);
  setText($("snippet-text"), snippet());
  list($("runs"), all, (r) => r.id, makeLine, updateLine);
  const at = $("runs").querySelector('[aria-selected="true"]');
  if (at) $("runs").setAttribute("aria-activedescendant", at.id);
  else $("runs").removeAttribute("aria-activedescendant");
  renderAges();
}

function makeLine(r) {
  return el("li", { role: "option", id: `line-${r.id}` },
    el("span", { class: "status" }), el("span", { class: "age" }),
    el("span", { class: "id", text: short(r.id), title: r.id }), el("span", { class: "age mono" }),
    el("span", { class: "says value" }));
}

function updateLine(e, r) {
  const selected = String(r.id === world.chosen);
  if (e.getAttribute("aria-selected") !== selected) e.setAttribute("aria-selected", selected);
  if (e.dataset.updated === `${r.status} ${r.updated} ${r.last_event} ${r.keyed} ${r.cached}`) return;
  e.dataset.updated = `${r.status} ${r.updated} ${r.last_event} ${r.keyed} ${r.cached}`;
  const [status, , , marks, says] = e.children;
  status.className = `status ${r.status}`;
  setText(status, words(r.status));
  setText(marks, [r.keyed ? "keyed" : "", r.cached ? "" : "row only"].filter(Boolean).join(", "));
  const text = r.says.text || (r.last_event ? r.last_event : "");
  setText(says, readable(text.slice(0, 120)));
  show(says, text !== "");
}

export const words = (status) => status.replaceAll("_", " ");

function renderAges() {
  const t = now();
  for (const e of $("runs").children) {
    const r = line(e.dataset.key);
    if (r) setText(e.children[1], span(t - r.updated));
  }
}

