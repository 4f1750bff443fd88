package engine

import "fmt"

// Reason says why the provider, or the emulator, refuses an operation. A
// Reason is an error itself, so errors.Is(err, engine.RunNotFound) works on
// whatever an operation returns.
type Reason uint8

// The reasons, with the words of the provider where it has some.
const (
	_ Reason = iota
	// Draining: the gateway takes no submissions at present.
	Draining
	// SessionKeyInvalid: the session key has CR, LF or NUL.
	SessionKeyInvalid
	// SessionKeyTooLong: the session key has over 256 code points.
	SessionKeyTooLong
	// InvalidJSON: the body is not JSON as the provider reads it.
	InvalidJSON
	// SteerInvalidJSON: the same of a steer body, which upstream words differently.
	SteerInvalidJSON
	// KeyInvalid: the idempotency key is too long or not visible ASCII.
	KeyInvalid
	// InputMissing: input is absent or false.
	InputMissing
	// InputWithoutMessage: input holds no user message.
	InputWithoutMessage
	// HistoryNotArray: conversation_history is true but no array.
	HistoryNotArray
	// HistoryItem: an item of conversation_history, numbered from 0, lacks role or content.
	HistoryItem
	// KeyConflict: the key was used with another payload.
	KeyConflict
	// AtCapacity: as many runs are active as the gateway takes.
	AtCapacity
	// RunNotFound: there is no such run in the scope.
	RunNotFound
	// RunNotActive: the run has no executor in this gateway process.
	RunNotActive
	// ApprovalRequestInvalid: request_id is not a nonempty text of at most 256 characters.
	ApprovalRequestInvalid
	// ApprovalChoiceInvalid: choice is none of once, session, always, deny.
	ApprovalChoiceInvalid
	// ApprovalNotActive: the run has settled or is not of this gateway process.
	ApprovalNotActive
	// ApprovalNotPending: no pending approval matches.
	ApprovalNotPending
	// SteerNotAccepting: the run is not running here.
	SteerNotAccepting
	// SteerNotObject: the steer body is no object.
	SteerNotObject
	// SteerEmpty: the steer body holds no text.
	SteerEmpty
	// SteerRefused: the executor did not take the text.
	SteerRefused
	// SteerFailed: the executor broke on the text.
	SteerFailed
	// Unsupported: the emulator does not claim to know what upstream does here.
	Unsupported
	// RunSettled: a control would change a terminal run.
	RunSettled
	// RunForeign: a control would act for an executor that another gateway owns.
	RunForeign
	// StatusInvalid: a control reports a state that runs do not have.
	StatusInvalid
	// QueueFull: the run's event queue has reached its bound in bytes.
	QueueFull
	// StorageFailed: the store of durable rows failed, and nothing has changed.
	StorageFailed
	// Closed: the engine was closed.
	Closed
)

var reasonTexts = [...]string{
	Draining:               "Gateway is draining existing work; retry shortly.",
	SessionKeyInvalid:      "Invalid session key",
	SessionKeyTooLong:      "Session key too long",
	InvalidJSON:            "Invalid JSON",
	SteerInvalidJSON:       "Invalid JSON in request body",
	KeyInvalid:             "Idempotency-Key must be 1-255 visible ASCII characters",
	InputMissing:           "Missing 'input' field",
	InputWithoutMessage:    "No user message found in input",
	HistoryNotArray:        "'conversation_history' must be an array of message objects",
	HistoryItem:            "conversation_history[%d] must have 'role' and 'content' fields",
	KeyConflict:            "Idempotency-Key was already used with a different request payload",
	AtCapacity:             "Too many concurrent runs (max %d)",
	RunNotFound:            "Run not found: %s",
	RunNotActive:           "Run is not active in this gateway process: %s",
	ApprovalRequestInvalid: "Approval request_id is invalid.",
	ApprovalChoiceInvalid:  "Invalid approval choice; expected one of: always, deny, once, session",
	ApprovalNotActive:      "Run has no active approval session: %s",
	ApprovalNotPending:     "Run has no pending approval: %s",
	SteerNotAccepting:      "Run is not currently accepting steer input: %s",
	SteerNotObject:         "Request body must be a JSON object",
	SteerEmpty:             "Missing non-empty steer text; expected 'input', 'message', or 'text'.",
	SteerRefused:           "Run did not accept steer text: %s",
	SteerFailed:            "%s",
	Unsupported:            "Mockingbird: %s",
	RunSettled:             "terminal runs cannot be changed",
	RunForeign:             "run %s has no executor in this gateway process; only observe may move it",
	StatusInvalid:          "status must be one of queued, running, waiting_for_approval, stopping, completed, failed, cancelled, interrupted",
	QueueFull:              "the event queue of run %s is full; subscribe to it, or raise its bound",
	StorageFailed:          "Mockingbird: %s",
	Closed:                 "hermesfake is closed",
}

// Error returns the provider's message, with its blanks.
func (r Reason) Error() string {
	if int(r) < len(reasonTexts) {
		return reasonTexts[r]
	}
	return "unknown reason"
}

// Refusal is the error of an operation that was refused: nothing has changed.
// errors.Is finds its Reason.
type Refusal struct {
	Reason  Reason
	Subject string // the run's id as the caller wrote it, what is not supported, or what failed
	N       int    // the item, or the number of runs
}

// Error returns the provider's message.
func (r *Refusal) Error() string {
	switch r.Reason {
	case HistoryItem, AtCapacity:
		return fmt.Sprintf(r.Reason.Error(), r.N)
	case RunNotFound, RunNotActive, ApprovalNotActive, ApprovalNotPending, SteerNotAccepting,
		SteerRefused, SteerFailed, Unsupported, RunForeign, QueueFull, StorageFailed:
		return fmt.Sprintf(r.Reason.Error(), r.Subject)
	}
	return r.Reason.Error()
}

// Unwrap returns the Reason.
func (r *Refusal) Unwrap() error { return r.Reason }

func refuse(reason Reason) error { return &Refusal{Reason: reason} }

func refuseRun(reason Reason, id RunID) error {
	return &Refusal{Reason: reason, Subject: id.String()}
}
