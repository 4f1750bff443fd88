package engine

// Admission is the outcome of a valid submission.
type Admission struct {
	Run      *Run
	Replayed bool // the key's earlier run, in whatever state it is

	era uint64 // of the namespace; see Admissions
}

// Accepting is step 2 of the provider's checks: it fails with Draining before
// anything of a submission is read.
func (n *Namespace) Accepting() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return refuse(Closed)
	}
	if n.world.gateway.Draining {
		return refuse(Draining)
	}
	return nil
}

// Submit is steps 8 to 10: replay, conflict, capacity and admission, atomically.
// It fails with KeyConflict, AtCapacity or StorageFailed. Only a keyed submission prunes (vectors:
// retention.json, retention-durable).
func (n *Namespace) Submit(s Submission) (Admission, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := n.settle()
	if err != nil {
		return Admission{}, err
	}
	var key keyHash
	if s.Key != "" {
		if err := n.prune(now); err != nil {
			return Admission{}, err
		}
		key = n.scopeIn(n.world).key(s.Key)
		if id, ok := n.keys[key]; ok {
			return n.replay(id, s, now)
		}
	}
	if limit := n.world.gateway.MaxConcurrentRuns; limit > 0 && n.world.active >= limit {
		return Admission{}, &Refusal{Reason: AtCapacity, N: limit}
	}
	next := *n.world
	run := n.admit(&next, key, s, now)
	if err := n.commit(&next, run.id); err != nil {
		return Admission{}, err
	}
	if s.Key != "" {
		n.keys[key] = run.id
	}
	n.accepted(now)
	n.admissions.ring()
	return Admission{Run: run, era: n.era.Era}, nil
}

func (n *Namespace) replay(id RunID, s Submission, now int64) (Admission, error) {
	rec := n.world.record(id)
	if rec.row.fingerprint != s.Fingerprint {
		return Admission{}, refuse(KeyConflict)
	}
	if rec.run == nil {
		next := *n.world
		rec = n.cachedRecord(&next, id, rec, now)
		if err := n.commit(&next, id); err != nil {
			return Admission{}, err
		}
	}
	return Admission{Run: rec.run, Replayed: true}, nil
}

func (n *Namespace) admit(w *world, key keyHash, s Submission, now int64) *Run {
	w.admitted++
	model := s.Model
	if model == nil {
		model = n.engine.model
	}
	number := n.before + w.admitted
	id := mint(n.engine.config.Seed, n.name, number)
	run := newRun(id, number, n.scopeIn(w), s.SessionID, model, now)
	rec := &record{run: run, queue: emptyQueue}
	w.cached++
	w.active++
	if s.Key != "" {
		w.durable++
		rec.row = &row{key: key, fingerprint: s.Fingerprint, run: run, updated: now}
	}
	w.queues = w.queues.put(now, id)
	w.put(id, rec)
	return run
}
