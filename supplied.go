package hermesfake

import (
	"context"
	"fmt"

	"github.com/hermesfake/hermesfake/engine/suppliedinput"
	"github.com/hermesfake/hermesfake/handler"
)

// SuppliedInputHeader is the header of a submission that names the scope of supplied input that it belongs to, by
// Handoff.ID: for submissions over a socket, where no context travels.
const SuppliedInputHeader = handler.SuppliedInputHeader

// Parents of the work that a host has done with supplied input.
type (
	// InputParent names a message of a person, exactly.
	InputParent = suppliedinput.InputParent
	// SourceParent names an inherited source, exactly.
	SourceParent = suppliedinput.SourceParent
)

// SuppliedInput is what a host opens a scope with, in the session form. Texts have 1 to 256 characters, hashes 64 lowercase
// hexadecimal digits, versions count from 1. Duplicates are folded, the order is kept.
type SuppliedInput struct {
	ContactID string
	SessionID string         // the new native root session: the session_id of the submission
	Inputs    []InputParent  // 1 to 64
	Sources   []SourceParent // 0 to 64
}

// TransportInput is what a host opens a scope with, in the transport form: the first authenticated root run of the
// platform and the contact binds, and its session becomes the scope's.
type TransportInput struct {
	ContactID   string
	Platform    string // 1 to 64 characters
	RecallQuery string // at most 32 768 characters; "" for none
	Inputs      []InputParent
	Sources     []SourceParent
}

// Handoff is an open scope of supplied input, for the host under test: the work that is submitted with its context may use
// the parents, as long as they stand. See docs/supplied-input.md.
type Handoff struct {
	space *suppliedinput.Space
	id    string
}

// HandoffResult is what came of a handoff, and from what.
type HandoffResult = suppliedinput.Result

// HandoffFailure says why nothing may be used.
type HandoffFailure = suppliedinput.Failure

// HandoffState is what is known of a scope, for the eyes of the test.
type HandoffState = suppliedinput.Scope

// HandoffReason is why a scope is blocked. It is an error itself, for errors.Is.
type HandoffReason = suppliedinput.Reason

// The reasons why sources may not be used.
const (
	// SourceInputScopeInvalid: a run that does not belong to the scope used it.
	SourceInputScopeInvalid = suppliedinput.ScopeInvalid
	// SourceInputErased: a parent was erased.
	SourceInputErased = suppliedinput.Erased
	// SourceFreshnessUnavailable: verification could not be reached. It alone may be retried, before any admission.
	SourceFreshnessUnavailable = suppliedinput.FreshnessUnavailable
	// SourceInputUnavailable: verification failed otherwise.
	SourceInputUnavailable = suppliedinput.Unavailable
)

// Errors of supplied input, for errors.Is.
var (
	// ErrSuppliedInput: an argument that is not what it has to be.
	ErrSuppliedInput = suppliedinput.ErrInvalid
	// ErrHandoffBlocked: the sources may not be used; the HandoffReason is wrapped too.
	ErrHandoffBlocked = suppliedinput.ErrBlocked
	// ErrHandoffClosed: the scope was left.
	ErrHandoffClosed = suppliedinput.ErrScopeClosed
	// ErrNoHandoff: there is no such scope.
	ErrNoHandoff = suppliedinput.ErrNoScope
	// ErrNoSource: there is no such source.
	ErrNoSource = suppliedinput.ErrNoSource
	// ErrInputFull: a bound of the double is reached.
	ErrInputFull = suppliedinput.ErrFull
)

// HashText returns the input_message_hash of a text: its SHA-256 in lowercase hexadecimal.
func HashText(text string) string { return suppliedinput.HashText(text) }

// SupplyInput opens a scope in the session form. A submission with the returned context, or with a context that is derived from it,
// belongs to the scope. Closing the Handoff leaves it. What is wrong with the input is an error that wraps ErrSuppliedInput, and
// nothing was opened then.
func (f *Fake) SupplyInput(ctx context.Context, in SuppliedInput) (context.Context, *Handoff, error) {
	return f.open(ctx, suppliedinput.Opening{ContactID: in.ContactID, SessionID: in.SessionID, Inputs: in.Inputs, Sources: in.Sources})
}

