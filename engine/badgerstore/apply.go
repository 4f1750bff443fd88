package badgerstore

import (
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/hermesfake/hermesfake/engine"
)

// Apply implements engine.Store.
func (s *Store) Apply(namespace string, c engine.Changes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	sp, known := s.spaces[namespace]
	if !known {
		sp = &space{generation: s.generation + 1, large: map[engine.RunID]parts{}}
	}
	next := *sp
	next.rows, next.reserved = uint64(c.Rows), max(sp.reserved, c.Reserved)
	batch := s.db.NewTransaction(true)
	defer batch.Discard()
	var old [][]byte // keys of parts that nothing refers to afterwards
	large := map[engine.RunID]parts{}
	for _, r := range c.Put {
		key := keyOfRow(sp.generation, r.Run)
		value := append([]byte{wholeRow}, r.Record...)
		if len(value) > partSize {
			p, err := s.writeParts(sp.generation, r)
			if err != nil {
				return err
			}
			large[r.Run] = p
			value = p.bytes(key)
		}
		old = appendParts(old, sp, r.Run)
		if err := batch.Set(key, value); err != nil {
			return err
		}
	}
	for _, id := range c.Delete {
		old = appendParts(old, sp, id)
		if err := batch.Delete(keyOfRow(sp.generation, id)); err != nil {
			return err
		}
	}
	if !known || next.rows != sp.rows || next.reserved != sp.reserved {
		key := keyOfNamespace(namespace)
		if err := batch.Set(key, next.bytes(key)); err != nil {
			return err
		}
	}
	if err := s.commit(batch, max(s.generation, sp.generation)); err != nil {
		return err
	}
	for _, r := range c.Put {
		delete(next.large, r.Run)
	}
	for _, id := range c.Delete {
		delete(next.large, id)
	}
	for id, p := range large {
		next.large[id] = p
	}
	*sp = next
	s.spaces[namespace] = sp
	s.deleteAll(old) // or when the store is next opened
	return nil
}

// commit ends a transaction, and says in the head that it is acknowledged.
func (s *Store) commit(batch *badger.Txn, generation uint64) error {
	next := s.head
	next.sequence++
	if err := batch.Set([]byte(storeKey), appendNumbers([]byte(storeKey), next.sequence, generation)); err != nil {
		return err
	}
	if err := batch.Commit(); err != nil {
		s.failed = fmt.Errorf("an earlier write failed, open the store again: %w", err)
		return err
	}
	s.head, s.generation = next, generation
	if err := s.head.write(s.file); err != nil {
		s.failed = fmt.Errorf("an earlier write failed, open the store again: %w", err)
	}
	return nil
}

// writable fails where a write must not be tried.
func (s *Store) writable() error {
	switch {
	case s.closed:
		return ErrClosed
	case s.failed != nil:
		return s.failed
	}
	if s.unmeasured >= 256 {
		s.measure()
	}
	s.unmeasured++
	if err := s.there(); err != nil {
		return err
	}
	return s.checkRoom(s.dir, roomAlways+min(s.size, roomForCompaction))
}

// measure looks at how much the tables take.
func (s *Store) measure() {
	s.size, s.unmeasured = 0, 0
	for _, level := range s.db.Levels() {
		s.size += uint64(level.Size)
	}
}
