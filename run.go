package hermesfake

import (
	"context"
	"errors"
	"fmt"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

// ErrNoRun is the error of every call on a nil *Run, as Runs.Last returns it
// when nothing was submitted, and Fake.Run for a text that is no id.
var ErrNoRun = errors.New("hermesfake: no run: nothing was submitted, or the id is no run's")

// Status is the state of a run, in the provider's words.
type Status = engine.Status

// The states of a run; from Completed to Interrupted they are terminal.
const (
	Queued             = engine.Queued
	Running            = engine.Running
	WaitingForApproval = engine.WaitingForApproval
	Stopping           = engine.Stopping
	Completed          = engine.Completed
	Failed             = engine.Failed
	Cancelled          = engine.Cancelled
	Interrupted        = engine.Interrupted
	Unknown            = engine.Unknown // no run has it
)

// Usage counts the tokens of a completed run.
type Usage = engine.Usage

// Run is a run of the fake, played by the test in the place of an agent. Its
// methods act as the executor does, whatever the scope. They fail with RunNotFound once the run is
// forgotten, with RunSettled once it is terminal, and with RunForeign while another gateway owns
// it; nothing has changed then.
type Run struct {
	fake     *Fake
	id       engine.RunID
	executor *engine.Executor // whose script got this Run
}

// Runs are runs in order of admission.
type Runs []*Run

// Runs returns every run of the namespace's scope that is in the cache or has
// a row, in order of admission. Those of other profiles are not among them until SetScope
// selects theirs; WaitRun, Run and scripts reach them too.
func (f *Fake) Runs() Runs {
	known := f.namespace.Runs()
	runs := make(Runs, len(known))
	for i, r := range known {
		runs[i] = f.run(r.ID())
	}
	return runs
}

// Last returns the latest run, or nil if there is none; every method of a nil *Run is
// an error that says so.
func (r Runs) Last() *Run {
	if len(r) == 0 {
		return nil
	}
	return r[len(r)-1]
}

// Run returns the run of an id as a client got it, or nil if the text is no id.
func (f *Fake) Run(id string) *Run {
	parsed, ok := engine.ParseRunID(id)
	if !ok {
		return nil
	}
	return f.run(parsed)
}

// WaitRun waits for the next admission that no earlier call on this Fake has
// returned, the first one first. Its error says how many there were, and wraps the context's, or is Closed.
func (f *Fake) WaitRun(ctx context.Context) (*Run, error) {
	for {
		var number, admitted uint64
		err := f.namespace.AwaitAdmission(ctx, func(a engine.Admissions) bool {
			admitted = a.Last
			if f.era != a.Era {
				f.seen, f.era = min(f.seen, a.From), a.Era
			}
			if f.seen == a.Last {
				return false
			}
			f.seen++
			number = f.seen
			return true
		})
		if err != nil && errors.Is(err, ctx.Err()) {
			return nil, fmt.Errorf("hermesfake: waited for run %d, and %d admitted so far: %w", admitted+1, admitted, err)
		}
		if err != nil {
			return nil, err
		}
		if run, _, ok := f.namespace.Admitted(number); ok {
			return f.run(run.ID()), nil
		}
	}
}

func (f *Fake) run(id engine.RunID) *Run { return &Run{fake: f, id: id} }

// ID is the run's id, as the provider prints it.
func (r *Run) ID() string {
	if r == nil {
		return ""
	}
	return r.id.String()
}

// Snapshot is what is known of a run at one moment. Its Run is nil when the
// run is not found.
type Snapshot = engine.Inspection

// Snapshot returns all that is known of the run: its status object, row,
// event queue, subscribers, pending approvals, decisions and steers. Looking
// changes nothing.
func (r *Run) Snapshot() (Snapshot, error) {
	if r == nil {
		return Snapshot{}, ErrNoRun
	}
	return r.fake.namespace.Inspect(r.id)
}

// Status is the run's state; that of a row that was not read back yet is the
// state it was written with. A run that is not found is Unknown.
func (r *Run) Status() Status {
	in, err := r.Snapshot()
	if err != nil {
		return engine.Unknown
	}
	return in.Run.Status()
}

// JSON is the run's status object in the provider's bytes, or "" if the run is
// not found.
func (r *Run) JSON() string {
	in, err := r.Snapshot()
	if err != nil {
		return ""
	}
	return string(in.Run.AppendJSON(nil))
}

// String returns the run's id and state.
func (r *Run) String() string {
	if r == nil {
		return "no run"
	}
	return fmt.Sprintf("%s %s", r.ID(), r.Status())
}

// Observation is the executor's next report of a run's state. The zero value
// of a member stands for its default. A member that does not belong to Status is an error that wraps ErrObservation.
type Observation struct {
	Status       Status    // the zero value is Queued
	LastEvent    string    // default: run.STATUS when terminal or stopping, approval.request when waiting
	Output       string    // with Completed
	Usage        Usage     // with Completed
	PendingSteer string    // with Completed: steer text that was left unused
	Err          string    // with Failed and Interrupted; default: the provider's text
	Approval     *Approval // with WaitingForApproval: what is asked
}

// Observe reports any state. On a run that another gateway owns it acts for
// that one.
func (r *Run) Observe(o Observation) error {
	if r == nil {
		return ErrNoRun
	}
	if err := o.check(); err != nil {
		return err
	}
	next := engine.Observation{Status: o.Status, LastEvent: o.LastEvent, Output: o.Output, Usage: o.Usage}
	if o.PendingSteer != "" {
		next.PendingSteer = &o.PendingSteer
	}
	if o.Err != "" {
		next.Err = &o.Err
	}
	if o.Approval != nil && o.Status == WaitingForApproval {
		object, err := o.Approval.object()
		if err != nil {
			return err
		}
		next.Approval = object
	}
	_, err := r.fake.namespace.Observe(r.id, next)
	return r.named(err)
}

// named says which run had settled, and how: the provider's words do not.
func (r *Run) named(err error) error {
	if errors.Is(err, RunSettled) {
		return fmt.Errorf("hermesfake: %s: %w", r, err)
	}
	return err
}

// ErrObservation is wrapped by the errors of Observe for members that do not
// belong to the status.
var ErrObservation = errors.New("observation")

func (o *Observation) check() error {
	completed := o.Status == Completed
	for _, m := range []struct {
		name, where string
		wrong       bool
	}{
		{"Output", "Completed", o.Output != "" && !completed},
		{"Usage", "Completed", o.Usage != Usage{} && !completed},
		{"PendingSteer", "Completed", o.PendingSteer != "" && !completed},
		{"Err", "Failed or Interrupted", o.Err != "" && o.Status != Failed && o.Status != Interrupted},
		{"Approval", "WaitingForApproval", o.Approval != nil && o.Status != WaitingForApproval},
	} {
		if m.wrong {
			return fmt.Errorf("hermesfake: %w: %s belongs to %s, and the status is %s", ErrObservation, m.name, m.where, o.Status)
		}
	}
	return nil
}

// Start reports that the executor has begun.
func (r *Run) Start() error { return r.Observe(Observation{Status: Running}) }

// Complete settles the run as completed, with its output and no usage. A
// completion also wins over a stop that was requested before.
func (r *Run) Complete(output string) error {
	return r.Observe(Observation{Status: Completed, Output: output})
}

// CompleteWithUsage settles the run as completed, with its output and usage.
func (r *Run) CompleteWithUsage(output string, u Usage) error {
	return r.Observe(Observation{Status: Completed, Output: output, Usage: u})
}

// Fail settles the run as failed; "" stands for the provider's "agent run failed".
func (r *Run) Fail(message string) error {
	return r.Observe(Observation{Status: Failed, Err: message})
}

// Cancel settles the run as cancelled, as an executor that was stopped does.
func (r *Run) Cancel() error { return r.Observe(Observation{Status: Cancelled}) }

// Interrupt settles the run as interrupted, as a restart does; the provider has no event for it.
func (r *Run) Interrupt() error { return r.Observe(Observation{Status: Interrupted}) }

// Delta streams text of the answer. It moves nothing in the status object.
func (r *Run) Delta(text string) error {
	if r == nil {
		return ErrNoRun
	}
	_, err := r.fake.namespace.EmitDelta(r.id, text)
	return r.named(err)
}

// ToolStarted reports that a tool has begun. An empty preview is null on the wire.
func (r *Run) ToolStarted(tool, preview string) error {
	fields := canon.Object{{Name: "tool", Value: canon.String(tool)}}
	if preview != "" {
		fields = append(fields, canon.Member{Name: "preview", Value: canon.String(preview)})
	}
	return r.emit("tool.started", fields)
}

// ToolCompleted reports that a tool has ended after so many seconds, which
// are rounded to three places, and whether with an error.
func (r *Run) ToolCompleted(tool string, seconds float64, failed bool) error {
	return r.emit("tool.completed", canon.Object{
		{Name: "tool", Value: canon.String(tool)},
		{Name: "duration", Value: canon.Float(seconds)},
		{Name: "error", Value: canon.Bool(failed)},
	})
}

// Reasoning reports a piece of reasoning.
func (r *Run) Reasoning(text string) error {
	return r.emit("reasoning.available", canon.Object{{Name: "text", Value: canon.String(text)}})
}

// SubagentStart reports that a subagent has begun. fields is a JSON object, such as
// {"goal": "...", "subagent_id": "..."}, of which the provider passes on what
// it knows; "" stands for {}.
func (r *Run) SubagentStart(fields string) error {
	return r.Emit("subagent.start", fields)
}

// SubagentComplete reports that a subagent has ended; fields are as with SubagentStart.
// It does not settle the run.
func (r *Run) SubagentComplete(fields string) error {
	return r.Emit("subagent.complete", fields)
}

// Emit reports any event, with the fields that the control plane takes for
// it, as a JSON object; "" stands for {}. Events that the provider does not know
// are dropped as it drops them, and so are fields, without an error: docs/events.md lists both.
func (r *Run) Emit(event, fields string) error {
	var object canon.Object
	if fields != "" {
		v, err := canon.Parse([]byte(fields))
		if err != nil {
			return fmt.Errorf("hermesfake: the fields of %s: %w", event, err)
		}
		var ok bool
		if object, ok = v.(canon.Object); !ok {
			return fmt.Errorf("hermesfake: the fields of %s: %w: must be an object", event, canon.ErrInvalid)
		}
	}
	return r.emit(event, object)
}

func (r *Run) emit(event string, fields canon.Object) error {
	if r == nil {
		return ErrNoRun
	}
	_, err := r.fake.namespace.Emit(r.id, engine.Event{Name: event, Fields: fields})
	return r.named(err)
}
