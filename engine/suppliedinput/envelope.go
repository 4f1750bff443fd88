package suppliedinput

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Envelope is what is recorded of a completed root run: that the assistant wrote something, in dependence on what. It has ids
// and hashes, no text; the task is not in it, as it is not the person's words (rule 8).
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
var ErrEnvelope = errors.New("supplied input: an envelope of the queue is damaged; delete the queue's directory, or recover it")

// envelopeFormat is the first byte of a stored envelope.
const envelopeFormat = 1

// MarshalBinary returns the envelope as a queue stores it: a format, the envelope, and an xxhash checksum of both.
func (e Envelope) MarshalBinary() ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	b := append([]byte{envelopeFormat}, text...)
	return binary.BigEndian.AppendUint64(b, xxhash.Sum64(b)), nil
}

// UnmarshalBinary reads what MarshalBinary returned. An error wraps ErrEnvelope.
func (e *Envelope) UnmarshalBinary(b []byte) error {
	if len(b) < 9 || b[0] != envelopeFormat {
		return ErrEnvelope
	}
	body, sum := b[:len(b)-8], b[len(b)-8:]
	if xxhash.Sum64(body) != binary.BigEndian.Uint64(sum) {
		return ErrEnvelope
	}
	in := json.NewDecoder(bytes.NewReader(body[1:]))
	in.DisallowUnknownFields()
	if in.Decode(e) != nil {
		return ErrEnvelope
	}
	return nil
}

func (e Envelope) copy() Envelope {
	e.Inputs, e.Sources, e.Opened = slices.Clone(e.Inputs), slices.Clone(e.Sources), slices.Clone(e.Opened)
	return e
}
