package engine

import (
	"container/heap"
	"context"
	"errors"
	"io"
	"slices"
	"time"
)

// keepAliveAfter is how long a subscriber waits for an item before it is given a keepalive.
const keepAliveAfter = 30 * time.Second

const (
	keepAliveFrame = ": keepalive\n\n"
	endFrame       = ": stream closed\n\n"
)

// ErrStreamLost ends an event stream whose gateway process is gone: a restart,
// a reset, or Close.
var ErrStreamLost = errors.New("the event stream was lost")

// line is who waits for the next item of a run's queue, the longest first. A
// client that has gone keeps its place until something is due to it. A
// queue with a line has no backlog.
type line struct {
	waiting []*Subscription
}

func (l *line) shift() *Subscription {
	s := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	return s
}

// Subscription is one open event stream. What is emitted is given to it at
// that moment, whether or not anyone calls Next.
type Subscription struct {
	ns    *Namespace
	run   RunID
	wakes chan struct{}

	// The rest is guarded by ns.mu.
	pending []byte
	spare   []byte
	since   int64  // when it last got in line
	turn    uint64 // breaks ties of since
	queued  bool   // in the line of a queue that has not ended
	gone    bool
	err     error // why there will be nothing after pending; io.EOF for the end of the stream
	alarm   alarm
}

// Subscribe opens the run's event stream: the backlog, then what is emitted while no one has
// waited longer. It does not read a row back. It fails with RunNotFound, also
// when the run exists but its queue does not any more (vectors: live.json).
func (n *Namespace) Subscribe(id RunID) (*Subscription, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := n.settle()
	if err != nil {
		return nil, err
	}
	rec, err := n.subscribable(id)
	if err != nil {
		return nil, err
	}
	s := &Subscription{ns: n, run: id, wakes: make(chan struct{}, 1)}
	n.streams[s] = struct{}{}
	for _, frame := range rec.queue.items() {
		s.pending = append(s.pending, frame...)
	}
	if rec.queue.closed {
		s.finish()
		n.endQueue(id)
		return s, nil
	}
	if rec.queue.length > 0 {
		n.setQueue(id, rec, emptyQueue)
	}
	l := n.lines[id]
	if l == nil {
		l = &line{}
		n.lines[id] = l
	}
	s.queued = true
	l.waiting = append(l.waiting, s)
	n.rejoin(s, now)
	n.alarms.put(s)
	n.transition(id)
	return s, nil
}

// Subscribable fails as Subscribe would, and subscribes to nothing.
func (n *Namespace) Subscribable(id RunID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := n.settle(); err != nil {
		return err
	}
	_, err := n.subscribable(id)
	return err
}

func (n *Namespace) subscribable(id RunID) (*record, error) {
	rec := n.world.record(id)
	if rec == nil || rec.queue == nil || !rec.observation().scope.same(n.scopeIn(n.world)) {
		return nil, refuseRun(RunNotFound, id)
	}
	return rec, nil
}

// Next waits for bytes of the stream and returns all that were given so far. They stay valid
// until the next call. After the last ones it returns io.EOF if the stream has
// ended, ErrStreamLost if it was lost, or the context's error.
func (s *Subscription) Next(ctx context.Context) ([]byte, error) {
	for {
		s.ns.mu.Lock()
		if s.err == nil {
			if _, err := s.ns.settle(); err != nil {
				s.err = ErrStreamLost
			}
		}
		if len(s.pending) > 0 && !errors.Is(s.err, ErrStreamLost) {
			given := s.pending
			s.pending, s.spare = s.spare[:0], given
			s.ns.mu.Unlock()
			return given, nil
		}
		err, c, wait := s.err, s.ns.world.clock, s.since+int64(keepAliveAfter)
		s.ns.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if err := waitFor(ctx, s.wakes, !c.frozen, time.Duration(wait-c.now())); err != nil {
			return nil, err
		}
	}
}

// Leave tells the gateway's side that the client has gone. All of the stream
// is freed but its place in line, which the gateway only notices to be empty
// when something is due there.
func (s *Subscription) Leave() {
	s.ns.mu.Lock()
	defer s.ns.mu.Unlock()
	if s.gone || s.err != nil {
		return
	}
	s.gone = true
	s.pending, s.spare = nil, nil
	delete(s.ns.streams, s)
	if !s.queued {
		s.stop(io.EOF)
	}
	s.ns.transition(s.run)
	s.ns.changed()
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.wakes <- struct{}{}:
	default:
	}
}

