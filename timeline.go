package hermesfake

import (
	"fmt"

	"github.com/hermesfake/hermesfake/engine"
)

// CheckpointID names a checkpoint. The header x-mockingbird-checkpoint has it, Request.Checkpoint, and the
// calls of the timeline, such as Fake.Checkout.
type CheckpointID = engine.CheckpointID

// Checkpoint is a moment of a namespace.
type Checkpoint = engine.Checkpoint

// Branch is a line of checkpoints, which grows at its head while it is the current one.
type Branch = engine.Branch

// Timeline says where in its history a namespace is.
type Timeline = engine.Timeline

// MainBranch is the branch that a namespace begins on.
const MainBranch = engine.MainBranch

// Checkpoint makes a checkpoint of the namespace as it is now, which stays until Reset, until DeleteCheckpoint, or until
// WithCheckpoints later ones. Accepted mutations make checkpoints by themselves, of which the latest are kept; see
// Request.Checkpoint. It takes the same time whatever the number of runs. After Close it is "".
func (f *Fake) Checkpoint() CheckpointID {
	c, _ := f.namespace.Checkpoint()
	return c.ID
}

// Checkpoints returns the checkpoints of the namespace that are kept, the oldest first.
func (f *Fake) Checkpoints() []Checkpoint { return f.namespace.Checkpoints() }

// Timeline says where in its history the namespace is.
func (f *Fake) Timeline() Timeline { return f.namespace.Timeline() }

// Checkout takes the namespace to a checkpoint, earlier or later: runs, rows, approvals, steers, event queues, scope, draining and
// capacity, the owners after a restart, sweeps to come, the ids to come, and the clock. A run that is submitted again
// has the id that it had. Open event streams are lost, and scripts end, as in a restart. Journal, faults and the script for
// later runs stay. The current branch goes on from the checkpoint.
//
// It fails with ErrNoCheckpoint, ErrOtherNamespace, or with StorageFailed if the store of WithStore does not take the rows, and
// nothing has changed. A script must not call it.
func (f *Fake) Checkout(id CheckpointID) error {
	if id == "" {
		return fmt.Errorf("%w; the id is empty, as Request.Checkpoint is where a request changed nothing", ErrNoCheckpoint)
	}
	_, err := f.namespace.Checkout("", id)
	return err
}

// Branches returns the branches in order of their names.
func (f *Fake) Branches() []Branch { return f.namespace.Branches() }

// Fork makes a branch at a checkpoint, or at now where from is "". The namespace stays as it is, on its branch; see
// CheckoutBranch. It fails with ErrNoCheckpoint, ErrOtherNamespace, ErrBranchName, ErrBranchTaken or ErrTooManyBranches.
func (f *Fake) Fork(branch string, from CheckpointID) error {
	_, err := f.namespace.Fork(branch, from)
	return err
}

// CheckoutBranch takes the namespace to the head of a branch, as Checkout does, and makes it the current one. It fails with
// ErrNoBranch too.
func (f *Fake) CheckoutBranch(name string) error {
	if name == "" {
		return fmt.Errorf("%w: the name is empty", ErrNoBranch)
	}
	_, err := f.namespace.Checkout(name, "")
	return err
}

// DeleteBranch forgets a branch. It fails with ErrNoBranch, or with ErrBranchInUse for MainBranch and the current one.
func (f *Fake) DeleteBranch(name string) error { return f.namespace.DeleteBranch(name) }

// DeleteCheckpoint forgets a checkpoint. It fails with ErrNoCheckpoint, ErrOtherNamespace, or with ErrCheckpointInUse where a
// branch is at it.
func (f *Fake) DeleteCheckpoint(id CheckpointID) error { return f.namespace.DeleteCheckpoint(id) }
