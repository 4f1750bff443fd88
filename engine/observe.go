package engine

import "github.com/hermesfake/hermesfake/canon"

// Observation is the executor's next report of a run's state. Members that do not belong to the
// status are ignored.
type Observation struct {
	Status       Status
	LastEvent    string       // default: run.STATUS when terminal or stopping, approval.request when waiting
	Output       string       // completed
	Usage        Usage        // completed
	PendingSteer *string      // completed
	Err          *string      // failed, interrupted; default: the provider's text
	Approval     canon.Object // waiting: also queued as pending, and streamed
}

// failedError is the error member of a failed run whose executor gave none.
const failedError = "agent run failed"

func (o *Observation) update() *update {
	u := &update{status: o.Status, lastEvent: o.LastEvent}
	if u.lastEvent == "" {
		switch {
		case o.Status == WaitingForApproval:
			u.lastEvent = approvalRequest
		case o.Status == Stopping || o.Status.Terminal():
			u.lastEvent = "run." + o.Status.String()
		}
	}
	switch o.Status {
	case Completed:
		u.output, u.pendingSteer, u.usage = &o.Output, o.PendingSteer, &noUsage
		if o.Usage != noUsage {
			u.usage = &o.Usage
		}
	case Failed, Interrupted:
		u.err = o.Err
		if u.err == nil {
			reason := failedError
			if o.Status == Interrupted {
				reason = restartError
			}
			u.err = &reason
		}
	}
	return u
}

// terminalFrame renders the event that ends a run's stream. The provider has none for interrupted.
func (o *Observation) terminalFrame(u *update, id RunID, now int64) []byte {
	var members canon.Object
	switch o.Status {
	case Completed:
		members = canon.Object{
			{Name: "output", Value: canon.String(*u.output)},
			{Name: "usage", Value: u.usage.value()},
		}
		if u.pendingSteer != nil {
			members = append(members, canon.Member{Name: "pending_steer", Value: canon.String(*u.pendingSteer)})
		}
	case Failed:
		members = canon.Object{{Name: "error", Value: canon.String(*u.err)}}
	case Cancelled:
	default:
		return nil
	}
	return eventFrame("run."+o.Status.String(), id, now, members)
}

// Observe reports the next state of a run, as its executor or, for a run that
// another gateway owns, as that one would. It fails with RunNotFound, RunSettled, QueueFull or StorageFailed.
func (n *Namespace) Observe(id RunID, o Observation) (*Run, error) {
	if completing := n.engine.config.Completing; completing != nil && o.Status == Completed {
		return n.completing(id, o, completing)
	}
	rec, err := n.observe(id, o)
	if err != nil {
		return nil, err
	}
	return rec.run, nil
}

// completing is Observe of a completion that something stands before.
func (n *Namespace) completing(id RunID, o Observation, before func(*Namespace, RunID, string, func() error) error) (*Run, error) {
	var rec *record
	err := before(n, id, o.Output, func() (err error) {
		rec, err = n.observe(id, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rec.run, nil
}

// Executor is the one whose view this is, nil if it is no executor's.
func (n *Namespace) Executor() *Executor { return n.acting }

// Ask is Observe of a run that waits for the approval. It returns the approval's
// number, which its Decision will have; it fails with RunForeign too.
func (n *Namespace) Ask(id RunID, approval canon.Object) (number uint64, err error) {
	if approval == nil {
		approval = canon.Object{}
	}
	n.mu.Lock()
	_, err = n.executing(id)
	n.mu.Unlock()
	if err != nil {
		return 0, err
	}
	rec, err := n.observe(id, Observation{Status: WaitingForApproval, Approval: approval})
	if err != nil {
		return 0, err
	}
	if rec.execution == nil { // its gateway process went in between
		return 0, refuseRun(RunForeign, id)
	}
	return rec.execution.asks, nil
}

func (n *Namespace) observe(id RunID, o Observation) (*record, error) {
	if o.Status > Interrupted {
		return nil, refuse(StatusInvalid)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	w, now, err := n.begin()
	if err != nil {
		return nil, err
	}
	rec := w.record(id)
	if rec == nil {
		return nil, refuseRun(RunNotFound, id)
	}
	rec = n.cachedRecord(w, id, rec, now)
	if rec.run.status.Terminal() {
		if err := n.commit(w, id); err != nil {
			return nil, err
		}
		return nil, refuse(RunSettled)
	}
	next := *rec
	u := o.update()
	var items []item
	if o.Status == WaitingForApproval && o.Approval != nil {
		event := approvalEvent(o.Approval, id, now)
		u.approval = event
		items = []item{{objectFrame(event)}}
		if err := n.room(id, rec, len(items[0].frame)); err != nil {
			return nil, err
		}
		if rec.run.active {
			next.execution = next.execution.asked(event, now)
		}
	}
	if o.Status.Terminal() {
		if frame := o.terminalFrame(u, id, now); frame != nil {
			items = append(items, item{frame})
		}
		items = append(items, item{})
		next.execution = next.execution.settled()
	}
	w.update(&next, u, now)
	w.put(id, &next)
	if err := n.commit(w, id); err != nil {
		return nil, err
	}
	if len(items) > 0 {
		n.deliver(id, now, items...)
	}
	n.accepted(now)
	if o.Status.Terminal() {
		n.dismiss(id, ErrSettled)
	}
	n.transition(id)
	return &next, nil
}
