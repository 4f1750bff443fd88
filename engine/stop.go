package engine

// Stop asks the run's executor to stop. A settled run is returned as it is; an
// active one is stopping until its executor settles it, in whatever way (vectors:
// lifecycle.json, stop-outcomes). accepted tells the two apart. It fails
// with RunNotFound, RunNotActive or StorageFailed.
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
	if !rec.run.active {
		if err := n.commit(w, id); err != nil {
			return nil, false, err
		}
		if !rec.run.status.Terminal() {
			return nil, false, refuseRun(RunNotActive, id)
		}
		return rec.run, false, nil
	}
	stopping := *rec
	w.update(&stopping, &update{status: Stopping, lastEvent: "run.stopping"}, now)
	w.put(id, &stopping)
	if err := n.commit(w, id); err != nil {
		return nil, false, err
	}
	n.accepted(now)
	n.dismiss(id, ErrStopRequested)
	n.transition(id)
	return stopping.run, true, nil
}
