package hermesfake

import "github.com/hermesfake/hermesfake/engine/suppliedinput"

// Sources is the ledger of sources of a namespace, which the test owns: what a person wrote, and what else there is to inherit.
type Sources struct{ space *suppliedinput.Space }

// Source is a source of the ledger.
type Source = suppliedinput.Source

// Verification scripts how the next verifications of sources go.
type Verification = suppliedinput.Verification

// VerificationFailure is how a verification fails.
type VerificationFailure = suppliedinput.VerificationFailure

// The failures of verifications: the first three could not reach it, the others were told no.
const (
	VerifyTimeout             = suppliedinput.Timeout
	VerifyRemoteProtocolError = suppliedinput.RemoteProtocolError
	VerifyHTTP503             = suppliedinput.HTTP503
	VerifyHTTP401             = suppliedinput.HTTP401
	VerifyHTTP403             = suppliedinput.HTTP403
	VerifyUnknown             = suppliedinput.UnknownFailure
)

// InputEnvelope is what is queued of a completed task.
type InputEnvelope = suppliedinput.Envelope

// Sources returns the ledger of the namespace.
func (f *Fake) Sources() Sources { return Sources{f.inputs()} }

// Put records a source with an id and a text or, if the id is known, its next version. The returned Source has its hash and
// version. An erased source stays erased: an error that wraps ErrSuppliedInput, as all that makes no sense.
func (s Sources) Put(source Source) (Source, error) { return s.space.Put(source) }

// Annotate marks a source, which is not excerpted any more then. "" takes the mark away. It fails with ErrNoSource.
func (s Sources) Annotate(id, annotation string) error { return s.space.Annotate(id, annotation) }

// Erase erases a source, and what the assistant recorded in dependence on it, of which it returns how much there was. It
// fails with ErrNoSource, or with the queue's error, and nothing has changed then.
func (s Sources) Erase(id string) (dependents int, err error) { return s.space.Erase(id) }

// Get returns a source, or ErrNoSource.
func (s Sources) Get(id string) (Source, error) { return s.space.Source(id) }

// All returns all sources, in the order of their ids.
func (s Sources) All() []Source { return s.space.Sources() }

// Verify scripts how verifications go, once, some times, or until ClearVerifications: each check and each revalidation uses up one of
// the first script that fits it. Without one, a verification takes no time, and succeeds if each parent is in the ledger exactly as it is named.
func (s Sources) Verify(v Verification) error { return s.space.SetVerification(v) }

// ClearVerifications removes the scripts of a source, or with "" all of them.
func (s Sources) ClearVerifications(sourceID string) { s.space.ClearVerifications(sourceID) }

// Verifications returns the scripts that are not used up, with what is left of their Times.
func (s Sources) Verifications() []Verification { return s.space.Verifications() }

// Queued returns what is recorded and not delivered yet, in order.
func (s Sources) Queued() ([]InputEnvelope, error) { return s.space.Queued() }

// QueueFailures returns why something was not recorded, the latest 20 times.
func (s Sources) QueueFailures() []error { return s.space.QueueFailures() }

// Deliver makes sources of what is queued, as the memory service would: the turn's id, version 1. It returns how many.
func (s Sources) Deliver() (delivered int, err error) { return s.space.Deliver() }
