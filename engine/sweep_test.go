package engine

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// around calls f with instants at, just before and just after a bound.
func around(bound time.Duration, f func(after time.Duration, over bool)) {
	for _, off := range []time.Duration{-1, 0, 1} {
		f(bound+off, off > 0)
	}
}

// TestSweepOfRuns proves that a run leaves the cache when it settled over an hour ago, to the nanosecond (vectors: retention.json).
func TestSweepOfRuns(t *testing.T) {
	for _, status := range []Status{Completed, Failed, Cancelled} {
		around(cacheRetention, func(after time.Duration, over bool) {
			n := open(t, Config{})
			id := submit(t, n, "")
			advance(t, n, 7)
			observe(t, n, id, status) // its hour counts from here
			advance(t, n, after)
			removed := sweep(t, n)
			if _, err := n.Run(id); (removed == 1) != over || errors.Is(err, RunNotFound) != over {
				t.Errorf("%v, %v after it settled: %d removed, %v", status, after, removed, err)
			}
			if again := sweep(t, n); again != 0 {
				t.Errorf("swept again: %d", again)
			}
		})
	}
}

// TestSweepSpares proves that runs that have not settled, and interrupted ones, stay.
func TestSweepSpares(t *testing.T) {
	n := open(t, Config{})
	var ids []RunID
	for _, status := range []Status{Queued, Running, WaitingForApproval, Stopping, Interrupted} {
		id := submit(t, n, "")
		observe(t, n, id, status)
		ids = append(ids, id)
	}
	advance(t, n, 10*365*24*time.Hour)
	for _, id := range ids {
		inspect(t, n, id)
	}
	if got := n.Counts(); got.Cached != 5 || got.Active != 4 {
		t.Errorf("%+v", got)
	}
}

// TestSweepOfQueues proves that a queue without a subscriber goes over 300 s after its run's admission, and one with a
// subscriber, be its client gone, does not (vectors: events.json, events-expire).
func TestSweepOfQueues(t *testing.T) {
	around(queueRetention, func(after time.Duration, over bool) {
		n := open(t, Config{})
		ids := map[string]RunID{}
		for _, name := range []string{"nobody", "subscribed", "gone", "settled"} {
			ids[name] = submit(t, n, "")
		}
		observe(t, n, ids["settled"], Completed)
		advance(t, n, after-time.Second)
		subscribe(t, n, ids["subscribed"])
		subscribe(t, n, ids["gone"]).Leave()
		advance(t, n, time.Second)
		sweep(t, n)
		for name, id := range ids {
			swept := inspect(t, n, id).Queue == nil
			if want := over && (name == "nobody" || name == "settled"); swept != want {
				t.Errorf("%s, %v after admission: swept %t", name, after, swept)
			}
			emitted, err := n.EmitDelta(id, "x")
			if want := name != "settled" && !swept; emitted != want || (err == nil) != (name != "settled") {
				t.Errorf("%s: emitted %t, %v", name, emitted, err)
			}
		}
	})
}

// TestSweepSchedule proves that sweeps fall due every 60 s from the first use and from a restart on, and not before.
func TestSweepSchedule(t *testing.T) {
	n := open(t, Config{})
	advance(t, n, 13*time.Second) // ticks at 60, 120, ...
	id := settle(t, n, "")
	settledFor := func(d time.Duration) { set(t, n, start+int64(13*time.Second+d)) }
	there := func(want bool) {
		t.Helper()
		if _, err := n.Inspect(id); (err == nil) != want {
			t.Errorf("%v: %v", n.Now(), err)
		}
	}
	settledFor(cacheRetention + 46*time.Second)
	there(true)
	settledFor(cacheRetention + 47*time.Second - 1)
	there(true)
	settledFor(cacheRetention + 47*time.Second)
	there(false)
	if _, _, err := n.Restart(OwnerStale); err != nil {
		t.Fatal(err)
	}
	id = settle(t, n, "")
	advance(t, n, cacheRetention)
	there(true) // exactly at a tick, and equality stays
	advance(t, n, sweepInterval-1)
	there(true)
	advance(t, n, 1)
	there(false)
}

