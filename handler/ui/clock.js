// The namespace's clock.

import { call } from "./api.js";
import { attempt } from "./dialogs.js";
import { $, clockDate, clockMillis, clockTime, setText, span } from "./dom.js";
import { now, world } from "./world.js";

// The namespace is always named, so that the others' clocks stay.
const move = (change, said) => attempt(() => call("POST", clockPath(), change), said);
const clockPath = () => `/ns/${encodeURIComponent(world.namespaces?.namespace ?? "default")}/clock`;

export function setupClock() {
  $("advance").addEventListener("click", (e) => {
    const b = e.target.closest("button");
    if (b) move({ advance: b.value }, `${b.textContent} later.`);
  });
  $("freeze").addEventListener("click", toggleFreeze);
  $("clock-reset").addEventListener("click", () => move({ reset: true }, "The clock follows the system's again."));
  $("clock-set").addEventListener("submit", (e) => {
    e.preventDefault();
    const at = $("clock-at").value;
    if (at === "") return $("clock-at").focus();
    move({ set: `${at.length === 16 ? `${at}:00` : at}Z` }, "The clock is set.");
  });
  setInterval(renderClock, 200);
}

export function toggleFreeze() {
  const frozen = !(world.clock?.frozen ?? false);
  move({ freeze: frozen }, frozen ? "The clock stands." : "The clock runs.");
}

export function renderClock() {
  if (!world.clock) return;
  const t = now();
  const { frozen, offsetMs } = world.clock;
  setText($("now-time"), frozen ? clockMillis(t) : clockTime(t));
  setText($("now-date"), clockDate(t));
  const moved = !frozen && Math.abs(offsetMs) >= 1;
  const state = $("now-state");
  setText(state, frozen ? "frozen" : moved ? `${offsetMs > 0 ? "+" : "−"}${span(offsetMs)}`.replace("+now", "moved").replace("−now", "moved") : "live");
  state.classList.toggle("frozen", frozen);
  state.classList.toggle("moved", moved);
  setText($("clock-time"), clockMillis(t));
  setText($("clock-date"), `${clockDate(t)} UTC`);
  setText($("clock-offset"), frozen ? "It stands, and moves only when it is moved."
    : moved ? `It runs, ${span(offsetMs)} ${offsetMs > 0 ? "ahead of" : "behind"} the system's.`.replace("now ", "less than a second ") : "It runs with the system's.");
  const freeze = $("freeze");
  setText(freeze, frozen ? "Let it run" : "Freeze");
  freeze.setAttribute("aria-pressed", String(frozen));
}

// suggestTime fills the field that sets the clock with what it shows.
export function suggestTime() {
  if ($("clock-at").value === "") $("clock-at").value = new Date(now()).toISOString().slice(0, 19);
}
