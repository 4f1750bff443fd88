package hermesfake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

// Choice is an answer to an approval.
type Choice = engine.Choice

// The answers that a client can give.
const (
	Once    = engine.Once
	Session = engine.Session
	Always  = engine.Always
	Deny    = engine.Deny
)

// Approval is what a guarded step asks. Members that are not set are not in
// the object that clients see.
type Approval struct {
	Command     string
	Description string
	RequestID   string // by which a client can answer exactly this one
	SmartDenied bool   // offers once and deny only
	NoSession   bool   // sets allow_session to false: offers once and deny only
	NoPermanent bool   // sets allow_permanent to false: does not offer always
	// JSON is the whole object, in place of the members above.
	JSON string
}

func (a *Approval) object() (canon.Object, error) {
	if a.JSON != "" {
		v, err := canon.Parse([]byte(a.JSON))
		if err != nil {
			return nil, fmt.Errorf("hermesfake: the approval: %w", err)
		}
		object, ok := v.(canon.Object)
		if !ok {
			return nil, fmt.Errorf("hermesfake: the approval: %w: must be an object", canon.ErrInvalid)
		}
		return append(canon.Object{}, object...), nil
	}
	object := canon.Object{}
	set := func(name string, v canon.Value, given bool) {
		if given {
			object = append(object, canon.Member{Name: name, Value: v})
		}
	}
	set("command", canon.String(a.Command), a.Command != "")
	set("description", canon.String(a.Description), a.Description != "")
	set("request_id", canon.String(a.RequestID), a.RequestID != "")
	set("smart_denied", canon.Bool(true), a.SmartDenied)
	set("allow_session", canon.Bool(false), a.NoSession)
	set("allow_permanent", canon.Bool(false), a.NoPermanent)
	return object, nil
}

// RequestApproval asks and returns at once. The run waits for approval from
// then on; the answer shows in the run's Snapshot.
func (r *Run) RequestApproval(a Approval) error {
	return r.Observe(Observation{Status: WaitingForApproval, Approval: &a})
}

// AskApproval asks and waits for the answer. It returns "" if there was none: the
// run was settled or restarted, the context ended, as that of a script does at a stop, or it could not
// be asked. A script should return then: after a stop that cancels the run, while a completion would
// win over the stop.
func (r *Run) AskApproval(ctx context.Context, a Approval) Choice {
	if r == nil {
		return ""
	}
	object, err := a.object()
	if err != nil {
		return ""
	}
	choice, _ := r.ask(ctx, object)
	return choice
}

func (r *Run) ask(ctx context.Context, approval canon.Object) (choice Choice, err error) {
	number, err := r.fake.namespace.Ask(r.id, approval)
	if err != nil {
		return "", err
	}
	err = r.fake.namespace.AwaitRun(ctx, r.executor, r.id, func(in Snapshot) (bool, error) {
		for _, d := range in.Decisions {
			if d.Number == number {
				choice = d.Choice
				return true, nil
			}
		}
		return !in.Run.Active(), nil
	})
	return choice, err
}

// Steers returns the texts that the run was steered with and took, in order.
func (r *Run) Steers() []string {
	in, _ := r.Snapshot()
	return in.Steers
}

// AcceptSteer says whether the run takes steer text from now on. A run takes
// it while it is running, unless told otherwise; one that does not answers 409, as one in any
// other state always does.
func (r *Run) AcceptSteer(accept bool) error {
	return r.steering(engine.SteerPolicy{Refuse: !accept})
}

// BreakSteer makes steering the run a 500 with the message, from now on.
func (r *Run) BreakSteer(message string) error {
	return r.steering(engine.SteerPolicy{Broken: true, Err: message})
}

func (r *Run) steering(p engine.SteerPolicy) error {
	if r == nil {
		return ErrNoRun
	}
	return r.named(r.fake.namespace.SetSteering(r.id, p))
}

// WaitStop waits until a client has asked to stop the run, or the run has
// settled. It returns the context's error, or why the run cannot be looked at.
func (r *Run) WaitStop(ctx context.Context) error {
	return r.wait(ctx, "a stop", func(s Snapshot) bool {
		return s.Run.Status() == Stopping || s.Run.Status().Terminal()
	})
}

// WaitStatus waits until the run has the status. It returns the context's
// error, RunSettled when the run has settled otherwise, or why it cannot be looked at.
func (r *Run) WaitStatus(ctx context.Context, status Status) error {
	settled := false
	err := r.wait(ctx, status.String(), func(s Snapshot) bool {
		settled = s.Run.Status().Terminal() && s.Run.Status() != status
		return settled || s.Run.Status() == status
	})
	if err == nil && settled {
		return fmt.Errorf("hermesfake: %s: %w", r, RunSettled)
	}
	return err
}

// WaitSettled waits until the run is terminal, and returns how it ended. With an error, which
// is as that of Wait, it returns the state that it saw last.
func (r *Run) WaitSettled(ctx context.Context) (Status, error) {
	status := Unknown
	err := r.wait(ctx, "a terminal state", func(s Snapshot) bool {
		status = s.Run.Status()
		return status.Terminal()
	})
	return status, err
}

// Wait waits until ready says so. It is asked at once, and again after each
// transition of the run and each change of who follows its events; it must not
// call the fake. Wait returns the context's error, Closed, or RunNotFound once the run is forgotten.
func (r *Run) Wait(ctx context.Context, ready func(Snapshot) bool) error {
	return r.wait(ctx, "the condition", ready)
}

func (r *Run) wait(ctx context.Context, what string, ready func(Snapshot) bool) error {
	if r == nil {
		return ErrNoRun
	}
	err := r.fake.namespace.AwaitRun(ctx, r.executor, r.id, func(s Snapshot) (bool, error) {
		return ready(s), nil
	})
	if err != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("hermesfake: waited for %s, and got %s: %w", what, r, err)
	}
	return err
}

// Sleep waits for d on the fake's clock: a frozen one must be moved. It
// returns the context's error, or Closed.
func (r *Run) Sleep(ctx context.Context, d time.Duration) error {
	if r == nil {
		return ErrNoRun
	}
	return r.fake.namespace.Sleep(ctx, r.executor, d)
}
