// The page: it follows the namespace, and shows what changed.

import { here, nameRule, validName } from "./api.js";
import { renderClock, setupClock, suggestTime, toggleFreeze } from "./clock.js";
import { ask, problem, setupDialogs } from "./dialogs.js";
import { $, el, setText } from "./dom.js";
import { loadPresets, renderFaults, setupFaults } from "./faults.js";
import { renderGateway, setupGateway } from "./gateway.js";
import { renderInput, setupInput } from "./input.js";
import { renderRequests, setupRequests } from "./requests.js";
import { renderEvents, renderRun, setupRun, start } from "./run.js";
import { moveChoice, openForm, openInside, renderRuns, setupRuns } from "./runs.js";
import { follow, pauseWhenHidden } from "./stream.js";
import { checkpoint, renderTimeline, setupTimeline } from "./timeline.js";
import { forget, receive, world } from "./world.js";

const draws = { namespaces: [renderNamespaces], clock: [renderClock], gateway: [renderGateway], faults: [renderFaults],
  timeline: [renderTimeline], runs: [renderRuns], run: [renderRun, renderEvents, renderInput], events: [renderEvents],
  journal: [renderRequests, renderTimeline], input: [renderInput] };

const due = new Set();
let drawing = false;

// onPart takes a part of the stream. What changed is drawn with the next frame, once.
function onPart(name, value) {
  if (!receive(name, value)) return;
  draw(name);
}

function draw(...names) {
  for (const name of names) draws[name].forEach((d) => due.add(d));
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    const now = [...due];
    due.clear();
    now.forEach((d) => d());
  });
}

function onState(state, why = "") {
  $("link").dataset.state = state;
  setText($("link-text"), state === "live" ? "Live" : state === "lost" ? "Reconnecting" : "Connecting");
  $("link").title = why;
}

let opening = 0;

function reopen() {
  clearTimeout(opening);
  onStateLater();
  follow(world.chosen, onPart, onState);
}

// A stream that opens at once leaves what is said of the connection alone.
function onStateLater() {
  opening = setTimeout(() => {
    if ($("link").dataset.state === "wait") onState("wait");
  }, 500);
}

// choose looks at another run. go says that the eye follows, where the page shows one part at a time.
function choose(id, go) {
  if (id !== world.chosen) {
    Object.assign(world, { chosen: id, run: null, trail: 0, events: [], last: 0 });
    $("events").replaceChildren();
    $("approvals").replaceChildren();
    $("run-facts").replaceChildren();
    address();
    // Arrow keys may pass over many: the stream waits for where they end.
    clearTimeout(opening);
    opening = setTimeout(reopen, 60);
    draw("runs", "run", "journal");
  }
  if (go) {
    view("run");
    if (getComputedStyle(document.querySelector(".dock")).display !== "none") $("run").focus();
  }
}

// address keeps what is looked at in the page's address, for reloads and bookmarks.
function address() {
  const query = new URLSearchParams();
  if (!/\/ns\/[^/]+\/ui\/?$/.test(location.pathname) && here.namespace !== "") query.set("namespace", here.namespace);
  if (world.chosen !== "") query.set("run", world.chosen);
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text === "" ? "" : `?${text}`));
}

function renderNamespaces() {
  const n = world.namespaces;
  here.standard = n.default;
  setText($("version"), n.version);
  const names = [...new Set([...n.namespaces, n.namespace])].sort();
  const select = $("namespace");
  if (select.dataset.names !== names.join(" ")) {
    select.dataset.names = names.join(" ");
    select.replaceChildren(...names.map((name) => el("option", { value: name, text: name })));
  }
  select.value = n.namespace;
  document.title = n.namespace === n.default ? "hermesfake" : `${n.namespace} · hermesfake`;
}

function enter(name) {
  here.namespace = name;
  forget();
  world.chosen = "";
  for (const id of ["runs", "events", "requests", "faults", "timeline", "misuses", "scopes", "sources", "verifications", "turns", "work"]) $(id).replaceChildren();
  address();
  reopen();
  draw("runs", "run", "journal", "faults", "input");
}

