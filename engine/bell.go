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
		n.mu.Lock()
		if n.closed {
			n.mu.Unlock()
			return refuse(Closed)
		}
		n.runDue(n.world.clock.now())
		done, err := ready()
		if done || err != nil {
			n.mu.Unlock()
			return err
		}
		w := &waiter{rung: make(chan struct{}), executor: x}
		on := b()
		on.add(w)
		timed := until != 0 && !n.world.clock.frozen
		left := time.Duration(until - n.world.clock.now())
		if until != 0 {
			n.sleepers[w] = until
		}
		x.park()
		n.mu.Unlock()
		err = waitFor(ctx, w.rung, timed, left)
		n.mu.Lock()
		if _, still := on.waiters[w]; still {
			delete(on.waiters, w)
			x.unpark()
		}
		delete(n.sleepers, w)
		n.mu.Unlock()
		if err != nil {
			return err
		}
	}
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

// AwaitAdmission waits until ready says so of the number of admissions since
// the first use or the last reset. ready is never called twice at once. It
// returns the context's error, or Closed.
func (n *Namespace) AwaitAdmission(ctx context.Context, ready func(last uint64) bool) error {
	return n.wait(ctx, nil, func() *bell { return &n.admissions }, 0, func() (bool, error) {
		return ready(n.world.admitted), nil
	})
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
	for _, b := range n.transitions {
		b.ring()
	}
	clear(n.transitions)
}
