package engine

import "time"

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
