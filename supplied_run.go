package hermesfake

import (
	"context"
	"fmt"
	"sync"

	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// Participant is whom a native run resolves, independently of what the host said.
type Participant = suppliedinput.Participant

// SetParticipant says whom the run resolves from now on. Until then it resolves whom the scope of supplied input that it came
// with expects: the right contact, on the right platform, authenticated.
func (r *Run) SetParticipant(p Participant) error {
	if _, err := r.acting(); err != nil {
		return err
	}
	return r.fake.inputs().SetParticipant(r.id, p)
}

// ModelRequest performs the check before a request to the model, and says whether it may have source content: the error wraps
// ErrHandoffBlocked and the HandoffReason where it may not, and ErrHandoffClosed where the scope was left, which is a misuse.
// Where it may, the sources whose blocks are at the end of the submission or of texts, the messages of the request, are opened.
// A check may take time, if Sources().Verify said so; it returns the context's error, or Closed, if that ends first.
// A run of no scope has nothing to check.
func (r *Run) ModelRequest(ctx context.Context, texts ...string) error {
	return r.check("", func(s *suppliedinput.Space, a suppliedinput.Actor) error { return s.ModelRequest(ctx, a, texts...) })
}

// Tool performs the check before a tool. Where it fails, as ModelRequest does, the run has no tools.
func (r *Run) Tool(ctx context.Context) error {
	return r.check("", func(s *suppliedinput.Space, a suppliedinput.Actor) error { return s.Tool(ctx, a) })
}

// Child begins a child of the run, with a session of its own, after the check before a tool, as which it fails.
func (r *Run) Child(ctx context.Context, sessionID string) (*Child, error) {
	return r.child(ctx, "", sessionID)
}

// RotateSession gives the run another session, as compression does, after a check, as which it fails. For its scope it is the
// same root; the status object keeps the session of the submission.
func (r *Run) RotateSession(ctx context.Context, sessionID string) error {
	return r.check("", func(s *suppliedinput.Space, a suppliedinput.Actor) error { return s.RotateSession(ctx, a, sessionID) })
}

// Handoff returns the scope of supplied input that the run came with, and whether there is one. Its Failure says whether the run is
// blocked, and why.
func (r *Run) Handoff() (HandoffState, bool) {
	if r == nil {
		return HandoffState{}, false
	}
	space := r.fake.core.usedInputs(r.fake.namespace.Name())
	if space == nil {
		return HandoffState{}, false
	}
	x, err := space.Execution(r.id)
	return x.Scope, err == nil
}

// RecallQuery returns the recall query of the run's scope: once a check has bound the run, and as long as the scope is open and not
// blocked. Else it is "".
func (r *Run) RecallQuery() string {
	if r == nil {
		return ""
	}
	if space := r.fake.core.usedInputs(r.fake.namespace.Name()); space != nil {
		return space.RecallQuery(suppliedinput.Actor{Run: r.id})
	}
	return ""
}

// acting fails where the run cannot act any more.
func (r *Run) acting() (actor suppliedinput.Actor, err error) {
	if r == nil {
		return actor, ErrNoRun
	}
	in, err := r.Snapshot()
	if err != nil {
		return actor, err
	}
	if in.Run.Status().Terminal() {
		return actor, fmt.Errorf("hermesfake: %s: %w", r, RunSettled)
	}
	return suppliedinput.Actor{Run: r.id, Executor: r.executor}, nil
}

// check does something that begins with a check: as the run, which must not have settled, or as its child with the session.
func (r *Run) check(child string, do func(*suppliedinput.Space, suppliedinput.Actor) error) error {
	var actor suppliedinput.Actor
	if child != "" {
		actor = suppliedinput.Actor{Run: r.id, Child: child, Executor: r.executor}
	} else {
		var err error
		if actor, err = r.acting(); err != nil {
			return err
		}
	}
	if space := r.fake.core.usedInputs(r.fake.namespace.Name()); space != nil {
		return do(space, actor)
	}
	return nil
}

func (r *Run) child(ctx context.Context, of, sessionID string) (*Child, error) {
	err := r.check(of, func(s *suppliedinput.Space, a suppliedinput.Actor) error { return s.Child(ctx, a, sessionID) })
	if err != nil {
		return nil, err
	}
	return &Child{run: r, session: sessionID}, nil
}

// Child is a child of a run, such as a subagent. It inherits the scope of the run that began it, if that was bound, also when
// the run has settled; but not beyond the scope's end.
type Child struct {
	run *Run

	mu      sync.Mutex
	session string
}

// SessionID is the child's session.
func (c *Child) SessionID() string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// ModelRequest is as that of a Run.
func (c *Child) ModelRequest(ctx context.Context, texts ...string) error {
	return c.check(func(s *suppliedinput.Space, a suppliedinput.Actor) error { return s.ModelRequest(ctx, a, texts...) })
}

// Tool is as that of a Run.
func (c *Child) Tool(ctx context.Context) error {
	return c.check(func(s *suppliedinput.Space, a suppliedinput.Actor) error { return s.Tool(ctx, a) })
}

// Child is as that of a Run.
func (c *Child) Child(ctx context.Context, sessionID string) (*Child, error) {
	if c == nil {
		return nil, ErrNoRun
	}
	return c.run.child(ctx, c.SessionID(), sessionID)
}

// RotateSession is as that of a Run: the rotated child inherits from its former session.
func (c *Child) RotateSession(ctx context.Context, sessionID string) error {
	err := c.check(func(s *suppliedinput.Space, a suppliedinput.Actor) error { return s.RotateSession(ctx, a, sessionID) })
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = sessionID
	return nil
}

func (c *Child) check(do func(*suppliedinput.Space, suppliedinput.Actor) error) error {
	if c == nil {
		return ErrNoRun
	}
	return c.run.check(c.SessionID(), do)
}
