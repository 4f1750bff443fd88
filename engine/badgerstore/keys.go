package badgerstore

import (
	"encoding/binary"
	"errors"

	"github.com/cespare/xxhash/v2"

	"github.com/hermesfake/hermesfake/engine"
)

// The keys of the database. A namespace's rows have the number of its generation in their keys, not its name: a
// drop takes one small transaction, and the rows go afterwards.
const (
	storeKey      = "s" // the store
	namespaceKey  = 'n' // + name: a namespace
	rowKey        = 'r' // + generation + run: a row
	partKey       = 'p' // + generation + run + sequence + part: a part of a row that is too large for one value
	generationKey = 'g' // + generation: one that was dropped, whose rows have to go
)

func prefixOf(kind byte, generation uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, generation)
}

func keyOfRow(generation uint64, id engine.RunID) []byte {
	return append(prefixOf(rowKey, generation), id[:]...)
}

func keyOfPart(generation uint64, id engine.RunID, sequence uint64, part int) []byte {
	key := append(prefixOf(partKey, generation), id[:]...)
	key = binary.BigEndian.AppendUint64(key, sequence)
	return binary.BigEndian.AppendUint32(key, uint32(part))
}

func keyOfNamespace(name string) []byte { return append([]byte{namespaceKey}, name...) }

// splitRowKey reads the key of a row.
func splitRowKey(key []byte) (generation uint64, id engine.RunID, ok bool) {
	if len(key) != 1+8+len(id) || key[0] != rowKey {
		return 0, id, false
	}
	return binary.BigEndian.Uint64(key[1:]), engine.RunID(key[9:]), true
}

func generationOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

// partKeyLength is that of a key of keyOfPart.
const partKeyLength = 1 + 8 + 16 + 8 + 4

// splitPartKey returns the key of the row that the part is of, and the sequence.
func splitPartKey(key []byte) (row []byte, sequence uint64) {
	row = append([]byte{rowKey}, key[1:25]...)
	return row, binary.BigEndian.Uint64(key[25:])
}

var errValue = errors.New("damaged value")

// numbers are values that are numbers only, with a checksum that the key is part of.
func appendNumbers(key []byte, numbers ...uint64) []byte {
	var b []byte
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return binary.BigEndian.AppendUint64(b, numbersSum(key, b))
}

func readNumbers(key, value []byte, numbers ...*uint64) error {
	if len(value) != 8*len(numbers)+8 {
		return errValue
	}
	b, sum := value[:8*len(numbers)], value[8*len(numbers):]
	if numbersSum(key, b) != binary.BigEndian.Uint64(sum) {
		return errValue
	}
	for i, n := range numbers {
		*n = binary.BigEndian.Uint64(b[8*i:])
	}
	return nil
}

func numbersSum(key, b []byte) uint64 {
	d := xxhash.New()
	d.Write(key)
	d.Write(b)
	return d.Sum64()
}
