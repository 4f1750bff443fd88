// The run that is looked at: what is known of it, what its agent does next, what it emitted.

import { call, fetched, problemOf, runPath, send } from "./api.js";
import { attempt, copy, showText } from "./dialogs.js";
import { $, bytes, clockMillis, count, el, list, number, piece, readable, setText, show } from "./dom.js";
import { words } from "./runs.js";
import { terminal, world } from "./world.js";

let raw = false;

export function setupRun() {
  $("run-copy").addEventListener("click", () => copy(world.chosen, "The run's id is copied."));
  $("do-start").addEventListener("click", start);
  $("do-stopping").addEventListener("click", () => observe({ status: "stopping" }, "The agent is stopping."));
  $("do-cancel").addEventListener("click", () => observe({ status: "cancelled" }, "Cancelled."));
  $("do-interrupt").addEventListener("click", () => observe({ status: "interrupted" }, "Interrupted."));
  onSubmit("say", (button) => {
    const text = $("say-text").value;
    $("say-text").value = "";
    if (button === "reasoning") return emit({ event: "reasoning.available", text });
    return emit({ event: "message.delta", delta: text });
  });
  onSubmit("tool", (button) => {
    const tool = $("tool-name").value;
    if (button === "started") return emit({ event: "tool.started", tool, preview: $("tool-preview").value });
    return emit({ event: "tool.completed", tool, duration: 0.2, error: button === "broken" });
  });
  onSubmit("ask", () => {
    const approval = { command: $("ask-command").value };
    if ($("ask-id").value !== "") approval.request_id = $("ask-id").value;
    return observe({ status: "waiting_for_approval", approval }, "The agent asks, and waits.");
  });
  onSubmit("finish", (button) => {
    const text = $("finish-text").value;
    if (button === "fail") return observe(text === "" ? { status: "failed" } : { status: "failed", error: text }, "Failed.");
    return observe({ status: "completed", output: text }, "Completed.");
  });
  $("finish-text").addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
    e.preventDefault();
    $("finish").requestSubmit($("finish").querySelector("button"));
  });
  onSubmit("steer", async () => {
    const input = $("steer-text").value;
    const told = await sendRun("steer", { input }, "Steered.");
    if (told && !told.problem) $("steer-text").value = "";
  });
  $("do-stop").addEventListener("click", () => sendRun("stop", undefined, (r) => `Stop asked: ${statusOf(r)}.`));
  $("events-raw").addEventListener("click", () => {
    raw = !raw;
    $("events-raw").setAttribute("aria-pressed", String(raw));
    $("events").replaceChildren();
    renderEvents();
  });
}

function onSubmit(id, act) {
  $(id).addEventListener("submit", (e) => {
    e.preventDefault();
    act(e.submitter?.name ?? "");
  });
}

const observe = (o, said) => attempt(() => call("POST", `${runPath(world.chosen)}/observe`, o), said);

export const start = () => world.run && !terminal(world.run.status) && observe({ status: "running" }, "Running.");

const emit = (event) => attempt(() => call("POST", `${runPath(world.chosen)}/events`, event),
  (r) => (r.emitted ? `${event.event} is emitted.` : "The run has no event queue any more, so the event is dropped."));

const statusOf = (r) => {
  try {
    return words(JSON.parse(r.body).status);
  } catch {
    return r.text;
  }
};

// sendRun sends what a client would, and says what came back.
function sendRun(action, body, said) {
  return attempt(async () => {
    const told = await send("POST", `/v1/runs/${encodeURIComponent(world.chosen)}/${action}`, body);
    if (told.problem) throw new Error(told.status ? `${told.status}: ${told.problem}` : told.problem);
    return told;
  }, said);
}

async function whole(member, n) {
  const query = n === undefined ? "" : `&n=${n}`;
  const reply = await fetched(`/ui${runPath(world.chosen).slice("/hermes".length)}/value?member=${member}${query}`);
  const text = await reply.text();
  if (!reply.ok) throw problemOf(reply.status, text);
  return text;
}

