package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Namespace is an isolated world with its own clock. Its methods may be called
// from any goroutine; each is one step, and runs what fell due before it.
type Namespace struct {
	*state
	who    *Scope    // whose view this is; nil: the engine's own
	acting *Executor // whose view this is; nil: no executor's

	recording bool
	recorded  CheckpointID
}

// state is what the views of a namespace share.
type state struct {
	engine *Engine
	name   string

	moving turnstile // held by who moves the clock

	mu       sync.Mutex
	world    *world
	timeline *timeline
	keys     map[keyHash]RunID // finds the world's rows; follows from the world
	storage  *storage          // nil: the rows end with the process
	before   uint64            // ids that were used, or reserved, by earlier processes
	lines    map[RunID]*line
	streams  map[*Subscription]struct{}
	alarms   alarms
	turns    uint64

	clockMoves  bell
	admissions  bell
	notices     bell
	attentive   atomic.Int32 // who wait for a notice
	transitions map[RunID]*bell
	sleepers    map[*waiter]int64 // until when
	executors   map[RunID][]*Executor
	busy        int // executors not at rest
	atRest      chan struct{}

	observers map[*chan<- struct{}]struct{}
	trails    trails

	era      Admissions // Last is not used
	closed   bool
	unloaded error // why the rows could not be read: every operation's error
}

func newNamespace(e *Engine, name string, c clock) *Namespace {
	return &Namespace{state: &state{
		engine:   e,
		moving:   newTurnstile(),
		name:     name,
		world:    newWorld(c, e.config.Gateway, c.now()),
		timeline: newTimeline(e.config.Checkpoints),
		keys:     map[keyHash]RunID{},
		lines:    map[RunID]*line{},
		streams:  map[*Subscription]struct{}{},

		transitions: map[RunID]*bell{},
		sleepers:    map[*waiter]int64{},
		executors:   map[RunID][]*Executor{},
	}}
}

// As returns a view of the namespace for the requests of a scope, as a profile has one of its own. SetScope
// overrides it for all views.
func (n *Namespace) As(s *Scope) *Namespace {
	return &Namespace{state: n.state, who: s, acting: n.acting}
}

// scopeIn is whose requests the view's are, in the given world.
func (n *Namespace) scopeIn(w *world) *Scope {
	switch {
	case w.scope != nil:
		return w.scope
	case n.who != nil:
		return n.who
	}
	return n.engine.scope
}

// Name is the namespace's name.
func (n *Namespace) Name() string { return n.name }

// begin runs what fell due and returns a copy of the world for a command to
// change, and the time. A command ends with commit, or leaves all as it was.
func (n *Namespace) begin() (*world, int64, error) {
	now, err := n.settle()
	next := *n.world
	return &next, now, err
}

// settle runs what fell due up to now and returns now.
func (n *Namespace) settle() (int64, error) {
	if n.closed {
		return 0, refuse(Closed)
	}
	if n.acting != nil && n.acting.gone {
		return 0, refuseRun(RunNotFound, n.acting.run)
	}
	if n.unloaded != nil {
		return 0, n.unloaded
	}
	now := n.world.clock.now()
	n.runDue(now)
	n.changed()
	return now, nil
}

// look is settle for who only looks: what was known stays to be seen after Close.
func (n *Namespace) look() (now int64) {
	now = n.world.clock.now()
	if !n.closed {
		n.runDue(now)
	}
	return now
}

// commit makes w the world, in which the rows of the given runs may have changed. If they cannot be stored it fails
// with StorageFailed, and nothing has changed.
func (n *Namespace) commit(w *world, ids ...RunID) error {
	if n.storage != nil {
		if err := n.storage.save(n.world, w, n.before+w.admitted, ids); err != nil {
			return err
		}
	}
	n.world = w
	return nil
}

// Clock returns the namespace's clock.
func (n *Namespace) Clock() ClockState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.world.clock.state()
}

// ChangeClock moves the namespace's clock. What falls due on the way happens
// at its own instant; executors that sleep until then act before the clock moves on, as far as they
// come to rest. On an error, which wraps ErrClock, the clock has not moved.
func (n *Namespace) ChangeClock(by ClockChange) (ClockState, error) {
	defer n.moving.enter()()
	if err := n.tryClock(by); err != nil {
		return n.Clock(), err
	}
	if by.Advance > 0 {
		patient := n.awaitRest()
		first := by
		first.Advance, first.Freeze = 0, nil
		if first != (ClockChange{}) {
			n.moveClock(first)
		}
		by = ClockChange{Advance: n.stepThrough(by.Advance, patient), Freeze: by.Freeze}
	}
	n.moveClock(by)
	n.awaitRest()
	return n.Clock(), nil
}

func (n *Namespace) tryClock(by ClockChange) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return refuse(Closed)
	}
	_, err := n.world.clock.change(by)
	return err
}

// stepThrough advances to each moment within d that an executor sleeps for,
// and returns what is left of d. Once an executor has not come to rest in time, it is not waited for again.
func (n *Namespace) stepThrough(d time.Duration, patient bool) time.Duration {
	for {
		n.mu.Lock()
		until, ok := n.nextSleeper()
		step := time.Duration(max(0, until-n.world.clock.now()))
		n.mu.Unlock()
		if !ok || step >= d {
			return d
		}
		d -= step
		n.moveClock(ClockChange{Advance: step})
		patient = patient && n.awaitRest()
	}
}

