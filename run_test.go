package hermesfake_test

import (
	"context"
	"errors"
	"testing"

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
