package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestClockIsLiveByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{})
		defer e.Close()
		n, err := e.Namespace("x")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(time.Hour + time.Nanosecond)
			if got := n.Clock(); !got.Now.Equal(time.Now()) || got.Frozen || got.Offset != 0 {
				t.Errorf("%+v at %v", got, time.Now())
			}
			if !n.Now().Equal(time.Now()) || !e.Clock().Now.Equal(time.Now()) {
				t.Errorf("%v, %v at %v", n.Now(), e.Clock().Now, time.Now())
			}
		}
	})
}

// TestClockChanges makes changes one after another, with time that passes between.
func TestClockChanges(t *testing.T) {
	yes, no := true, false
	at := func(seconds float64) time.Time { return time.Unix(0, start+int64(seconds*1e9)) }
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{})
		defer e.Close()
		n, err := e.Namespace("x")
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range []struct {
			by     ClockChange
			now    time.Time // right after it
			frozen bool
			later  time.Time // and 10 s after that
		}{
			{ClockChange{Set: at(0)}, at(0), false, at(10)},
			{ClockChange{}, at(10), false, at(20)},
			{ClockChange{Freeze: &yes}, at(20), true, at(20)},
			{ClockChange{Freeze: &yes}, at(20), true, at(20)},
			{ClockChange{Set: at(5)}, at(5), true, at(5)}, // back, and stays frozen
			{ClockChange{Advance: time.Nanosecond}, at(5.000000001), true, at(5.000000001)},
			{ClockChange{Set: at(100), Advance: time.Second, Freeze: &no}, at(101), false, at(111)},
			{ClockChange{Advance: 24 * time.Hour}, at(86511), false, at(86521)},
			{ClockChange{Set: at(-1000), Freeze: &yes}, at(-1000), true, at(-1000)},
			{ClockChange{Freeze: &no}, at(-1000), false, at(-990)},
			{ClockChange{Freeze: &no}, at(-990), false, at(-980)},
			{ClockChange{Reset: true, Set: at(7), Advance: time.Second, Freeze: &yes}, at(8), true, at(8)},
			{ClockChange{Set: time.Unix(0, 0)}, time.Unix(0, 0), true, time.Unix(0, 0)},
			{ClockChange{Set: latest.Add(-1)}, latest.Add(-1), true, latest.Add(-1)},
		} {
			state, err := n.ChangeClock(c.by)
			if err != nil || !state.Now.Equal(c.now) || state.Frozen != c.frozen || state.Offset != time.Until(c.now) {
				t.Errorf("change %d: %+v %v, want %v", i, state, err, c.now)
			}
			time.Sleep(10 * time.Second)
			if got := n.Now(); !got.Equal(c.later) {
				t.Errorf("10 s after change %d: %v, want %v", i, got, c.later)
			}
		}
		state, err := n.ChangeClock(ClockChange{Reset: true})
		if err != nil || !state.Now.Equal(time.Now()) || state.Frozen || state.Offset != 0 {
			t.Errorf("after a reset: %+v %v", state, err)
		}
	})
}

func TestClockBounds(t *testing.T) {
	n := open(t, Config{})
	no := false
	for i, by := range []ClockChange{
		{Set: earliest.Add(-1)},
		{Set: latest},
		{Set: time.Unix(1<<60, 0)},
		{Advance: -1},
		{Advance: 1<<63 - 1},
		{Set: latest.Add(-1), Advance: 2},
		{Set: earliest.Add(-1), Freeze: &no},
		{Reset: true, Advance: 1<<63 - 1},
	} {
		state, err := n.ChangeClock(by)
		if !errors.Is(err, ErrClock) || state.Now.UnixNano() != start || !state.Frozen {
			t.Errorf("change %d: %+v %v", i, state, err)
		}
		if state, err = n.engine.ChangeClock(by); !errors.Is(err, ErrClock) || state.Now.UnixNano() != start || !state.Frozen {
			t.Errorf("change %d of all: %+v %v", i, state, err)
		}
	}
	if !ValidTime(earliest) || !ValidTime(latest.Add(-1)) || ValidTime(latest) || ValidTime(earliest.Add(-1)) || ValidTime(time.Time{}) {
		t.Error("ValidTime")
	}
	// Nothing overflows at the bounds.
	for _, at := range []time.Time{earliest, latest.Add(-1)} {
		set(t, n, at.UnixNano())
		id := submit(t, n, "")
		sweep(t, n)
		delta(t, n, id, "x")
		if s := subscribe(t, n, id); s.since != at.UnixNano() {
			t.Errorf("%d", s.since)
		}
		observe(t, n, id, Completed)
		settle(t, n, at.String())
	}
}

