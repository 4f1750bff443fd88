package engine

import (
	"cmp"
	"slices"
)

// Listed is a run in a listing.
type Listed struct {
	Run    *Run // as in the cache, else as in the row
	Cached bool
	Keyed  bool // it has a row
}

// Recent returns the runs of the scope that were admitted before the numbered one, 0 for all, the latest
// first and at most limit; and how many runs are known, those of other scopes included. It reads no row back.
func (n *Namespace) Recent(before uint64, limit int) (runs []Listed, known int) {
	n.mu.Lock()
	n.look()
	w, earlier := n.world, n.before
	n.mu.Unlock()
	scope := n.scopeIn(w)
	for _, rec := range n.latest(w, earlier, before, limit, func(rec *record) bool { return rec.observation().scope.same(scope) }) {
		runs = append(runs, Listed{rec.seen(), rec.run != nil, rec.row != nil})
	}
	return runs, w.records.Len()
}

// Latest returns all that is known of the latest runs of every scope, at most limit of them, in order of
// admission, and how many runs there are in all. It reads no row back.
func (n *Namespace) Latest(limit int) (latest []Inspection, total int) {
	n.mu.Lock()
	n.look()
	w, earlier := n.world, n.before
	n.mu.Unlock()
	records := n.latest(w, earlier, 0, limit, func(*record) bool { return true })
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.world.clock.now()
	for _, rec := range slices.Backward(records) {
		if in, err := n.inspect(rec.observation().id, now); err == nil {
			latest = append(latest, in)
		}
	}
	return latest, max(w.records.Len(), len(latest))
}

// latest returns the records of a world that were admitted before the numbered one, 0 for all, and that are
// wanted, the latest first and at most limit. earlier is the namespace's before at the time of the world.
func (n *Namespace) latest(w *world, earlier, before uint64, limit int, wanted func(*record) bool) (records []*record) {
	take := func(rec *record) {
		if rec != nil && wanted(rec) {
			records = append(records, rec)
		}
	}
	last := earlier + w.admitted
	if before == 0 || before > last {
		before = last + 1
	}
	// The latest admissions are found by their ids, unless most of them are forgotten.
	for tries := 4 * limit; before > earlier+1 && tries > 0 && len(records) < limit; tries-- {
		before--
		take(w.record(mint(n.engine.config.Seed, n.name, before)))
	}
	if len(records) == limit || before <= 1 {
		return records
	}
	found := records
	records = nil
	for it := w.records.Iterator(); !it.Done(); {
		if _, rec, _ := it.Next(); rec.observation().number < before {
			take(rec)
		}
	}
	slices.SortFunc(records, func(a, b *record) int { return cmp.Compare(b.observation().number, a.observation().number) })
	return append(found, records[:min(len(records), limit-len(found))]...)
}
