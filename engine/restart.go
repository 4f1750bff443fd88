package engine

import (
	"github.com/benbjohnson/immutable"
)

// Owner says what became of the gateway process that ran before a restart.
type Owner uint8

const (
	// OwnerStale: the process is gone, and its unfinished runs with it.
	OwnerStale Owner = iota
	// OwnerAlive: the process lives on elsewhere and still owns its runs.
	OwnerAlive
)

// String returns "stale" or "alive".
func (o Owner) String() string {
	if o == OwnerAlive {
		return "alive"
	}
	return "stale"
}

// restartError is the error member of a run that a restart interrupted.
const restartError = "The gateway restarted before this run settled."

// find returns the record of a run of the scope for a poll, replay, stop,
// approval or steer, and reads its row back if the cache has lost it (vectors:
// restart.json, restart-stale). It fails with RunNotFound.
func (n *Namespace) find(w *world, id RunID, now int64) (*record, error) {
	rec := w.record(id)
	if rec == nil || !rec.observation().scope.same(n.scopeIn(w)) {
		return nil, refuseRun(RunNotFound, id)
	}
	return n.cachedRecord(w, id, rec, now), nil
}

// cachedRecord returns rec with its run in the cache.
func (n *Namespace) cachedRecord(w *world, id RunID, rec *record, now int64) *record {
	if rec.run != nil {
		return rec
	}
	back := *rec
	run := rec.row.run.readBack()
	if !run.status.Terminal() && !n.ownerAlive(w, rec.row) {
		reason := restartError
		run = run.after(&update{status: Interrupted, err: &reason, lastEvent: "run.interrupted",
			approval: run.approval}, now)
		w.write(&back, run, now)
	}
	w.cache(&back, run)
	w.put(id, &back)
	return &back
}

// Restart replaces the gateway process: cache, event queues and approval
// sessions are lost, durable rows stay, and open event streams break. owner
// decides for every row, whenever its run was admitted. It returns how many runs
// kept a row and how many had none.
func (n *Namespace) Restart(owner Owner) (retained, discarded int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w, now, err := n.begin()
	if err != nil {
		return 0, 0, err
	}
	n.breakStreams(ErrStreamLost)
	discarded = w.records.Len() - w.durable
	kept := immutable.NewMapBuilder[RunID, *record](idHasher{})
	for it := w.records.Iterator(); !it.Done(); {
		id, rec, _ := it.Next()
		if rec.row != nil {
			kept.Set(id, &record{row: rec.row})
		}
	}
	w.records = kept.Map()
	w.settled, w.queues = nil, nil
	w.cached, w.active = 0, 0
	w.owners = ownersStale
	if owner == OwnerAlive {
		w.owners = ownersAlive
	}
	w.nextSweep = now + int64(sweepInterval)
	n.world = w
	n.accepted(now)
	n.dismissAll(ErrGatewayGone)
	n.upheaval()
	return w.durable, discarded, nil
}
