package suppliedinput

import (
	"slices"

	"github.com/hermesfake/hermesfake/engine"
)

// Participant is whom a native run resolves, independently of what the host said.
type Participant struct {
	ContactID       string
	Platform        string // compared in the transport form
	Unauthenticated bool   // a participant that is not authenticated is not valid
	// ParentSessionID makes the run a child of the run with this session; a child never claims a scope.
	ParentSessionID string
}

func (p *Participant) valid() bool {
	return !p.Unauthenticated && checkText("contact_id", p.ContactID, MaxID) == nil
}

// execution is a native run, or a child of one.
type execution struct {
	run         engine.RunID
	session     string
	parent      string // the session of its parent
	child       bool
	participant *Participant // nil: as the scope expects it
	scope       *scope       // nil: none
	bound       bool
	checked     bool // a check of it has succeeded
	outlived    bool // it used its scope after that was closed, which was reported
	arrived     []int
	children    map[string]*execution
	former      map[string]*execution // children by the sessions that they had before a rotation
	uncount     func()                // takes it back as a task of the host, nil if it is none
}

// has reports whether a session is that of a run, or of a child of it.
func (e *execution) has(session string) bool {
	return session == e.session || e.children[session] != nil
}

// Actor is who acts: a run, or its child with the session.
type Actor struct {
	Run      engine.RunID
	Child    string           // the session of the child, also a former one; "" for the run itself
	Executor *engine.Executor // that waits, nil for none
}

// Admit is asked before a run is admitted that comes with a scope. It fails with ErrNoScope, and with ErrScopeClosed,
// which is a misuse. Whoever asked calls end once the run is admitted and attached, or is not admitted. Until then a run that
// the Space does not know may be this one, and what it does waits.
func (s *Space) Admit(id string) (end func(), err error) {
	s.admissions.RLock()
	s.mu.Lock()
	defer s.unlock()
	switch sc := s.state.scopes[id]; {
	case sc == nil:
		err = ErrNoScope
	case sc.closed:
		s.state.report(UsedAfterClose, sc, nil)
		err = ErrScopeClosed
	default:
		return s.admissions.RUnlock, nil
	}
	s.admissions.RUnlock()
	return nil, err
}

// lockWith locks the Space, with the execution of a run there if it came with a scope: a run that is not known may be one that is
// being admitted.
func (s *Space) lockWith(run engine.RunID) {
	s.mu.Lock()
	if s.state.executions[run] != nil {
		return
	}
	s.mu.Unlock()
	s.admissions.Lock()
	defer s.admissions.Unlock()
	s.mu.Lock()
}

// Attach says that a run was admitted that came with a scope. The texts are those of the request that a host can append
// blocks to; nothing of them is kept. The run binds at its first check. It fails with ErrNoScope and ErrFull.
func (s *Space) Attach(id string, run engine.RunID, session string, texts ...string) error {
	s.mu.Lock()
	defer s.unlock()
	sc := s.state.scopes[id]
	if sc == nil {
		return ErrNoScope
	}
	if s.state.executions[run] != nil { // that of a run before a checkout
		s.state.remove(func(e *execution) bool { return e.run == run })
	}
	e, err := s.state.execution(run)
	if err != nil {
		return err
	}
	e.scope, e.session = sc, session
	e.arrived = sc.reached(texts)
	s.state.began(e)
	return nil
}

// execution returns that of a run, and makes room for a new one by forgetting the oldest that is over.
func (s *state) execution(run engine.RunID) (*execution, error) {
	if e := s.executions[run]; e != nil {
		return e, nil
	}
	if len(s.order) >= maxExecutions {
		over := slices.IndexFunc(s.order, func(e *execution) bool { return !s.config.Gateway.Active(e.run) })
		if over < 0 {
			return nil, ErrFull
		}
		delete(s.executions, s.order[over].run)
		s.order = slices.Delete(s.order, over, over+1)
	}
	e := &execution{run: run}
	s.executions[run] = e
	s.order = append(s.order, e)
	return e, nil
}

