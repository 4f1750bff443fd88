package badgerstore

import (
	"errors"
	"path/filepath"
)

// Close implements engine.Store. It waits for what Badger has to write; a store that was not closed takes longer to open.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if err := s.there(); err != nil {
		return errors.Join(err, s.closeGone(), s.file.Close())
	}
	err := removeIfThere(filepath.Join(filepath.Dir(s.dir), roomFile))
	err = errors.Join(err, s.db.Close())
	if err == nil && s.failed == nil {
		if err = writeSums(s.dir, s.config.sync); err == nil {
			s.head.closed = true
			err = s.head.write(s.file)
		}
	}
	return errors.Join(err, s.file.Close())
}
