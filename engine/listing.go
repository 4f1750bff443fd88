package engine

import (
	"slices"
	"time"
)

// Admitted returns the numbered admission since the first use or the last reset, counted from
// 1 on, as it was last observed, and whether the cache or a row still knows it. last is the number
// of the latest admission.
func (n *Namespace) Admitted(number uint64) (run *Run, last uint64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.look()
	if rec := n.world.record(mint(n.engine.config.Seed, n.name, n.before+number)); rec != nil {
		run, ok = rec.seen(), true
	}
	return run, n.world.admitted, ok
}

// Latest returns all that is known of the latest runs of every scope, at most limit of them, in order of
// admission, and how many runs there are in all. It reads no row back.
func (n *Namespace) Latest(limit int) (latest []Inspection, total int) {
	n.mu.Lock()
	n.look()
	records := n.world.records
	n.mu.Unlock()
	// The records come in no order, so few of many are ever among the latest.
	runs := make([]*Run, 0, min(limit, records.Len()))
	for it := records.Iterator(); !it.Done(); {
		_, rec, _ := it.Next()
		run := rec.observation()
		if len(runs) == limit {
			if limit == 0 || run.number < runs[0].number {
				continue
			}
			runs = slices.Delete(runs, 0, 1)
		}
		at, _ := slices.BinarySearchFunc(runs, run.number, func(r *Run, number uint64) int {
			if r.number < number {
				return -1
			}
			return 1
		})
		runs = slices.Insert(runs, at, run)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.world.clock.now()
	for _, run := range runs {
		if in, err := n.inspect(run.id, now); err == nil {
			latest = append(latest, in)
		}
	}
	return latest, max(records.Len(), len(latest))
}

// NextSweep is when the next sweep falls due, on the namespace's clock.
func (n *Namespace) NextSweep() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.look()
	return time.Unix(0, n.world.nextSweep).UTC()
}

// LastRestart is what the last Restart said of the owners of unfinished rows; false if there was none, and each
// row's own owner decides.
func (n *Namespace) LastRestart() (Owner, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch n.world.owners {
	case ownersStale:
		return OwnerStale, true
	case ownersAlive:
		return OwnerAlive, true
	}
	return OwnerStale, false
}
