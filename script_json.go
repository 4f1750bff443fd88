package hermesfake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// AutoScript is a small script for clients that only need some agent: it
// starts, streams an answer in three pieces and completes.
const AutoScript = `{
  "steps": [
    {"status": "running"},
    {"event": "message.delta", "delta": "Hello "},
    {"event": "message.delta", "delta": "from "},
    {"event": "message.delta", "delta": "hermesfake."},
    {"complete": {"output": "Hello from hermesfake.",
                  "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}}
  ]
}`

// Bounds of a script document.
const (
	maxScripts     = 100
	maxScriptSteps = 10_000
	maxScriptDepth = 10
)

// SetScript replaces the scripts that came as JSON by those of the document: one
// script, or {"scripts": [script, ...]}, of which the first that is for a submission plays it. The
// same document is taken by the control plane and by the server's --script.
//
// A script is {"when": {...}, "steps": [...]}. when chooses submissions by
// "input" (a text that it contains), "model" and "session_id"; without it the script is for all. A step
// has one of these, and may have "after", which waits first, in milliseconds or as "90s":
//
//   - "status": a state, as Observe takes it, such as "running" or "cancelled";
//   - "event": the name of an event, with the event's fields beside it;
//   - "approval": an object that is asked; the script goes on when it is answered. With "on_deny", a list of
//     steps, a denial plays those and ends the script;
//   - "complete": the output, or {"output", "usage", "pending_steer"};
//   - "fail": the error;
//   - "participant", "model_request", "tool", "child" or "rotate_session": an object, as the controls of supplied input take
//     it. With "on_blocked", a run that may not use its sources plays those steps and ends the script; without, it goes on.
//
// A step may also be "after" alone. A stop cancels the run, unless a step has
// settled it before. The last step of a script, and of an "on_deny" or "on_blocked", must settle the run, and no other may. An error of
// SetScript wraps ErrScript and names the step; nothing has changed then.
func (f *Fake) SetScript(document string) error {
	parsed, err := readScripts([]byte(document))
	if err != nil {
		return err
	}
	st := &f.core.stage
	st.mu.Lock()
	defer st.mu.Unlock()
	own := st.own(f)
	own.document = parsed
	return nil
}

// scriptControl is what the control plane does with scripts.
func (k *core) scriptControl(namespace string, document []byte) error {
	view, err := k.fake.Namespace(namespace)
	if err != nil {
		return err
	}
	if document == nil {
		view.ClearScripts()
		return nil
	}
	return view.SetScript(string(document))
}

