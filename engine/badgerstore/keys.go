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

// space is what the store keeps of a namespace beside its rows.
type space struct {
	generation uint64
	rows       uint64
	reserved   uint64
	large      map[engine.RunID]parts // its rows that have parts
}

func (s *space) bytes(key []byte) []byte {
	return appendNumbers(key, s.generation, s.rows, s.reserved)
}

func (s *space) read(key, value []byte) error {
	return readNumbers(key, value, &s.generation, &s.rows, &s.reserved)
}

// The value of a row: a kind, then the record, or where its parts are.
const (
	wholeRow = 0
	largeRow = 1
)

// partSize bounds a value, so that several fit into a transaction of Badger.
const partSize = 64 << 10

// parts are where a large record is.
type parts struct {
	sequence uint64 // of their keys
	count    uint64
	size     uint64
	sum      uint64
}

// partsOf are those of a record.
func partsOf(record []byte, sequence uint64) parts {
	return parts{
		sequence: sequence,
		count:    uint64(len(record)+partSize-1) / partSize,
		size:     uint64(len(record)),
		sum:      xxhash.Sum64(record),
	}
}

// partOf is the part of a record with the number.
func partOf(record []byte, i int) []byte {
	return record[i*partSize : min((i+1)*partSize, len(record))]
}

func (p parts) bytes(key []byte) []byte {
	return append([]byte{largeRow}, appendNumbers(key, p.sequence, p.count, p.size, p.sum)...)
}

// readRow tells a whole record from parts.
func readRow(key, value []byte) (record []byte, p parts, err error) {
	switch {
	case len(value) > 0 && value[0] == wholeRow:
		return value[1:], p, nil
	case len(value) > 0 && value[0] == largeRow:
		err = readNumbers(key, value[1:], &p.sequence, &p.count, &p.size, &p.sum)
		if p.count == 0 || p.size > p.count*partSize {
			err = errValue
		}
		return nil, p, err
	}
	return nil, p, errValue
}

// join puts the parts of a record together.
func (p parts) join(generation uint64, id engine.RunID, get func(key []byte) ([]byte, error)) ([]byte, error) {
	var record []byte
	for i := range int(p.count) {
		part, err := get(keyOfPart(generation, id, p.sequence, i))
		if err != nil {
			return nil, err
		}
		record = append(record, part...)
	}
	if uint64(len(record)) != p.size || xxhash.Sum64(record) != p.sum {
		return nil, errValue
	}
	return record, nil
}

func generationOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

// partKeyLength is that of a key of keyOfPart.
const partKeyLength = 1 + 8 + 16 + 8 + 4

// splitPartKey returns the key of the row that the part is of, and the sequence.
func splitPartKey(key []byte) (row []byte, sequence uint64) {
	row = append([]byte{rowKey}, key[1:25]...)
	return row, binary.BigEndian.Uint64(key[25:])
}
