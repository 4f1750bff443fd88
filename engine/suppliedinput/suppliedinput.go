// Package suppliedinput is a double of the handoff through which a host gives input that it has captured to the agent: a
// host opens a scope that names the exact parents of the work, has a task run inside, and learns what was produced and from
// what (Result), or why nothing may be used (Failure).
//
// A Space has all of it for one namespace: the ledger of sources, the scopes, the executions that use them, the queue of
// what was recorded, and the registry of work. It knows no HTTP, starts no goroutine, and waits on the fake's clock only.
package suppliedinput

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hermesfake/hermesfake/engine"
)

// Gateway is what a Space has to know of the namespace around it.
type Gateway interface {
	// Now is the time on the namespace's clock.
	Now() time.Time
	// Sleep waits on that clock. The executor is the one that waits, nil for others.
	Sleep(ctx context.Context, x *engine.Executor, d time.Duration) error
	// WhileActive returns a context that ends when the run is not active any more; stop frees it.
	WhileActive(ctx context.Context, id engine.RunID) (while context.Context, stop func())
	// Active reports whether a run has an executor and has not settled.
	Active(id engine.RunID) bool
	// Known reports whether there is such a run.
	Known(id engine.RunID) bool
	// ActiveRuns returns the runs that are active, in order of admission.
	ActiveRuns() []engine.RunID
}

// Config says what a Space stands on.
type Config struct {
	Namespace string
	Seed      uint64  // ids are drawn from it
	Gateway   Gateway // required
	Queue     Queue   // keeps what is recorded; nil: NewMemoryQueue()
	// Caller returns the file and line that is to blame for a misuse, "" where nobody knows. It is called on the goroutine
	// of the call that is one. nil: nobody knows.
	Caller func() string
	// Changed is called after each step that may have changed something, without the Space's lock. nil: nobody is told.
	Changed func()
}

// Space is the supplied input of one namespace. Its methods may be called from any goroutine; each is one step.
type Space struct {
	config Config

	admissions sync.RWMutex // held for reading by submissions under way that come with a scope; comes before mu
	mu         sync.Mutex
	state      state
	overview   *Overview // nil after a change
}

// Bounds of what a Space keeps.
const (
	maxOpenScopes    = 10_000
	maxClosedScopes  = 1000 // the latest ones stay to be looked at
	maxSources       = 100_000
	maxSourceText    = 1 << 20 // bytes
	maxRules         = 1000
	maxExecutions    = 10_000
	maxSessions      = 20_000 // of one scope
	maxChildren      = 10_000 // of one run
	maxBlocks        = 1000   // of one scope
	maxMisuses       = 100
	maxQueueFailures = 20
)

// state is what a Space knows, without its lock.
type state struct {
	config     *Config
	sources    map[string]*source
	recorded   uint64    // sources so far
	deliveries []*source // assistant's sources, in order
	rules      []rule
	scopes     map[string]*scope
	open       int
	closed     []*scope // in order of closing
	numbers    uint64   // scopes opened so far
	tokens     uint64   // blocks made so far
	lineages   map[lineageKey]lineage
	executions map[engine.RunID]*execution
	order      []*execution // of executions
	misuses    []misuse
	numbered   uint64 // the latest envelope's number

	queueFailures []error // the latest ones
}

// New returns an empty Space.
func New(config Config) *Space {
	if config.Queue == nil {
		config.Queue = NewMemoryQueue()
	}
	if config.Changed == nil {
		config.Changed = func() {}
	}
	if config.Caller == nil {
		config.Caller = func() string { return "" }
	}
	s := &Space{config: config}
	s.state = newState(&s.config)
	return s
}

func newState(config *Config) state {
	return state{
		config:     config,
		sources:    map[string]*source{},
		scopes:     map[string]*scope{},
		lineages:   map[lineageKey]lineage{},
		executions: map[engine.RunID]*execution{},
	}
}

// unlock ends a step that may have changed something.
func (s *Space) unlock() {
	s.overview = nil
	s.mu.Unlock()
	s.config.Changed()
}

// Reset takes the Space back to its first use: no source, no scope, nothing queued. Scopes that were open are not known any
// more. What was misused is still reported. An error is the queue's, and nothing has changed.
func (s *Space) Reset() error {
	s.mu.Lock()
	defer s.unlock()
	if err := s.config.Queue.Drop(s.config.Namespace); err != nil {
		return err
	}
	misuses := s.state.misuses
	s.state = newState(&s.config)
	s.state.misuses = misuses
	return nil
}

// mint derives 32 hexadecimal digits from the seed, the namespace, a kind and a number: equal seeds, equal ids.
func (s *state) mint(kind string, number uint64) string {
	b := binary.LittleEndian.AppendUint64(nil, s.config.Seed)
	b = binary.LittleEndian.AppendUint64(b, number)
	b = append(append(append(b, kind...), 0), s.config.Namespace...)
	id := binary.BigEndian.AppendUint64(nil, xxhash.Sum64(b))
	id = binary.BigEndian.AppendUint64(id, xxhash.Sum64(append(b, 1)))
	return hex.EncodeToString(id)
}
