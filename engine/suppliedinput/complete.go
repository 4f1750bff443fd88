package suppliedinput

import (
	"context"
)

// Complete is the final writer of a run that completes with an output: the last check, the completion itself, which is what
// settle does, and then the envelope, which is queued before the result is there. A run of no scope, of a blocked or
// closed one, which is a misuse, or one that has settled just completes. The error is that of settle, or what a check that did not come to
// an end failed with; nothing has changed then. Where the queue fails, the run has completed and there is no result.
func (s *Space) Complete(ctx context.Context, a Actor, output string, settle func() error) error {
	e, v, err := s.beginComplete(a)
	if err != nil {
		return err
	}
	if e == nil {
		return settle()
	}
	if v.takes > 0 {
		while, stop := s.config.Gateway.WhileActive(ctx, a.Run)
		defer stop()
		if err := s.config.Gateway.Sleep(while, a.Executor, v.takes); err != nil {
			if !s.config.Gateway.Active(a.Run) {
				return settle() // it tells how the run has ended meanwhile
			}
			return err
		}
	}
	s.mu.Lock()
	defer s.unlock()
	// From here on a reader of the result waits, so that who sees the completion sees the result too.
	return s.state.complete(e, v, output, settle)
}

// beginComplete returns no execution where the completion needs no check.
func (s *Space) beginComplete(a Actor) (*execution, verification, error) {
	s.lockWith(a.Run)
	defer s.unlock()
	e := s.state.executions[a.Run]
	if e == nil || e.scope == nil || !s.config.Gateway.Active(a.Run) {
		return nil, verification{}, nil
	}
	if s.state.stands(e) != nil {
		return nil, verification{}, nil
	}
	return e, s.state.verify(e.scope.Inputs, e.scope.Sources), nil
}

func (s *state) complete(e *execution, v verification, output string, settle func() error) error {
	sc := e.scope
	stands := s.current(e) && s.endCheck(e, v) == nil
	if err := settle(); err != nil {
		return err
	}
	if !stands || e.child || sc.result != nil {
		return nil
	}
	envelope, err := s.envelope(e, output)
	if err == nil {
		err = s.config.Queue.Put(s.config.Namespace, envelope)
	}
	if err != nil {
		s.queueFailures = append(s.queueFailures[max(0, len(s.queueFailures)-maxQueueFailures+1):], err)
		return nil
	}
	sc.result = &Result{SessionID: envelope.SessionID, TurnID: envelope.TurnID,
		InputRefs: envelope.Inputs, SourceRefs: envelope.Sources}
	return nil
}

func (s *state) envelope(e *execution, output string) (Envelope, error) {
	if s.numbered == 0 { // another fake may have left some
		queued, err := s.config.Queue.Envelopes(s.config.Namespace)
		if err != nil {
			return Envelope{}, err
		}
		if len(queued) > 0 {
			s.numbered = queued[len(queued)-1].Number
		}
	}
	s.numbered++
	sc := e.scope
	envelope := Envelope{
		Number:     s.numbered,
		TurnID:     "turn_" + s.mint("turn "+e.run.String(), s.numbered),
		SessionID:  e.session,
		ContactID:  sc.ContactID,
		Platform:   sc.Platform,
		ScopeID:    sc.id,
		RunID:      e.run.String(),
		Inputs:     append([]InputParent{}, sc.Inputs...),
		Sources:    append([]SourceParent{}, sc.Sources...),
		Opened:     []string{},
		OutputHash: HashText(output),
		QueuedAt:   s.config.Gateway.Now(),
	}
	for _, h := range sc.handles {
		if h.Opened {
			envelope.Opened = append(envelope.Opened, h.SourceID)
		}
	}
	return envelope, nil
}

// QueueFailures returns why envelopes were not queued, the latest 20 times.
func (s *Space) QueueFailures() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.state.queueFailures...)
}

// Queued returns the envelopes that are queued, in order.
func (s *Space) Queued() ([]Envelope, error) {
	return s.config.Queue.Envelopes(s.config.Namespace)
}

// RecallQuery returns the recall query of a run's scope, "" where it has none, or may not use it: it is not bound, blocked or closed.
func (s *Space) RecallQuery(a Actor) string {
	s.lockWith(a.Run)
	defer s.mu.Unlock()
	e, err := s.state.find(a)
	if err != nil || e == nil || !e.bound || e.scope.reason != "" || e.scope.RecallQuery == nil {
		return ""
	}
	return *e.scope.RecallQuery
}
