package suppliedinput

import (
	"context"
)

// ModelRequest is the check before a request to the model. Where it succeeds, the sources whose blocks are in the
// submission or in texts, the messages that the agent asks with, have reached the model. Where the scope is blocked it fails
// with a Blocked, and the request goes out without source content. ErrScopeClosed is a misuse. It also fails with
// ErrNoChild, the context's error, and what the gateway's Sleep returns; nothing has changed then. A run of no
// scope has nothing to check.
func (s *Space) ModelRequest(ctx context.Context, a Actor, texts ...string) error {
	return s.check(ctx, a, func(e *execution) error {
		e.scope.reach(e.arrived)
		e.scope.reach(e.scope.reached(texts))
		return nil
	})
}

// Tool is the check before a tool, which a run of a blocked scope does not have. It fails as ModelRequest does.
func (s *Space) Tool(ctx context.Context, a Actor) error {
	return s.check(ctx, a, func(*execution) error { return nil })
}

// Child begins a child of the actor, with a session of its own. The actor is checked first, as before any tool; the child itself
// when it acts. It fails as ModelRequest does, and with ErrInvalid and ErrFull.
func (s *Space) Child(ctx context.Context, a Actor, session string) error {
	if err := checkText("session_id", session, MaxID); err != nil {
		return err
	}
	return s.check(ctx, a, func(e *execution) error {
		root := s.state.executions[a.Run]
		switch {
		case root.has(session):
			return invalid("the run has this session already")
		case len(root.children) >= maxChildren:
			return ErrFull
		case root.children == nil:
			root.children = map[string]*execution{}
		}
		root.children[session] = &execution{run: a.Run, session: session, parent: e.session, child: true,
			participant: root.participant, scope: root.scope}
		return nil
	})
}

// RotateSession gives the actor another session, as compression does, after a fresh check. The rotated root is the same
// root; a rotated child inherits from its former session. It fails as Child does, and then the session is the former one.
func (s *Space) RotateSession(ctx context.Context, a Actor, session string) error {
	if err := checkText("session_id", session, MaxID); err != nil {
		return err
	}
	return s.check(ctx, a, func(e *execution) error {
		sc, root := e.scope, s.state.executions[a.Run]
		if root.has(session) {
			return invalid("the run has this session already")
		}
		if len(sc.sessions) >= maxSessions {
			return ErrFull
		}
		if e != root {
			delete(root.children, e.session)
			root.children[session] = e
			if root.former == nil {
				root.former = map[string]*execution{}
			}
			root.former[e.session] = e
		}
		if e.child {
			e.parent = e.session
		} else {
			sc.rootSession = session
		}
		e.session = session
		sc.sessions[session] = struct{}{}
		return nil
	})
}

// check performs the check of an actor and then, if it succeeds, in the same step, what was checked: a close or an erasure
// comes before both or after both. It does neither where there is nothing to check.
func (s *Space) check(ctx context.Context, a Actor, then func(*execution) error) error {
	e, v, err := s.beginCheck(a)
	if err != nil || e == nil {
		return err
	}
	if v.takes > 0 {
		if err := s.config.Gateway.Sleep(ctx, a.Executor, v.takes); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.unlock()
	if !s.state.current(e) {
		return ErrNoScope
	}
	if err := s.state.endCheck(e, v); err != nil {
		return err
	}
	return then(e)
}

func (s *Space) beginCheck(a Actor) (*execution, verification, error) {
	s.lockWith(a.Run)
	defer s.unlock()
	e, err := s.state.find(a)
	if err != nil || e == nil {
		return nil, verification{}, err
	}
	if err := s.state.stands(e); err != nil {
		return nil, verification{}, err
	}
	return e, s.state.verify(e.scope.Inputs, e.scope.Sources), nil
}

// stands is the part of a check that needs no verification. A scope that is blocked for a transient reason goes on to be
// checked: a permanent one may replace it.
func (s *state) stands(e *execution) error {
	sc := e.scope
	switch {
	case sc.closed:
		if !e.outlived {
			e.outlived = true
			s.report(UsedAfterClose, sc, nil)
		}
		return ErrScopeClosed
	case sc.reason.permanent():
	case !sc.bind(e):
		sc.block(ScopeInvalid)
	case s.isErased(sc.Inputs, sc.Sources):
		sc.block(Erased)
	}
	if sc.reason.permanent() {
		return &Blocked{sc.reason}
	}
	return nil
}

// endCheck latches what a verification found, or admits the scope.
func (s *state) endCheck(e *execution, v verification) error {
	if err := s.stands(e); err != nil {
		return err
	}
	sc := e.scope
	if reason := s.verified(v, sc.Inputs, sc.Sources); reason != "" {
		sc.block(reason)
	}
	if sc.reason != "" {
		return &Blocked{sc.reason}
	}
	sc.admitted, e.checked = true, true
	return nil
}
