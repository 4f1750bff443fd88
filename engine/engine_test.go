package engine

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/canon"
)

// start is where the clocks of these tests stand at first, in Unix nanoseconds.
const start = 1_700_000_000 * int64(time.Second)

// open returns a namespace whose clock stands at start.
func open(t testing.TB, config Config) *Namespace {
	t.Helper()
	e := New(config)
	t.Cleanup(e.Close)
	freeze := true
	if _, err := e.ChangeClock(ClockChange{Set: time.Unix(0, start), Freeze: &freeze}); err != nil {
		t.Fatal(err)
	}
	n, err := e.Namespace(DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// submit admits a run; an empty key is none.
func submit(t testing.TB, n *Namespace, key string) RunID {
	t.Helper()
	a, err := n.Submit(Submission{Key: key})
	if err != nil || a.Replayed {
		t.Fatalf("not admitted: %+v %v", a, err)
	}
	return a.Run.ID()
}

func observe(t testing.TB, n *Namespace, id RunID, s Status) {
	t.Helper()
	if _, err := n.Observe(id, Observation{Status: s}); err != nil {
		t.Fatal(err)
	}
}

// settle admits a run and completes it.
func settle(t testing.TB, n *Namespace, key string) RunID {
	t.Helper()
	id := submit(t, n, key)
	observe(t, n, id, Completed)
	return id
}

func advance(t testing.TB, n *Namespace, by time.Duration) {
	t.Helper()
	if _, err := n.ChangeClock(ClockChange{Advance: by}); err != nil {
		t.Fatal(err)
	}
}

func set(t testing.TB, n *Namespace, nanos int64) {
	t.Helper()
	if _, err := n.ChangeClock(ClockChange{Set: time.Unix(0, nanos)}); err != nil {
		t.Fatal(err)
	}
}

func sweep(t testing.TB, n *Namespace) int {
	t.Helper()
	removed, err := n.Sweep()
	if err != nil {
		t.Fatal(err)
	}
	return removed
}

func inspect(t testing.TB, n *Namespace, id RunID) Inspection {
	t.Helper()
	in, err := n.Inspect(id)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func subscribe(t testing.TB, n *Namespace, id RunID) *Subscription {
	t.Helper()
	s, err := n.Subscribe(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// given returns what a subscription was given and nobody has read, and how it ended, nil if it has not.
func given(s *Subscription) (text string, err error) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		piece, err := s.Next(over)
		text += string(piece)
		if err == over.Err() {
			return text, nil
		}
		if err != nil {
			return text, err
		}
	}
}

func delta(t testing.TB, n *Namespace, id RunID, text string) {
	t.Helper()
	if _, err := n.EmitDelta(id, text); err != nil {
		t.Fatal(err)
	}
}

// object makes an object of names and texts.
func object(pairs ...string) canon.Object {
	var o canon.Object
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, canon.Member{Name: pairs[i], Value: canon.String(pairs[i+1])})
	}
	return o
}

func TestSubscriptionsShareAQueue(t *testing.T) {
	n := open(t, Config{})
	id := submit(t, n, "")
	delta(t, n, id, "backlog")
	first, second := subscribe(t, n, id), subscribe(t, n, id)
	for i := range 4 {
		delta(t, n, id, fmt.Sprint("d", i))
	}
	observe(t, n, id, Completed)
	frame := func(text string) string {
		return fmt.Sprintf(`data: {"event": "message.delta", "run_id": "%v", "timestamp": 1700000000.0, "delta": "%s"}`, id, text) + "\n\n"
	}
	completed := fmt.Sprintf(`data: {"event": "run.completed", "run_id": "%v", "timestamp": 1700000000.0, "output": "", `+
		`"usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}}`, id) + "\n\n"
	if got, err := given(first); got != frame("backlog")+frame("d0")+frame("d2")+completed || err != nil {
		t.Errorf("the first got %q, %v", got, err)
	}
	if got, err := given(second); got != frame("d1")+frame("d3")+endFrame || err != io.EOF {
		t.Errorf("the second got %q, %v", got, err)
	}
	if _, err := n.Subscribe(id); err == nil {
		t.Error("the queue has ended, and can be subscribed to")
	}
}
