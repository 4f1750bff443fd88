package engine

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// What an executor waits for may never come: it is told so.
func TestAwaitRunSeesTheRunGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			end  func(n *Namespace)
			want error
		}{
			"restart": {func(n *Namespace) { n.Restart(OwnerStale) }, RunNotFound},
			"sweep": {func(n *Namespace) {
				run, _, _ := n.Admitted(1)
				n.Observe(run.ID(), Observation{Status: Completed})
				time.Sleep(2 * time.Hour)
				n.Sweep()
			}, RunNotFound},
			"reset": {func(n *Namespace) { n.Reset() }, RunNotFound},
		} {
			e := New(Config{})
			n, err := e.Namespace("n")
			if err != nil {
				t.Fatal(err)
			}
			a, err := n.Submit(Submission{})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() {
				done <- n.AwaitRun(t.Context(), nil, a.Run.ID(), func(Inspection) (bool, error) { return false, nil })
			}()
			synctest.Wait()
			c.end(n)
			if err := <-done; !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if len(n.transitions) != 0 {
				t.Errorf("%s: %d bells are left", name, len(n.transitions))
			}
		}
	})
}

// A row that was not read back has no executor here.
func TestRowIsNotActive(t *testing.T) {
	n, err := New(Config{}).Namespace("n")
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Submit(Submission{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	n.Restart(OwnerAlive)
	in, err := n.Inspect(a.Run.ID())
	if err != nil || in.Cached || in.Run.Active() || n.Runs()[0].Active() {
		t.Errorf("%+v %v", in, err)
	}
	if _, err := n.Ask(a.Run.ID(), nil); !errors.Is(err, RunForeign) {
		t.Errorf("asking for a foreign run: %v", err)
	}
	if in, _ := n.Inspect(a.Run.ID()); in.Run.Status() != Queued {
		t.Errorf("a refused Ask has moved the run to %s", in.Run.Status())
	}
}

// A stop counts the executor that it wakes as busy at once, so that a clock
// moved right after it lets the executor act before.
func TestStopWakesBeforeTheClockMoves(t *testing.T) {
	freeze := true
	for range 50 {
		n, err := New(Config{}).Namespace("n")
		if err != nil {
			t.Fatal(err)
		}
		n.ChangeClock(ClockChange{Set: time.Unix(1_700_000_000, 0), Freeze: &freeze})
		a, err := n.Submit(Submission{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		x := n.Execute(a.Run.ID(), cancel)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer x.Done()
			n.Sleep(ctx, x, time.Hour)
			n.Observe(a.Run.ID(), Observation{Status: Cancelled})
		}()
		n.ChangeClock(ClockChange{Advance: time.Second}) // it is asleep now
		n.Stop(a.Run.ID())
		n.ChangeClock(ClockChange{Advance: 10 * time.Minute})
		<-ended
		run, _, _ := n.Admitted(1)
		if at := run.UpdatedAt().Unix() - 1_700_000_000; at != 1 {
			t.Fatalf("the executor acted at +%d s, want at the stop, +1 s", at)
		}
	}
}

func TestSleepForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := New(Config{}).Namespace("n")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := n.Sleep(ctx, nil, math.MaxInt64); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := n.Sleep(ctx, nil, -time.Second); err != nil {
			t.Errorf("a negative sleep: %v", err)
		}
	})
}
