package engine

// schedule holds what falls due in time, earliest first. It is persistent: put and
// take return a new schedule and leave the old one as it was, so that a world
// can be kept by a pointer. It is a pairing heap, because runs are put far
// more often than they are taken, and a put costs the same at any size.
// The nil schedule is empty.
type schedule struct {
	at    int64
	id    RunID
	below *chain
}

type chain struct {
	head *schedule
	rest *chain
}

func (s *schedule) put(at int64, id RunID) *schedule {
	return meld(s, &schedule{at: at, id: id})
}

// take removes the earliest entry, which must exist.
func (s *schedule) take() *schedule {
	var pairs *chain
	for c := s.below; c != nil; {
		if c.rest == nil {
			pairs = &chain{c.head, pairs}
			break
		}
		pairs = &chain{meld(c.head, c.rest.head), pairs}
		c = c.rest.rest
	}
	var melded *schedule
	for ; pairs != nil; pairs = pairs.rest {
		melded = meld(melded, pairs.head)
	}
	return melded
}

// dueBefore reports whether the earliest entry is earlier than at.
func (s *schedule) dueBefore(at int64) bool { return s != nil && s.at < at }

func meld(a, b *schedule) *schedule {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	if b.at < a.at {
		a, b = b, a
	}
	return &schedule{at: a.at, id: a.id, below: &chain{b, a.below}}
}