// TestClockOfAll proves that the engine's clock is that of every namespace and of those to come, and a namespace's its own.
func TestClockOfAll(t *testing.T) {
	n := open(t, Config{})
	e := n.engine
	now := func(name string) int64 {
		n, err := e.Namespace(name)
		if err != nil {
			t.Fatal(err)
		}
		return n.Now().UnixNano() - start
	}
	if now("a") != 0 {
		t.Error("a new namespace has a clock of its own")
	}
	advance(t, n, time.Second)
	if now(DefaultNamespace) != int64(time.Second) || now("a") != 0 || now("b") != 0 || e.Clock().Now.UnixNano() != start {
		t.Error("one namespace's clock moved another's")
	}
	if _, err := e.ChangeClock(ClockChange{Advance: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if now(DefaultNamespace) != int64(61*time.Second) || now("a") != int64(time.Minute) || now("c") != int64(time.Minute) {
		t.Error("not every clock has moved")
	}
	// One that cannot move keeps all from moving.
	a, _ := e.Namespace("a")
	set(t, a, latest.UnixNano()-1)
	if _, err := e.ChangeClock(ClockChange{Advance: time.Minute}); !errors.Is(err, ErrClock) {
		t.Errorf("%v", err)
	}
	if now(DefaultNamespace) != int64(61*time.Second) || now("d") != int64(time.Minute) {
		t.Error("some clocks moved, and others did not")
	}
}

// TestClockSetBack proves that retention counts from the clock that a run was settled by, and that sweeps and
// keepalives do not wait for the time to come again.
func TestClockSetBack(t *testing.T) {
	n := open(t, Config{})
	old := settle(t, n, "")
	id := submit(t, n, "")
	s := subscribe(t, n, id)
	advance(t, n, 10*time.Second)
	set(t, n, start-int64(24*time.Hour))
	if got, _ := given(s); got != "" {
		t.Errorf("got %q", got)
	}
	advance(t, n, keepAliveAfter-1)
	if got, _ := given(s); got != "" {
		t.Errorf("got %q in less than 30 s", got)
	}
	advance(t, n, 1)
	if got, _ := given(s); got != keepAliveFrame {
		t.Errorf("got %q after 30 s", got)
	}
	s.Leave()
	early := settle(t, n, "")
	advance(t, n, cacheRetention+sweepInterval)
	if _, err := n.Inspect(early); !errors.Is(err, RunNotFound) {
		t.Errorf("no sweep in the time that was set back to: %v", err)
	}
	set(t, n, start+int64(cacheRetention))
	sweep(t, n)
	inspect(t, n, old)
	advance(t, n, 1)
	if removed := sweep(t, n); removed != 1 {
		t.Errorf("%d removed", removed)
	}
}

// TestClockSetForward proves that keepalives and sweeps on the way happen each at its own instant.
func TestClockSetForward(t *testing.T) {
	n := open(t, Config{})
	id := submit(t, n, "")
	left := submit(t, n, "")
	s := subscribe(t, n, id)
	set(t, n, start+int64(95*time.Second))
	if got, _ := given(s); got != keepAliveFrame+keepAliveFrame+keepAliveFrame {
		t.Errorf("got %q", got)
	}
	if in := inspect(t, n, id); in.Subscribers[0].Waiting != 5*time.Second {
		t.Errorf("%+v", in.Subscribers)
	}
	set(t, n, start+int64(queueRetention+sweepInterval))
	if in := inspect(t, n, left); in.Queue != nil {
		t.Error("the queue outlived a sweep on the way")
	}
	if in := inspect(t, n, id); in.Queue == nil {
		t.Error("a queue with a subscriber was swept")
	}
}
