package hermesfake_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hermesfake/hermesfake"
)

func TestObserveRefusesWhatDoesNotFit(t *testing.T) {
	f := hermesfake.Start(t)
	run := f.Run(submit(t, f, `{"input": "x"}`))
	run.Start()
	for _, o := range []hermesfake.Observation{
		{Output: "x"},
		{Status: hermesfake.Running, Usage: hermesfake.Usage{InputTokens: 1}},
		{Status: hermesfake.Failed, PendingSteer: "x"},
		{Status: hermesfake.Completed, Err: "x"},
		{Status: hermesfake.Completed, Approval: &hermesfake.Approval{}},
	} {
		if err := run.Observe(o); !errors.Is(err, hermesfake.ErrObservation) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, s := range []hermesfake.Status{hermesfake.Unknown, 99} {
		if err := run.Observe(hermesfake.Observation{Status: s}); !errors.Is(err, hermesfake.StatusInvalid) {
			t.Errorf("%d: %v", s, err)
		}
	}
	if run.Status() != hermesfake.Running {
		t.Errorf("something changed: %s", run)
	}
}

// An approval that a restart has lost is answered with nothing.
func TestAskApprovalEndsWithItsGateway(t *testing.T) {
	f := hermesfake.Start(t)
	r := f.Run(submit(t, f, `{"input": "x"}`))
	answered := make(chan hermesfake.Choice)
	go func() { answered <- r.AskApproval(context.Background(), hermesfake.Approval{Command: "x"}) }()
	if err := r.WaitStatus(t.Context(), hermesfake.WaitingForApproval); err != nil {
		t.Fatal(err)
	}
	f.Restart(hermesfake.OwnerStale)
	if choice := <-answered; choice != "" {
		t.Errorf("got %q", choice)
	}
}

func TestNoRun(t *testing.T) {
	f := hermesfake.Start(t)
	for _, run := range []*hermesfake.Run{f.Runs().Last(), f.Run("bogus")} {
		for name, call := range map[string]func() error{
			"Start": run.Start, "Cancel": run.Cancel, "Interrupt": run.Interrupt,
			"Delta":  func() error { return run.Delta("x") },
			"Emit":   func() error { return run.Emit("tool.started", "") },
			"Accept": func() error { return run.AcceptSteer(true) },
			"Wait":   func() error { return run.WaitStop(t.Context()) },
			"Sleep":  func() error { return run.Sleep(t.Context(), 1) },
		} {
			if err := call(); !errors.Is(err, hermesfake.ErrNoRun) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if run.ID() != "" || run.JSON() != "" || run.Status() != hermesfake.Unknown || run.Steers() != nil || run.String() != "no run" {
			t.Errorf("%q %q %s", run.ID(), run.JSON(), run)
		}
	}
}

func TestWaitRunAfterReset(t *testing.T) {
	f := hermesfake.Start(t)
	for range 3 {
		for range 2 {
			want := submit(t, f, `{"input": "x"}`)
			run, err := f.WaitRun(t.Context())
			if err != nil || run.ID() != want {
				t.Fatalf("got %v %v, want %s", run, err, want)
			}
		}
		f.Reset()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.WaitRun(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("without a run: %v", err)
	}
}

// What a predicate does wrong is its own problem, not the fake's.
func TestWaitSurvivesItsPredicate(t *testing.T) {
	f := hermesfake.Start(t)
	run := f.Run(submit(t, f, `{"input": "x"}`))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run.Wait(t.Context(), func(hermesfake.Snapshot) bool {
			runtime.Goexit()
			return false
		})
	}()
	<-ended
	if err := run.Complete("done"); err != nil {
		t.Error(err)
	}
}

// Who follows a run's events can be waited for.
func TestWaitForSubscribers(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithFrozenClock(start2023))
	run := f.Run(submit(t, f, `{"input": "x"}`))
	wait := func(want int) <-chan error {
		done := make(chan error)
		go func() {
			done <- run.Wait(t.Context(), func(s hermesfake.Snapshot) bool { return len(s.Subscribers) == want })
		}()
		return done
	}
	arrived := wait(1)
	res := follow(t, f.Client(), hermesfake.BaseURL, run)
	if err := <-arrived; err != nil {
		t.Error(err)
	}
	res.Body.Close()
	left := wait(0)
	f.Advance(31 * time.Second) // the keepalive to the client that has gone ends the queue
	if err := <-left; err != nil {
		t.Error(err)
	}
}

// A snapshot is the caller's to change.
func TestSnapshotIsACopy(t *testing.T) {
	f := hermesfake.Start(t)
	run := f.Run(submit(t, f, `{"input": "x"}`))
	run.RequestApproval(hermesfake.Approval{Command: "x"})
	s, _ := run.Snapshot()
	s.Pending[0].Number = 99
	if again, _ := run.Snapshot(); again.Pending[0].Number != 1 {
		t.Errorf("got %+v", again.Pending)
	}
}

// A request whose body breaks is in the journal, too.
func TestBrokenBodyIsJournaled(t *testing.T) {
	f := hermesfake.Start(t)
	broken := errors.New("broken")
	_, err := f.Client().Post(hermesfake.BaseURL+"/v1/runs", "", iotest.ErrReader(broken))
	if last := f.Requests().Last(); !errors.Is(err, broken) || last.Operation != hermesfake.RunCreate || last.Status != 0 || last.Accepted {
		t.Errorf("%v, %+v", err, last)
	}
}
