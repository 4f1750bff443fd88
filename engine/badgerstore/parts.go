package badgerstore

import (
	"github.com/cespare/xxhash/v2"
	"github.com/dgraph-io/badger/v4"

	"github.com/hermesfake/hermesfake/engine"
)

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

// writeParts stores a large record before the row that refers to it.
func (s *Store) writeParts(generation uint64, r engine.StoredRow) (parts, error) {
	p := partsOf(r.Record, s.head.sequence+1)
	for i := range int(p.count) {
		err := s.writable()
		if err == nil {
			err = s.db.Update(func(txn *badger.Txn) error {
				return txn.Set(keyOfPart(generation, r.Run, p.sequence, i), partOf(r.Record, i))
			})
		}
		if err != nil {
			return parts{}, err
		}
	}
	return p, nil
}

func appendParts(keys [][]byte, s *space, id engine.RunID) [][]byte {
	p := s.large[id]
	for i := range int(p.count) {
		keys = append(keys, keyOfPart(s.generation, id, p.sequence, i))
	}
	return keys
}
