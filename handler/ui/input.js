// Supplied input: scopes, the ledger of sources, verifications to come, the queue, and what hosts did wrong.

import { call, runPath } from "./api.js";
import { ask, attempt, problem, showText } from "./dialogs.js";
import { $, clockMillis, count, el, list, number, readable, rove, setText, short, show } from "./dom.js";
import { world } from "./world.js";

const base = "/hermes/supplied-input";
const settles = [];
let inside = () => {};
let choose = () => {};

// setupInput takes what begins a submission inside a scope, and what chooses a run.
export function setupInput(onInside, onChoose) {
  inside = onInside;
  choose = onChoose;
  for (const id of ["scopes", "sources", "turns"]) settles.push(rove($(id)));
  $("scope-open").addEventListener("submit", openScope);
  $("source-put").addEventListener("submit", async (e) => {
    e.preventDefault();
    const told = await attempt(() => call("POST", `${base}/sources`, { source_id: $("source-id").value, text: $("source-text").value }), (s) => `${label(s.source_id)} is version ${s.source_version}.`);
    if (told) $("source-text").value = "";
  });
  $("verify").addEventListener("submit", (e) => {
    e.preventDefault();
    const script = { failure: $("verify-failure").value, times: $("verify-times").valueAsNumber || 0 };
    if ($("verify-source").value !== "") script.source_id = $("verify-source").value;
    attempt(() => call("POST", `${base}/verifications`, script), "The next verifications follow it.");
  });
  $("verify-clear").addEventListener("click", () => attempt(() => call("DELETE", `${base}/verifications`), "Verifications succeed again."));
  $("deliver").addEventListener("click", () => attempt(() => call("POST", `${base}/deliver`, {}), (r) => `${count(r.delivered, "turn")} delivered: the assistant's own ${r.delivered === 1 ? "source" : "sources"} now.`));
  $("work-of").addEventListener("submit", seeWork);
  setupHandoff();
}

const label = (id) => readable(id.length > 60 ? `${id.slice(0, 60)}…` : id);
const scopePath = (id) => `${base}/scopes/${encodeURIComponent(id)}`;
const sourcePath = (id) => `${base}/sources/${encodeURIComponent(id)}`;
const chosen = (id) => [...$(id).selectedOptions].map((o) => o.value);

async function openScope(e) {
  e.preventDefault();
  const opening = { contact_id: $("scope-contact").value, inputs: [], sources: [] };
  if ($("scope-platform").value !== "") opening.platform = $("scope-platform").value;
  if ($("scope-session").value !== "") opening.session_id = $("scope-session").value;
  if ($("scope-recall").value !== "") opening.recall_query = $("scope-recall").value;
  const told = await attempt(async () => {
    for (const id of chosen("scope-inputs")) {
      const s = await call("GET", sourcePath(id));
      opening.inputs.push({ source_id: id, input_message_hash: s.input_message_hash });
    }
    for (const id of chosen("scope-sources")) {
      const s = await call("GET", sourcePath(id));
      opening.sources.push({ source_id: id, source_version: s.source_version });
    }
    return call("POST", base, opening);
  }, (s) => `Scope ${short(s.id)} is open.`);
  if (told) $("scope-open").closest("details").open = false;
}

// stateOf says how a scope is, and in which tone.
function stateOf(s) {
  const words = [];
  let tone = "";
  if (s.failure) {
    words.push(s.failure.reason + (s.failure.retryable ? ", retryable" : ""));
    tone = "bad";
  } else if (s.result) {
    words.push("result");
    tone = "good";
  } else words.push(s.admitted ? "admitted" : "not checked yet");
  if (s.closed) words.unshift("closed");
  return [words.join(", "), tone];
}

const where = (s) => (s.platform ? `${s.platform}${s.session_id ? `, session ${s.session_id}` : ", no session yet"}` : `session ${s.session_id}`);

function parents(s) {
  const names = s.inputs.map(label);
  if (s.inputs_all > names.length) names.push(`${number(s.inputs_all - names.length)} more`);
  const inherited = s.handles.map((h) => `${label(h.source_id)} v${h.source_version}${h.opened ? ", opened" : ""}`);
  if (s.inherited > inherited.length) inherited.push(`${number(s.inherited - inherited.length)} more`);
  return `From ${names.join(" · ")}${inherited.length > 0 ? `; inherits ${inherited.join(" · ")}` : ""}`;
}

