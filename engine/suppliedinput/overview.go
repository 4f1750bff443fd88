package suppliedinput

import (
	"cmp"
	"slices"
)

// overviewSize is how many of each an Overview has.
const overviewSize = 50

// Overview is how much there is in a Space, and the latest 50 of each, for whoever shows them. It is shared, and must not be changed.
type Overview struct {
	Scopes        []Scope // the latest opened first
	Known         int     // scopes
	Open          int     // of them
	Sources       []Source
	Recorded      int // sources
	Verifications []Verification
	Scripted      int // verifications
	Queued        []Envelope
	Waiting       int // envelopes in the queue
	QueueFailures []error
	Misuses       []Misuse
	Misused       int
}

// Overview returns what there is. Looking costs nothing while nothing changes. The latest come first, but for verifications,
// which are in the order of their use. An error is the queue's.
func (s *Space) Overview() (*Overview, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overview == nil {
		queued, err := s.config.Queue.Envelopes(s.config.Namespace)
		if err != nil {
			return nil, err
		}
		s.overview = s.state.look(queued)
	}
	return s.overview, nil
}

func (s *state) look(queued []Envelope) *Overview {
	o := &Overview{Known: len(s.scopes), Open: s.open, Recorded: len(s.sources), Scripted: len(s.rules), Waiting: len(queued),
		Misused: len(s.misuses)}
	scopes := latest(s.scopes, func(sc *scope) uint64 { return sc.number })
	for _, sc := range scopes {
		o.Scopes = append(o.Scopes, sc.view())
	}
	for _, known := range latest(s.sources, func(known *source) uint64 { return known.number }) {
		o.Sources = append(o.Sources, known.copy())
	}
	for _, r := range s.rules[:min(len(s.rules), overviewSize)] {
		o.Verifications = append(o.Verifications, r.Verification)
	}
	for _, m := range slices.Backward(s.misuses[max(0, len(s.misuses)-overviewSize):]) {
		o.Misuses = append(o.Misuses, m.Misuse)
	}
	o.Queued = slices.Clone(queued[max(0, len(queued)-overviewSize):])
	slices.Reverse(o.Queued)
	o.QueueFailures = slices.Clone(s.queueFailures)
	slices.Reverse(o.QueueFailures)
	return o
}

// latest returns those with the greatest numbers, the greatest first.
func latest[K comparable, V any](all map[K]V, number func(V) uint64) []V {
	type numbered struct {
		number uint64
		of     V
	}
	list := make([]numbered, 0, len(all))
	for _, v := range all {
		list = append(list, numbered{number(v), v})
	}
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(b.number, a.number) })
	top := make([]V, 0, min(len(list), overviewSize))
	for _, v := range list[:min(len(list), overviewSize)] {
		top = append(top, v.of)
	}
	return top
}
