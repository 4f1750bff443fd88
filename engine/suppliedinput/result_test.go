package suppliedinput_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// TestResult: what is recorded, and when the host has it.
func TestResult(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "n", "s")
	o := opening()
	o.Inputs = []suppliedinput.InputParent{inputOf("n"), inputOf("m")}
	scope := w.open(o)
	run := w.run(scope, "root")
	good(t, w.ModelRequest(background, run))
	if r := w.result(scope); r != nil {
		t.Fatalf("before completion: %+v", r)
	}
	completed := false
	good(t, w.Complete(background, run, "the output", func() error {
		completed = true
		if queued, err := w.Queued(); err != nil || len(queued) != 0 {
			t.Errorf("queued before the completion: %v, %v", queued, err)
		}
		return w.gateway.Settle(run.Run)
	}))
	r := w.result(scope)
	if r == nil || !completed {
		t.Fatalf("result %v, completed %t", r, completed)
	}
	if r.SessionID != "root" || !strings.HasPrefix(r.TurnID, "turn_") || !slices.Equal(r.InputRefs, o.Inputs) || !slices.Equal(r.SourceRefs, o.Sources) {
		t.Errorf("result %+v", r)
	}
	queued, err := w.Queued()
	if err != nil || len(queued) != 1 {
		t.Fatalf("queued %v, %v", queued, err)
	}
	e := queued[0]
	if e.TurnID != r.TurnID || e.SessionID != "root" || e.ContactID != "anna" || e.RunID != run.Run.String() || e.ScopeID != scope ||
		!slices.Equal(e.Inputs, o.Inputs) || !slices.Equal(e.Sources, o.Sources) || e.OutputHash != suppliedinput.HashText("the output") ||
		!e.QueuedAt.Equal(w.gateway.Now()) || e.Number != 1 {
		t.Errorf("envelope %+v", e)
	}
	for _, source := range w.Sources() { // queued is not delivered, and the task is nobody's words
		if source.Assistant || source.Text == "the output" {
			t.Errorf("source %+v", source)
		}
	}
	r.InputRefs[0].SourceID = "changed by the host"
	if again := w.result(scope); again.InputRefs[0].SourceID != "n" {
		t.Errorf("the host's copy is the double's: %+v", again)
	}
	if err := w.Complete(background, run, "again", func() error { return w.gateway.Settle(run.Run) }); !errors.Is(err, engine.RunSettled) {
		t.Errorf("completed twice: %v", err)
	}
	if queued, _ := w.Queued(); len(queued) != 1 {
		t.Errorf("%d envelopes", len(queued))
	}
}

// TestNoResultWithoutCompletion: the completion fails, or the run ends otherwise.
func TestNoResultWithoutCompletion(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	run := w.run(scope, "root")
	full := errors.New("storage failed")
	if err := w.Complete(background, run, "output", func() error { return full }); err != full {
		t.Errorf("error %v", err)
	}
	if queued, _ := w.Queued(); w.result(scope) != nil || len(queued) != 0 {
		t.Errorf("result %v, queued %v", w.result(scope), queued)
	}
	good(t, w.gateway.Settle(run.Run)) // as failed
	if err := w.Complete(background, run, "output", func() error { return w.gateway.Settle(run.Run) }); !errors.Is(err, engine.RunSettled) {
		t.Errorf("error %v", err)
	}
	if w.result(scope) != nil || w.failure(scope) != nil {
		t.Errorf("result %v, failure %v", w.result(scope), w.failure(scope))
	}
}

// brokenQueue fails as it is told to.
type brokenQueue struct {
	suppliedinput.Queue
	err error
}

func (q *brokenQueue) Put(namespace string, e suppliedinput.Envelope) error {
	if q.err != nil {
		return q.err
	}
	return q.Queue.Put(namespace, e)
}

func (q *brokenQueue) Remove(namespace string, ids ...string) error {
	if q.err != nil {
		return q.err
	}
	return q.Queue.Remove(namespace, ids...)
}

func (q *brokenQueue) Drop(namespace string) error {
	if q.err != nil {
		return q.err
	}
	return q.Queue.Drop(namespace)
}