// validity says what a revalidation found.
const validity = (r) => (r.valid ? "Its parents stand." : `It may not be used: ${r.reason}.`);

async function revalidate(s) {
  await attempt(async () => {
    const { result } = await call("GET", scopePath(s.id));
    return result ? call("POST", `${base}/revalidate`, result) : call("POST", `${scopePath(s.id)}/revalidate`, {});
  }, validity);
}

// append makes the block of an inherited source, which the host puts at the end of the input.
async function append(s) {
  const sources = s.handles.map((h) => h.source_id);
  const id = sources.length === 1 ? sources[0] : await ask({ title: "Append a source", why: `Which one? The scope inherits ${sources.map(label).join(", ")}.`, yes: "Next", label: "Source id", value: sources[0] });
  if (id === null) return;
  const text = await ask({ title: `Append ${label(id)}`, why: "The text that the host gives the agent of this source. The block goes at the end of the input, behind a line break.", yes: "Make the block", label: "Text" });
  if (text === null) return;
  await showText("Block", async () => (await call("POST", `${scopePath(s.id)}/blocks`, { source_id: id, text })).block);
}

function makeScope(s) {
  return el("li", { class: "item" },
    el("span", { class: "what value" }), el("span", { class: "tag-line value" }), el("span", { class: "left value" }),
    el("div", { class: "actions" },
      el("button", { type: "button", class: "small", "data-act": "inside", text: "Submit inside" }),
      el("button", { type: "button", class: "small", "data-act": "revalidate", text: "Revalidate" }),
      el("button", { type: "button", class: "small", "data-act": "append", text: "Append a source" }),
      el("button", { type: "button", class: "small", "data-act": "close", text: "Close" })));
}

function updateScope(e, s) {
  const shown = JSON.stringify(s);
  if (e.shown === shown) return;
  e.shown = shown;
  const [what, tags, left, actions] = e.children;
  const [state, tone] = stateOf(s);
  setText(what, `${label(s.contact_id)}, ${readable(where(s).slice(0, 120))}`);
  setText(tags, state);
  tags.className = `tag-line value ${tone}`;
  setText(left, `${short(s.id)} · ${clockMillis(s.opened_at)} · ${count(s.tasks, "task")}. ${parents(s)}`);
  e.classList.toggle("used", s.closed);
  const name = `${label(s.contact_id)}, ${short(s.id)}`;
  const acts = { inside: () => inside(s), revalidate: () => revalidate(s), append: () => append(s),
    close: () => attempt(() => call("POST", `${scopePath(s.id)}/close`, {}), "Closed: nothing uses it any more.") };
  for (const b of actions.children) {
    b.onclick = acts[b.dataset.act];
    b.setAttribute("aria-label", `${b.textContent}: ${name}`);
    show(b, b.dataset.act === "revalidate" || (!s.closed && (b.dataset.act !== "append" || s.handles.length > 0)));
  }
}

function makeSource(s) {
  return el("li", { class: "item" }, el("span", { class: "what value" }), el("span", { class: "tag-line" }),
    el("div", { class: "actions" },
      el("button", { type: "button", class: "small", "data-act": "annotate" }),
      el("button", { type: "button", class: "small danger", "data-act": "erase", text: "Erase" })));
}

async function annotate(s) {
  if (s.annotated) return attempt(() => call("POST", `${sourcePath(s.source_id)}/annotate`, { annotation: "" }), "The mark is taken away.");
  const annotation = await ask({ title: `Annotate ${label(s.source_id)}`, why: "An annotated source is not excerpted in the registry of work.", yes: "Annotate", label: "Annotation", value: "do not show" });
  if (annotation !== null) await attempt(() => call("POST", `${sourcePath(s.source_id)}/annotate`, { annotation }), "Annotated.");
}