// TestPruneOfRows proves that a terminal row goes when its own update is over 24 h ago, to the nanosecond, and only at a
// keyed submission (vectors: retention.json, retention-durable).
func TestPruneOfRows(t *testing.T) {
	for _, status := range []Status{Completed, Failed, Cancelled, Interrupted} {
		around(rowRetention, func(after time.Duration, over bool) {
			n := open(t, Config{})
			id := submit(t, n, "k")
			unfinished := submit(t, n, "unfinished")
			advance(t, n, 7)
			observe(t, n, id, status)
			advance(t, n, after)
			n.Run(id)
			n.Stop(id)
			submit(t, n, "")
			if _, err := n.Submit(Submission{Key: "unfinished", Fingerprint: [32]byte{1}}); !errors.Is(err, KeyConflict) {
				t.Errorf("%v", err)
			}
			if in := inspect(t, n, id); (in.Row == nil) != over {
				t.Errorf("%v, %v after its update: row %+v", status, after, in.Row)
			}
			a, err := n.Submit(Submission{Key: "k"})
			if err != nil || a.Replayed == over || (a.Run.ID() == id) == over {
				t.Errorf("%v, %v after its update: %+v %v", status, after, a, err)
			}
			if in := inspect(t, n, unfinished); in.Row == nil {
				t.Error("a row of an unfinished run was pruned")
			}
		})
	}
}

// TestKeylessSubmissionsDoNotPrune proves that a keyless submission, a poll and a sweep leave rows alone.
func TestKeylessSubmissionsDoNotPrune(t *testing.T) {
	n := open(t, Config{})
	id := settle(t, n, "k")
	advance(t, n, 10*rowRetention)
	submit(t, n, "")
	sweep(t, n)
	if in := inspect(t, n, id); in.Row == nil || in.Cached {
		t.Errorf("%+v", in)
	}
	if run, err := n.Run(id); err != nil || run.Status() != Completed {
		t.Errorf("%v %v", run, err)
	}
	submit(t, n, "other")
	if in := inspect(t, n, id); in.Row != nil || !in.Cached {
		t.Errorf("%+v", in)
	}
	sweep(t, n)
	if _, err := n.Inspect(id); !errors.Is(err, RunNotFound) {
		t.Errorf("%v", err)
	}
}

// TestJumpsByDecades proves that a clock that jumps over millions of sweeps does not run them one by one.
func TestJumpsByDecades(t *testing.T) {
	n := open(t, Config{})
	for i := range 1000 {
		settle(t, n, fmt.Sprint(i))
		submit(t, n, "")
	}
	began := time.Now()
	for range 5 {
		set(t, n, latest.UnixNano()-1)
		settle(t, n, "")
		set(t, n, earliest.UnixNano())
	}
	for range 17 {
		advance(t, n, 10*365*24*time.Hour)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	// Those that settled in 2199 are not an hour old yet.
	if got := n.Counts(); got.Cached != 1005 || got.Durable != 1000 {
		t.Errorf("%+v", got)
	}
}

// TestStreamAcrossAJump documents what a jump of the clock does to an open stream that nobody reads: it is given a keepalive for each 30 s,
// and once more of them wait than a queue may hold, it is lost and its queue ends, as if the client had gone.
func TestStreamAcrossAJump(t *testing.T) {
	n := open(t, Config{QueueBytes: 1000 * len(keepAliveFrame)})
	id := submit(t, n, "")
	s := subscribe(t, n, id)
	advance(t, n, 1000*keepAliveAfter)
	if got, err := given(s); len(got) != 1000*len(keepAliveFrame) || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	advance(t, n, 1000*keepAliveAfter)
	if got, err := given(s); len(got) != 1000*len(keepAliveFrame) || err != nil {
		t.Errorf("%d bytes, %v, once they were read", len(got), err)
	}
	advance(t, n, 50*365*24*time.Hour)
	if _, err := given(s); err != ErrStreamLost {
		t.Errorf("after decades: %v", err)
	}
	if _, err := n.Subscribe(id); !errors.Is(err, RunNotFound) {
		t.Errorf("the queue did not end: %v", err)
	}
	if run, err := n.Run(id); err != nil || !run.Active() {
		t.Errorf("the run did not go on: %v", err)
	}
}

// TestLiveClockRunsWhatFellDue proves that on a live clock the sweeps and keepalives that fell due while nobody
// looked have happened, each at its own instant, when somebody does.
func TestLiveClockRunsWhatFellDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{})
		defer e.Close()
		n, err := e.Namespace("x")
		if err != nil {
			t.Fatal(err)
		}
		old, left, read := settle(t, n, ""), submit(t, n, ""), submit(t, n, "")
		s := subscribe(t, n, read)
		time.Sleep(2*time.Hour + 10*time.Second)
		if in := inspect(t, n, read); in.Subscribers[0].Waiting != 10*time.Second {
			t.Errorf("%+v", in)
		}
		if got, err := given(s); len(got) != 240*len(keepAliveFrame) || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := n.Inspect(old); !errors.Is(err, RunNotFound) {
			t.Errorf("%v", err)
		}
		if in := inspect(t, n, left); in.Queue != nil {
			t.Errorf("%+v", in)
		}
		if got := n.Counts(); got.Cached != 2 || got.Streams != 1 {
			t.Errorf("%+v", got)
		}
		s.Leave()
		if _, err := given(s); err != nil && err != io.EOF {
			t.Errorf("%v", err)
		}
	})
}
