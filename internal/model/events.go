package model

import (
	"strconv"

	"github.com/hermesfake/hermesfake/canon"
)

// A queue holds what was emitted and given to nobody yet. Somebody waits only while it is empty.
type queue struct {
	run      string
	admitted int64
	items    []item
}

type item struct {
	text string
	end  bool
}

// A subscriber is one client of one event stream. It outlives its queue: then nothing but keepalives comes.
type subscriber struct {
	name   string
	queue  *queue
	since  int64 // when its wait began
	got    string
	gone   bool // the client left
	ended  bool // the body ended
	broken bool // a restart cut the stream
}

// queue is the run's queue, or nil when it has ended, was swept or never was.
func (m *Model) queue(id string) *queue {
	for _, q := range m.queues {
		if q.run == id {
			return q
		}
	}
	return nil
}

// end takes the queue from its run: subscribing is 404 and events go nowhere from now on.
func (m *Model) end(q *queue) {
	var queues []*queue
	for _, other := range m.queues {
		if other != q {
			queues = append(queues, other)
		}
	}
	m.queues = queues
}

func (m *Model) waiting(q *queue) bool {
	for _, s := range m.line {
		if s.queue == q {
			return true
		}
	}
	return false
}

// give hands an item to the one that has waited longest for this queue, or keeps it. It works on a queue that has
// ended too: of a terminal event lost to a client that has gone and the end marker behind it, the next in line gets the
// end marker.
func (m *Model) give(q *queue, it item) {
	for i, s := range m.line {
		if s.queue == q {
			m.line = append(append([]*subscriber{}, m.line[:i]...), m.line[i+1:]...)
			m.receive(s, it)
			return
		}
	}
	q.items = append(q.items, it)
}

// receive writes an item to a subscriber that is out of the line. A write to a client that has gone fails: the item is
// lost, the subscriber is no more and its queue ends. Otherwise it waits again, last in line, unless that was the end.
func (m *Model) receive(s *subscriber, it item) {
	if s.gone {
		m.end(s.queue)
		return
	}
	s.got += it.text
	if it.end {
		s.ended = true
		m.end(s.queue)
		return
	}
	s.since = m.now
	m.line = append(m.line, s)
}

// keepalive is the end of the longest wait.
func (m *Model) keepalive() {
	s := m.line[0]
	m.line = m.line[1:]
	m.receive(s, item{text: ": keepalive\n\n"})
}

// Subscribe opens the event stream of a run under a name of its own. The reply is the head or the 404. Rows are not
// read back.
func (m *Model) Subscribe(id, as string) Reply {
	q, ok := m.stream(id)
	if !ok {
		return notFound(id)
	}
	s := &subscriber{name: as, queue: q, since: m.now}
	m.subscribers = append(m.subscribers, s)
	m.line = append(m.line, s)
	items := q.items
	q.items = nil
	for _, it := range items {
		m.give(q, it)
	}
	return streamHead()
}

// stream is the queue that a subscriber of the selected scope would get.
func (m *Model) stream(id string) (*queue, bool) {
	r := m.cached(id)
	q := m.queue(id)
	return q, q != nil && r != nil && r.scope == m.scope
}

func streamHead() Reply {
	return Reply{Status: 200, Header: map[string]string{
		"Content-Type":      "text/event-stream",
		"Cache-Control":     "no-cache",
		"X-Accel-Buffering": "no",
	}}
}

// requester is the name under which plain requests subscribe.
const requester = "request"

// events answers a plain request: what the queue holds now. A client that got no end has gone afterwards.
func (m *Model) events(id string) Reply {
	reply := m.Subscribe(id, requester)
	if reply.Status == 200 {
		reply.Body, _ = m.Take(requester)
		m.Disconnect(requester)
	}
	return reply
}

// Disconnect is the client going. Nobody notices before the next write to it.
func (m *Model) Disconnect(as string) {
	if s := m.subscriber(as); s != nil && !s.ended && !s.broken {
		s.gone = true
	}
}

