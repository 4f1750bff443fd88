// What the page asks of the control plane it was served by.

import { askKey } from "./dialogs.js";

// The page lives at /__admin/ui, or at /__admin/ns/NAME/ui, below wherever the server is mounted.
const [, root, , named] = location.pathname.match(/^(.*\/__admin)(\/ns\/([^/]+))?\/ui\/?$/) ?? ["", "/__admin", "", ""];

export const provider = () => {
  const base = location.origin + root.slice(0, -"/__admin".length);
  return here.namespace === "" || here.namespace === here.standard ? base : `${base}/ns/${here.namespace}`;
};

// here is the namespace that the page shows; "" stands for the server's own.
export const here = {
  namespace: named ? decodeURIComponent(named) : new URLSearchParams(location.search).get("namespace") ?? "",
  standard: "",
};

const keyName = "hermesfake.admin-key";

export function headers() {
  const h = {};
  if (here.namespace !== "") h["x-mockingbird-namespace"] = here.namespace;
  const key = sessionStorage.getItem(keyName);
  if (key) h["x-mockingbird-admin-key"] = key;
  return h;
}

export const url = (path) => root + path;

// Problem is something that went wrong, in words.
export class Problem extends Error {}

const inWords = {
  403: "The control plane refuses this browser: the page must be opened under the server's own address.",
  413: "That is too large: the server takes 10 MB.",
  503: "The server is shutting down, or has too many pages open.",
};

// problemOf reads what an error reply says.
export function problemOf(status, text) {
  try {
    const message = JSON.parse(text).error?.message;
    if (typeof message === "string" && message !== "") return new Problem(message);
  } catch {
    // It is no JSON: the status has to do.
  }
  return new Problem(inWords[status] ?? `The server answered ${status}.`);
}

// fetched is fetch with the admin key, which is asked for when it is missing or wrong.
export async function fetched(path, options = {}) {
  for (;;) {
    const used = sessionStorage.getItem(keyName);
    let reply;
    try {
      reply = await fetch(url(path), { cache: "no-store", credentials: "omit", redirect: "error", ...options, headers: { ...headers(), ...options.headers } });
    } catch (e) {
      if (e.name === "AbortError") throw e;
      throw new Problem("The server does not answer. Is it still running?");
    }
    if (reply.status !== 401) return reply;
    await reply.body?.cancel();
    if (sessionStorage.getItem(keyName) === used) {
      sessionStorage.setItem(keyName, await askKey(used !== null));
    }
  }
}

// call sends a control, and returns what it answers. It throws a Problem.
export async function call(method, path, body) {
  const options = { method };
  if (body !== undefined) options.body = typeof body === "string" ? body : JSON.stringify(body);
  const reply = await fetched(path, options);
  const text = await reply.text();
  if (!reply.ok) throw problemOf(reply.status, text);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// send sends a request to the provider's routes, as the client would.
export async function send(method, path, body, extra = {}) {
  const told = await call("POST", "/ui/send", { method, path, body: body === undefined ? "" : JSON.stringify(body), ...extra });
  told.problem = told.lost || (told.status >= 400 ? problemOf(told.status, told.body).message : "");
  return told;
}

// What names of namespaces and branches may be.
export const validName = (name) => /^[A-Za-z0-9_.-]{1,64}$/.test(name);
export const nameRule = "A name has 1 to 64 letters, digits, underscores, dots or hyphens.";

export const runPath = (id) => `/hermes/runs/${encodeURIComponent(id)}`;
