package hermesfake_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// supply puts a message and a note, and returns what names them.
func supply(t *testing.T, f *hermesfake.Fake) hermesfake.SuppliedInput {
	t.Helper()
	message, err := f.Sources().Put(hermesfake.Source{ID: "message", Text: "the message"})
	if err != nil {
		t.Fatal(err)
	}
	note, err := f.Sources().Put(hermesfake.Source{ID: "note", Text: "the note"})
	if err != nil {
		t.Fatal(err)
	}
	return hermesfake.SuppliedInput{ContactID: "anna", SessionID: "root",
		Inputs:  []hermesfake.InputParent{{SourceID: message.ID, InputMessageHash: message.InputMessageHash}},
		Sources: []hermesfake.SourceParent{{SourceID: note.ID, SourceVersion: note.Version}}}
}

func openHandoff(t *testing.T, f *hermesfake.Fake, in hermesfake.SuppliedInput) (context.Context, *hermesfake.Handoff) {
	t.Helper()
	ctx, h, err := f.SupplyInput(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, h
}

// submitWith submits a run with a context, and perhaps a header, and returns the reply.
func submitWith(t *testing.T, f http.RoundTripper, ctx context.Context, header, body string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != "" {
		r.Header.Set(hermesfake.SuppliedInputHeader, header)
	}
	res, err := (&http.Client{Transport: f}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

const rootSubmission = `{"input": "do it", "session_id": "root"}`

// runWith submits a run that belongs to the scope of a context.
func runWith(t *testing.T, f *hermesfake.Fake, ctx context.Context, body string) *hermesfake.Run {
	t.Helper()
	if status, text := submitWith(t, f, ctx, "", body); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, text)
	}
	return f.Runs().Last()
}

// TestHandoff takes a run through every step, by its methods.
func TestHandoff(t *testing.T) {
	f := hermesfake.Start(t)
	ctx, h := openHandoff(t, f, supply(t, f))
	block, err := h.Append("note", "the note")
	if err != nil {
		t.Fatal(err)
	}
	run := runWith(t, f, ctx, fmt.Sprintf(`{"input": [{"role": "user", "content": [{"type": "text", "text": %q}]}], "session_id": "root"}`, "do it\n"+block))
	if err := run.ModelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	child, err := run.Child(t.Context(), "child")
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := child.Child(t.Context(), "grandchild")
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range []error{child.ModelRequest(t.Context()), child.RotateSession(t.Context(), "child rotated"), child.Tool(t.Context()),
		grandchild.Tool(t.Context()), run.Tool(t.Context()), run.RotateSession(t.Context(), "rotated"), run.ModelRequest(t.Context())} {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if child.SessionID() != "child rotated" || h.Result() != nil || h.Failure() != nil {
		t.Errorf("session %s, result %v, failure %v", child.SessionID(), h.Result(), h.Failure())
	}
	if work := f.Work("anna"); len(work) != 1 || work[0].Excerpt != "the message" || work[0].State != "active" {
		t.Errorf("work %+v", work)
	}
	if err := run.Complete("done"); err != nil {
		t.Fatal(err)
	}
	result := h.Result()
	if result == nil || result.SessionID != "rotated" {
		t.Fatalf("result %+v", result)
	}
	queued, err := f.Sources().Queued()
	if err != nil || len(queued) != 1 || queued[0].TurnID != result.TurnID || len(queued[0].Opened) != 1 || queued[0].RunID != run.ID() {
		t.Errorf("queued %+v, %v", queued, err)
	}
	if err := f.Revalidate(t.Context(), *result); err != nil {
		t.Error(err)
	}
	if err := run.Tool(t.Context()); !errors.Is(err, hermesfake.RunSettled) {
		t.Errorf("a settled run: %v", err)
	}
	h.Close()
	if s, ok := run.Handoff(); !ok || !s.Closed || s.Result == nil || s.ID != h.ID() || len(f.Handoffs()) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestEveryCompletionIsChecked, by whichever door it comes; and other ends leave no result.
func TestEveryCompletionIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(t *testing.T, f *hermesfake.Fake, run *hermesfake.Run)
		result bool
	}{
		"Complete": {func(t *testing.T, _ *hermesfake.Fake, run *hermesfake.Run) { run.Complete("x") }, true},
		"CompleteWithUsage": {func(t *testing.T, _ *hermesfake.Fake, run *hermesfake.Run) {
			run.CompleteWithUsage("x", hermesfake.Usage{})
		}, true},
		"observe": {func(t *testing.T, f *hermesfake.Fake, run *hermesfake.Run) {
			request(t, f, "POST", "/__admin/hermes/runs/"+run.ID()+"/observe", `{"status": "completed"}`)
		}, true},
		"Fail":   {func(t *testing.T, _ *hermesfake.Fake, run *hermesfake.Run) { run.Fail("x") }, false},
		"Cancel": {func(t *testing.T, _ *hermesfake.Fake, run *hermesfake.Run) { run.Cancel() }, false},
		"Restart": {func(t *testing.T, f *hermesfake.Fake, run *hermesfake.Run) {
			f.Restart(hermesfake.OwnerStale)
			run.Complete("x")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := hermesfake.Start(t)
			in := supply(t, f)
			ctx, h := openHandoff(t, f, in)
			run := runWith(t, f, ctx, rootSubmission)
			c.end(t, f, run)
			if (h.Result() != nil) != c.result || h.Failure() != nil {
				t.Errorf("result %+v, failure %+v", h.Result(), h.Failure())
			}
			h.Close()

			in.SessionID = "other"
			ctx, h = openHandoff(t, f, in)
			run = runWith(t, f, ctx, `{"input": "x", "session_id": "other"}`)
			f.Sources().Erase("note")
			c.end(t, f, run)
			if h.Result() != nil || (h.Failure() != nil) != c.result {
				t.Errorf("with an erased parent: result %+v, failure %+v", h.Result(), h.Failure())
			}
		})
	}
}

// TestScopesTravel by context and by header, and nowhere else.
func TestScopesTravel(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithInputMisuseAllowed())
	in := supply(t, f)
	ctx, h := openHandoff(t, f, in)
	if status, text := submitWith(t, f, t.Context(), "input_unknown", rootSubmission); status != 400 ||
		!strings.Contains(text, `"type": "mockingbird_supplied_input"`) || !strings.Contains(text, `"code": "supplied_input_unknown"`) {
		t.Errorf("unknown: %d %s", status, text)
	}
	other, err := f.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	if status, text := submitWith(t, other, ctx, "", rootSubmission); status != 400 {
		t.Errorf("another namespace: %d %s", status, text)
	}
	if status, text := submitWith(t, hermesfake.Start(t), ctx, "", rootSubmission); status != 400 {
		t.Errorf("another fake: %d %s", status, text)
	}
	if len(f.Runs()) != 0 {
		t.Errorf("%d runs were admitted", len(f.Runs()))
	}
	if status, text := submitWith(t, f, t.Context(), h.ID(), rootSubmission); status != 202 {
		t.Errorf("header: %d %s", status, text)
	}
	if s, ok := f.Runs().Last().Handoff(); !ok || s.ID != h.ID() {
		t.Errorf("%+v", s)
	}
	h.Close()
	for _, header := range []string{"", h.ID()} {
		if status, text := submitWith(t, f, ctx, header, rootSubmission); status != 409 || !strings.Contains(text, `"code": "supplied_input_closed"`) {
			t.Errorf("closed: %d %s", status, text)
		}
	}
	submit(t, f, rootSubmission)
	if _, ok := f.Runs().Last().Handoff(); ok || f.Runs().Last().Tool(t.Context()) != nil {
		t.Error("a run without a scope has one")
	}
}