// give hands bytes to the stream.
func (s *Subscription) give(frame []byte) {
	s.pending = append(s.pending, frame...)
	s.signal()
}

// finish gives the end marker.
func (s *Subscription) finish() {
	s.give([]byte(endFrame))
	s.stop(io.EOF)
}

// stop ends the stream after what is pending.
func (s *Subscription) stop(err error) {
	s.err = err
	s.queued = false
	delete(s.ns.streams, s)
	s.ns.alarms.remove(s)
	s.signal()
}

func (n *Namespace) breakStreams(err error) {
	for s := range n.streams {
		s.stop(err)
	}
	clear(n.lines)
	n.alarms.clear()
}

// waitNoLongerThan moves the beginnings of waits that a clock set back has
// left in the future to now.
func (n *Namespace) waitNoLongerThan(now int64) {
	for _, s := range n.alarms {
		s.since = min(s.since, now)
		s.alarm.at = min(s.alarm.at, now+int64(keepAliveAfter))
	}
	heap.Init(&n.alarms)
}

// item is something for a run's queue: an event's frame, or the end marker.
type item struct {
	frame []byte // nil: the end marker
}

// deliver puts items that come together on the run's queue, and gives each to
// whoever has waited longest. It returns false if the run has no queue.
func (n *Namespace) deliver(id RunID, now int64, items ...item) bool {
	rec := n.world.record(id)
	if rec == nil || rec.queue == nil {
		return false
	}
	n.keepTrail(id, rec.queue, items)
	l := n.lines[id]
	if l == nil {
		q := rec.queue
		for _, it := range items {
			if it.frame == nil {
				q = q.withEnd()
			} else {
				q = q.with(it.frame)
			}
		}
		n.setQueue(id, rec, q)
		return true
	}
	ended := false
	for _, it := range items {
		if len(l.waiting) == 0 {
			break
		}
		s := l.shift()
		switch {
		case s.gone:
			s.stop(io.EOF)
			ended = true
		case it.frame == nil:
			s.finish()
			ended = true
		default:
			s.give(it.frame)
			l.waiting = append(l.waiting, s)
			n.rejoin(s, now)
		}
	}
	if ended {
		n.endQueue(id)
	}
	return true
}

// endQueue removes a run's queue. Those still in line are left on keepalives.
func (n *Namespace) endQueue(id RunID) {
	defer n.transition(id)
	if l := n.lines[id]; l != nil {
		for _, s := range l.waiting {
			s.queued = false
			if s.gone {
				s.stop(io.EOF)
			}
		}
		delete(n.lines, id)
	}
	if rec := n.world.record(id); rec != nil && rec.queue != nil {
		n.setQueue(id, rec, nil)
	}
}

func (n *Namespace) setQueue(id RunID, rec *record, q *queue) {
	next := *n.world
	with := *rec
	with.queue = q
	next.put(id, &with)
	n.world = &next
}

// room fails with QueueFull where size more bytes do not fit.
func (n *Namespace) room(id RunID, rec *record, size int) error {
	if rec.queue == nil {
		return nil
	}
	held := rec.queue.bytes
	if l := n.lines[id]; l != nil && len(l.waiting) > 0 {
		held = len(l.waiting[0].pending)
	}
	if held+size > n.engine.config.QueueBytes {
		return refuseRun(QueueFull, id)
	}
	return nil
}

// keepAlive acts on the earliest alarm, which is due at the given time.
func (n *Namespace) keepAlive(at int64) {
	s := n.alarms[0]
	if due := s.since + int64(keepAliveAfter); due > at || s.alarm.turn != s.turn {
		n.alarms.put(s)
		return
	}
	if s.gone || len(s.pending) > n.engine.config.QueueBytes {
		s.stop(ErrStreamLost)
		n.endQueue(s.run)
		return
	}
	s.give([]byte(keepAliveFrame))
	if s.queued {
		l := n.lines[s.run]
		l.waiting = slices.DeleteFunc(l.waiting, func(o *Subscription) bool { return o == s })
		l.waiting = append(l.waiting, s)
	}
	n.rejoin(s, at)
	n.alarms.put(s)
}

// rejoin begins a new wait. The alarm stays where it is: it is looked at when
// it is due, and put off then.
func (n *Namespace) rejoin(s *Subscription, now int64) {
	n.turns++
	s.since, s.turn = now, n.turns
}