// Forget forgets the executions of runs that the gateway does not know any more, as after a checkout. It waits for submissions
// under way, whose runs may be among them.
func (s *Space) Forget() {
	s.admissions.Lock()
	defer s.admissions.Unlock()
	s.mu.Lock()
	defer s.unlock()
	s.state.remove(func(e *execution) bool { return !s.config.Gateway.Known(e.run) })
}

// remove takes executions out of their scopes, the latest first. What became of a scope, and what was reported, stays.
func (s *state) remove(which func(*execution) bool) {
	var gone []*execution
	used := map[*scope]bool{}
	s.order = slices.DeleteFunc(s.order, func(e *execution) bool {
		if !which(e) {
			used[e.scope] = true
			return false
		}
		gone = append(gone, e)
		return true
	})
	for _, e := range slices.Backward(gone) {
		delete(s.executions, e.run)
		if e.uncount != nil {
			e.uncount()
		}
		sc := e.scope
		if sc == nil {
			continue
		}
		if sc.root == e {
			sc.root, sc.rootSession = nil, sc.SessionID
		}
		if !used[sc] {
			clear(sc.sessions)
		}
	}
}

// SetParticipant says whom a run resolves from now on. Until then it resolves whom its scope expects. A run that is a child of
// another one is no task of the host, and not counted as one.
func (s *Space) SetParticipant(run engine.RunID, p Participant) error {
	s.lockWith(run)
	defer s.unlock()
	e, err := s.state.execution(run)
	if err != nil {
		return err
	}
	e.participant = &p
	e.child, e.parent = p.ParentSessionID != "", p.ParentSessionID
	if e.child && e.uncount != nil {
		e.uncount()
		e.uncount = nil
		s.state.misuses = slices.DeleteFunc(s.state.misuses, func(m misuse) bool { return m.task == e })
	}
	return nil
}

// find returns the execution of an actor; nil where it has none, because no scope is concerned.
func (s *state) find(a Actor) (*execution, error) {
	e := s.executions[a.Run]
	if e == nil || e.scope == nil {
		return nil, nil
	}
	if a.Child == "" {
		return e, nil
	}
	if child := e.children[a.Child]; child != nil {
		return child, nil
	}
	if child := e.former[a.Child]; child != nil {
		return child, nil
	}
	return nil, ErrNoChild
}

// current reports whether an execution still is that of its run, or of a child of it: a reset, or a checkout, may have ended it.
func (s *state) current(e *execution) bool {
	root := s.executions[e.run]
	return root == e || root != nil && root.children[e.session] == e
}

// bind reports whether an execution belongs to its scope, and binds it the first time.
func (sc *scope) bind(e *execution) bool {
	if p := e.participant; p != nil && (!p.valid() || p.ContactID != sc.ContactID || sc.Transport && p.Platform != sc.Platform) {
		return false
	}
	if checkText("session_id", e.session, MaxID) != nil {
		return false
	}
	switch {
	case e.child:
		if _, inherits := sc.sessions[e.parent]; !inherits {
			return false
		}
	case e.bound:
		return true
	case sc.Transport:
		if sc.root != nil {
			return false
		}
		sc.root, sc.rootSession = e, e.session
	case e.session != sc.rootSession:
		return false
	case sc.root == nil:
		sc.root = e
	}
	e.bound = true
	sc.sessions[e.session] = struct{}{}
	return true
}

// Execution is a run that came with a scope, as it is now.
type Execution struct {
	Scope    Scope
	Session  string   // "" where it has none that is a string
	Bound    bool     // to the scope
	Children []string // the sessions of its children, sorted
}

// Execution returns that of a run, or ErrNoScope where the run came with none.
func (s *Space) Execution(run engine.RunID) (Execution, error) {
	s.lockWith(run)
	defer s.mu.Unlock()
	e := s.state.executions[run]
	if e == nil || e.scope == nil {
		return Execution{}, ErrNoScope
	}
	x := Execution{Scope: e.scope.view(), Session: e.session, Bound: e.bound}
	for session := range e.children {
		x.Children = append(x.Children, session)
	}
	slices.Sort(x.Children)
	return x, nil
}