func readScripts(document []byte) ([]script, error) {
	v, err := canon.Parse(document)
	if err != nil {
		return nil, fmt.Errorf("%w: the document is not JSON: %v", ErrScript, err)
	}
	root, ok := v.(canon.Object)
	if !ok {
		return nil, fmt.Errorf("%w: the document must be an object", ErrScript)
	}
	list, many := root.Get("scripts")
	if !many {
		s, err := readScript("script", root)
		return []script{s}, err
	}
	array, ok := list.(canon.Array)
	if !ok || len(root) != 1 || len(array) > maxScripts {
		return nil, fmt.Errorf("%w: scripts must be an array of at most %d, with nothing beside it", ErrScript, maxScripts)
	}
	parsed := make([]script, len(array))
	for i, v := range array {
		if parsed[i], err = readScript(fmt.Sprintf("scripts[%d]", i), v); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

func readScript(where string, v canon.Value) (script, error) {
	var s script
	object, ok := v.(canon.Object)
	if !ok {
		return s, fmt.Errorf("%w: %s must be an object", ErrScript, where)
	}
	var steps []step
	for _, m := range object {
		var err error
		switch m.Name {
		case "when":
			s.when, err = readWhen(where+".when", m.Value)
		case "steps":
			steps, err = readSteps(where+".steps", m.Value, 1)
		default:
			err = fmt.Errorf("%w: %s: unknown member %q", ErrScript, where, m.Name)
		}
		if err != nil {
			return s, err
		}
	}
	if steps == nil {
		return s, fmt.Errorf("%w: %s.steps must be an array of steps", ErrScript, where)
	}
	if err := checkSettles(where+".steps", steps); err != nil {
		return s, err
	}
	s.play = func(ctx context.Context, run *Run) {
		if err := playSteps(ctx, run, steps); err != nil {
			run.fake.core.stage.fail(fmt.Errorf("%w of %s: %w", ErrScript, run.ID(), err))
			run.Fail("hermesfake: " + err.Error())
		}
	}
	return s, nil
}

func readWhen(where string, v canon.Value) ([]When, error) {
	object, ok := v.(canon.Object)
	if !ok {
		return nil, fmt.Errorf("%w: %s must be an object", ErrScript, where)
	}
	var when []When
	for _, m := range object {
		text, ok := m.Value.(canon.String)
		if !ok {
			return nil, fmt.Errorf("%w: %s.%s must be a string", ErrScript, where, m.Name)
		}
		switch m.Name {
		case "input":
			when = append(when, InputContains(string(text)))
		case "model":
			when = append(when, ModelIs(string(text)))
		case "session_id":
			when = append(when, SessionIs(string(text)))
		default:
			return nil, fmt.Errorf("%w: %s: unknown member %q", ErrScript, where, m.Name)
		}
	}
	return when, nil
}

// step is one step of a JSON script.
type step struct {
	after    time.Duration
	observe  *engine.Observation
	event    *engine.Event
	approval canon.Object
	onDeny   []step
	input    *inputStep
}

func readSteps(where string, v canon.Value, depth int) ([]step, error) {
	array, ok := v.(canon.Array)
	if !ok || len(array) > maxScriptSteps || depth > maxScriptDepth {
		return nil, fmt.Errorf("%w: %s must be an array of at most %d steps, nested at most %d deep",
			ErrScript, where, maxScriptSteps, maxScriptDepth)
	}
	steps := make([]step, len(array))
	for i, v := range array {
		var err error
		if steps[i], err = readStep(fmt.Sprintf("%s[%d]", where, i), v, depth); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// readStep reads a step by the rules of the control that does the same.
func readStep(where string, v canon.Value, depth int) (step, error) {
	var s step
	bad := func(format string, args ...any) (step, error) {
		return s, fmt.Errorf("%w: %s: %s", ErrScript, where, fmt.Sprintf(format, args...))
	}
	object, ok := v.(canon.Object)
	if !ok {
		return bad("must be an object")
	}
	var rest canon.Object
	for _, m := range object {
		if m.Name != "after" {
			rest = append(rest, m)
			continue
		}
		d, err := handler.ReadDuration(m.Value)
		if err != nil {
			return bad("%v", err)
		}
		s.after = d
	}
	if len(rest) == 0 {
		if len(object) == 0 {
			return bad("is empty")
		}
		return s, nil
	}
	var err error
	switch rest[0].Name {
	case "status":
		s.observe, err = handler.ReadObservation(rest)
	case "event":
		if s.event, err = handler.ReadEvent(rest); err == nil {
			err = checkEvent(s.event)
		}
	case "complete":
		s.observe, err = readComplete(rest)
	case "fail":
		s.observe, err = readFail(rest)
	case "approval", "on_deny":
		s.approval, s.onDeny, err = readApproval(where, rest, depth)
	default:
		if !isInputStep(rest[0].Name) {
			return bad("must begin with status, event, approval, complete, fail or a step of supplied input, not %q", rest[0].Name)
		}
		s.input, err = readInputStep(where, rest, depth)
	}
	if err != nil {
		return bad("%v", err)
	}
	return s, nil
}

// checkEvent refuses what the provider would drop in silence.
func checkEvent(e *engine.Event) error {
	fields, known := engine.EventFields(e.Name)
	if !known {
		return fmt.Errorf("event: the provider drops events named %q", e.Name)
	}
	for _, m := range e.Fields {
		if !slices.Contains(fields, m.Name) {
			return fmt.Errorf("event: %s has no field %q; it has %s", e.Name, m.Name, strings.Join(fields, ", "))
		}
	}
	return nil
}

// settles reports whether the step ends the run.
func (s *step) settles() bool { return s.observe != nil && s.observe.Status.Terminal() }

// checkSettles refuses steps that leave a run unsettled, or go on behind its end.
func checkSettles(where string, steps []step) error {
	for i, s := range steps {
		if s.onDeny != nil {
			if err := checkSettles(fmt.Sprintf("%s[%d].on_deny", where, i), s.onDeny); err != nil {
				return err
			}
		}
		if s.input != nil && s.input.onBlocked != nil {
			if err := checkSettles(fmt.Sprintf("%s[%d].on_blocked", where, i), s.input.onBlocked); err != nil {
				return err
			}
		}
		if s.settles() && i < len(steps)-1 {
			return fmt.Errorf("%w: %s[%d]: the run has settled before this step", ErrScript, where, i+1)
		}
	}
	if len(steps) == 0 || !steps[len(steps)-1].settles() {
		return fmt.Errorf("%w: %s must end with a step that settles the run, such as complete or fail", ErrScript, where)
	}
	return nil
}

func readComplete(rest canon.Object) (*engine.Observation, error) {
	members, ok := rest[0].Value.(canon.Object)
	if text, isText := rest[0].Value.(canon.String); isText {
		members, ok = canon.Object{{Name: "output", Value: text}}, true
	}
	if !ok || len(rest) != 1 {
		return nil, fmt.Errorf("complete must be a string or an object, with nothing but after beside it")
	}
	return handler.ReadObservation(append(canon.Object{{Name: "status", Value: canon.String("completed")}}, members...))
}

func readFail(rest canon.Object) (*engine.Observation, error) {
	text, ok := rest[0].Value.(canon.String)
	if !ok || len(rest) != 1 {
		return nil, fmt.Errorf("fail must be a string, with nothing but after beside it")
	}
	message := string(text)
	return &engine.Observation{Status: engine.Failed, Err: &message}, nil
}

func readApproval(where string, rest canon.Object, depth int) (approval canon.Object, onDeny []step, err error) {
	for _, m := range rest {
		switch m.Name {
		case "approval":
			var ok bool
			if approval, ok = m.Value.(canon.Object); !ok {
				return nil, nil, fmt.Errorf("approval must be an object")
			}
		case "on_deny":
			if onDeny, err = readSteps(where+".on_deny", m.Value, depth+1); err != nil {
				return nil, nil, err
			}
		default:
			return nil, nil, fmt.Errorf("unknown member %q", m.Name)
		}
	}
	if approval == nil {
		return nil, nil, fmt.Errorf("on_deny needs an approval")
	}
	return approval, onDeny, nil
}

// playSteps plays a JSON script until it ends or its context does.
func playSteps(ctx context.Context, run *Run, steps []step) error {
	n := run.fake.namespace
	for _, s := range steps {
		if s.after > 0 {
			run.Sleep(ctx, s.after)
		}
		if ctx.Err() != nil {
			return nil
		}
		var err error
		switch {
		case s.input != nil:
			var elsewhere bool
			if elsewhere, err = s.input.play(ctx, run); elsewhere {
				return playSteps(ctx, run, s.input.onBlocked)
			}
		case s.observe != nil:
			_, err = n.Observe(run.id, *s.observe)
		case s.event != nil:
			_, err = n.Emit(run.id, *s.event)
		case s.approval != nil:
			var choice Choice
			if choice, err = run.ask(ctx, s.approval); choice == Deny && s.onDeny != nil {
				return playSteps(ctx, run, s.onDeny)
			}
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
