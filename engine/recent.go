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
	known = w.records.Len()
	take := func(rec *record) {
		if rec != nil && rec.observation().scope.same(scope) {
			runs = append(runs, Listed{rec.seen(), rec.run != nil, rec.row != nil})
		}
	}
	last := earlier + w.admitted
	if before == 0 || before > last {
		before = last + 1
	}
	// The latest admissions are found by their ids, unless most of them are forgotten.
	for tries := 4 * limit; before > earlier+1 && tries > 0 && len(runs) < limit; tries-- {
		before--
		take(w.record(mint(n.engine.config.Seed, n.name, before)))
	}
	if len(runs) == limit || before <= 1 {
		return runs, known
	}
	found := runs
	runs = nil
	for it := w.records.Iterator(); !it.Done(); {
		if _, rec, _ := it.Next(); rec.observation().number < before {
			take(rec)
		}
	}
	slices.SortFunc(runs, func(a, b Listed) int { return cmp.Compare(b.Run.number, a.Run.number) })
	runs = append(found, runs[:min(len(runs), limit-len(found))]...)
	return runs, known
}