// TestEmptyHeader: a host that has lost the id of its scope does not get a run without one.
func TestEmptyHeader(t *testing.T) {
	f := hermesfake.Start(t)
	r, err := http.NewRequestWithContext(t.Context(), "POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(rootSubmission))
	if err != nil {
		t.Fatal(err)
	}
	r.Header[hermesfake.SuppliedInputHeader] = []string{""}
	res, err := f.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 400 || len(f.Runs()) != 0 {
		t.Errorf("%d, %d runs", res.StatusCode, len(f.Runs()))
	}
}

// TestRunsThatActAtOnce have their scope, however long it takes to read what came with them.
func TestRunsThatActAtOnce(t *testing.T) {
	f := hermesfake.Start(t)
	in := supply(t, f)
	for range 30 {
		ctx, h := openHandoff(t, f, in)
		done := make(chan error)
		go func() {
			run, err := f.WaitRun(t.Context())
			if err == nil {
				err = run.Complete("x")
			}
			done <- err
		}()
		runWith(t, f, ctx, `{"session_id": "root", "input": "`+strings.Repeat("x", 200_000)+`"}`)
		if err := <-done; err != nil || h.Result() == nil {
			t.Fatalf("%v, result %v", err, h.Result())
		}
	}
}

// TestReplayIsNoTask: a retry with the idempotency key finds the run, and is no second task.
func TestReplayIsNoTask(t *testing.T) {
	f := hermesfake.Start(t)
	ctx, h := openHandoff(t, f, supply(t, f))
	for range 3 {
		r, err := http.NewRequestWithContext(ctx, "POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(rootSubmission))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "key")
		res, err := f.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	if s := h.State(); s.Tasks != 1 || len(f.InputMisuses()) != 0 {
		t.Errorf("%d tasks, %v", s.Tasks, f.InputMisuses())
	}
}

// TestStartReportsMisuse with the line of the test, also where a server has lost it.
func TestStartReportsMisuse(t *testing.T) {
	here := func() int {
		_, _, line, _ := runtime.Caller(1)
		return line
	}
	r := &recorder{}
	f := hermesfake.Start(r)
	in := supply(t, f)
	ctx, h := openHandoff(t, f, in)
	h.Close()
	server := httptest.NewServer(f)
	defer server.Close()
	post, err := http.NewRequest("POST", server.URL+"/v1/runs", strings.NewReader(rootSubmission))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set(hermesfake.SuppliedInputHeader, h.ID())
	res, err := server.Client().Do(post)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	get, err := http.NewRequestWithContext(ctx, "POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(rootSubmission))
	if err != nil {
		t.Fatal(err)
	}
	used := here() + 1
	if res, err = f.Client().Do(get); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	m := f.InputMisuses()
	if len(m) != 2 || m[0].Where != "" || m[1].Where != fmt.Sprintf("supplied_test.go:%d", used) || !strings.HasPrefix(m[0].Opened, "supplied_test.go:") {
		t.Errorf("%+v", m)
	}
	r.end()
	told := strings.Join(r.errors, "\n")
	if len(r.errors) != 2 || !strings.Contains(told, fmt.Sprintf("at supplied_test.go:%d", used)) || !strings.Contains(told, "opened at supplied_test.go:") {
		t.Errorf("told: %s", told)
	}
	if !strings.Contains(strings.Join(r.logs, "\n"), h.ID()+" closed") {
		t.Errorf("the dump lacks the scope: %s", r.logs)
	}
}

// TestMisuseInAHelper names the helper's line, and the test's.
func TestMisuseInAHelper(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithInputMisuseAllowed())
	ctx, h := openHandoff(t, f, supply(t, f))
	h.Close()
	_, _, line, _ := runtime.Caller(0)
	submitWith(t, f, ctx, "", rootSubmission)
	m := f.InputMisuses()
	if len(m) != 1 || !strings.HasSuffix(m[0].Where, fmt.Sprintf(", from supplied_test.go:%d", line+1)) || strings.Count(m[0].Where, "supplied_test.go:") != 2 {
		t.Errorf("%+v", m)
	}
}

// TestResetForgetsInput, and leaves other namespaces as they are.
func TestResetForgetsInput(t *testing.T) {
	queue := suppliedinput.NewMemoryQueue()
	f := hermesfake.Start(t, hermesfake.WithInputQueue(queue))
	other, err := f.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range []*hermesfake.Fake{f, other} {
		ctx, _ := openHandoff(t, view, supply(t, view))
		if err := runWith(t, view, ctx, rootSubmission).Complete("x"); err != nil {
			t.Fatal(err)
		}
	}
	queued := func(namespace string) int {
		list, err := queue.Envelopes(namespace)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if err := f.Reset(); err != nil {
		t.Fatal(err)
	}
	if len(f.Handoffs()) != 0 || len(f.Sources().All()) != 0 || queued("default") != 0 || len(other.Handoffs()) != 1 || queued("other") != 1 {
		t.Errorf("%d scopes, %d sources, %d and %d queued", len(f.Handoffs()), len(f.Sources().All()), queued("default"), queued("other"))
	}
	if err := f.DropNamespace("other"); err != nil {
		t.Fatal(err)
	}
	if queued("other") != 0 {
		t.Errorf("%d queued", queued("other"))
	}
	if other, err = f.Namespace("other"); err != nil {
		t.Fatal(err)
	}
	ctx, h := openHandoff(t, other, supply(t, other)) // a dropped namespace begins anew
	if err := runWith(t, other, ctx, rootSubmission).Complete("x"); err != nil || h.Result() == nil {
		t.Errorf("%v, %v", err, h.Result())
	}
}

// TestResetOfDroppedView: a view of a dropped namespace resets nothing, so what was supplied to the next one of its name stays.
func TestResetOfDroppedView(t *testing.T) {
	f := hermesfake.Start(t)
	var views [2]*hermesfake.Fake
	for i := range views {
		if err := f.DropNamespace("other"); err != nil {
			t.Fatal(err)
		}
		var err error
		if views[i], err = f.Namespace("other"); err != nil {
			t.Fatal(err)
		}
	}
	dropped, next := views[0], views[1]
	openHandoff(t, next, supply(t, next))
	if err := dropped.Reset(); !errors.Is(err, hermesfake.Closed) || len(next.Handoffs()) != 1 {
		t.Errorf("%v, %d scopes are left", err, len(next.Handoffs()))
	}
}

// TestCheckoutForgetsRuns: a run after a checkout may have the id of one before it, and is no part of its scope.
func TestCheckoutForgetsRuns(t *testing.T) {
	f := hermesfake.Start(t)
	in := supply(t, f)
	start := f.Checkpoint()
	ctx, h := openHandoff(t, f, in)
	first := runWith(t, f, ctx, rootSubmission)
	if err := f.Checkout(start); err != nil {
		t.Fatal(err)
	}
	submit(t, f, rootSubmission)
	again := f.Runs().Last()
	if again.ID() != first.ID() {
		t.Fatalf("ids %s and %s", again.ID(), first.ID())
	}
	if _, ok := again.Handoff(); ok {
		t.Error("the new run has the scope of the old one")
	}
	if err := again.Complete("x"); err != nil || h.Result() != nil {
		t.Errorf("%v, %+v", err, h.Result())
	}
}

// TestScopeAfterCheckout: a task that a checkout has taken back can be submitted again with its scope, in either form and also
// where its session was rotated. It is the scope's first one then, and no misuse.
func TestScopeAfterCheckout(t *testing.T) {
	f := hermesfake.Start(t)
	in := supply(t, f)
	start := f.Checkpoint()
	session, _ := openHandoff(t, f, in)
	transport, _, err := f.SupplyTransportInput(t.Context(), hermesfake.TransportInput{ContactID: "berta", Platform: "sms",
		Inputs: in.Inputs, Sources: in.Sources})
	if err != nil {
		t.Fatal(err)
	}
	before := f.Handoffs()
	try := func() (runs [2]*hermesfake.Run) {
		for i, ctx := range [...]context.Context{session, transport} {
			runs[i] = runWith(t, f, ctx, rootSubmission)
			if err := runs[i].RotateSession(t.Context(), "rotated"); err != nil {
				t.Error(err)
			}
		}
		return runs
	}
	try()
	if err := f.Checkout(start); err != nil {
		t.Fatal(err)
	}
	for i, h := range f.Handoffs() {
		if h.Tasks != 0 || len(h.Sessions) > 0 || h.SessionID != before[i].SessionID {
			t.Errorf("taken back: %+v", h)
		}
	}
	for _, run := range try() {
		if err := run.Complete("x"); err != nil {
			t.Error(err)
		}
	}
	for _, h := range f.Handoffs() {
		if h.Tasks != 1 || h.Result == nil {
			t.Errorf("tried again: %+v", h)
		}
	}
}

// TestVerificationOnTheClock: a slow verification takes the fake's time, also that of a script, and the fake's end ends it.
func TestVerificationOnTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := hermesfake.Start(t, hermesfake.WithFrozenClock(start2023))
		f.Sources().Verify(hermesfake.Verification{Failure: hermesfake.VerifyTimeout, Takes: 5 * time.Second, Times: 1})
		var failed atomic.Value
		f.Script(func(ctx context.Context, run *hermesfake.Run) {
			err := run.ModelRequest(ctx)
			failed.Store(err.Error())
			run.Complete("x")
		})
		ctx, h := openHandoff(t, f, supply(t, f))
		run := runWith(t, f, ctx, rootSubmission)
		f.Advance(4999 * time.Millisecond)
		if h.Failure() != nil || run.Status() != hermesfake.Queued {
			t.Errorf("before its time: %+v, %s", h.Failure(), run)
		}
		f.Advance(time.Millisecond)
		if f := h.Failure(); f == nil || f.Reason != hermesfake.SourceFreshnessUnavailable || run.Status() != hermesfake.Completed {
			t.Errorf("after its time: %+v, %s", f, run)
		}
		if text, _ := failed.Load().(string); !strings.Contains(text, "source_freshness_unavailable") {
			t.Errorf("the script got %q", text)
		}

		f.ClearScripts()
		f.Sources().Verify(hermesfake.Verification{Takes: time.Hour})
		in := supply(t, f)
		in.SessionID = "other"
		ctx, _ = openHandoff(t, f, in)
		last := runWith(t, f, ctx, `{"input": "x", "session_id": "other"}`)
		done := make(chan error)
		go func() { done <- last.Complete("x") }()
		synctest.Wait()
		f.Close()
		if err := <-done; !errors.Is(err, hermesfake.Closed) {
			t.Errorf("after Close: %v", err)
		}
		if _, _, err := f.SupplyInput(t.Context(), in); !errors.Is(err, hermesfake.Closed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestCompletionThatComesTooLate: a completion that waits for a verification ends with the run.
func TestCompletionThatComesTooLate(t *testing.T) {
	for name, end := range map[string]func(*hermesfake.Fake, *hermesfake.Run) error{
		"failed": func(_ *hermesfake.Fake, run *hermesfake.Run) error { return run.Fail("x") },
		"reset":  func(f *hermesfake.Fake, _ *hermesfake.Run) error { return f.Reset() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := hermesfake.Start(t, hermesfake.WithFrozenClock(start2023))
				ctx, h := openHandoff(t, f, supply(t, f))
				run := runWith(t, f, ctx, rootSubmission)
				f.Sources().Verify(hermesfake.Verification{Takes: time.Hour})
				done := make(chan error, 1)
				go func() { done <- run.Complete("x") }()
				synctest.Wait()
				if err := end(f, run); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case err := <-done:
					if err == nil || h.Result() != nil {
						t.Errorf("%v, %v", err, h.Result())
					}
				default:
					t.Error("it still waits")
				}
			})
		})
	}
}

// TestChildrenAndAClose: children on many goroutines through the Go API, and a close in the middle.
func TestChildrenAndAClose(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithInputMisuseAllowed())
	ctx, h := openHandoff(t, f, supply(t, f))
	run := runWith(t, f, ctx, rootSubmission)
	var all, begun sync.WaitGroup
	for i := range 8 {
		begun.Add(1)
		all.Go(func() {
			child, err := run.Child(t.Context(), fmt.Sprint("child ", i))
			begun.Done()
			for err == nil {
				err = child.Tool(t.Context())
			}
			if !errors.Is(err, hermesfake.ErrHandoffClosed) {
				t.Errorf("a child got %v", err)
			}
		})
	}
	begun.Wait()
	h.Close()
	all.Wait()
	if _, err := run.Child(t.Context(), "late"); !errors.Is(err, hermesfake.ErrHandoffClosed) {
		t.Errorf("a late child got %v", err)
	}
}

