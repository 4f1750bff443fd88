// Fault rules: those in force, presets, and rules of one's own.

import { call, here } from "./api.js";
import { attempt } from "./dialogs.js";
import { $, bytes, count, el, list, number, readable, rove, setText, show } from "./dom.js";
import { world } from "./world.js";

let settle = () => {};

export async function setupFaults() {
  rove($("presets"));
  settle = rove($("faults"));
  $("faults-clear").addEventListener("click", () => attempt(() => call("DELETE", "/faults"), "All faults are cleared."));
  $("fault-form").addEventListener("submit", (e) => {
    e.preventDefault();
    attempt(() => call("POST", "/faults", $("fault-json").value), (r) => `Fault ${readable(String(r.id).slice(0, 80))} is on.`);
  });
}

let loaded = false;

// loadPresets asks for the presets when the panel is first seen.
export async function loadPresets() {
  if (loaded) return;
  loaded = true;
  const told = await attempt(() => call("GET", "/faults/presets"));
  if (!told?.presets) {
    loaded = false;
    return;
  }
  list($("presets"), told.presets, (p) => p.name, (p) => {
    const name = title(p.name);
    return el("li", {}, el("button", { type: "button", "data-preset": p.name, click: () => attempt(() => call("POST", "/faults", { preset: p.name }), `${name}: on.`) },
      name, el("small", { text: p.description })));
  });
  $("presets").querySelectorAll("button").forEach((b, i) => (b.tabIndex = i === 0 ? 0 : -1));
}

function title(name) {
  const text = name.replace(/^hermes_/, "").replaceAll("_", " ");
  return text[0].toUpperCase() + text.slice(1);
}

export function renderFaults() {
  const rules = world.faults?.faults ?? [];
  const live = rules.filter((r) => r.remaining !== 0).length;
  const total = world.faults?.count ?? 0;
  show($("faults-badge"), live > 0);
  setText($("faults-badge"), live > 0 ? String(live) : "");
  setText($("faults-count"), total === 0 ? "" : `${number(live)} of ${count(total, "rule")}`);
  show($("faults-empty"), total === 0);
  $("faults-clear").disabled = total === 0;
  list($("faults"), rules, (r) => r.id, (r) => el("li", {}, el("span", { class: "what" }), el("span", { class: "left" }),
    el("button", { type: "button", class: "small", text: "Remove", click: () => attempt(() => call("DELETE", `/faults?id=${encodeURIComponent(r.id)}`), "Removed.") })), (e, r) => {
    const [what, left, button] = e.children;
    e.classList.toggle("used", r.remaining === 0);
    setText(what, readable(describe(r)));
    setText(left, `${readable(r.id.slice(0, 60))} · ${r.remaining === null ? "no bound" : r.remaining === 0 ? "used up" : `${number(r.remaining)} to go`} · ${count(r.hits, "hit")}`);
    button.setAttribute("aria-label", `Remove fault ${r.id.slice(0, 60)}`);
  });
  settle();
}

// describe says what a rule does.
function describe(r) {
  const does = [];
  if (r.delayMs) does.push(`${number(r.delayMs)} ms late`);
  if (r.status) does.push(`answers ${r.status}`);
  if (r.drop) does.push("drops the connection");
  if (r.effect) does.push(r.effect.replaceAll("_", " "));
  for (const [name, value] of Object.entries(r.params ?? {})) does.push(name === "bytesPerSecond" ? `${bytes(value)}/s` : `${name} ${value}`);
  if (r.rate) does.push(`${Math.round(r.rate * 100)} % of the time`);
  const on = r.operationId ?? [r.method, r.pathPrefix].filter(Boolean).join(" ");
  const where = r.namespace === "*" ? "" : r.namespace && r.namespace !== (here.namespace || here.standard) ? ` in ${r.namespace}` : "";
  return `${on || "Every request"}${where}: ${does.join(", ")}`;
}
