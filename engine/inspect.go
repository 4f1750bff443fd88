package engine

import (
	"slices"
	"time"
)

// Inspection is all that is known of a run. Looking changes nothing, and reads
// no row back.
type Inspection struct {
	Run         *Run // as in the cache, else as in the row
	Cached      bool
	Row         *Row        // nil: keyless, or pruned
	Queue       *QueueState // nil: the run has no event queue, or no longer
	Subscribers []Subscriber
	Pending     []Pending
	Decisions   []Decision
	Steers      []string
	Steering    SteerPolicy
}

// Row is the durable half of a keyed run.
type Row struct {
	Status    Status
	UpdatedAt time.Time // the row's own, which its retention counts from
}

// QueueState is what waits in a run's event queue for a subscriber.
type QueueState struct {
	Events int
	Bytes  int
	Closed bool // the end marker is among it
}

// Subscriber is one client in the line of a run's event queue.
type Subscriber struct {
	Waiting time.Duration // since its last item, keepalive or arrival
	Gone    bool          // its client has gone, which the gateway has not noticed yet
}

// Inspect returns all that is known of a run of any scope. The subscribers are
// in line order, the longest waiting first. It fails with RunNotFound.
func (n *Namespace) Inspect(id RunID) (Inspection, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.inspect(id, n.look())
}

func (n *Namespace) inspect(id RunID, now int64) (Inspection, error) {
	rec := n.world.record(id)
	if rec == nil {
		return Inspection{}, refuseRun(RunNotFound, id)
	}
	x := rec.execution.copy()
	in := Inspection{Run: rec.seen(), Cached: rec.run != nil,
		Pending: slices.Clone(x.pending), Decisions: slices.Clone(x.decisions),
		Steers: slices.Clone(x.steers), Steering: x.policy}
	if rec.row != nil {
		in.Row = &Row{Status: rec.row.run.status, UpdatedAt: time.Unix(0, rec.row.updated).UTC()}
	}
	if q := rec.queue; q != nil {
		in.Queue = &QueueState{Events: q.length, Bytes: q.bytes, Closed: q.closed}
	}
	if l := n.lines[id]; l != nil {
		for _, s := range l.waiting {
			in.Subscribers = append(in.Subscribers, Subscriber{time.Duration(now - s.since), s.gone})
		}
	}
	return in, nil
}

// InScope fails with RunNotFound where the scope of requests has no such run. Executors act in
// any scope; who acts for one by a request does not.
func (n *Namespace) InScope(id RunID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.look()
	if rec := n.world.record(id); rec == nil || !rec.observation().scope.same(n.scopeIn(n.world)) {
		return refuseRun(RunNotFound, id)
	}
	return nil
}