async function newNamespace() {
  const name = await ask({ title: "Another namespace", why: "An isolated world with its own runs, clock and journal. It begins with its first use; your client chooses it with the header x-mockingbird-namespace or the path /ns/NAME.", yes: "Open", label: "Name" });
  if (name === null) return;
  if (!validName(name)) return problem(nameRule);
  enter(name);
}

// The tabs of the world.
const tabs = () => [...document.querySelectorAll("[role=tab]")];

function openTab(tab, focus) {
  for (const t of tabs()) {
    const on = t === tab;
    t.setAttribute("aria-selected", String(on));
    t.tabIndex = on ? 0 : -1;
    $(t.getAttribute("aria-controls")).hidden = !on;
  }
  if (tab.id === "tab-faults") loadPresets();
  if (tab.id === "tab-clock") suggestTime();
  if (focus) tab.focus();
}

function setupTabs() {
  for (const t of tabs()) t.addEventListener("click", () => openTab(t, true));
  document.querySelector("[role=tablist]").addEventListener("keydown", (e) => {
    const all = tabs();
    const i = all.indexOf(document.activeElement);
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: all.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    openTab(all[(to + all.length) % all.length], true);
  });
}

function view(name) {
  document.documentElement.dataset.view = name;
  for (const b of document.querySelectorAll(".dock button")) {
    if (b.value === name) b.setAttribute("aria-current", "true");
    else b.removeAttribute("aria-current");
  }
}

const themes = ["", "light", "dark"];
const themeWords = { "": "as the system has them", light: "light", dark: "dark" };

function setTheme(theme) {
  if (theme === "") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $("theme").setAttribute("aria-label", `Colours: ${themeWords[theme]}`);
  $("theme").title = `Colours: ${themeWords[theme]}`;
  $("theme").firstElementChild.textContent = { "": "◐", light: "☀︎", dark: "☾" }[theme];
  remember("theme", theme);
}

const remember = (name, value) => {
  try {
    localStorage.setItem(`hermesfake.${name}`, value);
  } catch {
    // Storage is switched off: it holds until the page is closed.
  }
};
const recall = (name) => {
  try {
    return localStorage.getItem(`hermesfake.${name}`);
  } catch {
    return null;
  }
};

const reach = (id) => {
  const e = $(id);
  if (!e || e.disabled || e.offsetParent === null) return;
  e.focus();
};

const shortcuts = {
  n: () => (view("runs"), openForm(true)),
  j: () => moveChoice(1),
  k: () => moveChoice(-1),
  s: start,
  d: () => (view("run"), reach("say-text")),
  e: () => (view("run"), reach("finish-text")),
  a: () => (view("run"), $("approvals").querySelector(".choices button:enabled")?.focus()),
  f: toggleFreeze,
  c: checkpoint,
  "?": () => $("help-dialog").showModal(),
};

function setupShortcuts() {
  $("shortcuts").checked = recall("shortcuts") !== "off";
  $("shortcuts").addEventListener("change", () => remember("shortcuts", $("shortcuts").checked ? "on" : "off"));
  document.addEventListener("keydown", (e) => {
    if (!$("shortcuts").checked || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector("dialog[open]")) return;
    if (e.target.closest("input, textarea, select")) return;
    const tab = "123456".indexOf(e.key);
    const act = tab >= 0 ? () => (view("world"), openTab(tabs()[tab], true)) : shortcuts[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  });
}

world.chosen = new URLSearchParams(location.search).get("run") ?? "";
setupDialogs();
setupRuns(choose);
setupRun();
setupRequests(choose);
setupFaults();
setupClock();
setupTimeline();
setupGateway();
setupInput((scope) => (view("runs"), openInside(scope)), choose);
setupTabs();
setupShortcuts();
setTheme(document.documentElement.dataset.theme ?? "");
$("theme").addEventListener("click", () => setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme ?? "") + 1) % themes.length]));
$("namespace").addEventListener("change", () => enter($("namespace").value));
$("namespace-new").addEventListener("click", newNamespace);
for (const b of document.querySelectorAll(".dock button")) b.addEventListener("click", () => view(b.value));
if (world.chosen !== "") view("run");
pauseWhenHidden(onPart, onState);
draw("runs", "run", "journal", "faults", "input");
reopen();
