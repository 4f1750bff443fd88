// The gateway process: capacity, draining, restarts, sweeps, whose requests follow, and starting over.

import { call } from "./api.js";
import { ask, attempt } from "./dialogs.js";
import { $, count, el, list, number, readable, setText } from "./dom.js";
import { world } from "./world.js";

export function setupGateway() {
  $("capacity").addEventListener("submit", (e) => {
    e.preventDefault();
    const n = $("capacity-n").valueAsNumber;
    if (!Number.isInteger(n) || n < 0) return $("capacity-n").focus();
    attempt(() => call("POST", "/hermes/gateway", { max_concurrent_runs: n }), n === 0 ? "Runs are not bounded." : `${count(n, "run")} at once.`);
  });
  $("draining").addEventListener("click", () => {
    const draining = !(world.gateway?.draining ?? false);
    attempt(() => call("POST", "/hermes/gateway", { draining }), draining ? "Draining: submissions get 503." : "Submissions are taken again.");
  });
  for (const owner of ["stale", "alive"]) {
    $(`restart-${owner}`).addEventListener("click", () => attempt(() => call("POST", "/hermes/restart", { owner }),
      (r) => `Restarted: ${count(r.retained, "run")} kept a row, ${number(r.discarded)} had none.`));
  }
  $("sweep").addEventListener("click", () => attempt(() => call("POST", "/hermes/sweep", {}), (r) => `Swept: ${count(r.cacheRemoved, "run")} left the cache.`));
  $("scope").addEventListener("submit", (e) => {
    e.preventDefault();
    attempt(() => call("POST", "/hermes/scope", { profile: $("scope-profile").value, identity: $("scope-identity").value }), "Requests are of this scope now.");
  });
  $("reset").addEventListener("click", async () => {
    const name = world.namespaces?.namespace ?? "";
    const yes = await ask({ title: `Reset ${name}?`, why: "Its runs, rows, checkpoints and ids go back to the beginning, and open event streams break. This cannot be undone.", yes: "Reset", danger: true });
    if (yes !== null) attempt(() => call("POST", "/reset", {}), "Back at the beginning.");
  });
}

export function renderGateway() {
  const g = world.gateway;
  if (!g) return;
  const facts = [
    ["Active", `${number(g.active)} of ${g.max_concurrent_runs === 0 ? "any number" : number(g.max_concurrent_runs)}`],
    ["State", g.draining ? "draining, submissions get 503" : "takes submissions"],
    ["Runs", `${number(g.admitted)} admitted, ${number(g.cached)} in the cache, ${count(g.rows, "row")}`],
    ["Streams", `${number(g.streams)} open`],
    ["Scope", `profile ${readable(g.profile.text)}`],
  ];
  list($("gateway-facts"), facts.flatMap(([name, value]) => [["dt", name, name], ["dd", name, value]]),
    ([tag, name]) => `${tag} ${name}`, ([tag]) => el(tag, { class: tag === "dd" ? "value" : "" }), (e, [, , value]) => setText(e, value));
  $("draining").setAttribute("aria-pressed", String(g.draining));
  setText($("draining"), g.draining ? "Draining" : "Drain");
  if (document.activeElement !== $("capacity-n")) $("capacity-n").value = String(g.max_concurrent_runs);
}
