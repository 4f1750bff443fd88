// The stream of updates: one per page that can be seen. It is fetched, not an EventSource, because
// that could not bring the admin key.

import { fetched, problemOf } from "./api.js";
import { problem } from "./dialogs.js";

let stop = null;
let wanted = "";

// follow opens the stream for a namespace and run, in place of the one before. onPart gets each part
// that changed, onState what became of the connection.
export function follow(run, onPart, onState) {
  wanted = run;
  stop?.abort();
  stop = null;
  if (document.hidden) return;
  const own = new AbortController();
  stop = own;
  keepUp(own.signal, run, onPart, onState);
}

// A page that nobody sees lets its connection go: a browser has few to one server.
export function pauseWhenHidden(onPart, onState) {
  document.addEventListener("visibilitychange", () => follow(wanted, onPart, onState));
}

async function keepUp(signal, run, onPart, onState) {
  for (let wait = 250; !signal.aborted; wait = Math.min(wait * 2, 5000)) {
    try {
      const query = run === "" ? "" : `?run=${encodeURIComponent(run)}`;
      const reply = await fetched(`/ui/updates${query}`, { signal });
      if (!reply.ok) {
        const why = problemOf(reply.status, await reply.text());
        if (reply.status < 500) problem(why.message);
        throw why;
      }
      onState("live");
      for await (const [name, data] of frames(reply.body)) {
        if (signal.aborted) return;
        onPart(name, data);
        wait = 125;
      }
      if (!signal.aborted) onState("lost", "The server ended the stream.");
    } catch (e) {
      if (signal.aborted) return;
      onState("lost", e.message);
      if (e.final) return problem(e.message);
    }
    await new Promise((done) => setTimeout(done, wait * (0.75 + Math.random() / 2)));
  }
}

async function* frames(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = [];
  let held = ""; // a newline whose second one may come with the next piece
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      let text = held + decoder.decode(value, { stream: true });
      held = text.endsWith("\n") && !text.endsWith("\n\n") ? "\n" : "";
      if (held) text = text.slice(0, -1);
      const parts = text.split("\n\n");
      rest.push(parts[0]);
      for (let i = 1; i < parts.length; i++) {
        const frame = rest.join("");
        rest = [parts[i]];
        const match = frame.match(/^event: (.*)\ndata: /);
        if (match) yield [match[1], JSON.parse(frame.slice(match[0].length))];
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
