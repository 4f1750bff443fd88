package engine

import (
	"context"
	"errors"
	"time"
)

// Why the context of an executor ended, as context.Cause tells.
var (
	// ErrStopRequested: a client asked to stop the run.
	ErrStopRequested = errors.New("a stop of the run was requested")
	// ErrSettled: the run has settled.
	ErrSettled = errors.New("the run has settled")
	// ErrGatewayGone: the gateway process that ran it was restarted, reset, or taken to a checkpoint.
	ErrGatewayGone = errors.New("the gateway process was restarted")
)

// Executor is a goroutine that plays the agent of one run. The namespace knows
// it, so that a moved clock can wait until those that it woke have come to rest.
type Executor struct {
	ns     *Namespace
	run    RunID
	cancel context.CancelCauseFunc
	parked bool
	over   bool
	gone   bool // its gateway process is gone, and its run with it
}

// For returns a view of the namespace for what an executor does. It fails
// with RunNotFound once the executor's gateway process is gone: a run after a reset may have the same id.
func (n *Namespace) For(x *Executor) *Namespace {
	return &Namespace{state: n.state, who: n.who, acting: x}
}

// Execute registers an executor of the run. cancel is called when the run is to
// stop, was settled, or lost its gateway process. The executor must call Done in the end.
func (n *Namespace) Execute(id RunID, cancel context.CancelCauseFunc) *Executor {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.execute(id, n.world.record(id), cancel)
}

// ExecuteAdmitted is Execute of the run of an admission. Where a reset or a checkout came after it, a run of the same id is another one.
func (n *Namespace) ExecuteAdmitted(a Admission, cancel context.CancelCauseFunc) *Executor {
	n.mu.Lock()
	defer n.mu.Unlock()
	rec := n.world.record(a.Run.id)
	if a.era != n.era.Era {
		rec = nil
	}
	return n.execute(a.Run.id, rec, cancel)
}

// execute registers an executor of the run of a record, nil for one that is gone.
func (n *Namespace) execute(id RunID, rec *record, cancel context.CancelCauseFunc) *Executor {
	x := &Executor{ns: n, run: id, cancel: cancel}
	n.busy++
	switch {
	case n.closed:
		cancel(refuse(Closed))
	case rec == nil || rec.run == nil:
		x.gone = true
		cancel(ErrGatewayGone)
	case rec.run.status.Terminal():
		cancel(ErrSettled)
	default:
		n.executors[id] = append(n.executors[id], x)
		if rec.run.status == Stopping {
			cancel(ErrStopRequested)
		}
	}
	return x
}

// Done says that the executor acts no more.
func (x *Executor) Done() {
	n := x.ns
	n.mu.Lock()
	defer n.mu.Unlock()
	if x.over {
		return
	}
	x.over = true
	if !x.parked {
		n.rest()
	}
	for i, o := range n.executors[x.run] {
		if o == x {
			n.executors[x.run] = append(n.executors[x.run][:i:i], n.executors[x.run][i+1:]...)
			break
		}
	}
	if len(n.executors[x.run]) == 0 {
		delete(n.executors, x.run)
	}
}

func (x *Executor) park() {
	if x != nil && !x.parked && !x.over {
		x.parked = true
		x.ns.rest()
	}
}

func (x *Executor) unpark() {
	if x != nil && x.parked && !x.over {
		x.parked = false
		x.ns.busy++
	}
}

// rest counts one executor less as busy.
func (n *Namespace) rest() {
	n.busy--
	if n.busy == 0 && n.atRest != nil {
		close(n.atRest)
		n.atRest = nil
	}
}

// dismiss ends the contexts of the run's executors.
func (n *Namespace) dismiss(id RunID, why error) {
	for _, x := range n.executors[id] {
		x.gone = x.gone || why == ErrGatewayGone
		x.unpark() // it is busy from now on, not from when it comes to run
		x.cancel(why)
	}
}

func (n *Namespace) dismissAll(why error) {
	for id := range n.executors {
		n.dismiss(id, why)
	}
}

// patience is how long a moved clock waits, in real time, for an executor that
// does not come to rest, because it waits for something of its own.
const patience = time.Second

// awaitRest waits until no executor is busy, and reports whether that is so.
func (n *Namespace) awaitRest() bool {
	n.mu.Lock()
	if n.busy <= 0 || n.closed {
		n.mu.Unlock()
		return true
	}
	if n.atRest == nil {
		n.atRest = make(chan struct{})
	}
	atRest := n.atRest
	n.mu.Unlock()
	waitFor(context.Background(), atRest, true, patience)
	select {
	case <-atRest:
		return true
	default:
		return false
	}
}

// nextSleeper is the earliest moment that an executor sleeps for.
func (n *Namespace) nextSleeper() (until int64, ok bool) {
	for w, at := range n.sleepers {
		if w.executor != nil && (!ok || at < until) {
			until, ok = at, true
		}
	}
	return until, ok
}

// turnstile is a mutex whose waiters count as blocked in a testing/synctest
// bubble; it is held while executors come to rest.
type turnstile chan struct{}

func newTurnstile() turnstile { return make(turnstile, 1) }

func (t turnstile) enter() (leave func()) {
	t <- struct{}{}
	return func() { <-t }
}
