package suppliedinput_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine/suppliedinput"
	"github.com/hermesfake/hermesfake/engine/suppliedinput/internal/inputtest"
)

// try opens a scope, submits a task in it and has it ask its model, which fails as given.
func (w *world) try(failure suppliedinput.VerificationFailure) (scope string, run suppliedinput.Actor) {
	w.t.Helper()
	scope = w.open(opening())
	run = w.run(scope, "root")
	if failure != "" {
		w.script(suppliedinput.Verification{Failure: failure, Times: 1})
	}
	w.ModelRequest(background, run)
	return scope, run
}

// TestRetries: which second task is a retry that may be, and which is a misuse.
func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		host func(w *world)
		want []suppliedinput.MisuseKind
	}{
		"one retry after a revalidation": {func(w *world) {
			scope, _ := w.try(suppliedinput.HTTP503)
			good(t, w.Close(scope))
			good(t, w.RevalidateParents(background, scope))
			w.try("")
		}, nil},
		"revalidated by the fresh scope": {func(w *world) {
			w.try(suppliedinput.HTTP503)
			scope := w.open(opening())
			good(t, w.RevalidateParents(background, scope))
			good(t, w.ModelRequest(background, w.run(scope, "root")))
		}, nil},
		"no revalidation": {func(w *world) {
			w.try(suppliedinput.HTTP503)
			w.try("")
		}, []suppliedinput.MisuseKind{suppliedinput.RetryWithoutRevalidation}},
		"a revalidation that says no": {func(w *world) {
			scope, _ := w.try(suppliedinput.HTTP503)
			w.script(suppliedinput.Verification{Failure: suppliedinput.Timeout, Times: 1})
			blocked(t, w.RevalidateParents(background, scope), suppliedinput.FreshnessUnavailable)
			w.try("")
		}, []suppliedinput.MisuseKind{suppliedinput.RetryWithoutRevalidation}},
		"a revalidation before the failure": {func(w *world) {
			scope := w.open(opening())
			good(t, w.RevalidateParents(background, scope))
			run := w.run(scope, "root")
			good(t, w.RevalidateParents(background, scope))
			w.script(suppliedinput.Verification{Failure: suppliedinput.HTTP503, Times: 1})
			blocked(t, w.Tool(background, run), suppliedinput.FreshnessUnavailable)
			w.try("")
		}, []suppliedinput.MisuseKind{suppliedinput.RetryWithoutRevalidation}},
		"two retries": {func(w *world) {
			for range 3 {
				scope, _ := w.try(suppliedinput.HTTP503)
				good(t, w.RevalidateParents(background, scope))
			}
		}, []suppliedinput.MisuseKind{suppliedinput.MoreThanOneFreshTask}},
		"a retry after an admission": {func(w *world) {
			scope, run := w.try("")
			w.script(suppliedinput.Verification{Failure: suppliedinput.HTTP503, Times: 1})
			blocked(t, w.Tool(background, run), suppliedinput.FreshnessUnavailable)
			good(t, w.RevalidateParents(background, scope))
			w.try("")
		}, []suppliedinput.MisuseKind{suppliedinput.RetryAfterAdmission}},
		"a retry of what is not retryable": {func(w *world) {
			scope, _ := w.try(suppliedinput.HTTP403)
			good(t, w.RevalidateParents(background, scope))
			w.try("")
		}, []suppliedinput.MisuseKind{suppliedinput.RetryNotRetryable}},
		"the same parents in another order are the same work": {func(w *world) {
			w.put("n")
			o := opening()
			o.Inputs = []suppliedinput.InputParent{inputOf("m"), inputOf("n")}
			w.script(suppliedinput.Verification{Failure: suppliedinput.HTTP401, Times: 1})
			w.ModelRequest(background, w.run(w.open(o), "root"))
			slices.Reverse(o.Inputs)
			w.ModelRequest(background, w.run(w.open(o), "root"))
		}, []suppliedinput.MisuseKind{suppliedinput.RetryNotRetryable}},
		"other parents are other work": {func(w *world) {
			w.try(suppliedinput.HTTP401)
			o := opening()
			o.Sources = nil
			w.ModelRequest(background, w.run(w.open(o), "root"))
		}, nil},
		"another contact is other work": {func(w *world) {
			w.try(suppliedinput.HTTP401)
			o := opening()
			o.ContactID = "bert"
			w.ModelRequest(background, w.run(w.open(o), "root"))
		}, nil},
		"more work on the same parents after a result": {func(w *world) {
			scope, _ := w.try(suppliedinput.HTTP503)
			good(t, w.RevalidateParents(background, scope))
			for range 3 {
				_, run := w.try("")
				w.complete(run)
			}
		}, nil},
		"a retry of later work": {func(w *world) {
			for range 2 {
				scope, _ := w.try(suppliedinput.HTTP503)
				good(t, w.RevalidateParents(background, scope))
				_, run := w.try("")
				w.complete(run)
			}
		}, nil},
		"a second task in a failed scope": {func(w *world) {
			scope, _ := w.try(suppliedinput.HTTP503)
			w.run(scope, "root")
		}, []suppliedinput.MisuseKind{suppliedinput.SecondTask}},
		"a second task in a scope": {func(w *world) {
			scope, _ := w.try("")
			w.run(scope, "root")
		}, []suppliedinput.MisuseKind{suppliedinput.MoreThanOneFreshTask}},
		"a retry that came to nothing, and another": {func(w *world) {
			scope, _ := w.try(suppliedinput.HTTP503)
			good(t, w.RevalidateParents(background, scope))
			for range 2 {
				_, run := w.try("")
				good(t, w.gateway.Settle(run.Run)) // as failed
			}
		}, []suppliedinput.MisuseKind{suppliedinput.MoreThanOneFreshTask}},
		"work that came to nothing, and again": {func(w *world) {
			for range 3 {
				_, run := w.try("")
				good(t, w.gateway.Settle(run.Run))
			}
		}, nil},
		"a child that comes before its root is no task": {func(w *world) {
			scope, _ := w.try(suppliedinput.HTTP503)
			good(t, w.RevalidateParents(background, scope))
			scope = w.open(opening())
			child := w.run(scope, "sub")
			good(t, w.SetParticipant(child.Run, suppliedinput.Participant{ContactID: "anna", ParentSessionID: "root"}))
			good(t, w.ModelRequest(background, w.run(scope, "root")))
			good(t, w.Tool(background, child))
			if s, err := w.Scope(scope); err != nil || s.Tasks != 1 {
				t.Errorf("%d tasks, %v", s.Tasks, err)
			}
		}, nil},
		"a completion in a closed scope": {func(w *world) {
			scope, run := w.try("")
			good(t, w.Close(scope))
			w.complete(run)
		}, []suppliedinput.MisuseKind{suppliedinput.UsedAfterClose}},
		"a task in a closed scope": {func(w *world) {
			scope := w.open(opening())
			good(t, w.Close(scope))
			w.run(scope, "root") // it was closed on the way
		}, []suppliedinput.MisuseKind{suppliedinput.UsedAfterClose}},
		"the result after the close": {func(w *world) {
			scope, run := w.try("")
			w.complete(run)
			good(t, w.Close(scope))
			if r := w.result(scope); r != nil {
				t.Errorf("result %+v", r)
			}
		}, []suppliedinput.MisuseKind{suppliedinput.ResultAfterClose}},
		"no result after the close": {func(w *world) {
			scope, _ := w.try("")
			good(t, w.Close(scope))
			w.result(scope)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.put("m", "s")
			c.host(w)
			w.misused(c.want...)
		})
	}
}

// TestMisuseSaysWhere it was done, and where the scope was opened.
func TestMisuseSaysWhere(t *testing.T) {
	line := "open_test.go:1"
	w := &world{suppliedinput.New(suppliedinput.Config{Namespace: "default", Gateway: inputtest.NewGateway(), Caller: func() string { return line }}), t, nil}
	scope := w.open(opening())
	good(t, w.Close(scope))
	line = "use_test.go:2"
	if _, err := w.Admit(scope); err == nil {
		t.Error("it can be used")
	}
	m := w.Misuses()
	if len(m) != 1 || m[0].Where != line || m[0].Opened != "open_test.go:1" || m[0].ScopeID != scope {
		t.Fatalf("%+v", m)
	}
	for _, part := range []string{scope, line, "open_test.go:1", "after it had been left"} {
		if !strings.Contains(m[0].String(), part) {
			t.Errorf("%s lacks %s", m[0], part)
		}
	}
}
