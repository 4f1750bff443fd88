package suppliedinput

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// scope is one handoff.
type scope struct {
	Opening
	id       string
	number   uint64
	openedAt time.Time
	where    string // of the call that opened it
	lineage  lineageKey
	closed   bool
	reason   Reason // "" while it is not blocked
	admitted bool

	tasks       int                 // root runs that came with it
	root        *execution          // the first that was bound
	rootSession string              // in the transport form "" until then
	sessions    map[string]struct{} // bound ones
	handles     []Handle            // one for each source parent
	blocks      []block
	result      *Result
}

// Failure says why nothing may be used of a scope.
type Failure struct {
	Reason    Reason `json:"reason"`
	Admitted  bool   `json:"admitted"`  // a check succeeded before
	Retryable bool   `json:"retryable"` // with one fresh task, after the parents were revalidated
}

// Result is what a scope has produced, and from what.
type Result struct {
	SessionID  string         `json:"session_id"`
	TurnID     string         `json:"turn_id"`
	InputRefs  []InputParent  `json:"input_refs"`
	SourceRefs []SourceParent `json:"source_refs"`
}

func (r *Result) copy() *Result {
	if r == nil {
		return nil
	}
	c := *r
	c.InputRefs, c.SourceRefs = append([]InputParent{}, r.InputRefs...), append([]SourceParent{}, r.SourceRefs...)
	return &c
}

// Scope is what is known of a scope, for the eyes of the test: unlike the host it may look after the scope was left.
type Scope struct {
	ID        string
	ContactID string
	Transport bool
	Platform  string // in the transport form
	SessionID string // the present root session, "" while the transport form has none
	Inputs    []InputParent
	Sources   []SourceParent
	OpenedAt  time.Time
	Opened    string // file and line, "" where it is not known
	Closed    bool
	Admitted  bool
	Failure   *Failure
	Result    *Result
	Handles   []Handle
	Sessions  []string // bound ones, sorted
	Tasks     int      // root runs that were submitted with it
}

// Open opens a scope and returns its id. What is wrong with the opening wraps ErrInvalid, and nothing was opened. It grants
// nothing: sources are looked at when a run that was bound is about to use them.
func (s *Space) Open(o Opening) (id string, err error) {
	folded, err := o.check()
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.unlock()
	return s.state.openScope(folded)
}

func (s *state) openScope(o Opening) (id string, err error) {
	if s.open >= maxOpenScopes {
		return "", ErrFull
	}
	s.numbers++
	sc := &scope{
		Opening:     o,
		id:          "input_" + s.mint("scope", s.numbers),
		number:      s.numbers,
		openedAt:    s.config.Gateway.Now(),
		where:       s.config.Caller(),
		lineage:     lineageOf(o),
		rootSession: o.SessionID,
		sessions:    map[string]struct{}{},
	}
	for _, p := range o.Sources {
		sc.handles = append(sc.handles, Handle{SourceParent: p})
	}
	s.scopes[sc.id] = sc
	s.open++
	return sc.id, nil
}

// Close leaves a scope. Nothing uses it from then on, and its result and recall query are gone; its failure stays. Closing
// it again does nothing. It fails with ErrNoScope.
func (s *Space) Close(id string) error {
	s.mu.Lock()
	defer s.unlock()
	sc := s.state.scopes[id]
	if sc == nil {
		return ErrNoScope
	}
	s.state.closeScope(sc)
	return nil
}

func (s *state) closeScope(sc *scope) {
	if sc.closed {
		return
	}
	sc.closed = true
	sc.RecallQuery = nil
	s.open--
	s.closed = append(s.closed, sc)
	if len(s.closed) > maxClosedScopes {
		s.forget(s.closed[0])
		s.closed = s.closed[1:]
	}
}

// forget drops a closed scope. Executions that still refer to it find it closed.
func (s *state) forget(sc *scope) {
	delete(s.scopes, sc.id)
	if s.lineages[sc.lineage].last == sc {
		delete(s.lineages, sc.lineage)
	}
}

// block latches a reason: a permanent one replaces a transient one, never the other way round.
func (sc *scope) block(reason Reason) {
	if sc.reason == "" || reason.permanent() && !sc.reason.permanent() {
		sc.reason = reason
	}
}

func (sc *scope) failure() *Failure {
	if sc.reason == "" {
		return nil
	}
	return &Failure{Reason: sc.reason, Admitted: sc.admitted, Retryable: !sc.reason.permanent() && !sc.admitted}
}

// Failure returns why nothing may be used of a scope, nil while it is not blocked. It also does after the scope was closed.
// It fails with ErrNoScope.
func (s *Space) Failure(id string) (*Failure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.state.scopes[id]
	if sc == nil {
		return nil, ErrNoScope
	}
	return sc.failure(), nil
}

// Result returns what the host may persist: nil until the envelope of the root run is durably queued. Of a closed scope it is
// nil, and asking for one that there was is a misuse. It fails with ErrNoScope.
func (s *Space) Result(id string) (*Result, error) {
	s.mu.Lock()
	defer s.unlock()
	sc := s.state.scopes[id]
	switch {
	case sc == nil:
		return nil, ErrNoScope
	case sc.closed:
		if sc.result != nil {
			s.state.report(ResultAfterClose, sc, nil)
		}
		return nil, nil
	}
	return sc.result.copy(), nil
}

// Scope returns what is known of a scope, or ErrNoScope. The latest 1000 closed ones are known.
func (s *Space) Scope(id string) (Scope, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sc := s.state.scopes[id]; sc != nil {
		return sc.view(), nil
	}
	return Scope{}, ErrNoScope
}

// Scopes returns the scopes that are known, in order of opening.
func (s *Space) Scopes() []Scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Scope, 0, len(s.state.scopes))
	scopes := slices.SortedFunc(maps.Values(s.state.scopes), func(a, b *scope) int { return cmp.Compare(a.number, b.number) })
	for _, sc := range scopes {
		list = append(list, sc.view())
	}
	return list
}

func (sc *scope) view() Scope {
	v := Scope{
		ID: sc.id, ContactID: sc.ContactID, Transport: sc.Transport, Platform: sc.Platform, SessionID: sc.rootSession,
		Inputs: append([]InputParent{}, sc.Inputs...), Sources: append([]SourceParent{}, sc.Sources...),
		OpenedAt: sc.openedAt, Opened: sc.where, Closed: sc.closed, Admitted: sc.admitted,
		Failure: sc.failure(), Result: sc.result.copy(), Handles: append([]Handle{}, sc.handles...), Tasks: sc.tasks,
	}
	v.Sessions = slices.Sorted(maps.Keys(sc.sessions))
	return v
}
