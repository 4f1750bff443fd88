package engine

import (
	"math"
	"strconv"

	"github.com/hermesfake/hermesfake/canon"
)

// frameHead begins the frame of an event: its first three members.
func frameHead(dst []byte, event string, id RunID, now int64) []byte {
	dst = canon.AppendWireString(append(dst, `data: {"event": `...), event)
	dst = id.Append(append(dst, `, "run_id": "`...))
	return canon.AppendFloat(append(dst, `", "timestamp": `...), seconds(now))
}

const frameTail = "}\n\n"

// eventFrame renders an event as the provider streams it.
func eventFrame(event string, id RunID, now int64, members canon.Object) []byte {
	dst := frameHead(make([]byte, 0, 160), event, id, now)
	for _, m := range members {
		dst = canon.AppendWireString(append(dst, `, `...), m.Name)
		dst = canon.AppendWire(append(dst, `: `...), m.Value)
	}
	return append(dst, frameTail...)
}

// objectFrame renders an event whose object is complete already.
func objectFrame(event canon.Value) []byte {
	return append(canon.AppendWire([]byte(`data: `), event), "\n\n"...)
}

// Event is something the executor reports while it works. Fields are those of
// the control plane, of which the provider passes on what it knows.
type Event struct {
	Name   string
	Fields canon.Object
}

const messageDelta = "message.delta"

// subagentFields are the members that a subagent event passes on, in the
// provider's order, behind preview.
var subagentFields = [...]string{
	"goal", "task_count", "task_index", "subagent_id", "child_session_id", "parent_id", "depth",
	"model", "tool_count", "status", "summary", "duration_seconds", "input_tokens", "output_tokens",
	"reasoning_tokens", "api_calls", "cost_usd", "files_read", "files_written", "output_tail",
}

// EventFields returns the fields that an event of this name takes, and false
// for one that the provider drops.
func EventFields(name string) ([]string, bool) {
	switch name {
	case messageDelta:
		return []string{"delta"}, true
	case "tool.started":
		return []string{"tool", "preview"}, true
	case "tool.completed":
		return []string{"tool", "duration", "error"}, true
	case "reasoning.available":
		return []string{"text"}, true
	case "subagent.start", "subagent.complete":
		return append([]string{"preview"}, subagentFields[:]...), true
	}
	return nil, false
}

// streamed returns the members that the provider streams for the event, and
// false for an event that it drops (vectors: events.json, events-full-stream).
func (e Event) streamed() (canon.Object, bool) {
	switch e.Name {
	case messageDelta:
		return canon.Object{{Name: "delta", Value: e.field("delta", canon.String(""))}}, true
	case "tool.started":
		return canon.Object{
			{Name: "tool", Value: e.field("tool", canon.Null{})},
			{Name: "preview", Value: e.field("preview", canon.Null{})},
		}, true
	case "tool.completed":
		return canon.Object{
			{Name: "tool", Value: e.field("tool", canon.Null{})},
			{Name: "duration", Value: rounded(e.field("duration", canon.Int("0")))},
			{Name: "error", Value: e.field("error", canon.Bool(false))},
		}, true
	case "reasoning.available":
		return canon.Object{{Name: "text", Value: e.field("text", canon.String(""))}}, true
	case "subagent.start", "subagent.complete":
		var members canon.Object
		if preview, ok := e.given("preview"); ok {
			members = append(members, canon.Member{Name: "preview", Value: preview})
		}
		for _, name := range subagentFields {
			if v, ok := e.given(name); ok {
				members = append(members, canon.Member{Name: name, Value: v})
			}
		}
		return members, true
	}
	return nil, false
}

func (e Event) field(name string, otherwise canon.Value) canon.Value {
	if v, ok := e.given(name); ok {
		return v
	}
	return otherwise
}

func (e Event) given(name string) (canon.Value, bool) {
	v, ok := e.Fields.Get(name)
	if _, null := v.(canon.Null); null {
		return nil, false
	}
	return v, ok
}

// rounded is Python's round(x, 3), which goes through the shortest decimal text.
func rounded(v canon.Value) canon.Value {
	f, ok := v.(canon.Float)
	if !ok || math.IsInf(float64(f), 0) || math.IsNaN(float64(f)) {
		return v
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'f', 3, 64), 64)
	return canon.Float(r)
}

// Emit reports an event as the run's executor would. It returns whether the
// event went onto the run's queue: unknown events are dropped, and so is what is
// reported when the queue has ended. It fails with RunNotFound, RunSettled,
// RunForeign or QueueFull.
func (n *Namespace) Emit(id RunID, e Event) (emitted bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := n.settle()
	if err != nil {
		return false, err
	}
	rec, err := n.executing(id)
	if err != nil {
		return false, err
	}
	members, known := e.streamed()
	if !known {
		return false, nil
	}
	frame := eventFrame(e.Name, id, now, members)
	if err := n.room(id, rec, len(frame)); err != nil {
		return false, err
	}
	if e.Name != messageDelta {
		next := *n.world
		with := *rec
		next.update(&with, &update{status: rec.run.status, lastEvent: e.Name}, now)
		next.put(id, &with)
		n.world = &next
	}
	emitted = n.deliver(id, now, item{frame})
	if emitted || e.Name != messageDelta {
		n.accepted(now)
	}
	return emitted, nil
}

// EmitDelta is Emit of a message.delta with the given text.
func (n *Namespace) EmitDelta(id RunID, text string) (emitted bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := n.settle()
	if err != nil {
		return false, err
	}
	rec, err := n.executing(id)
	if err != nil {
		return false, err
	}
	frame := frameHead(make([]byte, 0, 128+len(text)), messageDelta, id, now)
	frame = canon.AppendWireString(append(frame, `, "delta": `...), text)
	frame = append(frame, frameTail...)
	if err := n.room(id, rec, len(frame)); err != nil {
		return false, err
	}
	if emitted = n.deliver(id, now, item{frame}); emitted {
		n.accepted(now)
	}
	return emitted, nil
}

// executing returns the record of a run whose executor is in this gateway process and
// has not settled. Executors act whatever the scope of requests is.
func (n *Namespace) executing(id RunID) (*record, error) {
	rec := n.world.record(id)
	switch {
	case rec == nil:
		return nil, refuseRun(RunNotFound, id)
	case rec.observation().status.Terminal():
		return nil, refuse(RunSettled)
	case rec.run == nil || !rec.run.active:
		return nil, refuseRun(RunForeign, id)
	}
	return rec, nil
}