function updateSource(e, s) {
  const shown = JSON.stringify(s);
  if (e.shown === shown) return;
  e.shown = shown;
  const [what, tags, actions] = e.children;
  setText(what, label(s.source_id));
  setText(tags, [`v${s.source_version}`, s.assistant ? `the assistant's, from ${count(s.parents, "parent")}` : "", s.annotated ? "annotated" : "", s.erased ? "erased" : ""].filter(Boolean).join(" · "));
  e.classList.toggle("used", s.erased);
  const [mark, erase] = actions.children;
  setText(mark, s.annotated ? "Take the mark away" : "Annotate");
  mark.onclick = () => annotate(s);
  erase.onclick = () => attempt(() => call("POST", `${sourcePath(s.source_id)}/erase`, {}), (r) => `Erased, and ${count(r.dependents, "record")} of the assistant with it.`);
  for (const b of actions.children) b.setAttribute("aria-label", `${b.textContent}: ${label(s.source_id)}`);
  show(actions, !s.erased);
}

function describe(v) {
  const does = [v.failure ? `fails, ${v.failure.replaceAll("_", " ")}` : "", v.takes > 0 ? `takes ${number(v.takes)} ms` : ""].filter(Boolean).join(", ");
  return `${v.source_id ? label(v.source_id) : "Any source"}: ${does}`;
}

// options has a list of sources to choose from; what is chosen stays so.
function options(id, sources, first) {
  const select = $(id);
  const key = JSON.stringify(sources.map((s) => s.source_id));
  if (select.shown === key) return;
  select.shown = key;
  const had = new Set(chosen(id));
  select.replaceChildren(...(first ? [el("option", { value: "", text: first })] : []),
    ...sources.map((s) => el("option", { value: s.source_id, text: label(s.source_id) })));
  for (const o of select.options) o.selected = had.has(o.value);
  if (first && select.selectedIndex < 0) select.selectedIndex = 0;
}

const nothing = { scopes: [], known: 0, open: 0, sources: [], recorded: 0, verifications: [], scripted: 0, queue: [], waiting: 0, problems: [], misuses: [], misused: 0, run: null };

const of = (shown, all) => (all === 0 ? "" : shown === all ? number(all) : `${number(shown)} of ${number(all)}`);

export function renderInput() {
  const v = world.input ?? nothing;
  show($("input-badge"), v.misused > 0);
  setText($("input-badge"), v.misused > 0 ? number(v.misused) : "");
  show($("misuse"), v.misused > 0);
  setText($("misuses-count"), of(v.misuses.length, v.misused));
  list($("misuses"), v.misuses, (m) => m.message, (m) => el("li", { class: "item" },
    el("span", { class: "what", text: m.kind.replaceAll("_", " ") }), el("span", { class: "left value", text: readable(m.message.slice(0, 600)) })));
  setText($("scopes-count"), v.known === 0 ? "" : `${number(v.open)} open, ${number(v.known - v.open)} closed`);
  show($("scopes-empty"), v.scopes.length === 0);
  list($("scopes"), v.scopes, (s) => s.id, makeScope, updateScope);
  setText($("sources-count"), of(v.sources.length, v.recorded));
  show($("sources-empty"), v.sources.length === 0);
  list($("sources"), v.sources, (s) => s.source_id, makeSource, updateSource);
  const live = v.sources.filter((s) => !s.erased);
  options("scope-inputs", live.filter((s) => !s.assistant));
  options("scope-sources", live);
  options("verify-source", live, "Any source");
  show($("verify-clear"), v.scripted > 0);
  setText($("verify-count"), of(v.verifications.length, v.scripted));
  list($("verifications"), v.verifications.map((s, i) => ({ ...s, i })), (s) => `${s.i} ${JSON.stringify(s)}`, (s) => el("li", { class: "item" },
    el("span", { class: "what value", text: describe(s) }), el("span", { class: "tag-line", text: s.times === 0 ? "until cleared" : `${number(s.times)} to go` })));
  setText($("turns-count"), of(v.queue.length, v.waiting));
  $("deliver").disabled = v.waiting === 0;
  show($("turns-empty"), v.waiting === 0 && v.problems.length === 0);
  list($("turns"), v.queue, (q) => q.turn_id, (q) => el("li", { class: "item" },
    el("span", { class: "what value", text: `${short(q.turn_id)}, ${label(q.contact_id)}` }),
    el("span", { class: "tag-line" }, el("button", { type: "button", class: "plain", text: "Show run", "aria-label": `Show run of ${short(q.turn_id)}`, click: () => choose(q.run_id, true) })),
    el("span", { class: "left value", text: `session ${label(q.session_id)} · ${count(q.parents, "parent")} · ${clockMillis(q.queued_at)}` })));
  list($("queue-problems"), v.problems.map((text, i) => ({ text, i })), (p) => `${p.i} ${p.text}`, (p) => el("li", { class: "item" }, el("span", { class: "left value bad", text: readable(p.text) })));
  for (const settle of settles) settle();
  renderHandoff(v.run);
}

