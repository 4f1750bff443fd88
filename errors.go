package hermesfake

import (
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/faults"
	"github.com/hermesfake/hermesfake/handler"
	"github.com/hermesfake/hermesfake/transport"
)

// Errors that calls of this package return, for errors.Is.
var (
	// ErrNamespace: a name that is no namespace's.
	ErrNamespace = engine.ErrNamespace
	// ErrScope: a profile or identity that selects no scope.
	ErrScope = engine.ErrScope
	// ErrClock: a clock cannot be moved so.
	ErrClock = engine.ErrClock
	// ErrRule: a fault rule that makes no sense.
	ErrRule = faults.ErrRule
	// ErrOperation: a name that is no operation's.
	ErrOperation = handler.ErrOperation
	// ErrUnknownHost: a request in process to a host that nobody answers for.
	ErrUnknownHost = transport.ErrUnknownHost
	// ErrNoCheckpoint: the namespace has no such checkpoint, or no longer.
	ErrNoCheckpoint = engine.ErrNoCheckpoint
	// ErrOtherNamespace: the checkpoint is of another namespace.
	ErrOtherNamespace = engine.ErrOtherNamespace
	// ErrCheckpointInUse: a branch is at the checkpoint.
	ErrCheckpointInUse = engine.ErrCheckpointInUse
	// ErrNoBranch: there is no such branch, or nothing happened on it yet.
	ErrNoBranch = engine.ErrNoBranch
	// ErrBranchName: a text that cannot be the name of a branch.
	ErrBranchName = engine.ErrBranchName
	// ErrBranchTaken: there is a branch of the name.
	ErrBranchTaken = engine.ErrBranchTaken
	// ErrBranchInUse: the branch is the current one, or main.
	ErrBranchInUse = engine.ErrBranchInUse
	// ErrTooManyBranches: a namespace has 1000 branches at most.
	ErrTooManyBranches = engine.ErrTooManyBranches
)

// Reasons why a call is refused, for errors.Is.
const (
	// RunNotFound: there is no such run in the scope.
	RunNotFound = engine.RunNotFound
	// RunSettled: the run is terminal, and cannot be changed.
	RunSettled = engine.RunSettled
	// RunForeign: another gateway owns the run; only Observe may move it.
	RunForeign = engine.RunForeign
	// StatusInvalid: a state that runs do not have.
	StatusInvalid = engine.StatusInvalid
	// QueueFull: the run's event queue has reached its bound.
	QueueFull = engine.QueueFull
	// StorageFailed: the store of WithStore failed, and nothing has changed.
	StorageFailed = engine.StorageFailed
	// Closed: the fake was closed.
	Closed = engine.Closed
)
