package badgerstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// Open opens the store in a directory, which it makes if there is none. An error wraps one of those of this package, or is one
// of the system; nothing in the directory has changed then. A store that was not closed, because its process was killed, is read
// as a whole first; that takes a second for some 100 000 rows.
func Open(dir string, opts ...Option) (*Store, error) {
	s := &Store{free: freeBytes}
	for _, o := range opts {
		o(&s.config)
	}
	if err := s.open(dir); err != nil {
		return nil, fmt.Errorf("badgerstore: %s: %w", dir, err)
	}
	return s, nil
}

func (s *Store) open(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	s.file, err = openHead(dir, false)
	missing := err
	if s.config.recover && errors.Is(err, ErrMissing) {
		s.file, err = openHead(dir, true)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.file.Close()
		}
	}()
	if err := s.inspect(dir); err != nil {
		if missing != nil {
			err = missing
		}
		if !s.config.recover || !errors.Is(err, ErrDamaged) {
			return err
		}
		if err := s.recover(dir, err); err != nil {
			return err
		}
	}
	if err := s.begin(dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			removeIfThere(filepath.Join(dir, roomFile))
		}
	}()
	if s.identity, err = os.Stat(s.dir); err != nil {
		return err
	}
	if s.db, err = openBadger(s.config.badger(s.dir)); err != nil {
		return err
	}
	s.measure()
	if err := s.readSpaces(); err != nil {
		s.db.Close()
		return err
	}
	return nil
}

// inspect reads the head, and finds out whether the files are as they were left.
func (s *Store) inspect(dir string) (err error) {
	s.head, err = readHead(s.file, dir)
	s.dir = filepath.Join(dir, s.head.rows())
	if err != nil {
		return err
	}
	switch {
	case s.head.closed:
		return checkSums(s.dir)
	case s.head.sequence == 0:
		return nil // killed before its first transaction: begin makes the rows anew
	}
	c, err := readContent(s.dir, false, false)
	if err != nil {
		return err
	}
	return c.check(s.head.sequence)
}

// begin says that the store is open from now on. It is the first write, and tries the directories before it changes any file.
func (s *Store) begin(dir string) (err error) {
	if err := s.checkRoom(dir, roomAlways+roomForClose); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrUnwritable, err)
			removeIfThere(filepath.Join(dir, roomFile))
		}
	}()
	if err := takeRoom(dir); err != nil {
		return err
	}
	if s.head.sequence > 0 {
		if err := probe(s.dir); err != nil {
			return err
		}
	} else if !s.head.closed {
		if err := os.RemoveAll(s.dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	next := s.head
	next.closed = false
	if err := s.writeHead(dir, next); err != nil {
		return err
	}
	s.head = next
	if err := removeIfThere(filepath.Join(s.dir, sumsFile)); err != nil {
		return err
	}
	return removeEmptyLogs(s.dir)
}

// writeHead writes the head, which after a loss of power must not be older than what it is about.
func (s *Store) writeHead(dir string, h head) error {
	if err := h.write(s.file); err != nil || !s.config.sync {
		return err
	}
	return errors.Join(s.file.Sync(), syncDir(dir))
}

// probe fails where no file can be made.
func probe(dir string) error {
	path := filepath.Join(dir, "PROBE")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(path))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// removeEmptyLogs removes logs that a process was killed in while making them. Badger does not open them.
func removeEmptyLogs(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), memoryLog) && !strings.HasSuffix(f.Name(), valueLog) {
			continue
		}
		info, err := f.Info()
		if err == nil && info.Size() == 0 {
			err = os.Remove(filepath.Join(dir, f.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openBadger opens a database. Where there is no lock of our own, Badger's is the one that fails; it does not wrap what it fails with.
func openBadger(o badger.Options) (*badger.DB, error) {
	db, err := badger.Open(o)
	if err != nil && strings.Contains(err.Error(), "directory lock") {
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	return db, err
}
