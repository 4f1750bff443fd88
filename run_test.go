package hermesfake_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
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

// The error of a wait says what there was instead, and that of a settled run how it ended.
func TestErrorsNameTheRun(t *testing.T) {
	f := hermesfake.Start(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	noRun := func() error { _, err := f.WaitRun(ended); return err }
	check := func(name string, err, wraps error, want string) {
		t.Helper()
		if !errors.Is(err, wraps) || err.Error() != "hermesfake: "+want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	check("WaitRun", noRun(), context.Canceled, "waited for run 1, and 0 admitted so far: context canceled")
	run := f.Run(submit(t, f, `{"input": "x"}`))
	id := run.ID()
	if _, err := f.WaitRun(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("WaitRun", noRun(), context.Canceled, "waited for run 2, and 1 admitted so far: context canceled")
	check("WaitStatus", run.WaitStatus(ended, hermesfake.Running), context.Canceled,
		"waited for running, and got "+id+" queued: context canceled")
	check("WaitStop", run.WaitStop(ended), context.Canceled, "waited for a stop, and got "+id+" queued: context canceled")
	status, err := run.WaitSettled(ended)
	check("WaitSettled", err, context.Canceled, "waited for a terminal state, and got "+id+" queued: context canceled")
	if status != hermesfake.Queued {
		t.Errorf("WaitSettled saw %s", status)
	}
	check("Wait", run.Wait(ended, func(hermesfake.Snapshot) bool { return false }), context.Canceled,
		"waited for the condition, and got "+id+" queued: context canceled")

	run.Fail("boom")
	settled := id + " failed: terminal runs cannot be changed"
	check("Complete", run.Complete("x"), hermesfake.RunSettled, settled)
	check("Delta", run.Delta("x"), hermesfake.RunSettled, settled)
	check("ToolStarted", run.ToolStarted("x", ""), hermesfake.RunSettled, settled)
	check("AcceptSteer", run.AcceptSteer(true), hermesfake.RunSettled, settled)

	_, err = f.Namespace("a/b")
	check("Namespace", err, hermesfake.ErrNamespace, `the name "a/b": namespace: must match `+hermesfake.NamePattern)
	_, err = f.WaitRequests(t.Context(), "RunPoll", 1)
	check("WaitRequests", err, hermesfake.ErrOperation,
		"operation: must be one of RunCreate, RunGet, RunStop, RunEvents, RunApproval, RunSteer, Models, Capabilities, Health")
}

// Start fails the test for what its options do not take; New ignores it.
func TestIgnoredOptions(t *testing.T) {
	for _, c := range []struct {
		option hermesfake.Option
		want   string
	}{
		{hermesfake.WithNamespace("a b"), "WithNamespace: \"a b\" is ignored"},
		{hermesfake.WithClock(time.Time{}), "WithClock: 0001-01-01T00:00:00Z is ignored"},
		{hermesfake.WithFrozenClock(time.Time{}), "WithFrozenClock: 0001-01-01T00:00:00Z is ignored"},
		{hermesfake.WithProfile("a/b", ""), "WithProfile: \"a/b\" is ignored"},
		{hermesfake.WithProfile("given", "x"), "WithProfile: \"given\" is ignored"},
		{hermesfake.WithBaseURL("api.example.com"), "WithBaseURL: "},
		{hermesfake.WithBaseURL("https://api.example.com/?key=x"), "WithBaseURL: "},
		{hermesfake.WithBaseURL("https://api.example.com:x"), "WithBaseURL: "},
		{hermesfake.WithBaseURL("https://api.example.com"), ""},
		{hermesfake.WithCORSOrigins("app.example.com"), "WithCORSOrigins: \"app.example.com\" is ignored"},
		{hermesfake.WithCORSOrigins("*", "https://app.example.com/"), "WithCORSOrigins: \"https://app.example.com/\" is ignored"},
		{hermesfake.WithCORSOrigins("HTTPS://app.example.com"), "WithCORSOrigins: "},
		{hermesfake.WithCORSOrigins("*", "null", "http://localhost:5173", "chrome-extension://abc"), ""},
	} {
		var r recorder
		hermesfake.Start(&r, hermesfake.WithProfile("given", ""), c.option)
		r.end()
		text := strings.Join(r.errors, "\n")
		if c.want == "" && text != "" || !strings.HasPrefix(text, "hermesfake: "+c.want) && c.want != "" || len(r.errors) > 1 {
			t.Errorf("Start said %q, want %q", r.errors, c.want)
		}
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
