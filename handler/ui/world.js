// What the page knows of its namespace, as the stream of updates tells it.

export const world = {
  namespaces: null,
  clock: null,
  clockAt: 0, // performance.now() of when the clock was told
  gateway: null,
  runs: new Map(), // the latest, by id
  older: new Map(), // those that were asked for
  known: 0,
  chosen: "", // the id of the run that is looked at
  run: null,
  trail: 0,
  events: [],
  entries: [], // of the journal, the latest last
  dropped: 0,
  faults: null,
  timeline: null,
  input: null, // supplied input; null where there was none yet
};

const keptEvents = 200;
const keptEntries = 300;

// now is the time on the namespace's clock.
export function now() {
  if (!world.clock) return Date.now();
  return world.clock.frozen ? world.clock.now : world.clock.now + performance.now() - world.clockAt;
}

// forget is for another namespace: nothing is known of it yet.
export function forget() {
  Object.assign(world, { clock: null, gateway: null, runs: new Map(), older: new Map(), known: 0, run: null,
    trail: 0, events: [], entries: [], dropped: 0, faults: null, timeline: null, input: null });
}

const take = {
  namespaces: (v) => (world.namespaces = v),
  clock: (v) => Object.assign(world, { clock: v, clockAt: performance.now() }),
  gateway: (v) => (world.gateway = v),
  faults: (v) => (world.faults = v),
  timeline: (v) => (world.timeline = v),
  input: (v) => (world.input = v),
  run: (v) => {
    // What is no id of a run is told by its beginning.
    if (v.missing ? world.chosen.startsWith(v.id) : v.id === world.chosen) world.run = v;
  },
  runs: (v) => {
    if (v.first) world.runs.clear();
    for (const id of v.gone) {
      const line = world.runs.get(id);
      world.runs.delete(id);
      // It fell out of the latest ones, and belongs to those that were asked for; if it was forgotten, a reload shows it.
      if (line && world.older.size > 0 && v.changed.length > 0) world.older.set(id, line);
    }
    for (const line of v.changed) {
      world.runs.set(line.id, line);
      world.older.delete(line.id);
    }
    world.known = v.known;
    if (world.known <= world.runs.size) world.older.clear();
  },
  events: (v) => {
    if (v.run !== world.chosen) return;
    if (v.trail !== world.trail) world.events = [];
    world.trail = v.trail;
    world.events.push(...v.events);
    world.events.splice(0, world.events.length - keptEvents);
    world.last = v.last;
  },
  journal: (v) => {
    if (v.first) world.entries = [];
    const from = v.last - v.entries.length;
    v.entries.forEach((e, i) => (e.n = from + i + 1));
    world.entries.push(...v.entries);
    world.entries.splice(0, world.entries.length - keptEntries);
    world.dropped = v.dropped;
  },
};

// receive takes a part of the stream, and returns whether the page knows it.
export function receive(name, value) {
  take[name]?.(value);
  return name in take;
}

export const line = (id) => world.runs.get(id) ?? world.older.get(id);

// lines are the runs, the latest first.
export function lines() {
  const all = [...world.runs.values(), ...world.older.values()];
  return all.sort((a, b) => b.number - a.number);
}

export const terminal = (status) => ["completed", "failed", "cancelled", "interrupted"].includes(status);