// TestInputScripts: the steps of JSON scripts.
func TestInputScripts(t *testing.T) {
	for name, c := range map[string]struct {
		steps  string
		output string
		result bool
	}{
		"all of them": {`[{"participant": {"contact_id": "anna"}}, {"model_request": {"texts": ["x"]}}, {"tool": {}}, {"child": {"session_id": "c"}},
			{"model_request": {"child": "c"}}, {"tool": {"child": "c"}}, {"child": {"session_id": "cc", "child": "c"}},
			{"rotate_session": {"session_id": "r"}}, {"complete": "done"}]`, "done", true},
		"blocked":                 {`[{"participant": {"contact_id": "bert"}}, {"tool": {}, "on_blocked": [{"complete": "blocked"}]}, {"complete": "done"}]`, "blocked", false},
		"blocked, and going on":   {`[{"participant": {"contact_id": "anna", "authenticated": false}}, {"tool": {}}, {"complete": "done"}]`, "done", false},
		"a child that is blocked": {`[{"participant": {"contact_id": "anna", "parent_session_id": "x"}}, {"tool": {}, "on_blocked": [{"after": 1}, {"complete": "blocked"}]}, {"complete": "done"}]`, "blocked", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := hermesfake.Start(t)
			if err := f.SetScript(`{"steps": ` + c.steps + `}`); err != nil {
				t.Fatal(err)
			}
			ctx, h := openHandoff(t, f, supply(t, f))
			run := runWith(t, f, ctx, rootSubmission)
			awaitSettled(t, run)
			if !strings.Contains(run.JSON(), `"output": "`+c.output+`"`) || (h.Result() != nil) != c.result {
				t.Errorf("%s, result %+v, failure %+v", run.JSON(), h.Result(), h.Failure())
			}
		})
	}
	f := hermesfake.Start(t)
	for _, step := range []string{
		`{"tool": "terminal"}`, `{"tool": {"x": 1}}`, `{"tool": {}, "status": "running"}`, `{"child": {}}`, `{"child": {"session_id": 1}}`,
		`{"participant": {}}`, `{"participant": {"contact_id": "a"}, "on_blocked": [{"fail": "x"}]}`, `{"tool": {}, "on_blocked": []}`,
		`{"tool": {}, "on_blocked": [{"tool": {}}]}`, `{"on_blocked": [{"fail": "x"}]}`, `{"on_blocked": [{"fail": "x"}], "status": "running"}`,
		`{"rotate_session": {}}`, `{"model_request": {"texts": "x"}}`, `{"model_request": {"texts": [1]}}`,
	} {
		if err := f.SetScript(`{"steps": [` + step + `, {"complete": "done"}]}`); !errors.Is(err, hermesfake.ErrScript) || !strings.Contains(err.Error(), "steps[0]") {
			t.Errorf("%s: %v", step, err)
		}
	}
}

