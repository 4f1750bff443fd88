package engine

import (
	"slices"

	"github.com/benbjohnson/immutable"
)

// idBlock is how many ids a namespace reserves in its store at a time. After a reopen, those of a block that
// were not used are passed over.
const idBlock = 1024

// storage is where a namespace's rows are kept beyond the process. The world has them all; the store is
// written behind it, and read only once.
type storage struct {
	store     Store
	namespace string
	self      process
	reserved  uint64 // ids up to this number may be used
}

// ownership says how it is told whether the owner of an unfinished row still lives.
type ownership uint8

const (
	ownersKnown ownership = iota // from each row's own owner; one of this process is gone
	ownersStale
	ownersAlive
)

// ownerAlive reports whether the process that admitted the run of a row, which is not in the cache, still lives.
func (n *Namespace) ownerAlive(w *world, r *row) bool {
	switch w.owners {
	case ownersStale:
		return false
	case ownersAlive:
		return true
	}
	return r.owner != nil && !r.owner.same(n.engine.self) && r.owner.alive()
}

// load fills the new namespace from the engine's store. If it cannot, the namespace refuses every operation.
func (n *Namespace) load() {
	e := n.engine
	if e.store == nil {
		return
	}
	if e.storeErr != nil {
		n.unloaded = storageFailed(e.storeErr)
		return
	}
	s := &storage{store: e.store, namespace: n.name, self: e.self}
	in := &shared{scopes: map[[32]byte]*Scope{e.scope.hash: e.scope}}
	w := *n.world
	records := immutable.NewMapBuilder[RunID, *record](idHasher{})
	keys := map[keyHash]RunID{}
	reserved, err := e.store.Load(n.name, func(id RunID, stored []byte) error {
		r, err := readRecord(id, stored, in)
		if err != nil {
			return err
		}
		keys[r.key] = id
		records.Set(id, &record{row: r})
		n.before = max(n.before, r.run.number)
		if r.run.status.Terminal() {
			w.rows = w.rows.put(r.updated, id)
		}
		w.durable++
		return nil
	})
	if err != nil {
		n.unloaded = storageFailed(err)
		return
	}
	n.before = max(n.before, reserved)
	s.reserved = n.before
	w.records = records.Map()
	n.storage, n.world, n.keys = s, &w, keys
}

// save writes the rows of the runs that differ between the worlds, and reserves the ids that the next one needs.
func (s *storage) save(old, next *world, used uint64, ids []RunID) error {
	c := Changes{Rows: next.durable, Reserved: s.reserved}
	for _, id := range ids {
		before, after := old.record(id).durable(), next.record(id).durable()
		switch {
		case before == after:
		case after == nil:
			c.Delete = append(c.Delete, id)
		default:
			record, err := appendRecord(make([]byte, 0, 256+len(after.run.output)), id, after, s.self)
			if err != nil {
				return storageFailed(err)
			}
			c.Put = append(c.Put, StoredRow{id, record})
		}
	}
	if used > s.reserved {
		c.Reserved = used + idBlock - 1
	} else if c.Put == nil && c.Delete == nil {
		return nil
	}
	if err := s.store.Apply(s.namespace, c); err != nil {
		return storageFailed(err)
	}
	s.reserved = c.Reserved
	return nil
}

// durable is the row of a record, which may be nil.
func (rec *record) durable() *row {
	if rec == nil {
		return nil
	}
	return rec.row
}

func storageFailed(err error) error {
	return &Refusal{Reason: StorageFailed, Subject: err.Error()}
}

// Durable reports whether rows outlive the process, in a store.
func (e *Engine) Durable() bool { return e.store != nil }

// DropNamespace forgets a namespace and its rows: it does not exist any more until its next use. Event streams break,
// and views that were taken before are closed. It fails with StorageFailed if the rows cannot be dropped.
func (e *Engine) DropNamespace(name string) error {
	if err := e.clearing(name); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return refuse(Closed)
	}
	n := e.namespaces[name]
	if n == nil {
		return e.dropRows(name)
	}
	if err := n.drop(); err != nil {
		return err
	}
	delete(e.namespaces, name)
	return nil
}

func (n *Namespace) drop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.engine.dropRows(n.name); err != nil {
		return err
	}
	n.end()
	return nil
}

// clearing asks whether a namespace may be reset or dropped.
func (e *Engine) clearing(name string) error {
	e.mu.RLock()
	closed := e.closed
	e.mu.RUnlock()
	if e.config.Clearing == nil || closed {
		return nil
	}
	if err := e.config.Clearing(name); err != nil {
		return storageFailed(err)
	}
	return nil
}

// dropRows makes the store, if there is one, forget a namespace.
func (e *Engine) dropRows(name string) error {
	if e.store == nil {
		return nil
	}
	err := e.storeErr
	if err == nil {
		err = e.store.Drop(name)
	}
	if err != nil {
		return storageFailed(err)
	}
	return nil
}

// withStored returns the names in use, and with them those that only the store knows, sorted.
func (e *Engine) withStored(names []string) []string {
	if e.store != nil && e.storeErr == nil && !e.closed {
		for _, name := range e.store.Namespaces() {
			if _, used := e.namespaces[name]; !used {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
