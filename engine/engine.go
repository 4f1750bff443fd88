// Package engine is the state of the emulated gateway: runs, their durable
// rows, approvals, event queues and the clock they live by. It knows no HTTP,
// starts no goroutine, and moves only when it is asked to.
package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermesfake/hermesfake/canon"
)

const (
	// DefaultModel is the model of a run whose submission names none.
	DefaultModel = "hermes-agent"
	// DefaultMaxConcurrentRuns is how many runs a gateway takes at once.
	DefaultMaxConcurrentRuns = 10
	// DefaultQueueBytes bounds one run's event queue.
	DefaultQueueBytes = 64 << 20
	// DefaultNamespace is the namespace of requests that name none.
	DefaultNamespace = "default"
)

// ErrNamespace is wrapped by the error for a name that is no namespace's.
var ErrNamespace = errors.New("namespace")

// NamePattern is what names of namespaces and profiles match.
const NamePattern = `^[A-Za-z0-9_.-]{1,64}$`

var namespaceName = regexp.MustCompile(NamePattern)

// Config says how an engine's namespaces begin. The zero value of a field
// stands for its default, but for Seed and Gateway, which are taken as they are.
type Config struct {
	Seed       uint64  // ids are drawn from it
	Model      string  // default: DefaultModel
	Gateway    Gateway // capacity and draining of a new or reset namespace
	Scope      *Scope  // of requests where SetScope says nothing; default: DefaultProfile and DefaultIdentity
	QueueBytes int     // bound of one run's event queue, in bytes; default: DefaultQueueBytes
	KeepEvents bool    // for Trail, also while no OnChange is on
	Store      Store   // keeps the durable rows beyond the process; nil: nothing does
	// Checkpoints is how many checkpoints of accepted mutations a namespace keeps; default DefaultCheckpoints, none if negative.
	Checkpoints int

	// Completing is called for each completion of a run that is observed, in its place: complete carries it out, or fails as
	// Observe does. nil: nothing stands before completions.
	Completing func(n *Namespace, id RunID, output string, complete func() error) error
	// Clearing is called before a namespace is reset or dropped, and not by a view that may not do so. An error refuses that, and
	// nothing has changed. nil: nothing is asked.
	Clearing func(namespace string) error
	// Restored is called after a checkout: runs may be gone, and their ids come again. nil: nobody is told.
	Restored func(namespace string)
}

// Gateway is what a gateway process can be set to. It outlives a restart.
type Gateway struct {
	MaxConcurrentRuns int  // 0 or less: no bound
	Draining          bool // refuse every submission
}

// Engine holds the namespaces. Its methods may be called from any goroutine.
type Engine struct {
	config Config
	model  canon.Value
	scope  *Scope

	store    Store
	storeErr error // why the store cannot be used
	self     process

	moving turnstile // held by who moves every clock

	mu         sync.RWMutex
	namespaces map[string]*Namespace
	clock      clock // of namespaces to come
	closed     bool
}

// New returns an engine that follows the system's clock. If Config.Store is in use by another engine, every
// operation fails with StorageFailed.
func New(config Config) *Engine {
	if config.Model == "" {
		config.Model = DefaultModel
	}
	if config.Scope == nil {
		config.Scope = newScope(DefaultProfile, DefaultIdentity)
	}
	if config.Checkpoints == 0 {
		config.Checkpoints = DefaultCheckpoints
	}
	if config.QueueBytes <= 0 {
		config.QueueBytes = DefaultQueueBytes
	}
	e := &Engine{
		config:     config,
		moving:     newTurnstile(),
		model:      canon.String(config.Model),
		scope:      config.Scope,
		namespaces: map[string]*Namespace{},
	}
	if config.Store != nil {
		e.store, e.self = config.Store, thisProcess()
		e.storeErr = e.store.Attach()
	}
	return e
}

// Namespace returns the namespace of a name, which begins with its first use.
// A name that does not match ^[A-Za-z0-9_.-]{1,64}$ is an error that wraps ErrNamespace.
func (e *Engine) Namespace(name string) (*Namespace, error) {
	e.mu.RLock()
	n := e.namespaces[name]
	e.mu.RUnlock()
	if n != nil {
		return n, nil
	}
	if !namespaceName.MatchString(name) {
		return nil, fmt.Errorf("%w: must match %s", ErrNamespace, namespaceName)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := e.namespaces[name]; n != nil {
		return n, nil
	}
	n = newNamespace(e, name, e.clock)
	if n.closed = e.closed; !n.closed {
		n.load()
	}
	e.namespaces[name] = n
	return n, nil
}

// Namespaces returns the names in use, and those that the store knows, in alphabetical order.
func (e *Engine) Namespaces() []string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	names := make([]string, 0, len(e.namespaces))
	for name := range e.namespaces {
		names = append(names, name)
	}
	return e.withStored(names)
}

// Clock returns the clock of namespaces to come.
func (e *Engine) Clock() ClockState {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.clock.state()
}

// ChangeClock moves the clock of every namespace, those to come included. On
// an error, which wraps ErrClock, no clock has moved.
func (e *Engine) ChangeClock(by ClockChange) (ClockState, error) {
	defer e.moving.enter()()
	e.mu.Lock()
	next, err := e.clock.change(by)
	namespaces := make([]*Namespace, 0, len(e.namespaces))
	for _, n := range e.namespaces {
		namespaces = append(namespaces, n)
		if problem := n.tryClock(by); problem != nil && err == nil {
			err = fmt.Errorf("namespace %s: %w", n.name, problem)
		}
	}
	if err != nil {
		defer e.mu.Unlock()
		return e.clock.state(), err
	}
	e.clock = next
	e.mu.Unlock()
	slices.SortFunc(namespaces, func(a, b *Namespace) int { return strings.Compare(a.name, b.name) })
	for _, n := range namespaces {
		n.ChangeClock(by)
	}
	return e.Clock(), nil
}

// Close ends every event stream and wakes whoever waits; operations fail with
// Closed from then on. It does not close the store.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	for _, n := range e.namespaces {
		n.close()
	}
	if e.store != nil && e.storeErr == nil {
		e.store.Detach()
	}
}

// Model is the model of a run whose submission names none.
func (e *Engine) Model() string { return e.config.Model }

// ValidNamespace reports whether name can name a namespace.
func ValidNamespace(name string) bool { return namespaceName.MatchString(name) }
