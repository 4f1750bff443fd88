package badgerstore

import (
	"encoding/binary"
	"path/filepath"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/dgraph-io/badger/v4"

	"github.com/hermesfake/hermesfake/engine"
)

// SetFree makes the store believe that the disk has so much room.
func (s *Store) SetFree(free func(string) (uint64, error)) { s.free = free }

// FreeBytes is what the system says.
var FreeBytes = freeBytes

// NewerHead is the head that a later version of hermesfake may write.
func NewerHead() []byte {
	b := head{directory: 1, sequence: 9}.bytes()
	binary.BigEndian.PutUint32(b[16:], format+1)
	binary.BigEndian.PutUint64(b[40:], xxhash.Sum64(b[:40]))
	return b
}

// Compacting reports whether Badger has tables to put together, which it does in the background.
func (s *Store) Compacting() bool {
	return slices.ContainsFunc(s.db.Levels(), func(l badger.LevelInfo) bool { return l.Score >= 1 })
}

// Read reads a file as a table and as a log.
func Read(b []byte) {
	readTable("table", b, func(entry) {})
	for _, skip := range []bool{false, true} {
		readLog("log", b, skip, func(entry) {})
	}
}

// Dir is the directory that was opened.
func (s *Store) Dir() string { return filepath.Dir(s.dir) }

// TableDamage is what is wrong with the bytes of a table.
func TableDamage(b []byte) error {
	if d := readTable("table", b, func(entry) {}); d != nil {
		return d
	}
	return nil
}

// Keys counts what the database holds: rows, parts of rows, and generations that have to go.
func (s *Store) Keys(t interface{ Fatal(...any) }) (rows, parts, dropped int) {
	err := s.db.View(func(txn *badger.Txn) error {
		return each(txn, nil, false, func(key, _ []byte) error {
			switch key[0] {
			case rowKey:
				rows++
			case partKey:
				parts++
			case generationKey:
				dropped++
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, parts, dropped
}

// LoseRow deletes a row behind the store's back.
func (s *Store) LoseRow() error {
	return s.db.Update(func(txn *badger.Txn) error {
		return each(txn, []byte{rowKey}, false, func(key, _ []byte) error { return txn.Delete(key) })
	})
}

// LeavePart stores a part of a row as a process does that is killed before it stores the row.
func (s *Store) LeavePart() error {
	return s.db.Update(func(txn *badger.Txn) error {
		return txn.Set(keyOfPart(1, engine.RunID{}, s.head.sequence+1, 0), make([]byte, partSize))
	})
}
