package hermesfake

import (
	"context"
	"fmt"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// Owner says what became of the gateway process that ran before a restart.
type Owner = engine.Owner

// The owners of a restart.
const (
	// OwnerStale: the process is gone; its unfinished keyed runs become
	// interrupted when they are next looked at.
	OwnerStale = engine.OwnerStale
	// OwnerAlive: the process lives on elsewhere and still owns its runs.
	OwnerAlive = engine.OwnerAlive
)

// Restart replaces the gateway process of the namespace. Keyless runs are not
// found afterwards, keyed ones come back from their rows, open event streams
// are lost. It returns how many runs kept a row and how many had none. Like SetScope, SetDraining and Reset it
// is about one namespace: the view's, or the default one.
func (f *Fake) Restart(owner Owner) (retained, discarded int) {
	retained, discarded, _ = f.namespace.Restart(owner)
	return retained, discarded
}

// Sweep does now what the provider does every 60 s: it drops runs that settled
// over an hour ago from the cache, and event queues admitted over 300 s ago that
// nobody subscribed to. It returns how many runs left the cache.
func (f *Fake) Sweep() (cacheRemoved int) {
	cacheRemoved, _ = f.namespace.Sweep()
	return cacheRemoved
}

// SetScope selects whose requests follow, whatever their key or profile, until Reset:
// the provider keeps the runs of each profile and identity apart. Both must be nonempty and without NUL, else the
// error wraps ErrScope.
func (f *Fake) SetScope(profile, identity string) error {
	s, err := engine.NewScope(profile, identity)
	if err != nil {
		return err
	}
	return f.namespace.SetScope(s)
}

// SetMaxConcurrentRuns changes how many runs may be unsettled at once; 0 or
// less is no bound, in this namespace. It outlives a restart.
func (f *Fake) SetMaxConcurrentRuns(n int) {
	f.namespace.SetGateway(&n, nil)
}

// SetDraining makes the gateway refuse every submission with 503, or take them
// again, in this namespace. It outlives a restart.
func (f *Fake) SetDraining(draining bool) {
	f.namespace.SetGateway(nil, &draining)
}

// Reset takes the namespace back to its first use: no runs, no rows, the
// default scope, the capacity that New was given, ids from the beginning, so a *Run from before may mean a new
// run. Clock, journal, scripts and fault rules stay. On the fake itself it resets the default namespace. It
// fails with StorageFailed if the store of WithStore does not drop the rows, and no run has changed; what was supplied may be
// forgotten by then.
func (f *Fake) Reset() error { return f.namespace.Reset() }

// Counts are sizes of a namespace.
type Counts = engine.Counts

// Counts returns how many runs the namespace has, in the cache, in rows and of those that hold a slot, and
// how many event streams are open.
func (f *Fake) Counts() Counts { return f.namespace.Counts() }

// Clock is what a clock shows.
type Clock = engine.ClockState

// Clock returns the namespace's clock.
func (f *Fake) Clock() Clock { return f.namespace.Clock() }

// Now is the time on the namespace's clock.
func (f *Fake) Now() time.Time { return f.namespace.Now() }

// Advance moves the clock forward. What falls due on the way, such as sweeps and
// keepalives, happens at its own instant. A negative duration, or one that
// leads beyond the year 2199, is an error that wraps ErrClock. The fake itself moves the clocks of
// all namespaces, a view that of its own. A script must not call it.
func (f *Fake) Advance(d time.Duration) error {
	return f.changeClock(engine.ClockChange{Advance: d})
}

// SetTime makes the clock show t, be it later or earlier; a frozen clock stays
// frozen. A time outside of the years 1970 to 2199 is an error that wraps ErrClock.
func (f *Fake) SetTime(t time.Time) error {
	if !engine.ValidTime(t) {
		return fmt.Errorf("%w: set: must be in the years 1970 to 2199", ErrClock)
	}
	return f.changeClock(engine.ClockChange{Set: t})
}

// Sleep waits for d on the clock: a frozen one must be moved by another
// goroutine. It returns the context's error, or Closed.
func (f *Fake) Sleep(ctx context.Context, d time.Duration) error {
	return f.namespace.Sleep(ctx, nil, d)
}

// Freeze stops the clock where it is. Only Advance and SetTime move it then.
func (f *Fake) Freeze() {
	freeze := true
	f.changeClock(engine.ClockChange{Freeze: &freeze})
}

// Unfreeze lets the clock run from where it stands.
func (f *Fake) Unfreeze() {
	freeze := false
	f.changeClock(engine.ClockChange{Freeze: &freeze})
}

// ResetClock makes the clock follow the system's again.
func (f *Fake) ResetClock() {
	f.changeClock(engine.ClockChange{Reset: true})
}

func (f *Fake) changeClock(by engine.ClockChange) error {
	change := f.namespace.ChangeClock
	if f.all {
		change = f.core.engine.ChangeClock
	}
	_, err := change(by)
	return err
}
