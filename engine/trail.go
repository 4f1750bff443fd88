package engine

import "slices"

// Bounds of what a namespace keeps of emitted events.
const (
	maxTrails     = 50       // runs, those that emitted first fall out
	maxTrail      = 200      // events of a run, the latest
	maxTrailFrame = 64 << 10 // bytes of an event, the first
	maxTrailBytes = 8 << 20  // in all
)

// Trail is what a run has emitted lately, whether or not a subscriber has taken it. Trails are kept while an OnChange
// is on, or always with Config.KeepEvents; where none is, it is what waits in the run's queue. They are no part of the
// world, and end with Reset.
type Trail struct {
	Number uint64 // tells trails apart: one that had to make room for others begins anew
	Last   uint64 // counts the trail's events
	Frames []TrailFrame
}

// TrailFrame is one event.
type TrailFrame struct {
	Text []byte // "data: JSON" and a blank line, the first 64 KiB
	Size int    // of the whole, in bytes
}

// trail is a Trail as it grows.
type trail struct {
	number uint64
	last   uint64
	list   []TrailFrame
	gone   int // of list, at its beginning
}

func (t *trail) frames() []TrailFrame { return t.list[t.gone:] }

type trails struct {
	begun uint64
	bytes int
	of    map[RunID]*trail
	order []RunID // those of of, the oldest first
}

// Trail returns what the run has emitted lately, the oldest first. It fails with RunNotFound.
func (n *Namespace) Trail(id RunID) (Trail, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.look()
	rec := n.world.record(id)
	if rec == nil {
		return Trail{}, refuseRun(RunNotFound, id)
	}
	ts := &n.trails
	if !n.keeping() {
		ts = &trails{begun: n.trails.begun}
		n.trails.begun++
	}
	t := ts.find(id, rec.queue)
	return Trail{Number: t.number, Last: t.last, Frames: slices.Clone(t.frames())}, nil
}

func (n *Namespace) keeping() bool { return n.engine.config.KeepEvents || len(n.observers) > 0 }

// keepTrail keeps items that are about to be delivered.
func (n *Namespace) keepTrail(id RunID, q *queue, items []item) {
	if !n.keeping() {
		return
	}
	t := n.trails.find(id, q)
	for _, it := range items {
		if it.frame != nil {
			n.trails.add(t, it.frame)
		}
	}
	n.trails.shrink(t)
}

// dropTrails forgets all, but for how many there were.
func (n *Namespace) dropTrails() { n.trails = trails{begun: n.trails.begun} }

// find returns the run's trail, which begins with what is in its queue.
func (ts *trails) find(id RunID, q *queue) *trail {
	if t := ts.of[id]; t != nil {
		return t
	}
	if ts.of == nil {
		ts.of = map[RunID]*trail{}
	}
	ts.begun++
	t := &trail{number: ts.begun}
	ts.of[id] = t
	ts.order = append(ts.order, id)
	if q != nil {
		items := q.items()
		t.last = uint64(max(0, len(items)-maxTrail))
		for _, frame := range items[t.last:] {
			ts.add(t, frame)
		}
	}
	ts.shrink(t)
	return t
}

func (ts *trails) add(t *trail, frame []byte) {
	text := frame
	if len(text) > maxTrailFrame {
		text = slices.Clone(text[:maxTrailFrame])
	}
	if t.gone > maxTrail {
		kept := copy(t.list, t.frames())
		clear(t.list[kept:])
		t.list, t.gone = t.list[:kept], 0
	}
	t.last++
	t.list = append(t.list, TrailFrame{text, len(frame)})
	ts.bytes += len(text)
	if len(t.frames()) > maxTrail {
		ts.drop(t)
	}
}

// drop forgets the oldest event of a trail.
func (ts *trails) drop(t *trail) {
	ts.bytes -= len(t.list[t.gone].Text)
	t.list[t.gone] = TrailFrame{}
	t.gone++
}

// shrink makes room, first at the cost of other trails than the one in use.
func (ts *trails) shrink(used *trail) {
	for len(ts.order) > maxTrails || ts.bytes > maxTrailBytes {
		i := slices.IndexFunc(ts.order, func(id RunID) bool { return ts.of[id] != used })
		if i < 0 {
			ts.drop(used)
			continue
		}
		id := ts.order[i]
		for _, f := range ts.of[id].frames() {
			ts.bytes -= len(f.Text)
		}
		delete(ts.of, id)
		ts.order = slices.Delete(ts.order, i, i+1)
	}
}
