package engine

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/cespare/xxhash/v2"
)

// RunID is the identity of a run. It prints as "run_" and 32 lowercase
// hexadecimal digits.
type RunID [16]byte

const idPrefix = "run_"

// idLength is the length of a printed RunID.
const idLength = len(idPrefix) + 32

// String returns the id as the provider prints it.
func (id RunID) String() string {
	var b [idLength]byte
	return string(id.Append(b[:0]))
}

// Append appends what String returns.
func (id RunID) Append(dst []byte) []byte {
	return hex.AppendEncode(append(dst, idPrefix...), id[:])
}

// ParseRunID reads what String prints; any other text names no run.
func ParseRunID(text string) (RunID, bool) {
	var id RunID
	if len(text) != idLength || text[:len(idPrefix)] != idPrefix {
		return id, false
	}
	for i := range id {
		hi, ok := nibble(text[len(idPrefix)+2*i])
		lo, ok2 := nibble(text[len(idPrefix)+2*i+1])
		if !ok || !ok2 {
			return RunID{}, false
		}
		id[i] = hi<<4 | lo
	}
	return id, true
}

// nibble accepts lower case only: an id in upper case is another text, and
// the provider compares texts.
func nibble(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// mint derives the id of the numbered admission of a namespace. Equal seeds
// give equal ids, which is what lets a test name a run before it exists.
func mint(seed uint64, namespace string, number uint64) RunID {
	var b [17 + 64]byte
	binary.LittleEndian.PutUint64(b[0:], seed)
	binary.LittleEndian.PutUint64(b[8:], number)
	n := 17 + copy(b[17:], namespace)
	var id RunID
	binary.BigEndian.PutUint64(id[0:], xxhash.Sum64(b[:n]))
	b[16] = 1
	binary.BigEndian.PutUint64(id[8:], xxhash.Sum64(b[:n]))
	return id
}
