package examples_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine/suppliedinput/badgerqueue"
)

// host is the code under test: it has the agent do a derived task with a message that it has captured.
type host struct {
	hermes *hermesfake.Fake // in a real host: the agent's own functions
	client *http.Client
	kept   []hermesfake.HandoffResult
}

// task runs one task in a scope of its own. The result is persisted before the scope is left.
func (h *host) task(t *testing.T, in hermesfake.SuppliedInput) (*hermesfake.Handoff, *hermesfake.HandoffFailure) {
	ctx, handoff, err := h.hermes.SupplyInput(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer handoff.Close()
	h.submit(t, ctx, `{"input": "summarize this", "session_id": "`+in.SessionID+`"}`)
	if result := handoff.Result(); result != nil {
		h.kept = append(h.kept, *result)
	}
	return handoff, handoff.Failure()
}

// submit submits a run that belongs to the scope of ctx, and waits until it has settled.
func (h *host) submit(t *testing.T, ctx context.Context, body string) (status int) {
	r, err := http.NewRequestWithContext(ctx, "POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	var admitted struct {
		RunID string `json:"run_id"`
	}
	if status := decode(t, res, &admitted); status != http.StatusAccepted {
		return status
	}
	if _, err := h.hermes.Run(admitted.RunID).WaitSettled(t.Context()); err != nil {
		t.Fatal(err)
	}
	return http.StatusAccepted
}

// supply starts a fake whose agent asks its model once, and puts a message that a person wrote.
func supply(t hermesfake.T, options ...hermesfake.Option) (*host, hermesfake.SuppliedInput) {
	hermes := hermesfake.Start(t, options...)
	hermes.Script(func(ctx context.Context, run *hermesfake.Run) {
		run.Start()
		if err := run.ModelRequest(ctx); errors.Is(err, hermesfake.ErrHandoffBlocked) {
			run.Complete("I cannot see what this is about.")
			return
		}
		run.Complete("They are late.")
	})
	message, err := hermes.Sources().Put(hermesfake.Source{ID: "message-1", Text: "I am late, sorry!"})
	if err != nil {
		t.Errorf("%v", err)
	}
	return &host{hermes: hermes, client: hermes.Client()}, hermesfake.SuppliedInput{
		ContactID: "anna",
		SessionID: "task-1",
		Inputs:    []hermesfake.InputParent{{SourceID: message.ID, InputMessageHash: message.InputMessageHash}},
	}
}

// A host that does it right: one retry, of a failure that is retryable, after it has revalidated the parents.
func TestSuppliedInput(t *testing.T) {
	h, in := supply(t)
	h.hermes.Sources().Verify(hermesfake.Verification{Failure: hermesfake.VerifyHTTP503, Times: 1})

	handoff, failure := h.task(t, in)
	if failure == nil || !failure.Retryable {
		t.Fatalf("failure %+v", failure)
	}
	if err := handoff.Revalidate(t.Context()); err != nil {
		t.Fatal(err)
	}
	in.SessionID = "task-1-again"
	if _, failure := h.task(t, in); failure != nil {
		t.Fatalf("failure %+v", failure)
	}

	if len(h.kept) != 1 || h.kept[0].SessionID != "task-1-again" || h.kept[0].InputRefs[0].SourceID != "message-1" {
		t.Errorf("kept %+v", h.kept)
	}
}

// testReport stands for the *testing.T of a test that is to fail.
type testReport struct {
	errors  []string
	cleanup func()
	*testing.T
}

func (r *testReport) Errorf(format string, args ...any) { r.errors = append(r.errors, format) }
func (r *testReport) Failed() bool                      { return len(r.errors) > 0 }
func (r *testReport) Cleanup(end func())                { r.cleanup = end }
func (r *testReport) Logf(string, ...any)               {}

// A host that retries whatever failed is caught: its test fails, with the line.
func TestRetryOfWhatIsNotRetryable(t *testing.T) {
	report := &testReport{T: t}
	h, in := supply(report)
	h.hermes.Sources().Verify(hermesfake.Verification{Failure: hermesfake.VerifyHTTP403, Times: 1})

	if _, failure := h.task(t, in); failure == nil || failure.Retryable {
		t.Fatalf("failure %+v", failure)
	}
	in.SessionID = "task-1-again"
	h.task(t, in) // must not be

	misuses := h.hermes.InputMisuses()
	if len(misuses) != 1 || !strings.HasPrefix(misuses[0].Where, "supplied_input_test.go:") {
		t.Errorf("caught %v", misuses)
	}
	report.cleanup()
	if len(report.errors) != 1 {
		t.Errorf("the test got %q", report.errors)
	}
}

// A person takes the message back after the task was done: what came of it must not be shown.
func TestErasedBeforeDisplay(t *testing.T) {
	h, in := supply(t)
	if _, failure := h.task(t, in); failure != nil || len(h.kept) != 1 {
		t.Fatalf("failure %+v, kept %+v", failure, h.kept)
	}
	if err := h.hermes.Revalidate(t.Context(), h.kept[0]); err != nil {
		t.Fatal(err)
	}
	if dependents, err := h.hermes.Sources().Erase("message-1"); err != nil || dependents != 1 {
		t.Fatalf("%d dependents, %v", dependents, err)
	}
	err := h.hermes.Revalidate(t.Context(), h.kept[0])
	if !errors.Is(err, hermesfake.SourceInputErased) {
		t.Errorf("it may still be shown: %v", err)
	}
}

// A worker that got a copy of the context goes on after the scope was left: it gets nowhere, and the test is told.
func TestWorkerThatOutlivesTheScope(t *testing.T) {
	h, in := supply(t, hermesfake.WithInputMisuseAllowed())
	ctx, handoff, err := h.hermes.SupplyInput(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	left, done := make(chan struct{}), make(chan int)
	go func() {
		<-left
		done <- h.submit(t, ctx, `{"input": "one more thing", "session_id": "task-1"}`)
	}()
	handoff.Close()
	close(left)
	if status := <-done; status != http.StatusConflict {
		t.Errorf("the worker got %d", status)
	}
	if misuses := h.hermes.InputMisuses(); len(misuses) != 1 {
		t.Errorf("misuses %v", misuses)
	}
}

// The agent is resumed by a message on a platform. The run that comes of it binds, and recalls what the host asks for, not what the
// message says.
func TestTransportResume(t *testing.T) {
	h, in := supply(t)
	h.hermes.ClearScripts()
	h.hermes.Script(func(ctx context.Context, run *hermesfake.Run) {
		run.SetParticipant(hermesfake.Participant{ContactID: "anna", Platform: "chat"})
		run.Start()
		if run.ModelRequest(ctx) != nil {
			run.Fail("no sources")
			return
		}
		run.Complete("recalled: " + run.RecallQuery())
	})
	ctx, handoff, err := h.hermes.SupplyTransportInput(t.Context(), hermesfake.TransportInput{
		ContactID:   "anna",
		Platform:    "chat",
		RecallQuery: "when does anna arrive?",
		Inputs:      in.Inputs,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer handoff.Close()
	h.submit(t, ctx, `{"input": "go on", "session_id": "resumed"}`)
	result := handoff.Result()
	if result == nil || result.SessionID != "resumed" {
		t.Fatalf("result %+v, failure %+v", result, handoff.Failure())
	}
	if last := h.hermes.Runs().Last(); !strings.Contains(last.JSON(), "recalled: when does anna arrive?") {
		t.Errorf("%s", last.JSON())
	}
}

// What was recorded outlives the fake and its process, so that a result of before can still be revalidated after a restart.
func TestResultAfterARestart(t *testing.T) {
	dir := t.TempDir()
	queue, err := badgerqueue.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	hermes := hermesfake.New(hermesfake.WithInputQueue(queue))
	message, err := hermes.Sources().Put(hermesfake.Source{ID: "message-1", Text: "I am late, sorry!"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, handoff, err := hermes.SupplyInput(t.Context(), hermesfake.SuppliedInput{ContactID: "anna", SessionID: "task-1",
		Inputs: []hermesfake.InputParent{{SourceID: message.ID, InputMessageHash: message.InputMessageHash}}})
	if err != nil {
		t.Fatal(err)
	}
	hermes.Script(func(_ context.Context, run *hermesfake.Run) { run.Complete("They are late.") })
	h := &host{hermes: hermes, client: hermes.Client()}
	h.submit(t, ctx, `{"input": "summarize this", "session_id": "task-1"}`)
	result := handoff.Result()
	if result == nil {
		t.Fatal("no result")
	}
	hermes.Close()
	queue.Close()

	if queue, err = badgerqueue.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	hermes = hermesfake.New(hermesfake.WithInputQueue(queue))
	defer hermes.Close()
	if _, err := hermes.Sources().Put(hermesfake.Source{ID: message.ID, Text: message.Text}); err != nil {
		t.Fatal(err)
	}
	if err := hermes.Revalidate(t.Context(), *result); err != nil {
		t.Error(err)
	}
	if dependents, err := hermes.Sources().Erase(message.ID); err != nil || dependents != 1 {
		t.Errorf("%d dependents, %v", dependents, err)
	}
}
