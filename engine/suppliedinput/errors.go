package suppliedinput

import (
	"errors"
	"fmt"
)

// Errors of a Space, for errors.Is.
var (
	// ErrInvalid: an argument that is not what it has to be. Nothing has changed.
	ErrInvalid = errors.New("supplied input: invalid")
	// ErrNoScope: there is no such scope in the namespace.
	ErrNoScope = errors.New("supplied input: there is no such scope")
	// ErrScopeClosed: the scope was left, and nothing can use it any more.
	ErrScopeClosed = errors.New("supplied input: the scope was closed; do the work, and persist its result, before leaving it")
	// ErrBlocked: the scope is blocked; its Reason is wrapped too.
	ErrBlocked = errors.New("supplied input: the sources may not be used")
	// ErrNoSource: the ledger has no such source.
	ErrNoSource = errors.New("supplied input: there is no such source")
	// ErrNoChild: the run has no child with the session.
	ErrNoChild = errors.New("supplied input: the run has no child with this session")
	// ErrFull: a bound of the Space or of its queue is reached.
	ErrFull = errors.New("supplied input: full")
)

// Reason says why a scope is blocked. It is an error itself, so errors.Is(err, suppliedinput.Erased) works on what a check
// returns.
type Reason string

// The reasons, as the agent words them.
const (
	// ScopeInvalid: a run that does not belong to the scope used it.
	ScopeInvalid Reason = "source_input_scope_invalid"
	// Erased: an input or source parent was erased.
	Erased Reason = "source_input_erased"
	// FreshnessUnavailable: verification could not be reached. It is the only transient one.
	FreshnessUnavailable Reason = "source_freshness_unavailable"
	// Unavailable: verification failed otherwise.
	Unavailable Reason = "source_input_unavailable"
)

// Error returns the reason.
func (r Reason) Error() string { return string(r) }

// permanent reports whether the reason cannot give way to another.
func (r Reason) permanent() bool { return r != "" && r != FreshnessUnavailable }

// Blocked is the error of a check in a blocked scope, and of a revalidation that says no. It wraps ErrBlocked and its Reason.
type Blocked struct{ Reason Reason }

func (b *Blocked) Error() string { return ErrBlocked.Error() + ": " + string(b.Reason) }

// Unwrap returns ErrBlocked and the Reason.
func (b *Blocked) Unwrap() []error { return []error{ErrBlocked, b.Reason} }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
