package engine

import (
	"errors"
	"fmt"
)

// MainBranch is the branch that a namespace begins on.
const MainBranch = "main"

const maxBranches = 1000

// Errors about branches, for errors.Is. Nothing has changed then.
var (
	// ErrNoBranch: the namespace has no such branch, or nothing happened on it yet.
	ErrNoBranch = errors.New("no such branch, or nothing happened on it yet")
	// ErrBranchName: the text cannot be the name of a branch.
	ErrBranchName = errors.New("the name of a branch must match " + NamePattern)
	// ErrBranchTaken: there is a branch of the name.
	ErrBranchTaken = errors.New("there is a branch of this name")
	// ErrBranchInUse: the branch is the current one, or main.
	ErrBranchInUse = errors.New("main and the current branch cannot be deleted")
	// ErrTooManyBranches: a namespace has 1000 branches at most.
	ErrTooManyBranches = errors.New("there are too many branches; delete some")
)

// Branch is a line of checkpoints, which grows at its head while it is the current one.
type Branch struct {
	Name    string
	Head    CheckpointID // "" while nothing happened
	Current bool
}

// Timeline says where in its history a namespace is.
type Timeline struct {
	Branch      string       // the current one
	Head        CheckpointID // of it
	Checkpoints int          // that are kept
	Dropped     int          // that fell out since the first use or the last reset
}

// Timeline says where in its history the namespace is.
func (n *Namespace) Timeline() Timeline {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.timeline
	return Timeline{Branch: t.current.name, Head: n.checkpointID(t.current.head), Checkpoints: len(t.moments()), Dropped: t.dropped}
}

// Branches returns the branches in order of their names.
func (n *Namespace) Branches() []Branch {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]Branch, len(n.timeline.branches))
	for i, b := range n.timeline.branches {
		list[i] = n.branch(b)
	}
	return list
}

func (n *Namespace) branch(b *branch) Branch {
	return Branch{Name: b.name, Head: n.checkpointID(b.head), Current: b == n.timeline.current}
}

// Fork makes a branch at a checkpoint; "" stands for a new one of now. Mutations still go to the branch that is current.
// It fails with ErrNoCheckpoint, ErrOtherNamespace, ErrBranchName, ErrBranchTaken or ErrTooManyBranches.
func (n *Namespace) Fork(name string, from CheckpointID) (Branch, error) {
	b, err := n.fork(name, from)
	return b, n.whose(from, err)
}

func (n *Namespace) fork(name string, from CheckpointID) (Branch, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := n.settle()
	if err != nil {
		return Branch{}, err
	}
	t := n.timeline
	if b, _ := t.branch(name); b != nil {
		return Branch{}, fmt.Errorf("%w: %s", ErrBranchTaken, name)
	}
	if err := t.allows(name); err != nil {
		return Branch{}, err
	}
	b := &branch{name: name}
	if from == "" {
		b.head = t.add(n.world, now, true)
	} else {
		m, err := n.moment(from)
		if err != nil {
			return Branch{}, err
		}
		b.head = m.sequence
	}
	t.insert(b)
	n.record(b.head)
	return n.branch(b), nil
}

// DeleteBranch forgets a branch. Its checkpoints are kept no longer than others. It fails with ErrNoBranch or
// ErrBranchInUse.
func (n *Namespace) DeleteBranch(name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return refuse(Closed)
	}
	t := n.timeline
	b, i := t.branch(name)
	switch {
	case b == nil:
		return fmt.Errorf("%w: %s", ErrNoBranch, name)
	case b == t.current, name == MainBranch:
		return fmt.Errorf("%w: %s", ErrBranchInUse, name)
	}
	t.branches = append(t.branches[:i:i], t.branches[i+1:]...)
	t.moveHead(b, 0)
	n.changed()
	return nil
}
