package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/hermesfake/hermesfake/canon"
)

// A row's record is a format number, a checksum over the run's id and the rest, and the rest: the key's hash, the
// fingerprint, the scope's hash, the owner, and the observation. Numbers are varints, texts have their length before
// them. There is no key, profile or identity in it, and nothing of the prompt.

const (
	recordFormat = 1
	recordHead   = 1 + 8
)

// ErrRecord is wrapped by the error for a record that is not as it was written.
var ErrRecord = errors.New("damaged record")

func recordSum(id RunID, rest []byte) uint64 {
	d := xxhash.New()
	d.Write(id[:])
	d.Write(rest)
	return d.Sum64()
}

// appendRecord appends the record of a row; self is this process.
func appendRecord(dst []byte, id RunID, r *row, self process) ([]byte, error) {
	owner := self
	if r.owner != nil {
		owner = *r.owner
	}
	began := len(dst)
	dst = append(dst, recordFormat)
	dst = append(dst, make([]byte, recordHead-1)...)
	run := r.run
	dst = append(dst, r.key[:]...)
	dst = append(dst, r.fingerprint[:]...)
	dst = append(dst, run.scope.hash[:]...)
	dst = binary.AppendUvarint(dst, uint64(owner.pid))
	dst = binary.AppendUvarint(dst, owner.start)
	dst = binary.AppendUvarint(dst, run.number)
	dst = binary.AppendVarint(dst, r.updated)
	dst = binary.AppendVarint(dst, run.created)
	dst = binary.AppendVarint(dst, run.updated)
	dst = append(dst, byte(run.status), run.members)
	for _, m := range run.order[:run.members] {
		dst = append(dst, byte(m))
	}
	dst = appendValue(dst, run.session)
	dst = appendValue(dst, run.model)
	approval := len(dst)
	dst = appendValue(dst, run.approval)
	if run.approval != nil {
		// A test may make a value that no JSON text stands for, and a row must always be readable.
		if _, err := (&recordReader{rest: dst[approval:]}).value(); err != nil {
			return nil, fmt.Errorf("the approval cannot be read back: %w", err)
		}
	}
	dst = appendText(dst, run.lastEvent)
	for _, m := range run.order[:run.members] {
		switch m {
		case memberOutput:
			dst = appendText(dst, run.output)
		case memberError:
			dst = appendText(dst, *run.err)
		case memberPendingSteer:
			dst = appendText(dst, *run.pendingSteer)
		case memberUsage:
			dst = binary.AppendVarint(dst, run.usage.InputTokens)
			dst = binary.AppendVarint(dst, run.usage.OutputTokens)
			dst = binary.AppendVarint(dst, run.usage.TotalTokens)
		}
	}
	binary.BigEndian.PutUint64(dst[began+1:], recordSum(id, dst[began+recordHead:]))
	return dst, nil
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendValue appends the value's JSON text, which is empty for none.
func appendValue(dst []byte, v canon.Value) []byte {
	if v == nil {
		return append(dst, 0)
	}
	text := canon.AppendWire(nil, v)
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// CheckRecord tells whether a record is as the engine wrote it for the run, or Seal for the key. The error wraps ErrRecord.
func CheckRecord(id RunID, record []byte) error {
	if len(record) > 0 && record[0] == sealFormat {
		_, err := Unseal(id, record)
		return err
	}
	_, err := readRecord(id, record, &shared{})
	return err
}

// shared are values that many rows have in common, kept once.
type shared struct {
	scopes map[[32]byte]*Scope
	owners map[process]*process
	models map[string]canon.Value
}

func (s *shared) scope(hash [32]byte) *Scope {
	known := s.scopes[hash]
	if known == nil {
		known = &Scope{hash: hash}
		if s.scopes == nil {
			s.scopes = map[[32]byte]*Scope{}
		}
		s.scopes[hash] = known
	}
	return known
}

func (s *shared) owner(p process) *process {
	known := s.owners[p]
	if known == nil {
		known = &p
		if s.owners == nil {
			s.owners = map[process]*process{}
		}
		s.owners[p] = known
	}
	return known
}

// maxSharedModels bounds what clients, who choose the models, can make a namespace keep.
const maxSharedModels = 64

func (s *shared) model(text []byte) (canon.Value, error) {
	if known, ok := s.models[string(text)]; ok {
		return known, nil
	}
	v, err := canon.Parse(text)
	if err == nil && len(s.models) < maxSharedModels {
		if s.models == nil {
			s.models = map[string]canon.Value{}
		}
		s.models[string(text)] = v
	}
	return v, err
}

// readRecord reads what appendRecord wrote.
func readRecord(id RunID, record []byte, s *shared) (*row, error) {
	switch {
	case len(record) < recordHead:
		return nil, fmt.Errorf("%w of run %s: it is cut short", ErrRecord, id)
	case record[0] != recordFormat || recordSum(id, record[recordHead:]) != binary.BigEndian.Uint64(record[1:]):
		return nil, fmt.Errorf("%w of run %s: its checksum does not match", ErrRecord, id)
	}
	in := &recordReader{rest: record[recordHead:]}
	r := in.row(id, s)
	if in.err != nil || len(in.rest) > 0 {
		return nil, fmt.Errorf("%w of run %s: it is not what was written", ErrRecord, id)
	}
	return r, nil
}

// recordReader reads the parts of a record, and keeps the first error.
type recordReader struct {
	rest []byte
	err  error
}

func (in *recordReader) fail() {
	if in.err == nil {
		in.err = ErrRecord
	}
	in.rest = nil
}

func (in *recordReader) bytes(n uint64) []byte {
	if n > uint64(len(in.rest)) {
		in.fail()
		return nil
	}
	b := in.rest[:n]
	in.rest = in.rest[n:]
	return b
}

func (in *recordReader) byte() byte {
	if b := in.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (in *recordReader) uvarint() uint64 {
	v, n := binary.Uvarint(in.rest)
	if n <= 0 {
		in.fail()
		return 0
	}
	in.rest = in.rest[n:]
	return v
}

func (in *recordReader) varint() int64 {
	v, n := binary.Varint(in.rest)
	if n <= 0 {
		in.fail()
		return 0
	}
	in.rest = in.rest[n:]
	return v
}

func (in *recordReader) text() *string {
	s := string(in.bytes(in.uvarint()))
	return &s
}

func (in *recordReader) value() (canon.Value, error) {
	text := in.bytes(in.uvarint())
	if len(text) == 0 {
		return nil, in.err
	}
	v, err := canon.Parse(text)
	if err != nil {
		in.fail()
	}
	return v, err
}

func (in *recordReader) row(id RunID, s *shared) *row {
	r := &row{run: &Run{id: id}}
	run := r.run
	copy(r.key[:], in.bytes(uint64(len(r.key))))
	copy(r.fingerprint[:], in.bytes(uint64(len(r.fingerprint))))
	var hash [32]byte
	copy(hash[:], in.bytes(uint64(len(hash))))
	run.scope = s.scope(hash)
	r.owner = s.owner(process{int(in.uvarint()), in.uvarint()})
	run.number = in.uvarint()
	r.updated, run.created, run.updated = in.varint(), in.varint(), in.varint()
	run.status = Status(in.byte())
	count := in.byte()
	for _, m := range in.bytes(uint64(count)) {
		if member(m) >= memberCount || run.has(member(m)) {
			in.fail()
			break
		}
		run.set(member(m))
	}
	run.session, _ = in.value()
	var err error
	if text := in.bytes(in.uvarint()); in.err == nil {
		if run.model, err = s.model(text); err != nil {
			in.fail()
		}
	}
	run.approval, _ = in.value()
	run.lastEvent = *in.text()
	for _, m := range run.order[:run.members] {
		switch m {
		case memberOutput:
			run.output = *in.text()
		case memberError:
			run.err = in.text()
		case memberPendingSteer:
			run.pendingSteer = in.text()
		case memberUsage:
			run.usage = &Usage{in.varint(), in.varint(), in.varint()}
		}
	}
	if run.status >= Unknown {
		in.fail()
	}
	return r
}
