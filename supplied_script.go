package hermesfake

import (
	"context"
	"errors"
	"fmt"

	"github.com/hermesfake/hermesfake/canon"
)

// inputStep is a step of a JSON script that is about supplied input: what it does, and what is played in place of the rest where
// the run may not.
type inputStep struct {
	do        func(context.Context, *Run) error
	onBlocked []step
}

// isInputStep reports whether a step with the member is one.
func isInputStep(name string) bool { return name == "on_blocked" || runSteps[name] != nil }

// readInputStep reads the members of a step, but for after.
func readInputStep(where string, members canon.Object, depth int) (*inputStep, error) {
	s := &inputStep{}
	var rest canon.Object
	for _, m := range members {
		if m.Name != "on_blocked" {
			rest = append(rest, m)
			continue
		}
		var err error
		if s.onBlocked, err = readSteps(where+".on_blocked", m.Value, depth+1); err != nil {
			return nil, err
		}
	}
	if len(rest) != 1 || runSteps[rest[0].Name] == nil {
		return nil, fmt.Errorf("must be one of participant, model_request, tool, child and rotate_session, with nothing but after and on_blocked beside it")
	}
	name := rest[0].Name
	if name == "participant" && s.onBlocked != nil {
		return nil, fmt.Errorf("on_blocked does not belong to participant, which is not checked")
	}
	object, ok := rest[0].Value.(canon.Object)
	if !ok {
		return nil, fmt.Errorf("%s must be an object", name)
	}
	var err error
	s.do, err = readRunStep(name, &inputArguments{object: object})
	return s, err
}

// play does the step. It reports whether the script goes on elsewhere. A run that may not use its sources any more goes on without them,
// as does one whose scope was closed, which Start reports by itself.
func (s *inputStep) play(ctx context.Context, run *Run) (elsewhere bool, err error) {
	err = s.do(ctx, run)
	if errors.Is(err, ErrHandoffBlocked) || errors.Is(err, ErrHandoffClosed) {
		return s.onBlocked != nil, nil
	}
	return false, err
}
