package engine

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
