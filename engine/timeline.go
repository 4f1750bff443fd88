package engine

import (
	"slices"
	"strings"
)

// timeline is the history of a namespace: a tree of checkpoints, each of which points to a world, and the branches
// that grow in it. It is not part of the world.
type timeline struct {
	keep     int                // how many moments of accepted mutations
	latest   uint64             // the sequence of the latest moment
	ring     []moment           // of accepted mutations, in order from oldest on
	oldest   int                // where a full ring begins
	kept     map[uint64]*moment // those pinned, and heads of branches that fell out of the ring
	pins     []uint64           // those pinned, in order
	branches []*branch          // by name
	current  *branch
	dropped  int
}

// moment is what a checkpoint is in a timeline. They are numbered by their sequence, from 1 on.
type moment struct {
	world    *world // nil once it was deleted
	sequence uint64
	parent   uint64 // 0: it is the first one
	at       int64
	branch   string
	pinned   bool
}

type branch struct {
	name string
	head uint64 // 0: nothing happened yet
}

func newTimeline(keep int) *timeline {
	main := &branch{name: MainBranch}
	return &timeline{keep: max(0, keep), kept: map[uint64]*moment{}, branches: []*branch{main}, current: main}
}

// add makes a moment the head of the current branch, and returns its sequence.
func (t *timeline) add(w *world, at int64, pinned bool) uint64 {
	t.latest++
	m := moment{world: w, sequence: t.latest, parent: t.current.head, at: at, branch: t.current.name, pinned: pinned}
	t.moveHead(t.current, m.sequence)
	switch {
	case pinned:
		t.pin(m)
	case len(t.ring) < t.keep:
		t.ring = append(t.ring, m)
	default:
		out := &t.ring[t.oldest]
		if out.world != nil {
			t.leave(*out)
		}
		*out = m
		t.oldest = (t.oldest + 1) % t.keep
	}
	return m.sequence
}

func (t *timeline) pin(m moment) {
	t.kept[m.sequence] = &m
	t.pins = append(t.pins, m.sequence)
	bound := t.keep
	if bound == 0 {
		bound = DefaultCheckpoints
	}
	if len(t.pins) > bound {
		out := *t.kept[t.pins[0]]
		t.pins = t.pins[1:]
		out.pinned = false
		delete(t.kept, out.sequence)
		t.leave(out)
	}
}

// leave drops a moment that nothing keeps any more but a branch that may be at it.
func (t *timeline) leave(m moment) {
	if !t.isHead(m.sequence) {
		t.dropped++
		return
	}
	kept := m
	t.kept[m.sequence] = &kept
}

func (t *timeline) isHead(sequence uint64) bool {
	for _, b := range t.branches {
		if b.head == sequence {
			return true
		}
	}
	return false
}

// moveHead moves a branch, and lets the moment go that only the branch has kept.
func (t *timeline) moveHead(b *branch, to uint64) {
	from := b.head
	b.head = to
	if m := t.kept[from]; m != nil && !m.pinned {
		delete(t.kept, from)
		t.leave(*m)
	}
}

// find returns nil for what was never there, fell out or was deleted.
func (t *timeline) find(sequence uint64) *moment {
	if m := t.kept[sequence]; m != nil {
		return m
	}
	for _, part := range [...][]moment{t.ring[t.oldest:], t.ring[:t.oldest]} {
		i, ok := slices.BinarySearchFunc(part, sequence, func(m moment, s uint64) int {
			switch {
			case m.sequence < s:
				return -1
			case m.sequence > s:
				return 1
			}
			return 0
		})
		if ok && part[i].world != nil {
			return &part[i]
		}
	}
	return nil
}

// moments are those that are kept, the oldest first.
func (t *timeline) moments() []*moment {
	list := make([]*moment, 0, len(t.ring)+len(t.kept))
	for i := range t.ring {
		if t.ring[i].world != nil {
			list = append(list, &t.ring[i])
		}
	}
	for _, m := range t.kept {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *moment) int {
		if a.sequence < b.sequence {
			return -1
		}
		return 1
	})
	return list
}

// remove forgets a moment that no branch is at.
func (t *timeline) remove(m *moment) {
	if !m.pinned {
		m.world = nil
		return
	}
	t.pins = slices.DeleteFunc(t.pins, func(s uint64) bool { return s == m.sequence })
	delete(t.kept, m.sequence)
}

// branch returns the branch of a name, or nil, and its place among the branches.
func (t *timeline) branch(name string) (*branch, int) {
	i, ok := slices.BinarySearchFunc(t.branches, name, func(b *branch, name string) int { return strings.Compare(b.name, name) })
	if !ok {
		return nil, i
	}
	return t.branches[i], i
}

// allows fails where no branch of the name can be added.
func (t *timeline) allows(name string) error {
	switch {
	case !namespaceName.MatchString(name):
		return ErrBranchName
	case len(t.branches) >= maxBranches:
		return ErrTooManyBranches
	}
	return nil
}

// insert adds a branch, which there must not be yet.
func (t *timeline) insert(b *branch) {
	_, i := t.branch(b.name)
	t.branches = slices.Insert(t.branches, i, b)
}
