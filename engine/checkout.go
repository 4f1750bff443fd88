package engine

import "fmt"

// Checkout takes the namespace to a checkpoint: its runs, rows, approvals, steers, event queues, scope, gateway, owners,
// sweeps to come, ids to come and its clock. Open event streams break, and executors lose their runs.
//
// The named branch moves to the checkpoint and becomes the current one; "" stands for the one that is current, and a
// branch that there is not begins there. "" in place of the checkpoint stands for the head of the branch.
//
// It fails with ErrNoCheckpoint, ErrOtherNamespace, ErrNoBranch, ErrBranchName, ErrTooManyBranches, or with StorageFailed if the
// rows cannot be stored.
func (n *Namespace) Checkout(name string, id CheckpointID) (Checkpoint, error) {
	c, err := n.checkout(name, id)
	if restored := n.engine.config.Restored; restored != nil && err == nil {
		restored(n.name)
	}
	return c, n.whose(id, err)
}

func (n *Namespace) checkout(name string, id CheckpointID) (Checkpoint, error) {
	defer n.moving.enter()() // what is left of a move would move the clock of the checkpoint
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := n.settle(); err != nil {
		return Checkpoint{}, err
	}
	t := n.timeline
	b, exists := t.current, true
	if name != "" {
		if b, _ = t.branch(name); b == nil {
			b, exists = &branch{name: name}, false
		}
	}
	if id == "" {
		if b.head == 0 {
			return Checkpoint{}, fmt.Errorf("%w: %s", ErrNoBranch, name)
		}
		id = n.checkpointID(b.head)
	}
	m, err := n.moment(id)
	if err != nil {
		return Checkpoint{}, err
	}
	if !exists {
		if err := t.allows(name); err != nil {
			return Checkpoint{}, err
		}
	}
	if err := n.restore(m); err != nil {
		return Checkpoint{}, err
	}
	if !exists {
		t.insert(b)
	}
	t.current = b
	c := n.checkpoint(m)
	t.moveHead(b, m.sequence)
	n.record(m.sequence)
	return c, nil
}

// restore makes the world of a moment the namespace's, and what follows from it.
func (n *Namespace) restore(m *moment) error {
	w := *m.world
	w.clock = w.clock.showing(m.at)
	keys := map[keyHash]RunID{}
	w.queues = nil // Nobody is connected, so that every queue may expire again.
	for it := w.records.Iterator(); !it.Done(); {
		id, rec, _ := it.Next()
		if rec.row != nil {
			keys[rec.row.key] = id
		}
		if rec.queue != nil {
			w.queues = w.queues.put(rec.observation().created, id)
		}
	}
	if n.storage != nil {
		if err := n.storage.replace(&w); err != nil {
			return err
		}
	}
	n.breakStreams(ErrStreamLost)
	n.world, n.keys = &w, keys
	n.dropTrails()
	n.began(w.admitted)
	n.dismissAll(ErrGatewayGone)
	n.upheaval()
	return nil
}

// replace makes the rows of w those of the store.
func (s *storage) replace(w *world) error {
	err := s.store.Replace(s.namespace, w.durable, s.reserved, func(put func(StoredRow) error) error {
		var buffer []byte
		for it := w.records.Iterator(); !it.Done(); {
			id, rec, _ := it.Next()
			if rec.row == nil {
				continue
			}
			var err error
			if buffer, err = appendRecord(buffer[:0], id, rec.row, s.self); err != nil {
				return err
			}
			if err := put(StoredRow{id, buffer}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return storageFailed(err)
	}
	return nil
}
