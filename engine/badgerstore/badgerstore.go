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
	"fmt"
	"log/slog"
	"os"
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
	identity  os.FileInfo // of that directory
	file      *os.File    // the head
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
