// Checkpoints, as the tree that their parents make, and branches.

import { call, nameRule, validName } from "./api.js";
import { ask, attempt, problem } from "./dialogs.js";
import { $, clockMillis, count, el, list, number, readable, rove, setText, short, show, svg } from "./dom.js";
import { world } from "./world.js";

let settle = () => {};
let settleBranches = () => {};

export function setupTimeline() {
  settle = rove($("timeline"));
  settleBranches = rove($("branches"));
  $("checkpoint").addEventListener("click", checkpoint);
}

export const checkpoint = () => attempt(() => call("POST", "/checkpoints", {}), (c) => `Checkpoint ${nick(c.id)}.`);

// nick is the number of a checkpoint, which its id begins with.
function nick(id) {
  const n = Number.parseInt(id.slice(3, 19), 16);
  return Number.isSafeInteger(n) ? `no. ${number(n)}` : short(id);
}

const branchPath = (name) => `/branches/${encodeURIComponent(name)}`;

// goBack takes the world back to a checkpoint, on the branch that it is of.
export function goBack(id) {
  const known = world.timeline?.checkpoints.find((c) => c.id === id);
  const branch = known?.branch ?? world.timeline?.branch ?? "main";
  return attempt(() => call("POST", `${branchPath(branch)}/checkout`, { checkpoint: id }), `Back at ${nick(id)}. Open event streams have ended.`);
}

async function fork(c) {
  const name = await ask({ title: "Fork here", why: "A branch begins at this checkpoint, and the namespace goes on there. The other branches stay as they are.",
    yes: "Fork", label: "Name of the branch", value: `branch-${(world.timeline?.branches.length ?? 0) + 1}` });
  if (name === null) return;
  if (!validName(name)) return problem(nameRule);
  await attempt(async () => {
    await call("POST", "/branches", { name, from: c.id });
    await call("POST", `${branchPath(name)}/checkout`, {});
  }, `On branch ${readable(name)}.`);
}

async function removeBranch(name) {
  const yes = await ask({ title: `Delete branch ${name}?`, why: "Its name and head go; checkpoints that other branches stand on stay.", yes: "Delete", danger: true });
  if (yes !== null) await attempt(() => call("DELETE", branchPath(name)), "Deleted.");
}

export function renderTimeline() {
  const t = world.timeline;
  const points = (t?.checkpoints ?? []).toReversed();
  show($("timeline-empty"), points.length === 0);
  setText($("timeline-count"), t && t.count > 0 ? count(t.count, "checkpoint").replace(/ checkpoints?/, "") : "");
  renderBranches(t?.branches ?? []);
  const heads = new Map();
  for (const b of t?.branches ?? []) heads.set(b.head, [...(heads.get(b.head) ?? []), b.name]);
  const said = new Map();
  for (const e of world.entries) if (e.checkpoint) said.set(e.checkpoint, e);
  const rows = lanes(points);
  list($("timeline"), points, (c) => c.id, makePoint, (e, c) => {
    const here = c.id === t.head;
    e.classList.toggle("here", here);
    const entry = said.get(c.id);
    const [, point] = e.children;
    const title = entry?.operationId ?? e.said ?? (c.pinned ? "Checkpoint" : "Change");
    if (entry) e.said = title;
    const tags = heads.get(c.id) ?? [];
    const key = JSON.stringify([title, tags, here, entry?.ids?.runId]);
    if (e.shown !== key) {
      e.shown = key;
      point.replaceChildren(el("div", { class: "title" }, title, ...tags.map((n) => el("span", { class: "tag", text: readable(n) })), here ? el("span", { class: "hidden", text: ", you are here" }) : null),
        el("div", { class: "sub" }, `${clockMillis(c.at)} · ${nick(c.id)}${entry?.ids?.runId ? ` · ${short(entry.ids.runId)}` : ""}${c.pinned ? " · pinned" : ""}`));
      e.querySelector("[data-act=back]").setAttribute("aria-label", `Go back to ${title}, ${clockMillis(c.at)}`);
      e.querySelector("[data-act=fork]").setAttribute("aria-label", `Fork at ${title}, ${clockMillis(c.at)}`);
    }
    e.querySelector("[data-act=back]").disabled = here;
    draw(e.querySelector("svg"), rows.get(c.id), here);
  });
  settle();
  settleBranches();
  const earlier = t ? t.count - points.length + t.dropped : 0;
  setText($("timeline-more"), earlier > 0 ? `${number(earlier)} earlier ones are not shown. Heads of branches and pinned checkpoints stay.` : "");
}

