package suppliedinput_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
	"github.com/hermesfake/hermesfake/engine/suppliedinput/internal/inputtest"
)

var background = context.Background()

// world is a Space with its gateway.
type world struct {
	*suppliedinput.Space
	t       testing.TB
	gateway *inputtest.Gateway
}

func newWorld(t testing.TB, queue suppliedinput.Queue) *world {
	g := inputtest.NewGateway()
	return &world{suppliedinput.New(suppliedinput.Config{Namespace: "default", Seed: 1, Gateway: g, Queue: queue}), t, g}
}

// put puts sources with texts that are like their ids.
func (w *world) put(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		if _, err := w.Put(suppliedinput.Source{ID: id, Text: "text of " + id}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func inputOf(id string) suppliedinput.InputParent {
	return suppliedinput.InputParent{SourceID: id, InputMessageHash: suppliedinput.HashText("text of " + id)}
}

// opening is one in the session form with an input m and a source s.
func opening() suppliedinput.Opening {
	return suppliedinput.Opening{ContactID: "anna", SessionID: "root", Inputs: []suppliedinput.InputParent{inputOf("m")},
		Sources: []suppliedinput.SourceParent{{SourceID: "s", SourceVersion: 1}}}
}

func (w *world) open(o suppliedinput.Opening) string {
	w.t.Helper()
	id, err := w.Open(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// run submits a run with a scope.
func (w *world) run(scope, session string, texts ...string) suppliedinput.Actor {
	w.t.Helper()
	id := w.gateway.Admit()
	if err := w.Attach(scope, id, session, texts...); err != nil {
		w.t.Fatal(err)
	}
	return suppliedinput.Actor{Run: id}
}

// submitting admits a run with a scope, whose submission is under way until end.
func (w *world) submitting(scope string) (run engine.RunID, end func()) {
	w.t.Helper()
	end, err := w.Admit(scope)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.gateway.Admit(), end
}

func (w *world) complete(a suppliedinput.Actor) {
	w.t.Helper()
	if err := w.Complete(background, a, "output", func() error { return w.gateway.Settle(a.Run) }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) result(scope string) *suppliedinput.Result {
	w.t.Helper()
	r, err := w.Result(scope)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) failure(scope string) *suppliedinput.Failure {
	w.t.Helper()
	f, err := w.Failure(scope)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// failed fails the test unless the scope has failed just so.
func (w *world) failed(scope string, reason suppliedinput.Reason, admitted, retryable bool) {
	w.t.Helper()
	want := suppliedinput.Failure{Reason: reason, Admitted: admitted, Retryable: retryable}
	if f := w.failure(scope); f == nil || *f != want {
		w.t.Errorf("failure %+v, want %+v", f, want)
	}
}

// blocked fails the test unless err says so, and why.
func blocked(t testing.TB, err error, reason suppliedinput.Reason) {
	t.Helper()
	if !errors.Is(err, suppliedinput.ErrBlocked) || !errors.Is(err, reason) {
		t.Errorf("error %v, want blocked for %s", err, reason)
	}
}

// misused fails the test unless the misuses are of these kinds.
func (w *world) misused(kinds ...suppliedinput.MisuseKind) {
	w.t.Helper()
	var got []suppliedinput.MisuseKind
	for _, m := range w.Misuses() {
		got = append(got, m.Kind)
	}
	if fmt.Sprint(got) != fmt.Sprint(kinds) {
		w.t.Errorf("misuses %v, want %v", got, kinds)
	}
}

func (w *world) script(v suppliedinput.Verification) {
	w.t.Helper()
	if err := w.SetVerification(v); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) erase(id string) {
	w.t.Helper()
	if _, err := w.Erase(id); err != nil {
		w.t.Fatal(err)
	}
}

func good(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