// moveClock applies a change that was tried before.
func (n *Namespace) moveClock(by ClockChange) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.runDue(n.world.clock.now())
	next := *n.world
	next.clock, _ = next.clock.change(by)
	now := next.clock.now()
	next.nextSweep = min(next.nextSweep, now+int64(sweepInterval))
	n.world = &next
	n.waitNoLongerThan(now)
	n.runDue(now)
	for s := range n.streams {
		s.signal()
	}
	n.clockMoves.ring()
	n.changed()
}

// waitFor returns nil when woken or, if timed, after d.
func waitFor(ctx context.Context, woken <-chan struct{}, timed bool, d time.Duration) error {
	var due <-chan time.Time
	if timed {
		t := time.NewTimer(d)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-woken:
	case <-due:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Scope returns the scope of the requests that follow.
func (n *Namespace) Scope() *Scope {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.scopeIn(n.world)
}

// SetScope selects the scope of the requests that follow, also across a restart.
func (n *Namespace) SetScope(s *Scope) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	w, now, err := n.begin()
	if err != nil {
		return err
	}
	w.scope = s
	n.world = w
	n.accepted(now)
	return nil
}

// Gateway returns what the gateway is set to.
func (n *Namespace) Gateway() Gateway {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.world.gateway
}

// SetGateway changes what the gateway is set to. A nil argument leaves its part as it is.
func (n *Namespace) SetGateway(maxConcurrentRuns *int, draining *bool) (Gateway, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w, now, err := n.begin()
	if err != nil {
		return Gateway{}, err
	}
	if maxConcurrentRuns != nil {
		w.gateway.MaxConcurrentRuns = max(0, *maxConcurrentRuns)
	}
	if draining != nil {
		w.gateway.Draining = *draining
	}
	n.world = w
	n.accepted(now)
	return w.gateway, nil
}

// Reset takes the namespace back to its first use: no runs, no rows, the
// default scope and gateway, ids from the beginning, an empty timeline. The clock stays. Open event streams break. It
// fails with StorageFailed if the rows cannot be dropped.
func (n *Namespace) Reset() error {
	if err := n.usable(); err != nil {
		return err
	}
	if err := n.engine.clearing(n.name); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := n.settle()
	if err != nil {
		return err
	}
	if err := n.engine.dropRows(n.name); err != nil {
		return err
	}
	if n.storage != nil {
		n.storage.reserved = 0
	}
	n.breakStreams(ErrStreamLost)
	n.world = newWorld(n.world.clock, n.engine.config.Gateway, now)
	n.before = 0
	clear(n.keys)
	n.timeline = newTimeline(n.engine.config.Checkpoints)
	n.dropTrails()
	n.began(0)
	n.dismissAll(ErrGatewayGone)
	n.upheaval()
	return nil
}

// usable fails as every operation of the view does that may change something.
func (n *Namespace) usable() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, err := n.settle()
	return err
}

// Counts are sizes of a namespace.
type Counts struct {
	Cached   int // runs in the cache of this gateway process
	Durable  int // durable rows
	Active   int // runs that hold a slot of the capacity
	Admitted int // admissions since the first use or the last reset
	Streams  int // open event streams
}

// Counts returns the namespace's sizes.
func (n *Namespace) Counts() Counts {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.look()
	w := n.world
	return Counts{Cached: w.cached, Durable: w.durable, Active: w.active,
		Admitted: int(w.admitted), Streams: len(n.streams)}
}

// Run returns the run as a poll by this scope sees it. Like a poll, it reads a
// row back. It fails with RunNotFound.
func (n *Namespace) Run(id RunID) (*Run, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := n.settle(); err != nil {
		return nil, err
	}
	if rec := n.world.record(id); rec != nil && rec.run != nil && rec.run.scope.same(n.scopeIn(n.world)) {
		return rec.run, nil
	}
	w, now, err := n.begin()
	if err != nil {
		return nil, err
	}
	rec, err := n.find(w, id, now)
	if err != nil {
		return nil, err
	}
	if err := n.commit(w, id); err != nil {
		return nil, err
	}
	return rec.run, nil
}

// Runs returns every run of the scope in order of admission, whether in the cache or only as a
// row; it reads none back.
func (n *Namespace) Runs() []*Run {
	n.mu.Lock()
	n.look()
	w := n.world
	n.mu.Unlock()
	scope := n.scopeIn(w)
	var runs []*Run
	for it := w.records.Iterator(); !it.Done(); {
		_, rec, _ := it.Next()
		if run := rec.seen(); run.scope.same(scope) {
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, func(a, b *Run) int {
		if a.number < b.number {
			return -1
		}
		return 1
	})
	return runs
}

// observation is what is known of the run without reading its row back.
//
// An executor of an earlier gateway process may still show as active in it; see seen.
func (rec *record) observation() *Run {
	if rec.run != nil {
		return rec.run
	}
	return rec.row.run
}

// seen is the observation as it may be shown: only a cached run has an executor here.
func (rec *record) seen() *Run {
	run := rec.observation()
	if rec.run != nil || !run.active {
		return run
	}
	idle := *run
	idle.active = false
	return &idle
}

func (n *Namespace) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.end()
}

// end is close for who holds the lock.
func (n *Namespace) end() {
	if n.closed {
		return
	}
	n.breakStreams(ErrStreamLost)
	n.closed = true
	n.dismissAll(refuse(Closed))
	n.upheaval()
	n.changed()
	if n.atRest != nil {
		close(n.atRest)
		n.atRest = nil
	}
}

// Now is the time on the namespace's clock.
func (n *Namespace) Now() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Unix(0, n.world.clock.now()).UTC()
}

// Closed reports whether Close was called.
func (n *Namespace) Closed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}
