package engine

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
)

// MemoryStore is a Store in memory: its rows outlive a fake, but not the process.
type MemoryStore struct {
	mu         sync.Mutex
	namespaces map[string]*memoryRows
	attached   bool
	closed     bool
}

type memoryRows struct {
	rows     map[RunID][]byte
	reserved uint64
}

var errStoreClosed = errors.New("the store is closed; close the fake first")

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{namespaces: map[string]*memoryRows{}}
}

// Attach implements Store.
func (m *MemoryStore) Attach() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return errStoreClosed
	case m.attached:
		return ErrStoreInUse
	}
	m.attached = true
	return nil
}

// Detach implements Store.
func (m *MemoryStore) Detach() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attached = false
}

// Namespaces implements Store.
func (m *MemoryStore) Namespaces() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]string, 0, len(m.namespaces))
	for name := range m.namespaces {
		names = append(names, name)
	}
	return names
}

// Load implements Store.
func (m *MemoryStore) Load(namespace string, row func(RunID, []byte) error) (reserved uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, errStoreClosed
	}
	n := m.namespaces[namespace]
	if n == nil {
		return 0, nil
	}
	for id, record := range n.rows {
		if err := row(id, record); err != nil {
			return 0, err
		}
	}
	return n.reserved, nil
}

// Apply implements Store.
func (m *MemoryStore) Apply(namespace string, c Changes) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errStoreClosed
	}
	n := m.namespaces[namespace]
	if n == nil {
		n = &memoryRows{rows: map[RunID][]byte{}}
		m.namespaces[namespace] = n
	}
	for _, r := range c.Put {
		n.rows[r.Run] = bytes.Clone(r.Record)
	}
	for _, id := range c.Delete {
		delete(n.rows, id)
	}
	n.reserved = max(n.reserved, c.Reserved)
	return nil
}

// Replace implements Store.
func (m *MemoryStore) Replace(namespace string, count int, reserved uint64, each func(put func(StoredRow) error) error) error {
	rows := map[RunID][]byte{}
	if err := each(func(r StoredRow) error {
		rows[r.Run] = bytes.Clone(r.Record)
		return nil
	}); err != nil {
		return err
	}
	if len(rows) != count {
		return fmt.Errorf("%d rows were given of %d", len(rows), count)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errStoreClosed
	}
	if n := m.namespaces[namespace]; n != nil {
		reserved = max(reserved, n.reserved)
	}
	m.namespaces[namespace] = &memoryRows{rows, reserved}
	return nil
}

// Drop implements Store.
func (m *MemoryStore) Drop(namespace string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errStoreClosed
	}
	delete(m.namespaces, namespace)
	return nil
}

// Close implements Store.
func (m *MemoryStore) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
