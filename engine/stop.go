package engine

// Stop asks the run's executor to stop. A settled run is returned as it is; an
// active one is stopping until its executor settles it, in whatever way (vectors:
// lifecycle.json, stop-outcomes). accepted tells the two apart. It fails
// with RunNotFound or RunNotActive.
func (n *Namespace) Stop(id RunID) (run *Run, accepted bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w, now, err := n.begin()
	if err != nil {
		return nil, false, err
	}
	rec, err := n.find(w, id, now)
	if err != nil {
		return nil, false, err
	}
	switch {
	case rec.run.status.Terminal():
		n.commit(w)
		return rec.run, false, nil
	case !rec.run.active:
		n.commit(w)
		return nil, false, refuseRun(RunNotActive, id)
	}
	stopping := *rec
	w.update(&stopping, &update{status: Stopping, lastEvent: "run.stopping"}, now)
	w.put(id, &stopping)
	n.commit(w)
	n.dismiss(id, ErrStopRequested)
	n.transition(id)
	return stopping.run, true, nil
}
