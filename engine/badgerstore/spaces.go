package badgerstore

import (
	"errors"

	"github.com/dgraph-io/badger/v4"

	"github.com/hermesfake/hermesfake/engine"
)

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

// readSpaces reads what the store knows of its namespaces, and ends what a killed process did not: drops, and writes
// of large rows.
func (s *Store) readSpaces() error {
	s.spaces = map[string]*space{}
	var dropped []uint64
	used := map[string]bool{} // the parts, by their keys without number
	var unused [][]byte
	err := s.db.View(func(txn *badger.Txn) error {
		if item, err := txn.Get([]byte(storeKey)); err == nil {
			if err := item.Value(func(v []byte) error {
				return readNumbers([]byte(storeKey), v, &s.head.sequence, &s.generation)
			}); err != nil {
				return err
			}
		} else if !errors.Is(err, badger.ErrKeyNotFound) {
			return err
		}
		if err := each(txn, []byte{namespaceKey}, true, func(key, value []byte) error {
			sp := &space{large: map[engine.RunID]parts{}}
			s.spaces[string(key[1:])] = sp
			return sp.read(key, value)
		}); err != nil {
			return err
		}
		if err := each(txn, []byte{generationKey}, false, func(key, _ []byte) error {
			if len(key) == 9 {
				dropped = append(dropped, generationOf(key))
			}
			return nil
		}); err != nil {
			return err
		}
		return each(txn, []byte{partKey}, false, func(key, _ []byte) error {
			if len(key) != partKeyLength {
				return nil
			}
			row, sequence := splitPartKey(key)
			whole := string(key[:len(key)-4])
			inUse, known := used[whole]
			if !known {
				inUse = s.refers(txn, row, sequence)
				used[whole] = inUse
			}
			if !inUse {
				unused = append(unused, key)
			}
			return nil
		})
	})
	if err == nil {
		err = s.deleteAll(unused)
	}
	if err != nil {
		return err
	}
	for _, generation := range dropped {
		s.clear(generation)
	}
	return nil
}

// refers reports whether the row of a key has its parts under the sequence.
func (s *Store) refers(txn *badger.Txn, row []byte, sequence uint64) bool {
	item, err := txn.Get(row)
	if err != nil {
		return false
	}
	refers := false
	item.Value(func(v []byte) error {
		_, p, err := readRow(row, v)
		refers = err == nil && p.count > 0 && p.sequence == sequence
		return nil
	})
	return refers
}

// Namespaces implements engine.Store.
func (s *Store) Namespaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.spaces))
	for name := range s.spaces {
		names = append(names, name)
	}
	return names
}
