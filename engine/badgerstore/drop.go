package badgerstore

import (
	"github.com/dgraph-io/badger/v4"
)

// Drop implements engine.Store.
func (s *Store) Drop(namespace string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	sp := s.spaces[namespace]
	if sp == nil {
		return nil
	}
	batch := s.db.NewTransaction(true)
	defer batch.Discard()
	err := batch.Delete(keyOfNamespace(namespace))
	if err == nil {
		err = batch.Set(prefixOf(generationKey, sp.generation), nil)
	}
	if err == nil {
		err = s.commit(batch, s.generation)
	}
	if err != nil {
		return err
	}
	delete(s.spaces, namespace)
	s.clear(sp.generation)
	return nil
}

// deleteAtOnce bounds the keys of a transaction.
const deleteAtOnce = 1000

func (s *Store) deleteAll(keys [][]byte) error {
	for len(keys) > 0 {
		some := keys[:min(deleteAtOnce, len(keys))]
		keys = keys[len(some):]
		if err := s.writable(); err != nil {
			return err
		}
		if err := s.db.Update(func(txn *badger.Txn) error {
			for _, key := range some {
				if err := txn.Delete(key); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// clear deletes the rows of a generation that was dropped. What it cannot delete goes when the store is next opened.
func (s *Store) clear(generation uint64) {
	for _, kind := range []byte{rowKey, partKey} {
		var keys [][]byte
		err := s.db.View(func(txn *badger.Txn) error {
			return each(txn, prefixOf(kind, generation), false, func(key, _ []byte) (err error) {
				if keys = append(keys, key); len(keys) == deleteAtOnce {
					err, keys = s.deleteAll(keys), nil
				}
				return err
			})
		})
		if err != nil || s.deleteAll(keys) != nil {
			return
		}
	}
	s.deleteAll([][]byte{prefixOf(generationKey, generation)})
}
