package badgerstore

import (
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/hermesfake/hermesfake/engine"
)

// Load implements engine.Store.
func (s *Store) Load(namespace string, row func(engine.RunID, []byte) error) (reserved uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, ErrClosed
	}
	sp := s.spaces[namespace]
	if sp == nil {
		return s.lostReserved(), nil
	}
	rows := uint64(0)
	err = s.db.View(func(txn *badger.Txn) error {
		get := func(key []byte) ([]byte, error) {
			item, err := txn.Get(key)
			if err != nil {
				return nil, err
			}
			return item.ValueCopy(nil)
		}
		return each(txn, prefixOf(rowKey, sp.generation), true, func(key, value []byte) error {
			_, id, ok := splitRowKey(key)
			record, p, err := readRow(key, value)
			if err == nil && !ok {
				err = errValue
			}
			if err == nil && record == nil {
				record, err = p.join(sp.generation, id, get)
				sp.large[id] = p
			}
			if err != nil {
				return err
			}
			rows++
			return row(id, record)
		})
	})
	if err == nil && rows != sp.rows {
		err = fmt.Errorf("%w: namespace %s has %d rows of %d", ErrDamaged, namespace, rows, sp.rows)
	}
	return sp.reserved, err
}

// each calls do with a copy of every key of a prefix and, if asked for, its value, which is only valid meanwhile.
func each(txn *badger.Txn, prefix []byte, values bool, do func(key, value []byte) error) error {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix, PrefetchValues: values, PrefetchSize: 100})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		item := it.Item()
		key := item.KeyCopy(nil)
		if !values {
			if err := do(key, nil); err != nil {
				return err
			}
			continue
		}
		if err := item.Value(func(v []byte) error { return do(key, v) }); err != nil {
			return err
		}
	}
	return nil
}