export function renderRun() {
  const r = world.run;
  const missing = r?.missing === true;
  show($("run-empty"), world.chosen === "");
  show($("run-missing"), missing);
  show($("run-body"), world.chosen !== "" && r !== null && !missing);
  if (!r || missing) return;
  const status = $("run-status");
  if (status.className !== `status ${r.status}`) status.className = `status ${r.status}`;
  setText(status, words(r.status));
  setText($("run-id"), r.id);
  renderFacts(r);
  renderApprovals(r);
  const settled = terminal(r.status);
  show($("desk"), !settled);
  show($("client"), !settled);
  show($("desk-settled"), settled || !r.active);
  setText($("desk-settled"), settled
    ? "This run has settled: its agent does nothing more. Submit another, or go back to a checkpoint."
    : r.active ? "" : "Its agent lives in another gateway process: it can be observed, but emits nothing here.");
  for (const b of document.querySelectorAll("#say button, #tool button, #ask button")) b.disabled = !r.active;
  $("do-start").disabled = r.status === "running";
  $("do-start").classList.toggle("primary", r.status === "queued");
}

// A fact is its name, its text or piece, and how to load the whole of the latter.
function renderFacts(r) {
  const facts = [];
  const fact = (name, value, load) => value && facts.push([name, value, load]);
  const long = (name, p, member) => p.text !== "" && fact(name, p, () => showText(`${name} of the run`, () => whole(member)));
  fact("Submitted", clockMillis(r.created) + (r.keyed ? ", with an idempotency key" : ""));
  fact("Updated", `${clockMillis(r.updated)}${r.last_event ? `, after ${r.last_event}` : ""}`);
  long("Model", r.whole_model, "model");
  if (r.session.text !== r.id) long("Session", r.session, "session_id");
  long("Output", r.output, "output");
  long("Error", r.error, "error");
  long("Unused steer", r.pending_steer, "pending_steer");
  if (r.usage) fact("Tokens", `${number(r.usage.InputTokens)} in, ${number(r.usage.OutputTokens)} out`);
  if (r.steers > 0) fact("Steered", count(r.steers, "time"));
  if (r.decisions.length > 0) fact("Answers", r.decisions.map((d) => d.choice).join(", "));
  if (!r.cached) fact("Cache", "lost it; only the row is left, which the next poll reads back");
  list($("run-facts"), facts.flatMap(([name, value, load]) => [{ tag: "dt", name, value: name }, { tag: "dd", name, value, load }]),
    (f) => `${f.tag} ${f.name}`, (f) => el(f.tag), (e, f) => {
      const text = typeof f.value === "string" ? f.value : `${f.value.bytes ?? 0} ${f.value.text}`;
      if (e.shown === text) return;
      e.shown = text;
      e.replaceChildren(typeof f.value === "string" ? el("span", { class: f.tag === "dd" ? "value" : "", text: readable(f.value) }) : piece(f.value, f.load));
    });
}

function renderApprovals(r) {
  show($("approvals"), r.pending.length > 0);
  list($("approvals"), r.pending, (p) => p.number, makeApproval, (e, p) => {
    // Without an id of its own an approval is answered in its turn.
    const turn = p.request_id !== "" || p === r.pending[0];
    for (const b of e.querySelectorAll(".choices button")) b.disabled = !turn;
    show(e.querySelector(".turn"), !turn);
  });
}

const choiceWords = { once: "Once", session: "This session", always: "Always", deny: "Deny" };

function makeApproval(p) {
  const answer = async (choice) => {
    const body = { choice };
    if (p.request_id !== "") body.request_id = p.request_id;
    await sendRun("approval", body, `Answered: ${choiceWords[choice] ?? choice}.`);
    $("run").focus();
  };
  const title = p.request_id === "" ? "The agent asks for approval" : `The agent asks for approval: ${p.request_id}`;
  return el("div", { class: "approval", role: "group", "aria-label": "Approval" },
    el("h3", { class: "value", text: readable(title.slice(0, 200)) }),
    p.description.text ? el("p", {}, piece(p.description)) : null,
    el("pre", { tabindex: "0", role: "region", "aria-label": "What it asks for" },
      piece(p.command.text ? p.command : p.event, () => showText("Approval", () => whole("approval", p.number)))),
    el("div", { class: "actions choices" }, ...p.choices.slice(0, 8).map((c) =>
      el("button", { type: "button", class: c === "deny" ? "danger" : "", text: choiceWords[c] ?? readable(c.slice(0, 40)), click: () => answer(c) }))),
    el("p", { class: "note turn", text: "It has no request id, so it is answered after those above.", hidden: true }));
}

