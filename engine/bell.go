package engine

import (
	"context"
	"math"
	"time"
)

// bell wakes who waits for something to change. It is guarded by its namespace's mutex.
type bell struct {
	waiters map[*waiter]struct{}
}

// waiter is one goroutine that waits.
type waiter struct {
	rung     chan struct{}
	executor *Executor // who waits, nil for others than executors
	timed    bool      // it waits for a running clock, too
	left     time.Duration
}

func (b *bell) add(w *waiter) {
	if b.waiters == nil {
		b.waiters = map[*waiter]struct{}{}
	}
	b.waiters[w] = struct{}{}
}

func (b *bell) ring() {
	for w := range b.waiters {
		w.wake()
	}
	b.waiters = nil
}

// wake counts an executor as busy from this moment on, not from when its
// goroutine comes to run.
func (w *waiter) wake() {
	w.executor.unpark()
	close(w.rung)
}

// wait waits for b to ring, for the moment until on the namespace's clock (0: for ever), or
// for the context's end, whose error it returns. ready is asked before each wait; true, or an
// error, ends it. An executor counts as at rest meanwhile.
func (n *Namespace) wait(ctx context.Context, x *Executor, b func() *bell, until int64, ready func() (bool, error)) error {
	for {
		w, on, err := n.enlist(x, b, until, ready)
		if w == nil {
			return err
		}
		err = waitFor(ctx, w.rung, w.timed, w.left)
		n.discharge(w, on)
		if err != nil {
			return err
		}
	}
}

// enlist registers a waiter, unless ready says that there is nothing to wait
// for. ready may be a stranger's, and panic.
func (n *Namespace) enlist(x *Executor, b func() *bell, until int64, ready func() (bool, error)) (*waiter, *bell, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, nil, refuse(Closed)
	}
	n.runDue(n.world.clock.now())
	if done, err := ready(); done || err != nil {
		return nil, nil, err
	}
	w := &waiter{rung: make(chan struct{}), executor: x}
	on := b()
	on.add(w)
	if until != 0 {
		w.timed = !n.world.clock.frozen
		w.left = time.Duration(until - n.world.clock.now())
		n.sleepers[w] = until
	}
	x.park()
	return w, on, nil
}

func (n *Namespace) discharge(w *waiter, from *bell) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, still := from.waiters[w]; still {
		delete(from.waiters, w)
		w.executor.unpark()
	}
	delete(n.sleepers, w)
}

// Sleep waits for d on the namespace's clock: a frozen one must be moved. It
// returns early with the context's error, or Closed. x is the executor that sleeps, nil for
// another sleeper.
func (n *Namespace) Sleep(ctx context.Context, x *Executor, d time.Duration) error {
	now := n.Now().UnixNano()
	until := now + min(int64(max(0, d)), math.MaxInt64-now)
	return n.wait(ctx, x, func() *bell { return &n.clockMoves }, until, func() (bool, error) {
		return n.world.clock.now() >= until, nil
	})
}

// AwaitRun waits until ready says so of the run, which is looked at after each
// of its transitions. It returns ready's error, the context's, Closed, or RunNotFound when the run is
// forgotten.
func (n *Namespace) AwaitRun(ctx context.Context, x *Executor, id RunID, ready func(Inspection) (bool, error)) error {
	bellOf := func() *bell {
		b := n.transitions[id]
		if b == nil {
			b = &bell{}
			n.transitions[id] = b
		}
		return b
	}
	defer n.forgetTransitions(id)
	return n.wait(ctx, x, bellOf, 0, func() (bool, error) {
		in, err := n.inspect(id, n.world.clock.now())
		if err != nil {
			return false, err
		}
		return ready(in)
	})
}

// forgetTransitions drops the run's bell when nobody waits for it.
func (n *Namespace) forgetTransitions(id RunID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if b := n.transitions[id]; b != nil && len(b.waiters) == 0 {
		delete(n.transitions, id)
	}
}

// Admissions counts the admissions of a namespace since the first use or the last reset. A checkout takes the count to what
// it was at the checkpoint.
type Admissions struct {
	Last uint64 // the number of the latest one
	Era  uint64 // counts resets and checkouts
	From uint64 // what Last was when the era began
}

// began begins an era in which so many admissions were made before.
func (n *Namespace) began(from uint64) {
	n.era.Era++
	n.era.From = from
}

// AwaitAdmission waits until ready says so of the number of admissions. ready is never called twice at once. It
// returns the context's error, or Closed.
func (n *Namespace) AwaitAdmission(ctx context.Context, ready func(Admissions) bool) error {
	return n.wait(ctx, nil, func() *bell { return &n.admissions }, 0, func() (bool, error) {
		return ready(Admissions{n.world.admitted, n.era.Era, n.era.From}), nil
	})
}

// AwaitNotice waits until ready says so, which is asked again after each Notify. It returns the
// context's error, or Closed.
func (n *Namespace) AwaitNotice(ctx context.Context, ready func() bool) error {
	n.attentive.Add(1)
	defer n.attentive.Add(-1)
	return n.wait(ctx, nil, func() *bell { return &n.notices }, 0, func() (bool, error) { return ready(), nil })
}

// Notify says that something beside the world has changed, which AwaitNotice may wait for. It costs
// next to nothing where nobody does.
func (n *Namespace) Notify() {
	if n.attentive.Load() == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notices.ring()
}

// transition wakes who waits for a change of the run.
func (n *Namespace) transition(id RunID) {
	if b := n.transitions[id]; b != nil {
		b.ring()
		delete(n.transitions, id)
	}
}

// upheaval wakes everyone.
func (n *Namespace) upheaval() {
	n.clockMoves.ring()
	n.admissions.ring()
	n.notices.ring()
	for _, b := range n.transitions {
		b.ring()
	}
	clear(n.transitions)
}
