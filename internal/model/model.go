// Package model is an obvious, mutable model of the provider's run routes, the judge in property tests of the engine.
//
// It is written from the wire contract and the recorded vectors alone, shares no code with the engine but package
// canon, and has no locks, no indexes and no concern for speed. A Model serves one goroutine.
//
// Three things it does not say: the bodies of the emulator's own refusals (a Reply of status 501 has an empty
// body), routes around the runs such as /health, and authentication.
package model

import (
	"time"

	"github.com/hermesfake/hermesfake/canon"
)

const (
	keepaliveAfter  = 30 * time.Second
	sweepEvery      = 60 * time.Second
	queueKept       = 300 * time.Second
	cacheKept       = 3600 * time.Second
	rowKept         = 86400 * time.Second
	defaultProfile  = "default"
	defaultIdentity = "unauthenticated-test-listener"
)

// A Model is one namespace's world. Use New.
type Model struct {
	now       int64 // Unix nanoseconds
	nextSweep int64
	max       int
	draining  bool
	scope     string
	alive     bool // whether the last restart left the owner of the rows alive

	cache  []*run // every run of this process, in order of admission or read-back
	rows   []*row // in order of admission
	queues []*queue

	line        []*subscriber // who waits for an item, of any queue, longest wait first
	subscribers []*subscriber // everyone who ever got a 200, in that order

	startNow int64
	startMax int
	history  []done
	points   map[string][]done // the histories of checkpoints
}

// A run is a run in the cache.
type run struct {
	id, scope string
	status    canon.Object
	updated   int64
	active    bool // has an executor in this process: admitted by it and not settled
	approvals []canon.Object
	steering  string // "true", "false" or "error"
	message   string // of a breaking executor
}

// New returns a world whose first use is at the given Unix nanosecond, so that its first sweep falls due 60 s later.
// maxConcurrent is the capacity, 0 for none.
func New(nowNanos int64, maxConcurrent int) *Model {
	m := &Model{now: nowNanos, nextSweep: nowNanos + int64(sweepEvery), max: maxConcurrent, startNow: nowNanos, startMax: maxConcurrent}
	m.Scope(defaultProfile, defaultIdentity)
	return m
}

// Advance moves the clock on by a number of nanoseconds. The keepalives and sweeps that fall due up to the new time,
// it included, happen each at its own instant, in order of time.
func (m *Model) Advance(nanos int64) {
	target := m.now + nanos
	for {
		// At one instant the order is not observable: a sweep spares every queue that has a subscriber, gone or
		// not, and a keepalive that finds its client gone ends the queue by itself.
		if len(m.line) > 0 {
			due := m.line[0].since + int64(keepaliveAfter)
			if due <= target && due <= m.nextSweep {
				m.now = due
				m.keepalive()
				continue
			}
		}
		if m.nextSweep > target {
			break
		}
		m.now = m.nextSweep
		m.nextSweep += int64(sweepEvery)
		m.Sweep()
	}
	m.now = target
}

// Sweep does one sweep now and returns how many runs left the cache. It leaves the schedule alone.
func (m *Model) Sweep() int {
	var queues []*queue
	for _, q := range m.queues {
		if m.now-q.admitted <= int64(queueKept) || m.waiting(q) {
			queues = append(queues, q)
		}
	}
	m.queues = queues

	var cache []*run
	for _, r := range m.cache {
		switch r.state() {
		case "completed", "failed", "cancelled":
			if m.now-r.updated > int64(cacheKept) {
				continue
			}
		}
		cache = append(cache, r)
	}
	removed := len(m.cache) - len(cache)
	m.cache = cache
	return removed
}

// Capacity sets how many runs may be unsettled at once, 0 for no limit. It outlives a restart.
func (m *Model) Capacity(n int) { m.max = n }

// Draining says whether submissions are refused. It outlives a restart.
func (m *Model) Draining(on bool) { m.draining = on }

// Scope selects the scope of the requests that follow, also across a restart.
func (m *Model) Scope(profile, identity string) { m.scope = profile + "\x00" + identity }

