package suppliedinput_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

func envelope(number uint64) suppliedinput.Envelope {
	return suppliedinput.Envelope{Number: number, TurnID: fmt.Sprint("turn_", number), SessionID: "root", ContactID: "anna",
		Inputs: inputs(2), Sources: sources(1), Opened: []string{"s0"}, OutputHash: suppliedinput.HashText("x"), QueuedAt: time.Unix(1, 0).UTC()}
}

func TestQueue(t *testing.T) {
	store := engine.NewMemoryStore()
	open := func() *suppliedinput.StoreQueue {
		t.Helper()
		q, err := suppliedinput.NewStoreQueue(store)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	q := open()
	if _, err := suppliedinput.NewStoreQueue(store); !errors.Is(err, engine.ErrStoreInUse) {
		t.Errorf("a second queue: %v", err)
	}
	for _, n := range []uint64{3, 1, 2} {
		good(t, q.Put("default", envelope(n)))
	}
	good(t, q.Put("other", envelope(1)))
	if err := q.Put("default", envelope(2)); err == nil {
		t.Error("a turn is queued twice")
	}
	holds := func(q *suppliedinput.StoreQueue, want string) {
		t.Helper()
		list, err := q.Envelopes("default")
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprintf("%+v", e))
		}
		var all []string
		for _, n := range want {
			all = append(all, fmt.Sprintf("%+v", envelope(uint64(n-'0'))))
		}
		if err != nil || strings.Join(got, "\n") != strings.Join(all, "\n") {
			t.Errorf("%v, %v, want %s", got, err, want)
		}
	}
	holds(q, "123")
	store.Detach()
	q = open()
	holds(q, "123")
	good(t, q.Remove("default", "turn_2", "turn_2", "turn_9"))
	good(t, q.Remove("nowhere", "turn_2"))
	holds(q, "13")
	store.Detach()
	q = open()
	holds(q, "13")
	list, err := q.Envelopes("default")
	if err != nil {
		t.Fatal(err)
	}
	list[0].Inputs[0].SourceID = "changed"
	holds(q, "13")
	good(t, q.Drop("default"))
	holds(q, "")
	if list, err := q.Envelopes("other"); err != nil || len(list) != 1 {
		t.Errorf("other: %v, %v", list, err)
	}
	good(t, q.Close())
	good(t, q.Close())
	_, err = q.Envelopes("default")
	for i, err := range []error{err, q.Put("default", envelope(1)), q.Remove("default", "x"), q.Drop("default")} {
		if !errors.Is(err, suppliedinput.ErrQueueClosed) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// stolen keeps the record that a queue applies.
type stolen struct {
	engine.Store
	row engine.StoredRow
}

func (s *stolen) Apply(namespace string, c engine.Changes) error {
	s.row = c.Put[0]
	return s.Store.Apply(namespace, c)
}

// TestDamagedEnvelope: any flipped bit, any other length, another key and another content is an error of its own.
func TestDamagedEnvelope(t *testing.T) {
	store := &stolen{Store: engine.NewMemoryStore()}
	q, err := suppliedinput.NewStoreQueue(store)
	if err != nil {
		t.Fatal(err)
	}
	good(t, q.Put("default", envelope(1)))
	key, whole := store.row.Run, store.row.Record
	damaged := func(what string, key engine.RunID, record []byte) {
		t.Helper()
		store := engine.NewMemoryStore()
		good(t, store.Apply("default", engine.Changes{Put: []engine.StoredRow{{Run: key, Record: record}}, Rows: 1}))
		if _, err := suppliedinput.NewStoreQueue(store); !errors.Is(err, suppliedinput.ErrEnvelope) || !strings.Contains(err.Error(), "namespace default") {
			t.Errorf("%s: %v", what, err)
		}
		if err := store.Attach(); err != nil {
			t.Errorf("%s: the store is not given back: %v", what, err)
		}
	}
	for i := range whole {
		flipped := append([]byte{}, whole...)
		flipped[i] ^= 1 << (i % 8)
		damaged(fmt.Sprint("byte ", i), key, flipped)
		damaged(fmt.Sprint(i, " bytes"), key, whole[:i])
	}
	other := engine.RunID{1}
	content, err := engine.Unseal(key, whole)
	if err != nil {
		t.Fatal(err)
	}
	damaged("another key", other, whole)
	damaged("of another turn", other, engine.Seal(other, content))
	damaged("another format", key, engine.Seal(key, append([]byte{9}, content[1:]...)))
	damaged("no envelope", key, engine.Seal(key, []byte{content[0]}))
	damaged("an unknown member", key, engine.Seal(key, append(content[:len(content)-1:len(content)-1], `,"x":1}`...)))
	damaged("nothing", key, engine.Seal(key, nil))
}

// TestNumbersGoOn in a queue that another Space has filled.
func TestNumbersGoOn(t *testing.T) {
	q := suppliedinput.NewMemoryQueue()
	turns := map[string]bool{}
	for range 3 {
		w := newWorld(t, q)
		w.put("m", "s")
		for range 2 {
			w.complete(w.run(w.open(opening()), "root"))
		}
	}
	list, err := q.Envelopes("default")
	if err != nil || len(list) != 6 {
		t.Fatalf("%d envelopes, %v", len(list), err)
	}
	for i, e := range list {
		turns[e.TurnID] = true
		if e.Number != uint64(i+1) {
			t.Errorf("envelope %d has number %d", i, e.Number)
		}
	}
	if len(turns) != 6 {
		t.Errorf("%d turns", len(turns))
	}
}

// TestForget: a run that a checkout has taken back leaves its id to another one.
func TestForget(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	run := w.run(scope, "root")
	good(t, w.Tool(background, run))
	w.erase("m")
	blocked(t, w.Tool(background, run), suppliedinput.Erased)
	w.gateway.Forget(run.Run)
	w.Forget()
	good(t, w.Tool(background, run)) // a run of no scope
}