// seeWork asks for the registry as a contact sees it. The excerpts are texts of sources, and stay off the page.
async function seeWork(e) {
  e.preventDefault();
  const told = await attempt(() => call("GET", `${base}/work?contact_id=${encodeURIComponent($("work-contact").value)}`));
  if (!told) return;
  show($("work-empty"), told.work.length === 0);
  $("work").replaceChildren(...told.work.map((w) => el("li", { class: "item" },
    el("span", { class: "what value", text: `${short(w.run_id)}, ${w.state}` }),
    el("span", { class: "tag-line" }, el("button", { type: "button", class: "plain", text: "Show run", "aria-label": `Show run ${short(w.run_id)}`, click: () => choose(w.run_id, true) })),
    el("span", { class: "left", text: `purpose ${w.purpose}${w.excerpt ? `, an excerpt of ${count([...w.excerpt].length, "character")}` : ""}${w.partial ? ", partial" : ""}` }))));
}

// The handoff of the run that is looked at: what its agent does that needs a check.

function setupHandoff() {
  const actor = (body = {}) => ($("handoff-as").value === "" ? body : { ...body, child: $("handoff-as").value });
  const step = (name, body) => attempt(() => call("POST", `${base}${runPath(world.chosen).slice("/hermes".length)}/${name}`, body),
    (r) => (r.allowed ? "The check succeeded." : `Blocked: ${r.reason}. The agent goes on without sources and tools.`));
  $("do-model").addEventListener("click", () => step("model-request", actor()));
  $("do-tool").addEventListener("click", () => step("tool", actor()));
  $("handoff-session").addEventListener("submit", async (e) => {
    e.preventDefault();
    const session_id = $("handoff-session-id").value;
    if (session_id === "") return problem("A session has 1 to 256 characters.");
    const told = await step(e.submitter?.name === "rotate" ? "rotate-session" : "child", actor({ session_id }));
    if (told?.allowed) $("handoff-session-id").value = "";
  });
  $("participant").addEventListener("submit", (e) => {
    e.preventDefault();
    const p = { contact_id: $("participant-contact").value, authenticated: $("participant-known").checked };
    if ($("participant-platform").value !== "") p.platform = $("participant-platform").value;
    if ($("participant-parent").value !== "") p.parent_session_id = $("participant-parent").value;
    attempt(() => call("POST", `${base}${runPath(world.chosen).slice("/hermes".length)}/participant`, p), "That is whom the run resolves now.");
  });
}

function renderHandoff(run) {
  const on = run !== null && run.run_id === world.chosen && world.run !== null && !world.run.missing;
  show($("handoff"), on);
  if (!on) return;
  const s = run.scope;
  const [state, tone] = stateOf(s);
  setText($("handoff-state"), state);
  $("handoff-state").className = `tag-line ${tone}`;
  setText($("handoff-says"), `${label(s.contact_id)}, ${readable(where(s).slice(0, 120))}; scope ${short(s.id)}. This run ${run.bound ? "is bound to it" : "is not bound yet"}, with session ${label(run.session_id)}.`);
  show($("handoff-steps"), world.run.active);
  const select = $("handoff-as");
  const key = JSON.stringify(run.children);
  if (select.shown !== key) {
    select.shown = key;
    const had = select.value;
    select.replaceChildren(el("option", { value: "", text: "The run itself" }), ...run.children.map((c) => el("option", { value: c, text: `Child ${label(c)}` })));
    select.value = run.children.includes(had) ? had : "";
  }
}