// Restart replaces the process: cache, queues and approval sessions are gone and every stream breaks. owner says
// whether the runs of the rows are lost, "stale", or go on elsewhere, "alive".
func (m *Model) Restart(owner string) {
	m.alive = owner == "alive"
	m.cache = nil
	m.queues = nil
	m.line = nil
	for _, s := range m.subscribers {
		if !s.ended && !s.gone {
			s.broken = true
		}
	}
	m.nextSweep = m.now + int64(sweepEvery)
}

// Start is the executor beginning.
func (m *Model) Start(id string) {
	if r := m.executing(id); r != nil {
		m.update(r, "running")
	}
}

// Complete is the executor returning. A nil usage is zero; pendingSteer is steer text that came too late, nil for none.
func (m *Model) Complete(id, output string, usage *[3]int64, pendingSteer *string) {
	r := m.executing(id)
	if r == nil {
		return
	}
	if usage == nil {
		usage = new([3]int64)
	}
	tokens := canon.Object{
		member("input_tokens", canon.IntOf(usage[0])),
		member("output_tokens", canon.IntOf(usage[1])),
		member("total_tokens", canon.IntOf(usage[2])),
	}
	status := []canon.Member{text("output", output), member("usage", tokens), text("last_event", "run.completed")}
	event := []canon.Member{text("output", output), member("usage", tokens)}
	if pendingSteer != nil && *pendingSteer != "" {
		status = append(status, text("pending_steer", *pendingSteer))
		event = append(event, text("pending_steer", *pendingSteer))
	}
	m.settle(r, "completed", status, event)
}

// Fail is the executor failing; a nil err is the provider's default.
func (m *Model) Fail(id string, err *string) {
	r := m.executing(id)
	if r == nil {
		return
	}
	message := "agent run failed"
	if err != nil && *err != "" {
		message = *err
	}
	m.settle(r, "failed",
		[]canon.Member{text("error", message), text("last_event", "run.failed")},
		[]canon.Member{text("error", message)})
}

// Cancelled is the interrupted executor returning.
func (m *Model) Cancelled(id string) {
	if r := m.executing(id); r != nil {
		m.settle(r, "cancelled", []canon.Member{text("last_event", "run.cancelled")}, nil)
	}
}

// settle ends a run: terminal status, terminal event, end of the queue. Approvals that still wait are forgotten.
func (m *Model) settle(r *run, state string, status, event []canon.Member) {
	m.update(r, state, status...)
	r.active = false
	r.approvals = nil
	if q := m.queue(r.id); q != nil {
		m.emit(q, m.event(r, "run."+state, event...))
		m.give(q, item{text: ": stream closed\n\n", end: true})
	}
}

// executing is the run when it has an executor in this process. The scope of requests is nothing to executors
// (walks.json lets them act while another scope is selected). No vector has an executor act on a run that is settled or
// not of this process; here that does nothing.
func (m *Model) executing(id string) *run {
	r := m.cached(id)
	if r == nil || !r.active {
		return nil
	}
	return r
}

func (m *Model) cached(id string) *run {
	for _, r := range m.cache {
		if r.id == id {
			return r
		}
	}
	return nil
}

// update sets status and updated_at, merges the members, drops the approval unless the run waits for one, and writes
// the row if the change is one of those that are durable.
func (m *Model) update(r *run, state string, members ...canon.Member) {
	durable := state != r.state() || terminal(state)
	r.updated = m.now
	r.status = with(r.status, text("status", state))
	r.status = with(r.status, member("updated_at", m.seconds()))
	for _, one := range members {
		r.status = with(r.status, one)
		switch one.Name {
		case "output", "error", "usage", "pending_steer", "session_id":
			durable = true
		}
	}
	if state != "waiting_for_approval" {
		r.status = without(r.status, "approval")
	}
	if durable {
		m.write(r)
	}
}

// state is the status member.
func (r *run) state() string {
	v, _ := r.status.Get("status")
	s, _ := v.(canon.String)
	return string(s)
}

func terminal(state string) bool {
	switch state {
	case "completed", "failed", "cancelled", "interrupted":
		return true
	}
	return false
}

// seconds is now as the provider prints it.
func (m *Model) seconds() canon.Value {
	return canon.Float(float64(m.now/1e9) + float64(m.now%1e9)/1e9)
}
