// What the page says and asks.

import { $, bytes, el, readable, setText, show } from "./dom.js";

let fading = 0;

// notice says briefly what was done.
export function notice(text) {
  show($("problem"), false);
  const e = $("notice");
  e.textContent = text;
  e.classList.remove("gone");
  clearTimeout(fading);
  fading = setTimeout(() => {
    e.classList.add("gone");
    fading = setTimeout(() => setText(e, ""), 300);
  }, 3500);
}

// problem says what went wrong, until it is dismissed.
export function problem(text) {
  setText($("notice"), "");
  setText($("problem-text"), readable(text.length > 2000 ? `${text.slice(0, 2000)}…` : text));
  show($("problem"), true);
}

// attempt does something, and says how it went.
export async function attempt(act, done) {
  try {
    const result = await act();
    if (done) notice(typeof done === "function" ? done(result) : done);
    return result;
  } catch (e) {
    if (e.name !== "AbortError") problem(e.message);
    return undefined;
  }
}

let asking = null;

// askKey asks for the admin key, once for all who wait for it.
export function askKey(wrong) {
  asking ??= new Promise((done, fail) => {
    const dialog = $("key-dialog");
    setText($("key-why"), wrong
      ? "That is not the key. The server was started with --admin-key, or HERMESFAKE_ADMIN_KEY."
      : "This server's control plane needs its admin key. It is kept in this tab until you close it.");
    $("key").value = "";
    dialog.addEventListener("cancel", () => ($("key").value = ""), { once: true });
    const form = dialog.querySelector("form");
    const answered = (e) => {
      e.preventDefault();
      if ($("key").value !== "") dialog.close();
    };
    form.addEventListener("submit", answered);
    dialog.addEventListener("close", () => {
      const key = $("key").value;
      $("key").value = "";
      form.removeEventListener("submit", answered);
      asking = null;
      if (key !== "") return done(key);
      fail(Object.assign(new Error("Without the admin key this page can show nothing. Reload it to give the key."), { final: true }));
    }, { once: true });
    dialog.showModal();
    $("key").focus();
  });
  return asking;
}

// ask asks for a yes, or for a text where label is given. It returns null for no.
export function ask({ title, why, yes, label = "", value = "", danger = false }) {
  const dialog = $("ask-dialog");
  setText($("ask-title"), title);
  setText($("ask-why"), why);
  setText($("ask-yes"), yes);
  $("ask-yes").className = danger ? "danger" : "primary";
  show($("ask-field"), label !== "");
  setText($("ask-label"), label);
  $("ask-value").value = value;
  return new Promise((done) => {
    dialog.returnValue = "";
    dialog.addEventListener("close", () => done(dialog.returnValue === "yes" ? $("ask-value").value : null), { once: true });
    dialog.showModal();
  });
}

const part = 64 << 10; // characters that are added to the dialog at a time

// showText shows a text of any length, part by part.
export async function showText(title, load) {
  const text = await attempt(load);
  if (text === undefined) return;
  setText($("text-title"), title);
  setText($("text-size"), bytes(new Blob([text]).size));
  const box = $("text");
  box.textContent = "";
  let shown = 0;
  const more = () => {
    box.append(el("span", { text: readable(text.slice(shown, shown + part)) }));
    shown += part;
    show($("text-more"), shown < text.length);
  };
  more();
  $("text-more").onclick = more;
  $("text-copy").onclick = () => copy(text, "Copied.");
  $("text-dialog").showModal();
  box.scrollTop = 0;
}

export async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    notice(said);
  } catch {
    problem("The browser does not let this page write to the clipboard. Select the text and copy it.");
  }
}

export function setupDialogs() {
  $("problem-close").addEventListener("click", () => show($("problem"), false));
  $("ask-dialog").querySelector("form").addEventListener("submit", (e) => {
    e.preventDefault();
    $("ask-dialog").close("yes");
  });
  $("ask-no").addEventListener("click", () => $("ask-dialog").close(""));
  $("text-close").addEventListener("click", () => $("text-dialog").close());
  $("text-dialog").addEventListener("close", () => $("text").replaceChildren());
  $("help-close").addEventListener("click", () => $("help-dialog").close());
  $("help").addEventListener("click", () => $("help-dialog").showModal());
}