// TestQueueThatFails leaves the result nil, and the run completed.
func TestQueueThatFails(t *testing.T) {
	q := &brokenQueue{suppliedinput.NewMemoryQueue(), errors.New("the disk is full")}
	w := newWorld(t, q)
	w.put("m", "s")
	scope := w.open(opening())
	run := w.run(scope, "root")
	w.complete(run)
	if w.gateway.Active(run.Run) || w.result(scope) != nil || w.failure(scope) != nil {
		t.Errorf("active %t, result %v, failure %v", w.gateway.Active(run.Run), w.result(scope), w.failure(scope))
	}
	if failures := w.QueueFailures(); len(failures) != 1 || failures[0] != q.err {
		t.Errorf("queue failures %v", failures)
	}
	if err := w.Reset(); err != q.err {
		t.Errorf("reset: %v", err)
	}
	if _, err := w.Scope(scope); err != nil || len(w.Sources()) != 2 {
		t.Errorf("the reset that failed changed something: %v", err)
	}
}

// TestErasure: what depends on a source goes with it, through any number of records, queued or delivered.
func TestErasure(t *testing.T) {
	for _, deliver := range []int{0, 1, 2} { // how many of the two are delivered
		q := &brokenQueue{suppliedinput.NewMemoryQueue(), nil}
		w := newWorld(t, q)
		w.put("m", "n", "s", "other")
		first := w.open(opening())
		w.complete(w.run(first, "root"))
		result := *w.result(first)
		delivery := func() {
			if n, err := w.Deliver(); err != nil || n != 1 {
				t.Fatalf("delivered %d, %v", n, err)
			}
		}
		if deliver > 0 {
			delivery()
		}
		second := w.open(suppliedinput.Opening{ContactID: "anna", SessionID: "root 2", Inputs: []suppliedinput.InputParent{inputOf("n")},
			Sources: []suppliedinput.SourceParent{{SourceID: result.TurnID, SourceVersion: 1}}})
		run := w.run(second, "root 2")
		if deliver == 0 { // queued is not delivered
			blocked(t, w.Tool(background, run), suppliedinput.Unavailable)
		}
		w.complete(run)
		derived := w.result(second)
		if (derived != nil) != (deliver > 0) {
			t.Fatalf("result %+v with %d delivered", derived, deliver)
		}
		if deliver == 2 {
			delivery()
		}
		good(t, w.Revalidate(background, result))
		if derived != nil {
			good(t, w.Revalidate(background, *derived))
		}
		w.erase("other")
		good(t, w.Revalidate(background, result))

		q.err = errors.New("the disk is full")
		if _, err := w.Erase("m"); deliver < 2 && err != q.err {
			t.Errorf("erasure with a queue that fails: %v", err)
		}
		if deliver < 2 {
			if source, err := w.Source("m"); err != nil || source.Erased {
				t.Errorf("it changed something: %+v, %v", source, err)
			}
		}
		q.err = nil
		dependents, err := w.Erase("m")
		if want := map[int]int{0: 1, 1: 2, 2: 0}[deliver]; err != nil || dependents != want {
			t.Errorf("%d dependents, want %d, %v", dependents, want, err) // of 2 delivered ones the first erasure took both
		}
		blocked(t, w.Revalidate(background, result), suppliedinput.Erased)
		if derived != nil {
			blocked(t, w.Revalidate(background, *derived), suppliedinput.Erased)
		}
		if queued, err := w.Queued(); err != nil || len(queued) != 0 {
			t.Errorf("queued %v, %v", queued, err)
		}
		source, err := w.Source("m")
		if err != nil || !source.Erased || source.Text != "" {
			t.Errorf("%+v, %v", source, err)
		}
		if _, err := w.Put(suppliedinput.Source{ID: "m", Text: "again"}); !errors.Is(err, suppliedinput.ErrInvalid) {
			t.Errorf("put again: %v", err)
		}
		if err := w.Annotate("m", "x"); !errors.Is(err, suppliedinput.ErrNoSource) {
			t.Errorf("annotated: %v", err)
		}
	}
}

