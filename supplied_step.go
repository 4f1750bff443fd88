package hermesfake

import (
	"context"

	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// runStep is what a run, or a child of it, does with supplied input.
type runStep func(context.Context, *Run) error

// runSteps read the steps that scripts and the control plane have in common.
var runSteps = map[string]func(*inputArguments) runStep{
	"participant": func(a *inputArguments) runStep {
		p := a.participant()
		return func(_ context.Context, run *Run) error { return run.SetParticipant(p) }
	},
	"model_request": func(a *inputArguments) runStep {
		texts := a.texts("texts")
		return a.step(func(ctx context.Context, s *suppliedinput.Space, who suppliedinput.Actor) error {
			return s.ModelRequest(ctx, who, texts...)
		})
	},
	"tool": func(a *inputArguments) runStep {
		return a.step(func(ctx context.Context, s *suppliedinput.Space, who suppliedinput.Actor) error {
			return s.Tool(ctx, who)
		})
	},
	"child": func(a *inputArguments) runStep {
		session := a.wanted("session_id")
		return a.step(func(ctx context.Context, s *suppliedinput.Space, who suppliedinput.Actor) error {
			return s.Child(ctx, who, session)
		})
	},
	"rotate_session": func(a *inputArguments) runStep {
		session := a.wanted("session_id")
		return a.step(func(ctx context.Context, s *suppliedinput.Space, who suppliedinput.Actor) error {
			return s.RotateSession(ctx, who, session)
		})
	},
}

// step reads who acts, the run itself or its child with the session.
func (a *inputArguments) step(do func(context.Context, *suppliedinput.Space, suppliedinput.Actor) error) runStep {
	child := a.text("child")
	return func(ctx context.Context, run *Run) error {
		return run.check(child, func(s *suppliedinput.Space, who suppliedinput.Actor) error { return do(ctx, s, who) })
	}
}

func readRunStep(name string, a *inputArguments) (runStep, error) {
	step := runSteps[name](a)
	return step, a.done()
}
