package suppliedinput

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// Envelope is what is recorded of a completed root run: that the assistant wrote something, in dependence on what. It has ids
// and hashes, no text; the task is not in it, as it is not the person's words.
type Envelope struct {
	Number     uint64         `json:"number"` // of the queue's namespace, from 1 on
	TurnID     string         `json:"turn_id"`
	SessionID  string         `json:"session_id"`
	ContactID  string         `json:"contact_id"`
	Platform   string         `json:"platform,omitempty"` // of the transport form
	ScopeID    string         `json:"scope_id"`
	RunID      string         `json:"run_id"`
	Inputs     []InputParent  `json:"input_refs"`
	Sources    []SourceParent `json:"source_refs"`
	Opened     []string       `json:"opened"`      // source ids whose blocks reached the model
	OutputHash string         `json:"output_hash"` // SHA-256 of the output
	QueuedAt   time.Time      `json:"queued_at"`   // on the fake's clock
}

// ErrEnvelope is wrapped by the error for a stored envelope that is not as it was written.
var ErrEnvelope = errors.New("supplied input: an envelope of the queue is damaged")

// envelopeFormat is the first byte of an envelope's record, within the seal.
const envelopeFormat = 1

// record returns the envelope as a queue stores it: its JSON, sealed with a checksum.
func (e Envelope) record(key engine.RunID) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return engine.Seal(key, append([]byte{envelopeFormat}, text...)), nil
}

// readEnvelope reads what record returned.
func readEnvelope(key engine.RunID, record []byte) (e Envelope, err error) {
	content, err := engine.Unseal(key, record)
	if err != nil {
		return e, fmt.Errorf("%w: %w", ErrEnvelope, err)
	}
	if len(content) == 0 || content[0] != envelopeFormat {
		return e, fmt.Errorf("%w: its format is not known", ErrEnvelope)
	}
	in := json.NewDecoder(bytes.NewReader(content[1:]))
	in.DisallowUnknownFields()
	if err := in.Decode(&e); err != nil || keyOf(e.TurnID) != key {
		return e, ErrEnvelope
	}
	return e, nil
}

func (e Envelope) copy() Envelope {
	e.Inputs, e.Sources, e.Opened = slices.Clone(e.Inputs), slices.Clone(e.Sources), slices.Clone(e.Opened)
	return e
}
