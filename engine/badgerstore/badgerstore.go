// Package badgerstore keeps the durable rows of a fake on disk, in a Badger database, so that a test or a server can be
// killed and come back with them.
//
//	store, err := badgerstore.Open(dir)
//	hermes := hermesfake.New(hermesfake.WithStore(store))
//
// A store takes 3 MB of memory and some milliseconds to open. It holds one record for each keyed run: hashes of scope, key and payload,
// the run's id and owner, and its status object. There is no prompt, header, credential or key in it.
package badgerstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/hermesfake/hermesfake/engine"
)

// Option configures Open.
type Option func(*config)

type config struct {
	sync    bool
	recover bool
	logger  *slog.Logger
}

// WithSync makes every write wait for the disk, so that it survives the loss of power. Without it a write survives the death of the
// process, by kill -9 too, which is what tests are about.
func WithSync() Option { return func(c *config) { c.sync = true } }

// WithRecover opens a damaged store with what is sound of it. Recovered tells what was dropped. The damaged files stay in the
// directory, in the subdirectory that Recovery names, and are not used any more.
func WithRecover() Option { return func(c *config) { c.recover = true } }

// WithLogger gives Badger's own log to l. The default, and what nil stands for, is silence.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// Store is an engine.Store in a directory.
type Store struct {
	dir       string // of the rows
	config    config
	db        *badger.DB
	file      *os.File // the head
	recovered *Recovery
	free      func(dir string) (uint64, error)

	mu         sync.Mutex
	head       head
	generation uint64 // the latest
	spaces     map[string]*space
	size       uint64 // of the tables, as last looked at
	unmeasured int    // writes since then
	attached   bool
	closed     bool
	failed     error // a transaction of which it is not known whether it was stored
}

var _ engine.Store = (*Store)(nil)

// The settings of Badger. A transaction is bounded by a seventh of a memtable.
const (
	memTableSize   = 2 << 20
	valueThreshold = 2 * partSize // beyond any value, so that the value log stays empty
)

func (c *config) badger(dir string) badger.Options {
	o := badger.DefaultOptions(dir).
		WithMemTableSize(memTableSize).
		WithNumMemtables(1).
		WithValueLogFileSize(1 << 20).
		WithValueThreshold(valueThreshold).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithIndexCacheSize(0).
		WithMetricsEnabled(false).
		WithNumCompactors(2).
		WithDetectConflicts(false).
		WithSyncWrites(c.sync)
	if c.logger != nil {
		return o.WithLogger(logger{c.logger})
	}
	return o.WithLogger(nil)
}

// logger is a slog.Logger as Badger knows one.
type logger struct{ to *slog.Logger }

func (l logger) Errorf(f string, a ...any)   { l.to.Error(fmt.Sprintf(f, a...)) }
func (l logger) Warningf(f string, a ...any) { l.to.Warn(fmt.Sprintf(f, a...)) }
func (l logger) Infof(f string, a ...any)    { l.to.Info(fmt.Sprintf(f, a...)) }
func (l logger) Debugf(f string, a ...any)   { l.to.Debug(fmt.Sprintf(f, a...)) }

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
		return nil // killed before its first transaction
	}
	c, err := readContent(s.dir, false)
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
	}
	s.head.closed = false
	if err := s.head.write(s.file); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := removeIfThere(filepath.Join(s.dir, sumsFile)); err != nil {
		return err
	}
	return removeEmptyLogs(s.dir)
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

// Recovered is what WithRecover found and dropped, nil if nothing was damaged.
func (s *Store) Recovered() *Recovery { return s.recovered }

// Attach implements engine.Store.
func (s *Store) Attach() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.attached:
		return engine.ErrStoreInUse
	}
	s.attached = true
	return nil
}

// Detach implements engine.Store.
func (s *Store) Detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attached = false
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

// Load implements engine.Store.
func (s *Store) Load(namespace string, row func(engine.RunID, []byte) error) (reserved uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, ErrClosed
	}
	sp := s.spaces[namespace]
	if sp == nil {
		return 0, nil
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
	return s.checkRoom(s.dir, roomAlways+min(s.size, roomForCompaction))
}

// measure looks at how much the tables take.
func (s *Store) measure() {
	s.size, s.unmeasured = 0, 0
	for _, level := range s.db.Levels() {
		s.size += uint64(level.Size)
	}
}

// Close implements engine.Store. It waits for what Badger has to write; a store that was not closed takes longer to open.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
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