// SupplyTransportInput is SupplyInput in the transport form.
func (f *Fake) SupplyTransportInput(ctx context.Context, in TransportInput) (context.Context, *Handoff, error) {
	o := suppliedinput.Opening{ContactID: in.ContactID, Transport: true, Platform: in.Platform, Inputs: in.Inputs, Sources: in.Sources}
	if in.RecallQuery != "" {
		o.RecallQuery = &in.RecallQuery
	}
	return f.open(ctx, o)
}

// handoffKey is the key of the *Handoff in a context.
type handoffKey struct{}

func (f *Fake) open(ctx context.Context, o suppliedinput.Opening) (context.Context, *Handoff, error) {
	if f.namespace.Closed() {
		return ctx, nil, fmt.Errorf("hermesfake: %w", Closed)
	}
	space := f.inputs()
	id, err := space.Open(o)
	if err != nil {
		return ctx, nil, err
	}
	h := &Handoff{space, id}
	return context.WithValue(ctx, handoffKey{}, h), h, nil
}

// ID is the scope's id, which SuppliedInputHeader and the control plane take.
func (h *Handoff) ID() string {
	if h.missing() {
		return ""
	}
	return h.id
}

// missing reports whether there is no scope: a Handoff that SupplyInput did not return has none, and its methods find nothing.
func (h *Handoff) missing() bool { return h == nil || h.space == nil }

// Result returns what the host may persist and use: nil until what the root run wrote is durably queued, with what it depends on. That is
// so as soon as the run shows as completed. What is blocked or erased later does not take it away, but Revalidate says no. It is nil again
// once the scope was closed, and to ask for it then is a misuse.
func (h *Handoff) Result() *HandoffResult {
	if h.missing() {
		return nil
	}
	r, _ := h.space.Result(h.id)
	return r
}

// Failure returns why nothing may be used, nil while nothing speaks against it. It stays after Close.
func (h *Handoff) Failure() *HandoffFailure {
	if h.missing() {
		return nil
	}
	f, _ := h.space.Failure(h.id)
	return f
}

// Close leaves the scope: nothing can use it any more, and its result is gone. Calling it again does nothing.
func (h *Handoff) Close() {
	if !h.missing() {
		h.space.Close(h.id)
	}
}

// Append makes the block with which the host gives a text of an inherited source, one of the source parents, to the agent: to
// be put behind a line break at the end of the input's last message or of the instructions. It fails with ErrHandoffClosed and
// ErrNoSource.
func (h *Handoff) Append(sourceID, text string) (block string, err error) {
	if h.missing() {
		return "", ErrNoHandoff
	}
	return h.space.Append(h.id, sourceID, text)
}

// Revalidate verifies the original parents again, which a host must do before it retries; also after Close, or on a fresh scope
// of the same parents. It does not open a blocked scope. An error wraps ErrHandoffBlocked and the HandoffReason, or is the context's.
func (h *Handoff) Revalidate(ctx context.Context) error {
	if h.missing() {
		return ErrNoHandoff
	}
	return h.space.RevalidateParents(ctx, h.id)
}

// State returns what is known of the scope, also after Close, as far as the latest 1000 closed ones go. It is for the test: the
// host has Result and Failure.
func (h *Handoff) State() HandoffState {
	if h.missing() {
		return HandoffState{}
	}
	s, _ := h.space.Scope(h.id)
	return s
}

// Handoffs returns the scopes of the namespace in order of opening, the latest 1000 closed ones included.
func (f *Fake) Handoffs() []HandoffState { return f.inputs().Scopes() }

// Revalidate says whether a result may still be shown: nil if what was recorded is still there and each parent stands. Else
// the error wraps ErrHandoffBlocked and the HandoffReason, or is the context's or the queue's.
func (f *Fake) Revalidate(ctx context.Context, r HandoffResult) error {
	return f.inputs().Revalidate(ctx, r)
}

// InputMisuse is something that the host did wrong.
type InputMisuse = suppliedinput.Misuse

// InputMisuses returns what the host did wrong with supplied input in the namespace, the first 100: tasks and retries that must not be,
// and uses of a scope that was left. Start reports those of all namespaces, unless WithInputMisuseAllowed.
func (f *Fake) InputMisuses() []InputMisuse { return f.inputs().Misuses() }

// Work is a record of the registry of work.
type Work = suppliedinput.Work

// Work returns the registry of work as a contact sees it: its own root executions, active ones first, at most eight records and 4000
// characters, each with an excerpt of the input that it works on as far as that may be seen now.
func (f *Fake) Work(contactID string) []Work { return f.inputs().Work(contactID) }
