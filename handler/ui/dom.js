// The page is built of nodes and their text, never of markup: what a test or a client wrote stays text.

export const $ = (id) => document.getElementById(id);

// el makes an element. Functions in props are listeners, other values attributes, but for class and text.
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") e.className = value;
    else if (name === "text") e.textContent = value;
    else if (typeof value === "function") e.addEventListener(name, value);
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

export function svg(tag, props = {}) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) e.setAttribute(name, value);
  return e;
}

// setText leaves a node alone that says so already, so that selections and screen readers are not disturbed.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

export function show(e, on) {
  if (e.hidden === on) e.hidden = !on;
}

// Characters that are not seen, or turn the text around them, are shown by their number.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export function readable(text) {
  return text.replace(unseen, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// piece shows a text of which the server has sent the beginning; whole opens the rest.
export function piece(p, whole) {
  const e = el("span", { class: p.json ? "value mono" : "value", text: readable(p.text) });
  if (!p.bytes) return e;
  e.append("…");
  const size = p.bytes > 0 ? `Show all ${bytes(p.bytes)}` : "Show all";
  return el("span", {}, e, whole ? el("button", { type: "button", class: "more", text: size, click: whole }) : null);
}

// list makes the children of a node those of the items: kept by their key, changed where they differ, in order.
export function list(parent, items, key, make, update) {
  const old = new Map();
  for (const child of parent.children) old.set(child.dataset.key, child);
  let at = parent.firstElementChild;
  for (const item of items) {
    const k = String(key(item));
    let child = old.get(k);
    if (child) {
      old.delete(k);
    } else {
      child = make(item);
      child.dataset.key = k;
    }
    update?.(child, item);
    if (child === at) {
      at = at.nextElementSibling;
    } else {
      parent.insertBefore(child, at);
    }
  }
  for (const child of old.values()) child.remove();
}

// rove lets the arrow keys move among the buttons of a list, of which the tab key finds one.
export function rove(parent, selector = "button") {
  const all = () => [...parent.querySelectorAll(selector)];
  parent.addEventListener("keydown", (e) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const buttons = all();
    const i = buttons.indexOf(document.activeElement);
    if (i < 0) return;
    e.preventDefault();
    buttons[Math.max(0, Math.min(buttons.length - 1, i + step))].focus();
  });
  parent.addEventListener("focusin", (e) => {
    for (const b of all()) b.tabIndex = b === e.target ? 0 : -1;
  });
  return () => {
    const buttons = all();
    if (buttons.some((b) => b === document.activeElement)) return;
    buttons.forEach((b, i) => (b.tabIndex = i === 0 ? 0 : -1));
  };
}

const thousands = new Intl.NumberFormat("en", { useGrouping: true });
export const number = (n) => thousands.format(n).replaceAll(",", "\u202f");

export function bytes(n) {
  if (n < 1000) return `${n} B`;
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)} kB`;
  return `${(n / 1e6).toFixed(1)} MB`;
}

export const count = (n, one, many = one + "s") => `${number(n)} ${n === 1 ? one : many}`;

const iso = (ms) => {
  const d = new Date(ms);
  return isNaN(d) ? "" : d.toISOString();
};
export const clockTime = (ms) => iso(ms).slice(11, 19);
export const clockMillis = (ms) => iso(ms).slice(11, 23);
export const clockDate = (ms) => iso(ms).slice(0, 10);

// span is a length of time in few characters.
export function span(ms) {
  const s = Math.abs(ms) / 1000;
  if (s < 1) return "now";
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h`;
  return `${number(Math.floor(s / 86400))} d`;
}

export const short = (id) => (id.length > 14 ? `${id.slice(0, 12)}…` : id);