// TestErasureAfterARestart: the ledger has forgotten the source, the queue has not forgotten who depends on it.
func TestErasureAfterARestart(t *testing.T) {
	q := suppliedinput.NewMemoryQueue()
	w := newWorld(t, q)
	w.put("m", "s")
	scope := w.open(opening())
	w.complete(w.run(scope, "root"))
	result := *w.result(scope)
	w = newWorld(t, q)
	if _, err := w.Erase("nothing"); !errors.Is(err, suppliedinput.ErrNoSource) {
		t.Errorf("error %v", err)
	}
	if dependents, err := w.Erase("s"); err != nil || dependents != 1 {
		t.Errorf("%d dependents, %v", dependents, err)
	}
	blocked(t, w.Revalidate(background, result), suppliedinput.Erased)
	if queued, err := q.Envelopes("default"); err != nil || len(queued) != 0 {
		t.Errorf("queued %v, %v", queued, err)
	}
}

// TestRevalidate says no where the result is not what was recorded, or cannot be verified.
func TestRevalidate(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	w.complete(w.run(scope, "root"))
	result := *w.result(scope)
	good(t, w.Close(scope))
	good(t, w.Revalidate(background, result))
	for name, change := range map[string]func(*suppliedinput.Result){
		"turn":    func(r *suppliedinput.Result) { r.TurnID = "turn_x" },
		"session": func(r *suppliedinput.Result) { r.SessionID = "other" },
		"inputs":  func(r *suppliedinput.Result) { r.InputRefs = nil },
		"sources": func(r *suppliedinput.Result) { r.SourceRefs = nil },
	} {
		r := result
		change(&r)
		if err := w.Revalidate(background, r); !errors.Is(err, suppliedinput.Unavailable) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	w.script(suppliedinput.Verification{Failure: suppliedinput.HTTP503, Times: 1})
	blocked(t, w.Revalidate(background, result), suppliedinput.FreshnessUnavailable)
	good(t, w.Revalidate(background, result))
	good(t, w.RevalidateParents(background, scope))
	w.put("s") // another version
	blocked(t, w.RevalidateParents(background, scope), suppliedinput.Unavailable)
	blocked(t, w.Revalidate(background, result), suppliedinput.Unavailable)
	w.erase("m")
	blocked(t, w.RevalidateParents(background, scope), suppliedinput.Erased)
	good(t, w.Reset())
	blocked(t, w.Revalidate(background, result), suppliedinput.Unavailable)
}

func TestSources(t *testing.T) {
	w := newWorld(t, nil)
	p, err := w.Put(suppliedinput.Source{ID: "m", Text: "hello"})
	if err != nil || p.Version != 1 || p.InputMessageHash != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("%+v, %v", p, err)
	}
	good(t, w.Annotate("m", "private"))
	if p, err = w.Put(suppliedinput.Source{ID: "m", Text: "new", Version: 7, InputMessageHash: strings.Repeat("0", 64)}); err != nil || p.Version != 7 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = w.Source("m"); err != nil || p.Annotation != "" || p.Text != "new" || p.InputMessageHash != strings.Repeat("0", 64) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []suppliedinput.Source{
		{}, {ID: strings.Repeat("x", 257)}, {ID: "m", Version: 7}, {ID: "m", Version: -1}, {ID: "x", Text: "\xff"},
		{ID: "x", InputMessageHash: "short"}, {ID: "x", Annotation: "a"}, {ID: "x", Erased: true}, {ID: "x", Assistant: true},
		{ID: "x", Text: strings.Repeat("x", 1<<20+1)}, {ID: "x", Inputs: inputs(1)}, {ID: "x", Sources: sources(1)},
	} {
		if _, err := w.Put(bad); !errors.Is(err, suppliedinput.ErrInvalid) {
			t.Errorf("%.40q: %v", bad.ID, err)
		}
	}
	if err := w.Annotate("m", strings.Repeat("x", 257)); !errors.Is(err, suppliedinput.ErrInvalid) {
		t.Errorf("annotation: %v", err)
	}
	if _, err := w.Source("x"); !errors.Is(err, suppliedinput.ErrNoSource) {
		t.Errorf("no source: %v", err)
	}
	if err := w.Annotate("x", "a"); !errors.Is(err, suppliedinput.ErrNoSource) {
		t.Errorf("no source: %v", err)
	}
	if list := w.Sources(); len(list) != 1 || list[0].ID != "m" {
		t.Errorf("%+v", list)
	}
}
