package engine

import (
	"errors"
	"testing"
	"time"
)

// TestInspect proves what looking shows, and that it changes nothing.
func TestInspect(t *testing.T) {
	n := open(t, Config{})
	id := submit(t, n, "k")
	in := inspect(t, n, id)
	if !in.Cached || !in.Run.Active() || in.Run.Status() != Queued || in.Run.Number() != 1 || in.Run.ID() != id ||
		*in.Queue != (QueueState{}) || in.Row.Status != Queued || in.Row.UpdatedAt.UnixNano() != start ||
		in.Subscribers != nil || in.Pending != nil || in.Decisions != nil || in.Steers != nil || in.Steering != (SteerPolicy{}) {
		t.Errorf("%+v", in)
	}
	observe(t, n, id, Running)
	if err := n.Steer(id, "left"); err != nil {
		t.Fatal(err)
	}
	if err := n.SetSteering(id, SteerPolicy{Refuse: true}); err != nil {
		t.Fatal(err)
	}
	if err := n.Steer(id, "right"); !errors.Is(err, SteerRefused) {
		t.Fatal(err)
	}
	advance(t, n, time.Second)
	for i, q := range []string{"q1", "q2", "q3"} {
		number, err := n.Ask(id, object("request_id", q))
		if err != nil || number != uint64(i+1) {
			t.Fatalf("%d %v", number, err)
		}
	}
	kept := inspect(t, n, id)
	if resolved, err := n.Approve(id, Answer{Choice: Deny, RequestID: "q2"}); err != nil || resolved != 1 {
		t.Fatalf("%d %v", resolved, err)
	}
	in = inspect(t, n, id)
	if len(in.Steers) != 1 || in.Steers[0] != "left" || !in.Steering.Refuse || len(in.Pending) != 2 ||
		in.Pending[0].Number != 1 || in.Pending[1].Number != 3 || in.Pending[1].AskedAt.UnixNano() != start+1e9 {
		t.Errorf("%+v", in)
	}
	if d := in.Decisions; len(d) != 1 || d[0].Number != 2 || d[0].Choice != Deny || d[0].RequestID != "q2" || d[0].DecidedAt.UnixNano() != start+1e9 {
		t.Errorf("%+v", d)
	}
	if kept.Run.Status() != WaitingForApproval || len(kept.Pending) != 3 || kept.Decisions != nil {
		t.Errorf("an inspection changed after it was made: %+v", kept)
	}
	if in.Queue.Events != 5 || in.Queue.Bytes == 0 || in.Queue.Closed {
		t.Errorf("%+v", in.Queue)
	}

	first, second := subscribe(t, n, id), subscribe(t, n, id)
	advance(t, n, 2*time.Second)
	delta(t, n, id, "x")
	first.Leave()
	in = inspect(t, n, id)
	if s := in.Subscribers; len(s) != 2 || s[0] != (Subscriber{2 * time.Second, false}) || s[1] != (Subscriber{0, true}) || in.Queue.Events != 0 {
		t.Errorf("%+v", s)
	}
	observe(t, n, id, Completed)
	if in = inspect(t, n, id); in.Queue != nil || in.Subscribers != nil || in.Pending != nil || len(in.Decisions) != 1 || in.Row.Status != Completed {
		t.Errorf("%+v", in)
	}
	second.Leave()

	id = submit(t, n, "k2")
	observe(t, n, id, Running)
	if _, _, err := n.Restart(OwnerStale); err != nil {
		t.Fatal(err)
	}
	for range 2 { // looking reads nothing back
		if in = inspect(t, n, id); in.Cached || in.Run.Status() != Running || in.Queue != nil {
			t.Errorf("%+v", in)
		}
	}
	if _, err := n.Run(id); err != nil {
		t.Fatal(err)
	}
	if in = inspect(t, n, id); !in.Cached || in.Run.Status() != Interrupted || in.Row.Status != Interrupted {
		t.Errorf("%+v", in)
	}
	if _, err := n.Inspect(RunID{}); !errors.Is(err, RunNotFound) {
		t.Errorf("%v", err)
	}
}

// TestClosedEngine proves that what changes state fails once the engine is closed, and that nothing panics.
func TestClosedEngine(t *testing.T) {
	n := open(t, Config{})
	id := submit(t, n, "k")
	s := subscribe(t, n, id)
	n.engine.Close()
	n.engine.Close()
	if _, err := given(s); err != ErrStreamLost {
		t.Errorf("%v", err)
	}
	s.Leave()
	for name, f := range map[string]func() error{
		"Submit":      func() error { _, err := n.Submit(Submission{}); return err },
		"Accepting":   n.Accepting,
		"Run":         func() error { _, err := n.Run(id); return err },
		"Stop":        func() error { _, _, err := n.Stop(id); return err },
		"Approve":     func() error { _, err := n.Approve(id, Answer{}); return err },
		"Steerable":   func() error { return n.Steerable(id) },
		"Steer":       func() error { return n.Steer(id, "x") },
		"SetSteering": func() error { return n.SetSteering(id, SteerPolicy{}) },
		"Subscribe":   func() error { _, err := n.Subscribe(id); return err },
		"Emit":        func() error { _, err := n.Emit(id, Event{Name: "tool.started"}); return err },
		"EmitDelta":   func() error { _, err := n.EmitDelta(id, "x"); return err },
		"Observe":     func() error { _, err := n.Observe(id, Observation{Status: Running}); return err },
		"Ask":         func() error { _, err := n.Ask(id, nil); return err },
		"Sweep":       func() error { _, err := n.Sweep(); return err },
		"Restart":     func() error { _, _, err := n.Restart(OwnerStale); return err },
		"Reset":       n.Reset,
		"SetScope":    func() error { return n.SetScope(n.Scope()) },
		"SetGateway":  func() error { _, err := n.SetGateway(nil, nil); return err },
		"ChangeClock": func() error { _, err := n.ChangeClock(ClockChange{Advance: 1}); return err },
		"Sleep":       func() error { return n.Sleep(t.Context(), nil, time.Hour) },
		"AwaitRun": func() error {
			return n.AwaitRun(t.Context(), nil, id, func(Inspection) (bool, error) { return false, nil })
		},
		"AwaitAdmission": func() error { return n.AwaitAdmission(t.Context(), func(Admissions) bool { return false }) },
	} {
		if err := f(); !errors.Is(err, Closed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	late, err := n.engine.Namespace("late")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Submit(Submission{}); !errors.Is(err, Closed) {
		t.Errorf("a namespace that came later: %v", err)
	}
	n.Clock()
	n.Counts()
	n.Now()
	if !n.Closed() {
		t.Error("not closed")
	}
}
