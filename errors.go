package hermesfake

import (
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/faults"
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
	// ErrUnknownHost: a request in process to a host that nobody answers for.
	ErrUnknownHost = transport.ErrUnknownHost
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