const tones = [[/^message\.delta$/, "delta"], [/^(tool|subagent)\./, "tool"], [/^approval\./, "asks"],
  [/^run\.completed$/, "good"], [/^run\.(failed|cancelled)$/, "bad"]];

export function renderEvents() {
  const r = world.run;
  if (!r || r.missing) return;
  const events = $("events");
  const atEnd = events.scrollTop + events.clientHeight >= events.scrollHeight - 30;
  show($("events-empty"), world.events.length === 0);
  setText($("events-count"), world.events.length === 0 ? "" :
    world.events.length < world.last ? `the latest ${number(world.events.length)} of ${number(world.last)}` : number(world.last));
  setText($("events-queue"), queueWords(r));
  list(events, world.events, (e) => `${world.trail} ${e.n}`, makeEvent);
  if (atEnd) events.scrollTop = events.scrollHeight;
}

function queueWords(r) {
  const listening = r.subscribers === 0 ? "No client listens" : `${count(r.subscribers, "client")} ${r.subscribers === 1 ? "listens" : "listen"}`;
  const gone = r.gone > 0 ? `, and ${r.gone} that has gone is not noticed yet` : "";
  if (!r.queue) return `${listening}${gone}. The event queue has ended.`;
  const waits = r.queue.events === 0 ? "Nothing waits" : `${count(r.queue.events, "event")} (${bytes(r.queue.bytes)}) ${r.queue.events === 1 ? "waits" : "wait"}`;
  return `${listening}${gone}. ${waits} in the queue${r.queue.closed ? ", which has ended" : ""}.`;
}

function makeEvent(e) {
  const cut = e.bytes > 0;
  const load = () => showText("Event", () => whole("event", e.n));
  let event = null;
  try {
    event = JSON.parse(e.text);
  } catch {
    // It was cut, or has a number that JSON does not: shown as it is.
  }
  const name = event && typeof event.event === "string" ? event.event : e.text.match(/"event": "([\w.]{1,40})"/)?.[1] ?? "event";
  const tone = tones.find(([pattern]) => pattern.test(name))?.[1] ?? "";
  const stamp = event?.timestamp ?? Number(e.text.match(/"timestamp": ([\d.]+)/)?.[1]);
  const what = el("span", { class: "what" });
  if (raw || !event) what.append(piece({ text: e.text, bytes: cut ? e.bytes : 0, json: true }, load));
  else what.append(...digest(name, event));
  return el("li", {}, el("span", { class: "at", text: offset(stamp) }), el("span", { class: `name ${tone}`, text: readable(name), title: readable(name) }), what);
}

function offset(stamp) {
  const s = stamp - (world.run?.created ?? 0) / 1000;
  if (!Number.isFinite(s)) return "";
  if (Math.abs(s) < 100) return `+${s.toFixed(3)}`;
  return `+${Math.abs(s) < 36000 ? s.toFixed(1) : number(Math.round(s))}`;
}

const textOf = (v) => readable(typeof v === "string" ? v : v === undefined || v === null ? "" : JSON.stringify(v));

// digest says in few words what an event is about.
function digest(name, e) {
  const b = (v) => el("b", { text: textOf(v) });
  const aside = (v) => el("span", { class: "aside", text: textOf(v) });
  switch (name) {
    case "message.delta":
      return [textOf(e.delta)];
    case "reasoning.available":
      return [aside(e.text)];
    case "tool.started":
      return [b(e.tool), " ", aside(e.preview)];
    case "tool.completed":
      return [b(e.tool), " ", aside(`${textOf(e.duration)} s`), e.error ? el("b", { text: ", failed" }) : ""];
    case "approval.request":
      return [b(e.command ?? e.description ?? ""), " ", aside(e.request_id)];
    case "approval.responded":
      return [b(e.choice), " ", aside(e.request_id)];
    case "run.completed":
      return [textOf(e.output)];
    case "run.failed":
      return [textOf(e.error)];
  }
  const { event, run_id, timestamp, ...rest } = e;
  return Object.keys(rest).length === 0 ? [] : [aside(rest)];
}
