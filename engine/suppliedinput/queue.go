package suppliedinput

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/hermesfake/hermesfake/engine"
)

// Queue keeps the envelopes of what was recorded, until they are delivered or erased. Its methods may be called from any
// goroutine. Whoever opened a queue closes it, after the fake.
type Queue interface {
	// Put stores an envelope. Once it has returned nil, the envelope outlives the process, as far as anything of the queue does.
	// One whose TurnID is there already is an error.
	Put(namespace string, e Envelope) error
	// Remove forgets envelopes, all of them or, with an error, none. Turns that there are not are passed over.
	Remove(namespace string, turnIDs ...string) error
	// Envelopes returns what is queued, in order of Number.
	Envelopes(namespace string) ([]Envelope, error)
	// Drop forgets all envelopes of a namespace.
	Drop(namespace string) error
	// Close frees the queue's resources; what is called later fails.
	Close() error
}

// maxQueued bounds the envelopes of a namespace.
const maxQueued = 100_000

// ErrQueueClosed is the error of a queue that was closed.
var ErrQueueClosed = errors.New("supplied input: the queue is closed")

// StoreQueue is a Queue whose envelopes are records of an engine.Store: one in memory for NewMemoryQueue, one on disk for package
// badgerqueue.
type StoreQueue struct {
	mu     sync.Mutex
	store  engine.Store
	queued map[string]*queued // by namespace
	closed bool
}

// queued is what a namespace has.
type queued struct {
	list []Envelope // in order
	keys map[engine.RunID]struct{}
}

// NewMemoryQueue returns a queue that outlives a fake, but not the process.
func NewMemoryQueue() *StoreQueue {
	q, err := NewStoreQueue(engine.NewMemoryStore())
	if err != nil {
		panic(err) // a new store has nothing that could be wrong
	}
	return q
}

// NewStoreQueue returns a queue over a store of its own, which it closes, and reads what is in it. An envelope that is damaged
// is an error that wraps ErrEnvelope, and a store that another uses one that wraps engine.ErrStoreInUse; the store stays open then.
func NewStoreQueue(store engine.Store) (*StoreQueue, error) {
	if err := store.Attach(); err != nil {
		return nil, err
	}
	q := &StoreQueue{store: store, queued: map[string]*queued{}}
	for _, namespace := range store.Namespaces() {
		if err := q.load(namespace); err != nil {
			store.Detach()
			return nil, fmt.Errorf("namespace %s: %w", namespace, err)
		}
	}
	return q, nil
}

func (q *StoreQueue) load(namespace string) error {
	of := &queued{keys: map[engine.RunID]struct{}{}}
	if _, err := q.store.Load(namespace, func(key engine.RunID, record []byte) error {
		e, err := readEnvelope(key, record)
		if err != nil {
			return err
		}
		of.list = append(of.list, e)
		of.keys[key] = struct{}{}
		return nil
	}); err != nil {
		return err
	}
	slices.SortFunc(of.list, func(a, b Envelope) int { return cmp.Compare(a.Number, b.Number) })
	q.queued[namespace] = of
	return nil
}

// keyOf is the key of a turn's record: a hash.
func keyOf(turnID string) (key engine.RunID) {
	binary.BigEndian.PutUint64(key[:8], xxhash.Sum64String(turnID))
	binary.BigEndian.PutUint64(key[8:], xxhash.Sum64String(turnID+"\x01"))
	return key
}

// Put implements Queue.
func (q *StoreQueue) Put(namespace string, e Envelope) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrQueueClosed
	}
	of := q.queued[namespace]
	if of == nil {
		of = &queued{keys: map[engine.RunID]struct{}{}}
	}
	key := keyOf(e.TurnID)
	if _, there := of.keys[key]; there {
		return fmt.Errorf("supplied input: turn %s is queued already", e.TurnID)
	}
	if len(of.list) >= maxQueued {
		return ErrFull
	}
	record, err := e.record(key)
	if err != nil {
		return err
	}
	if err := q.store.Apply(namespace, engine.Changes{
		Put: []engine.StoredRow{{Run: key, Record: record}}, Rows: len(of.list) + 1,
	}); err != nil {
		return err
	}
	at, _ := slices.BinarySearchFunc(of.list, e.Number, func(o Envelope, n uint64) int { return cmp.Compare(o.Number, n) })
	of.list = slices.Insert(of.list, at, e.copy())
	of.keys[key] = struct{}{}
	q.queued[namespace] = of
	return nil
}

// Remove implements Queue.
func (q *StoreQueue) Remove(namespace string, turnIDs ...string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrQueueClosed
	}
	of := q.queued[namespace]
	if of == nil {
		return nil
	}
	gone := map[engine.RunID]struct{}{}
	var c engine.Changes
	for _, id := range turnIDs {
		key := keyOf(id)
		_, there := of.keys[key]
		if _, twice := gone[key]; there && !twice {
			gone[key] = struct{}{}
			c.Delete = append(c.Delete, key)
		}
	}
	if c.Delete == nil {
		return nil
	}
	c.Rows = len(of.list) - len(c.Delete)
	if err := q.store.Apply(namespace, c); err != nil {
		return err
	}
	of.list = slices.DeleteFunc(of.list, func(e Envelope) bool {
		_, is := gone[keyOf(e.TurnID)]
		return is
	})
	for key := range gone {
		delete(of.keys, key)
	}
	return nil
}

// Envelopes implements Queue.
func (q *StoreQueue) Envelopes(namespace string) ([]Envelope, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, ErrQueueClosed
	}
	of := q.queued[namespace]
	if of == nil {
		return nil, nil
	}
	list := make([]Envelope, 0, len(of.list))
	for _, e := range of.list {
		list = append(list, e.copy())
	}
	return list, nil
}

// Drop implements Queue.
func (q *StoreQueue) Drop(namespace string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrQueueClosed
	}
	if err := q.store.Drop(namespace); err != nil {
		return err
	}
	delete(q.queued, namespace)
	return nil
}

// Close implements Queue.
func (q *StoreQueue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	q.store.Detach()
	return q.store.Close()
}
