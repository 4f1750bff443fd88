package engine

import "time"

const (
	sweepInterval  = 60 * time.Second
	cacheRetention = 3600 * time.Second
	queueRetention = 300 * time.Second
	rowRetention   = 86400 * time.Second
)

// sweepable reports whether a cached run of this status is ever swept:
// interrupted ones stay.
func sweepable(s Status) bool { return s == Completed || s == Failed || s == Cancelled }

// Sweep removes now what a sweep that falls due would, and returns how many
// runs left the cache.
func (n *Namespace) Sweep() (cacheRemoved int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := n.settle()
	if err != nil {
		return 0, err
	}
	cacheRemoved = n.sweep(now)
	n.accepted(now)
	return cacheRemoved, nil
}

// sweep drops cached runs settled over an hour ago and queues admitted over
// 300 s ago that nobody subscribed to; equality stays (vectors: retention.json,
// events.json events-expire).
func (n *Namespace) sweep(at int64) (removed int) {
	runsBefore, queuesBefore := at-int64(cacheRetention), at-int64(queueRetention)
	if !n.world.settled.dueBefore(runsBefore) && !n.world.queues.dueBefore(queuesBefore) {
		return 0
	}
	next := *n.world
	w := &next
	for w.queues.dueBefore(queuesBefore) {
		id := w.queues.id
		w.queues = w.queues.take()
		// A queue that has had a subscriber keeps one in line until it ends.
		if rec := w.record(id); rec != nil && rec.queue != nil && n.lines[id] == nil {
			without := *rec
			without.queue = nil
			w.put(id, &without)
		}
	}
	for w.settled.dueBefore(runsBefore) {
		id := w.settled.id
		w.settled = w.settled.take()
		rec := w.record(id)
		if rec == nil || rec.run == nil || !sweepable(rec.run.status) || rec.run.updated >= runsBefore {
			continue
		}
		removed++
		w.cached--
		w.put(id, &record{row: rec.row, queue: rec.queue})
		n.transition(id)
	}
	n.world = w
	return removed
}

// prune drops the rows of runs that settled over 24 h ago by the row's own
// update time; equality stays, unfinished runs never expire.
func (n *Namespace) prune(now int64) error {
	before := now - int64(rowRetention)
	for n.world.rows.dueBefore(before) {
		if err := n.pruneSome(before); err != nil {
			return err
		}
	}
	return nil
}

// pruneAtOnce is how many rows are dropped in one transition, since stores bound what they take at once.
const pruneAtOnce = 500

func (n *Namespace) pruneSome(before int64) error {
	next := *n.world
	w := &next
	var pruned []RunID
	for w.rows.dueBefore(before) && len(pruned) < pruneAtOnce {
		id := w.rows.id
		w.rows = w.rows.take()
		rec := w.record(id)
		if rec == nil || rec.row == nil || rec.row.updated >= before || !rec.row.run.status.Terminal() {
			continue
		}
		w.durable--
		pruned = append(pruned, id)
		without := *rec
		without.row = nil
		w.put(id, &without)
		n.transition(id)
	}
	pruning := n.world
	if err := n.commit(w, pruned...); err != nil {
		return err
	}
	for _, id := range pruned {
		delete(n.keys, pruning.record(id).row.key)
	}
	return nil
}

// runDue runs the sweeps and keepalives that fell due up to now, each at its
// own instant, in order of time.
func (n *Namespace) runDue(now int64) {
	for {
		sweepAt, alarmAt := n.world.nextSweep, n.alarms.next()
		switch {
		case alarmAt <= now && alarmAt < sweepAt:
			n.keepAlive(alarmAt)
		case sweepAt <= now:
			n.runSweeps(min(now, alarmAt))
		default:
			return
		}
	}
}

// runSweeps runs the sweeps that fall due up to until, of which there is one.
// Those that cannot find anything are passed over, so that a clock may jump by years.
func (n *Namespace) runSweeps(until int64) {
	at := n.world.nextSweep
	n.sweep(at)
	due := until
	if s := n.world.settled; s != nil {
		due = min(due, s.at+int64(cacheRetention))
	}
	if s := n.world.queues; s != nil {
		due = min(due, s.at+int64(queueRetention))
	}
	idle := max(0, due-at) / int64(sweepInterval)
	next := *n.world
	next.nextSweep = at + (idle+1)*int64(sweepInterval)
	n.world = &next
}
