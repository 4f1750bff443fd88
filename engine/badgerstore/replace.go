package badgerstore

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/hermesfake/hermesfake/engine"
)

// Replace implements engine.Store. The new rows are those of a generation that counts as dropped until all of them are there: if the
// process is killed before, they go when the store is next opened.
func (s *Store) Replace(namespace string, count int, reserved uint64, each func(put func(engine.StoredRow) error) error) error {
	r, err := s.beginReplace()
	if err != nil {
		return err
	}
	err = each(r.put)
	if err == nil {
		err = r.err
	}
	if err == nil {
		err = r.write()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && r.rows != count {
		err = fmt.Errorf("%d rows were given of %d", r.rows, count)
	}
	if err == nil {
		err = s.flip(namespace, r, reserved)
	}
	if err != nil {
		s.clear(r.generation) // or when the store is next opened
	}
	return err
}

// replacement is a generation of rows that is being written.
type replacement struct {
	store      *Store
	generation uint64
	sequence   uint64 // of the parts
	err        error  // the first one
	rows       int
	large      map[engine.RunID]parts
	batch      []pair
	size       int
}

// pair is a key and its value.
type pair struct{ key, value []byte }

// A batch ends with the row that reaches one of these, and fits into a transaction then.
const (
	batchRows = 500
	batchSize = 64 << 10
)

// beginReplace marks a new generation as dropped.
func (s *Store) beginReplace() (*replacement, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	r := &replacement{store: s, generation: s.generation + 1, large: map[engine.RunID]parts{}}
	batch := s.db.NewTransaction(true)
	defer batch.Discard()
	if err := batch.Set(prefixOf(generationKey, r.generation), nil); err != nil {
		return nil, err
	}
	if err := s.commit(batch, r.generation); err != nil {
		return nil, err
	}
	r.sequence = s.head.sequence
	return r, nil
}

// put adds a row, unless an earlier one could not be added.
func (r *replacement) put(row engine.StoredRow) error {
	if r.err == nil {
		r.err = r.putRow(row)
	}
	return r.err
}

func (r *replacement) putRow(row engine.StoredRow) error {
	key, value := keyOfRow(r.generation, row.Run), append([]byte{wholeRow}, row.Record...)
	if len(value) > partSize {
		p := partsOf(row.Record, r.sequence)
		for i := range int(p.count) {
			if err := r.add(keyOfPart(r.generation, row.Run, p.sequence, i), bytes.Clone(partOf(row.Record, i))); err != nil {
				return err
			}
		}
		r.large[row.Run] = p
		value = p.bytes(key)
	}
	r.rows++
	return r.add(key, value)
}

func (r *replacement) add(key, value []byte) error {
	r.batch = append(r.batch, pair{key, value})
	r.size += len(key) + len(value)
	if len(r.batch) < batchRows && r.size < batchSize {
		return nil
	}
	return r.write()
}

// write stores the batch.
func (r *replacement) write() error {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unmeasured += len(r.batch)
	if err := s.writable(); err != nil {
		return err
	}
	err := s.db.Update(func(txn *badger.Txn) error {
		for _, p := range r.batch {
			if err := txn.Set(p.key, p.value); err != nil {
				return err
			}
		}
		return nil
	})
	r.batch, r.size = nil, 0
	return err
}

// flip makes the rows of a replacement those of the namespace, and deletes the old ones.
func (s *Store) flip(namespace string, r *replacement, reserved uint64) error {
	if err := s.writable(); err != nil {
		return err
	}
	next := &space{generation: r.generation, rows: uint64(r.rows), reserved: reserved, large: r.large}
	old := s.spaces[namespace]
	if old != nil {
		next.reserved = max(reserved, old.reserved)
	}
	key := keyOfNamespace(namespace)
	batch := s.db.NewTransaction(true)
	defer batch.Discard()
	err := errors.Join(batch.Set(key, next.bytes(key)), batch.Delete(prefixOf(generationKey, r.generation)))
	if old != nil {
		err = errors.Join(err, batch.Set(prefixOf(generationKey, old.generation), nil))
	}
	if err == nil {
		err = s.commit(batch, s.generation)
	}
	if err != nil {
		return err
	}
	s.spaces[namespace] = next
	if old != nil {
		s.clear(old.generation)
	}
	return nil
}