function makePoint(c) {
  return el("li", {}, svg("svg", { width: 18, "aria-hidden": "true" }), el("div", { class: "point" }),
    el("div", { class: "buttons" },
      el("button", { type: "button", class: "small", "data-act": "back", text: "Go back", click: () => goBack(c.id) }),
      el("button", { type: "button", class: "small", "data-act": "fork", text: "Fork", click: () => fork(c) })));
}

function renderBranches(branches) {
  show($("branches"), branches.length > 1);
  list($("branches"), branches, (b) => b.name, (b) => el("span", { class: "branch" },
    el("button", { type: "button", text: readable(b.name), click: () => attempt(() => call("POST", `${branchPath(b.name)}/checkout`, {}), `On branch ${readable(b.name)}.`) }),
    b.name === "main" ? null : el("button", { type: "button", class: "away", text: "×", "aria-label": `Delete branch ${b.name}`, click: () => removeBranch(b.name) })),
  (e, b) => {
    e.classList.toggle("current", b.current);
    const [go, away] = e.children;
    if (b.current) go.setAttribute("aria-current", "true");
    else go.removeAttribute("aria-current");
    go.setAttribute("aria-label", b.current ? `Branch ${b.name}, the current one` : `Switch to branch ${b.name}`);
    if (away) show(away, !b.current);
  });
}

const laneWidth = 12;
const mostLanes = 8;

// lanes puts each checkpoint, the latest first, on a lane, which goes on to its parent.
function lanes(points) {
  const rows = new Map();
  const open = []; // what each lane goes on to
  for (const c of points) {
    let at = open.indexOf(c.id);
    const top = at >= 0;
    if (!top) {
      at = open.indexOf(undefined);
      if (at < 0) at = open.length;
    }
    const through = [];
    const joins = [];
    open.forEach((id, i) => {
      if (i === at || id === undefined) return;
      if (id === c.id) {
        joins.push(i);
        open[i] = undefined;
      } else through.push(i);
    });
    open[at] = c.parent ?? undefined;
    rows.set(c.id, { at, top, down: c.parent !== null, through, joins, lanes: Math.min(mostLanes, open.length) });
  }
  const width = Math.max(1, ...[...rows.values()].map((r) => r.lanes)) * laneWidth + 6;
  for (const r of rows.values()) r.width = width;
  return rows;
}

// draw draws a row of the tree. A row is about as high as its text, so lines end in percent of it.
function draw(e, r, here) {
  const key = JSON.stringify([r, here]);
  if (e.shown === key) return;
  e.shown = key;
  e.setAttribute("width", r.width);
  e.parentElement.style.setProperty("--lanes", `${r.width + 8}px`);
  const x = (lane) => Math.min(lane, mostLanes - 1) * laneWidth + 9;
  const middle = 20;
  const vertical = (lane, from, to) => svg("line", { class: `lane lane-${lane % 5}`, x1: x(lane), x2: x(lane), y1: from, y2: to });
  const parts = r.through.map((lane) => vertical(lane, 0, "100%"));
  if (r.top) parts.push(vertical(r.at, 0, middle));
  if (r.down) parts.push(vertical(r.at, middle, "100%"));
  for (const lane of r.joins) parts.push(svg("path", { class: `lane lane-${lane % 5}`, d: `M${x(lane)} 0 C${x(lane)} ${middle} ${x(lane)} ${middle} ${x(r.at)} ${middle}` }));
  parts.push(svg("circle", { class: `dot lane-${r.at % 5}${here ? " head" : ""}`, cx: x(r.at), cy: middle, r: here ? 5.5 : 4 }));
  e.replaceChildren(...parts);
}