// Take returns the bytes that the named subscriber was given since the last Take, and whether its body has ended with
// all of them read.
func (m *Model) Take(as string) (bytes string, ended bool) {
	s := m.subscriber(as)
	if s == nil {
		return "", false
	}
	bytes, s.got = s.got, ""
	return bytes, s.ended
}

// Broken tells whether a restart cut the named subscriber's stream.
func (m *Model) Broken(as string) bool {
	s := m.subscriber(as)
	return s != nil && s.broken
}

// Subscribers lists the names of those that ever got a stream, in that order.
func (m *Model) Subscribers() []string {
	var names []string
	for _, s := range m.subscribers {
		names = append(names, s.name)
	}
	return names
}

// subscriber is the last one of a name.
func (m *Model) subscriber(name string) *subscriber {
	for i := len(m.subscribers) - 1; i >= 0; i-- {
		if m.subscribers[i].name == name {
			return m.subscribers[i]
		}
	}
	return nil
}

// event is the event object: three members, then its own.
func (m *Model) event(r *run, name string, members ...canon.Member) canon.Object {
	return append(canon.Object{text("event", name), text("run_id", r.id), member("timestamp", m.seconds())}, members...)
}

func (m *Model) emit(q *queue, event canon.Object) {
	m.give(q, item{text: "data: " + wire(event) + "\n\n"})
}

// tell emits an event on the run's queue, if there is one.
func (m *Model) tell(r *run, name string, members ...canon.Member) {
	if q := m.queue(r.id); q != nil {
		m.emit(q, m.event(r, name, members...))
	}
}

// Delta is streamed text. It leaves the status object alone.
func (m *Model) Delta(id, delta string) {
	if r := m.executing(id); r != nil {
		m.tell(r, "message.delta", text("delta", delta))
	}
}

// subagentFields are the members of a subagent event behind its preview, in their order.
var subagentFields = []string{"goal", "task_count", "task_index", "subagent_id", "child_session_id", "parent_id", "depth",
	"model", "tool_count", "status", "summary", "duration_seconds", "input_tokens", "output_tokens", "reasoning_tokens",
	"api_calls", "cost_usd", "files_read", "files_written", "output_tail"}

// Event is the executor's progress. The fields are those of the vectors: tool_name, preview, duration, is_error and the
// members of a subagent event. Types that the provider does not know change nothing.
func (m *Model) Event(id, eventType string, fields canon.Object) {
	r := m.executing(id)
	if r == nil {
		return
	}
	var members []canon.Member
	switch eventType {
	case "tool.started":
		members = []canon.Member{
			member("tool", or(fields, "tool_name", canon.Null{})),
			member("preview", or(fields, "preview", canon.Null{})),
		}
	case "tool.completed":
		members = []canon.Member{
			member("tool", or(fields, "tool_name", canon.Null{})),
			member("duration", rounded(or(fields, "duration", canon.IntOf(0)))),
			member("error", or(fields, "is_error", canon.Bool(false))),
		}
	case "reasoning.available":
		members = []canon.Member{member("text", or(fields, "preview", canon.String("")))}
	case "subagent.start", "subagent.complete":
		for _, name := range append([]string{"preview"}, subagentFields...) {
			if v, ok := given(fields, name); ok {
				members = append(members, member(name, v))
			}
		}
	default:
		return
	}
	m.update(r, r.state(), text("last_event", eventType))
	m.tell(r, eventType, members...)
}

func or(fields canon.Object, name string, otherwise canon.Value) canon.Value {
	if v, ok := given(fields, name); ok {
		return v
	}
	return otherwise
}

// rounded is Python's round(v, 3); an integer stays one.
func rounded(v canon.Value) canon.Value {
	f, ok := v.(canon.Float)
	if !ok {
		return v
	}
	g, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'f', 3, 64), 64)
	if err != nil {
		return v
	}
	return canon.Float(g)
}
