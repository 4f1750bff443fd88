package suppliedinput

import (
	"context"
	"slices"
)

// Deliver brings what is queued to the ledger, as the memory service would take it: each envelope becomes a source of the
// assistant, whose id is the turn's and whose version is 1, and leaves the queue. It returns how many there were. An error is
// the queue's, and nothing has changed.
func (s *Space) Deliver() (delivered int, err error) {
	s.mu.Lock()
	defer s.unlock()
	queue, namespace := s.config.Queue, s.config.Namespace
	queued, err := queue.Envelopes(namespace)
	if err != nil {
		return 0, err
	}
	if len(s.state.sources)+len(queued) > maxSources {
		return 0, ErrFull
	}
	ids := make([]string, len(queued))
	for i, e := range queued {
		ids[i] = e.TurnID
	}
	if err := queue.Remove(namespace, ids...); err != nil {
		return 0, err
	}
	for _, e := range queued {
		d := s.state.enter(Source{ID: e.TurnID, InputMessageHash: e.OutputHash, Version: 1, Assistant: true, Inputs: e.Inputs, Sources: e.Sources})
		s.state.deliveries = append(s.state.deliveries, d)
	}
	return len(queued), nil
}

// Revalidate says whether a result may still be used: nil if what was recorded is there, with the very same parents, and every
// parent stands. Else the error wraps ErrBlocked and the Reason; or it is the context's or the gateway's, or the queue's.
func (s *Space) Revalidate(ctx context.Context, r Result) error {
	s.mu.Lock()
	queued, err := s.config.Queue.Envelopes(s.config.Namespace)
	v := s.state.verify(r.InputRefs, r.SourceRefs)
	s.unlock()
	if err != nil {
		return err
	}
	if v.takes > 0 {
		if err := s.config.Gateway.Sleep(ctx, nil, v.takes); err != nil {
			return err
		}
		if queued, err = s.Queued(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.unlock()
	reason := Reason("")
	switch known := s.state.sources[r.TurnID]; {
	case known != nil && known.Erased || s.state.isErased(r.InputRefs, r.SourceRefs):
		reason = Erased
	case !recorded(r, known, queued):
		reason = Unavailable
	default:
		reason = s.state.verified(v, r.InputRefs, r.SourceRefs)
	}
	if reason != "" {
		return &Blocked{reason}
	}
	return nil
}

// recorded reports whether the result is what was recorded, queued or delivered.
func recorded(r Result, delivered *source, queued []Envelope) bool {
	if delivered != nil {
		return delivered.Assistant && slices.Equal(delivered.Inputs, r.InputRefs) && slices.Equal(delivered.Sources, r.SourceRefs)
	}
	return slices.ContainsFunc(queued, func(e Envelope) bool {
		return e.TurnID == r.TurnID && e.SessionID == r.SessionID && slices.Equal(e.Inputs, r.InputRefs) && slices.Equal(e.Sources, r.SourceRefs)
	})
}

// RevalidateParents verifies the original parents of a scope, also after it was closed: what a host has to do before it
// retries. It changes nothing of the scope. It fails as Revalidate does, and with ErrNoScope.
func (s *Space) RevalidateParents(ctx context.Context, id string) error {
	s.mu.Lock()
	sc := s.state.scopes[id]
	if sc == nil {
		s.mu.Unlock()
		return ErrNoScope
	}
	v := s.state.verify(sc.Inputs, sc.Sources)
	s.unlock()
	if v.takes > 0 {
		if err := s.config.Gateway.Sleep(ctx, nil, v.takes); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.unlock()
	if reason := s.state.verified(v, sc.Inputs, sc.Sources); reason != "" {
		return &Blocked{reason}
	}
	if l := s.state.lineages[sc.lineage]; l.last != nil && l.last.reason != "" {
		l.revalidated = true
		s.state.lineages[sc.lineage] = l
	}
	return nil
}
