package suppliedinput

import "slices"

// Erase erases a source, and with it what the assistant recorded in dependence on it, directly or through another of its own
// records, queued or delivered. It returns how many of those there were. A source that the ledger does not know, as
// after a restart, can be erased if something depends on it; else it is ErrNoSource. Other errors are the queue's. Nothing has
// changed after an error.
func (s *Space) Erase(id string) (dependents int, err error) {
	s.mu.Lock()
	defer s.unlock()
	return s.state.erase(id)
}

func (s *state) erase(id string) (dependents int, err error) {
	queued, err := s.config.Queue.Envelopes(s.config.Namespace)
	if err != nil {
		return 0, err
	}
	gone := map[string]bool{id: true}
	var remove []string
	for grown := true; grown; {
		grown = false
		for _, e := range queued {
			if !gone[e.TurnID] && depends(gone, e.Inputs, e.Sources) {
				gone[e.TurnID], grown = true, true
			}
		}
		for _, d := range s.deliveries {
			if !gone[d.ID] && depends(gone, d.Inputs, d.Sources) {
				gone[d.ID], grown = true, true
			}
		}
	}
	for _, e := range queued {
		if gone[e.TurnID] {
			remove = append(remove, e.TurnID)
		}
	}
	if s.sources[id] == nil && len(gone) == 1 && remove == nil {
		return 0, ErrNoSource
	}
	if remove != nil {
		if err := s.config.Queue.Remove(s.config.Namespace, remove...); err != nil {
			return 0, err
		}
	}
	for id := range gone {
		known := s.sources[id]
		if known == nil {
			known = s.enter(Source{ID: id})
		}
		known.Text, known.Annotation, known.Erased = "", "", true
	}
	s.deliveries = slices.DeleteFunc(s.deliveries, func(d *source) bool { return d.Erased })
	return len(gone) - 1, nil
}

// depends reports whether a parent is among those that are gone.
func depends(gone map[string]bool, inputs []InputParent, sources []SourceParent) bool {
	return slices.ContainsFunc(inputs, func(p InputParent) bool { return gone[p.SourceID] }) ||
		slices.ContainsFunc(sources, func(p SourceParent) bool { return gone[p.SourceID] })
}

// isErased reports whether a parent was erased.
func (s *state) isErased(inputs []InputParent, sources []SourceParent) bool {
	erased := func(id string) bool {
		known := s.sources[id]
		return known != nil && known.Erased
	}
	return slices.ContainsFunc(inputs, func(p InputParent) bool { return erased(p.SourceID) }) ||
		slices.ContainsFunc(sources, func(p SourceParent) bool { return erased(p.SourceID) })
}
