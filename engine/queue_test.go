package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestQueueVersions lets queues grow from any older version, and finds each as it was when it was new.
func TestQueueVersions(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		type version struct {
			q    *queue
			want []string
		}
		versions := []version{{q: emptyQueue}}
		for i := range 100 {
			from := versions[len(versions)-1]
			if rng.IntN(3) == 0 {
				from = versions[rng.IntN(len(versions))]
			}
			text := fmt.Sprint(i)
			versions = append(versions, version{from.q.with([]byte(text)), append(slices.Clip(from.want), text)})
			if rng.IntN(10) == 0 {
				from.q.withEnd()
			}
		}
		for i, v := range versions {
			var got []string
			bytes := 0
			for _, frame := range v.q.items() {
				got = append(got, string(frame))
				bytes += len(frame)
			}
			if !slices.Equal(got, v.want) || v.q.length != len(got) || v.q.bytes != bytes || v.q.closed {
				t.Fatalf("seed %d, version %d: %v, want %v", seed, i, got, v.want)
			}
		}
	}
	closed := emptyQueue.with([]byte("x")).withEnd()
	if !closed.closed || closed.length != 1 || emptyQueue.closed || emptyQueue.length != 0 || len(emptyQueue.frames.list) != 0 {
		t.Errorf("%+v, %+v", closed, emptyQueue)
	}
}

// TestQueueFull proves that a queue that has reached its bound refuses what comes, whole, and that a run can still end.
func TestQueueFull(t *testing.T) {
	n := open(t, Config{QueueBytes: 1000})
	id := submit(t, n, "k")
	observe(t, n, id, Running)
	emitted := 0
	for {
		_, err := n.EmitDelta(id, "0123456789")
		if err != nil {
			if !errors.Is(err, QueueFull) {
				t.Fatal(err)
			}
			break
		}
		emitted++
	}
	before := inspect(t, n, id)
	if before.Queue.Bytes > 1000 || before.Queue.Bytes < 800 || before.Queue.Events != emitted {
		t.Errorf("%+v after %d events", before.Queue, emitted)
	}
	refused := func(what string, err error) {
		t.Helper()
		after := inspect(t, n, id)
		if !errors.Is(err, QueueFull) || !strings.Contains(err.Error(), id.String()) {
			t.Errorf("%s: %v", what, err)
		}
		if after.Run != before.Run || *after.Queue != *before.Queue || len(after.Pending) > 0 {
			t.Errorf("%s changed %+v", what, after)
		}
	}
	big := object("text", strings.Repeat("x", 200))
	_, err := n.EmitDelta(id, strings.Repeat("x", 200))
	refused("a delta", err)
	_, err = n.Emit(id, Event{Name: "reasoning.available", Fields: big})
	refused("an event", err)
	_, err = n.Observe(id, Observation{Status: WaitingForApproval, Approval: big})
	refused("an approval", err)
	_, err = n.Ask(id, big)
	refused("a question", err)
	if emitted, err := n.Emit(id, Event{Name: "_thinking", Fields: big}); emitted || err != nil {
		t.Errorf("an event that is dropped: %v", err)
	}

	// Who reads makes room, whoever only waits does not.
	s := subscribe(t, n, id)
	if got, _ := given(s); len(got) != before.Queue.Bytes {
		t.Errorf("%d bytes of backlog", len(got))
	}
	for range emitted {
		delta(t, n, id, "0123456789")
	}
	_, err = n.EmitDelta(id, strings.Repeat("x", 200))
	if !errors.Is(err, QueueFull) {
		t.Errorf("%v", err)
	}
	observe(t, n, id, Completed)
	if got, err := given(s); !strings.Contains(got, "run.completed") || !strings.HasSuffix(got, endFrame) || err == nil {
		t.Errorf("%q %v", got, err)
	}

	// So does the end, for which there is always room.
	id = submit(t, n, "")
	for err == nil || !errors.Is(err, QueueFull) {
		_, err = n.EmitDelta(id, "0123456789")
	}
	if _, err := n.Observe(id, Observation{Status: Failed, Err: new(string)}); err != nil {
		t.Error(err)
	}
	// Where there is no queue, nothing can be full.
	id = submit(t, n, "")
	advance(t, n, queueRetention+sweepInterval)
	if emitted, err := n.EmitDelta(id, strings.Repeat("x", 2000)); emitted || err != nil {
		t.Errorf("%t %v", emitted, err)
	}
}

// TestQueueBytesDefault proves that a run takes megabytes that nobody reads.
func TestQueueBytesDefault(t *testing.T) {
	n := open(t, Config{QueueBytes: -5})
	id := submit(t, n, "")
	text := strings.Repeat("x", 1<<20)
	for range 63 {
		delta(t, n, id, text)
	}
	_, err := n.EmitDelta(id, text)
	if !errors.Is(err, QueueFull) {
		t.Errorf("the 64th MiB: %v", err)
	}
}