// shownIn fails the test for each marker that a text shows.
func shownIn(t *testing.T, planted markers, where, text string) {
	t.Helper()
	if found := planted.in(text); found != nil {
		t.Errorf("%s shows %v", where, found)
	}
}

// TestInputPrivacy plants message texts, blocks and recall queries, and looks for them everywhere.
func TestInputPrivacy(t *testing.T) {
	var log strings.Builder
	f := hermesfake.Start(t, hermesfake.WithFrozenClock(start2023), hermesfake.WithInputMisuseAllowed(),
		hermesfake.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	planted := markers{}
	c := client{f.Client(), hermesfake.BaseURL}
	send := func(path, body string, want int) string {
		t.Helper()
		status, text, err := c.fetch(t.Context(), "POST", "/__admin/hermes/supplied-input"+path, body)
		if err != nil || status != want {
			t.Fatalf("%s: %d %s %v", path, status, text, err)
		}
		return text
	}
	put := func(id, text string) string {
		return send("/sources", fmt.Sprintf(`{"source_id": %q, "text": %q}`, id, text), 201)
	}
	message := planted.of("message")
	told := put("m", message) + put("s", planted.of("source")) + put("s", planted.of("new version"))
	told += send("/sources/s/annotate", `{"annotation": "`+planted.of("annotation")+`"}`, 200)
	in := hermesfake.TransportInput{ContactID: "anna", Platform: "chat", RecallQuery: planted.of("recall query"),
		Inputs: []hermesfake.InputParent{{SourceID: "m", InputMessageHash: hermesfake.HashText(message)}}, Sources: []hermesfake.SourceParent{{SourceID: "s", SourceVersion: 2}}}
	ctx, h, err := f.SupplyTransportInput(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	block, err := h.Append("s", planted.of("block"))
	if err != nil {
		t.Fatal(err)
	}
	run := runWith(t, f, ctx, fmt.Sprintf(`{"input": %q}`, planted.of("task")+"\n"+block))
	if err := run.ModelRequest(t.Context(), planted.of("native request")+"\n"+block); err != nil {
		t.Fatal(err)
	}
	if err := run.Complete("the output"); err != nil || h.Result() == nil {
		t.Fatal(err)
	}
	h.Close()
	submitWith(t, f, ctx, "", `{"input": "`+planted.of("late task")+`"}`)
	for _, bad := range []string{
		`{"contact_id": "%s", "x": 1}`, `{"contact_id": ["%s"]}`, `{"%s": 1}`, `%s`, `{"contact_id": "a", "session_id": "b", "inputs": ["%s"]}`,
		`{"contact_id": "a", "session_id": "b", "inputs": [{"source_id": "m", "input_message_hash": "%s"}]}`,
		`{"contact_id": "a", "session_id": "b", "inputs": [{"source_id": "m", "%s": 1}]}`,
	} {
		told += send("", fmt.Sprintf(bad, planted.of("bad opening")), 400)
	}
	told += send("/sources", `{"source_id": "m", "text": ["`+planted.of("bad source")+`"]}`, 400)
	for _, path := range []string{"", "/scopes/" + h.ID(), "/sources", "/sources/m", "/queue", "/misuses", "/verifications", "/scopes/" + h.ID() + "/failure"} {
		status, text, err := c.fetch(t.Context(), "GET", "/__admin/hermes/supplied-input"+path, "")
		if err != nil || status != 200 {
			t.Fatalf("%s: %d %s %v", path, status, text, err)
		}
		told += text
	}
	_, requests, _ := c.fetch(t.Context(), "GET", "/__admin/requests", "")
	shownIn(t, planted, "the control plane", told+requests)
	shownIn(t, planted, "the log", log.String())
	shownIn(t, planted, "the dump", f.Dump())
	shownIn(t, planted, "a misuse", fmt.Sprintf("%+v %v", f.InputMisuses(), f.InputMisuses()))
	shownIn(t, planted, "the scopes", fmt.Sprintf("%+v", f.Handoffs()))
	queued, err := f.Sources().Queued()
	if err != nil || len(queued) != 1 || strings.Contains(fmt.Sprintf("%+v", queued), "the output") {
		t.Errorf("queued %+v, %v", queued, err)
	}
	shownIn(t, planted, "the queue", fmt.Sprintf("%+v", queued))
	if work := f.Work("anna"); len(work) != 1 || work[0].Excerpt != message { // that is what it is for
		t.Errorf("work %+v", work)
	}
}

func TestNoRunAndNoHandoff(t *testing.T) {
	f := hermesfake.Start(t)
	var run *hermesfake.Run
	child, err := run.Child(t.Context(), "x")
	if _, err := child.Child(t.Context(), "x"); !errors.Is(err, hermesfake.ErrNoRun) || child.SessionID() != "" {
		t.Errorf("a child of no child: %v", err)
	}
	for i, err := range []error{err, run.ModelRequest(t.Context()), run.Tool(t.Context()), run.RotateSession(t.Context(), "x"),
		run.SetParticipant(hermesfake.Participant{}), child.ModelRequest(t.Context()), child.Tool(t.Context()), child.RotateSession(t.Context(), "x")} {
		if !errors.Is(err, hermesfake.ErrNoRun) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if _, ok := run.Handoff(); ok || run.RecallQuery() != "" {
		t.Error("no run has a scope")
	}
	ctx, h, err := f.SupplyInput(t.Context(), hermesfake.SuppliedInput{})
	if !errors.Is(err, hermesfake.ErrSuppliedInput) || h != nil || ctx != t.Context() {
		t.Errorf("%v, %v", h, err)
	}
	for _, h := range []*hermesfake.Handoff{h, {}} {
		if h.ID() != "" || h.Result() != nil || h.Failure() != nil || h.State().ID != "" {
			t.Errorf("no handoff has %s, %v, %v, %v", h.ID(), h.Result(), h.Failure(), h.State())
		}
		if _, err := h.Append("s", "text"); !errors.Is(err, hermesfake.ErrNoHandoff) {
			t.Errorf("append: %v", err)
		}
		if err := h.Revalidate(ctx); !errors.Is(err, hermesfake.ErrNoHandoff) {
			t.Errorf("revalidate: %v", err)
		}
		h.Close()
	}
}
