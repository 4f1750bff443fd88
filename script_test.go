package hermesfake_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
)

// start2023 is when frozen clocks of these tests stand.
var start2023 = time.Unix(1_700_000_000, 0)

// submit submits a run and returns its id.
func submit(t *testing.T, f *hermesfake.Fake, body string) string {
	t.Helper()
	status, reply := request(t, f, "POST", "/v1/runs", body)
	if status != http.StatusAccepted {
		t.Fatalf("submission: %d %s", status, reply)
	}
	var admitted struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(reply), &admitted); err != nil {
		t.Fatal(err)
	}
	return admitted.RunID
}

// request sends a request in process and returns the reply.
func request(t *testing.T, f *hermesfake.Fake, method, path, body string) (status int, reply string) {
	t.Helper()
	r, err := http.NewRequest(method, hermesfake.BaseURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := f.Client().Do(r)
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

// awaitSettled waits until the run has settled.
func awaitSettled(t *testing.T, run *hermesfake.Run) hermesfake.Status {
	t.Helper()
	return awaitSettledIn(t, run, time.Minute)
}

func awaitSettledIn(t *testing.T, run *hermesfake.Run, d time.Duration) hermesfake.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	status, err := run.WaitSettled(ctx)
	if err != nil {
		t.Fatalf("%s: %v", run, err)
	}
	return status
}

func TestScriptAnswersByApproval(t *testing.T) {
	for choice, want := range map[string]string{
		"deny": `"error": "denied"`, "once": `"output": "done"`, "approved": `"output": "done"`,
	} {
		t.Run(choice, func(t *testing.T) {
			f := hermesfake.Start(t)
			f.Script(func(ctx context.Context, run *hermesfake.Run) {
				run.Start()
				run.ToolStarted("terminal", "go test ./...")
				switch run.AskApproval(ctx, hermesfake.Approval{Command: "rm -rf build"}) {
				case hermesfake.Deny:
					run.Fail("denied")
				default:
					run.Complete("done")
				}
			})
			run := f.Run(submit(t, f, `{"input": "clean"}`))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := run.WaitStatus(ctx, hermesfake.WaitingForApproval); err != nil {
				t.Fatal(err)
			}
			if status, reply := request(t, f, "POST", "/v1/runs/"+run.ID()+"/approval", `{"choice": "`+choice+`"}`); status != 200 {
				t.Fatalf("approval: %d %s", status, reply)
			}
			awaitSettled(t, run)
			if !strings.Contains(run.JSON(), want) {
				t.Errorf("got %s, want %s in it", run.JSON(), want)
			}
		})
	}
}

// A stop while the script asks is no answer: the script returns, which cancels the run.
func TestScriptThatAsksIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := hermesfake.Start(t)
		answer := make(chan hermesfake.Choice, 1)
		f.Script(func(ctx context.Context, run *hermesfake.Run) {
			answer <- run.AskApproval(ctx, hermesfake.Approval{Command: "rm -rf build"})
		})
		run := f.Run(submit(t, f, `{"input": "clean"}`))
		synctest.Wait()
		if status, reply := request(t, f, "POST", "/v1/runs/"+run.ID()+"/stop", ""); status != 200 {
			t.Fatalf("stop: %d %s", status, reply)
		}
		if got := awaitSettled(t, run); got != hermesfake.Cancelled {
			t.Errorf("got %s", run)
		}
		if got := <-answer; got != "" {
			t.Errorf("the script got the answer %q", got)
		}
	})
}

// A script that sleeps an hour takes none in a bubble, with no option set.
func TestScriptSleepsInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := hermesfake.Start(t)
		f.Script(func(ctx context.Context, run *hermesfake.Run) {
			run.Start()
			run.Sleep(ctx, time.Hour)
			run.Complete("late")
		})
		began := time.Now()
		run := f.Run(submit(t, f, `{"input": "x"}`))
		if got := awaitSettledIn(t, run, 2*time.Hour); got != hermesfake.Completed {
			t.Fatalf("got %s", run)
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("took %s, want exactly an hour", took)
		}
	})
}

// A moved clock stops at each moment that a script sleeps for, and the script
// has acted when Advance returns.
func TestAdvanceStepsThroughScripts(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithFrozenClock(start2023))
	f.Script(func(ctx context.Context, run *hermesfake.Run) {
		run.Sleep(ctx, 10*time.Second)
		run.Start()
		run.Sleep(ctx, 20*time.Second)
		run.ToolStarted("terminal", "")
		run.Sleep(ctx, 30*time.Second)
		run.Complete("done")
	})
	id := submit(t, f, `{"input": "x"}`)
	run := f.Run(id)
	for _, c := range []struct {
		advance time.Duration
		status  hermesfake.Status
		updated int64
	}{
		{9 * time.Second, hermesfake.Queued, 0},
		{time.Second, hermesfake.Running, 10},
		{19999 * time.Millisecond, hermesfake.Running, 10},
		{time.Hour, hermesfake.Completed, 60},
	} {
		if err := f.Advance(c.advance); err != nil {
			t.Fatal(err)
		}
		in, err := run.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if at := in.Run.UpdatedAt().Unix() - start2023.Unix(); in.Run.Status() != c.status || at != c.updated {
			t.Errorf("after %s more: %s since %d s, want %s since %d s", c.advance, in.Run.Status(), at, c.status, c.updated)
		}
	}
	if got := f.Now().Sub(start2023); got != 10*time.Second+19999*time.Millisecond+time.Hour {
		t.Errorf("the clock moved by %s", got)
	}
}

func TestScriptSeesStop(t *testing.T) {
	for name, c := range map[string]struct {
		play func(context.Context, *hermesfake.Run)
		want hermesfake.Status
	}{
		"returns":   {func(ctx context.Context, run *hermesfake.Run) { <-ctx.Done() }, hermesfake.Cancelled},
		"cancels":   {func(ctx context.Context, run *hermesfake.Run) { <-ctx.Done(); run.Cancel() }, hermesfake.Cancelled},
		"completes": {func(ctx context.Context, run *hermesfake.Run) { <-ctx.Done(); run.Complete("won") }, hermesfake.Completed},
		"waits":     {func(ctx context.Context, run *hermesfake.Run) { run.WaitStop(ctx) }, hermesfake.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			f := hermesfake.Start(t)
			f.Script(func(ctx context.Context, run *hermesfake.Run) {
				c.play(ctx, run)
				if cause := context.Cause(ctx); !errors.Is(cause, hermesfake.ErrStopRequested) {
					t.Errorf("the context ended because of %v", cause)
				}
			})
			run := f.Run(submit(t, f, `{"input": "x"}`))
			if status, reply := request(t, f, "POST", "/v1/runs/"+run.ID()+"/stop", ""); status != 200 {
				t.Fatalf("stop: %d %s", status, reply)
			}
			if got := awaitSettled(t, run); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestScriptGoesWrong(t *testing.T) {
	for name, c := range map[string]struct {
		play func(context.Context, *hermesfake.Run)
		want string
	}{
		"forgets": {func(ctx context.Context, run *hermesfake.Run) { run.Start() }, "without settling"},
		"panics":  {func(ctx context.Context, run *hermesfake.Run) { panic("boom") }, "boom"},
		"exits":   {func(ctx context.Context, run *hermesfake.Run) { runtime.Goexit() }, "ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			f := hermesfake.New()
			defer f.Close()
			f.Script(c.play)
			run := f.Run(submit(t, f, `{"input": "x"}`))
			if got := awaitSettled(t, run); got != hermesfake.Failed || !strings.Contains(run.JSON(), c.want) {
				t.Errorf("got %s, want a failure with %q", run.JSON(), c.want)
			}
			f.Close()
			errs := f.ScriptErrors()
			if len(errs) != 1 || !errors.Is(errs[0], hermesfake.ErrScript) || !strings.Contains(errs[0].Error(), c.want) {
				t.Errorf("errors %v", errs)
			}
		})
	}
}

// recorder stands for a test that Start belongs to.
type recorder struct {
	cleanups []func()
	errors   []string
	logs     []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool     { return len(r.errors) > 0 }
func (r *recorder) Errorf(f string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(f, args...))
}
func (r *recorder) Logf(f string, args ...any) { r.logs = append(r.logs, fmt.Sprintf(f, args...)) }
func (r *recorder) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

func TestStartReports(t *testing.T) {
	r := &recorder{}
	f := hermesfake.Start(r)
	f.Script(func(context.Context, *hermesfake.Run) {})
	awaitSettled(t, f.Run(submit(t, f, `{"input": "a secret prompt"}`)))
	request(t, f, "GET", "/v1/nope", "")
	request(t, f, "GET", "/v1/nope", "")
	r.end()
	all := strings.Join(r.errors, "\n")
	for _, want := range []string{"GET /v1/nope matched no route, 2 times", "ended without settling the run"} {
		if !strings.Contains(all, want) {
			t.Errorf("errors %q lack %q", all, want)
		}
	}
	if dump := strings.Join(r.logs, "\n"); !strings.Contains(dump, "ended without settling") || strings.Contains(dump, "secret") {
		t.Errorf("dump %q", dump)
	}

	quiet := &recorder{}
	g := hermesfake.Start(quiet, hermesfake.WithUnmatchedAllowed())
	request(t, g, "GET", "/v1/nope", "")
	quiet.end()
	if len(quiet.errors)+len(quiet.logs) > 0 {
		t.Errorf("got %v %v, want silence", quiet.errors, quiet.logs)
	}
	if _, err := g.Client().Get(hermesfake.BaseURL + "/health"); err != nil {
		t.Errorf("health after Close: %v", err)
	}
	if status, _ := request(t, g, "POST", "/v1/runs", `{"input": "x"}`); status != http.StatusServiceUnavailable {
		t.Errorf("submission after Close: %d", status)
	}
}

// TestScriptErrorBeforeTheRunFails: who has seen a run fail because of its script sees the script's error.
func TestScriptErrorBeforeTheRunFails(t *testing.T) {
	for range 500 {
		f := hermesfake.New()
		f.Script(func(context.Context, *hermesfake.Run) {})
		awaitSettled(t, f.Run(submit(t, f, `{"input": "x"}`)))
		if n := len(f.ScriptErrors()); n != 1 {
			t.Fatalf("%d errors of a script that settled nothing", n)
		}
		f.Close()
	}
}

func TestScriptEndsWithItsGateway(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*hermesfake.Fake)
		cause error
	}{
		"restart": {func(f *hermesfake.Fake) { f.Restart(hermesfake.OwnerStale) }, hermesfake.ErrGatewayGone},
		"reset":   {func(f *hermesfake.Fake) { f.Reset() }, hermesfake.ErrGatewayGone},
		"settled": {func(f *hermesfake.Fake) { f.Runs().Last().Complete("by the test") }, hermesfake.ErrSettled},
		"close":   {func(f *hermesfake.Fake) { f.Close() }, hermesfake.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			f := hermesfake.Start(t)
			ended := make(chan error, 1)
			f.Script(func(ctx context.Context, run *hermesfake.Run) {
				run.Sleep(ctx, 24*time.Hour)
				ended <- context.Cause(ctx)
			})
			submit(t, f, `{"input": "x"}`)
			c.end(f)
			if cause := <-ended; !errors.Is(cause, c.cause) {
				t.Errorf("the context ended because of %v, want %v", cause, c.cause)
			}
		})
	}
}

func TestConditionPanics(t *testing.T) {
	f := hermesfake.New()
	defer f.Close()
	f.Script(func(ctx context.Context, run *hermesfake.Run) { run.Complete("wrong") }, func(hermesfake.Submission) bool { panic("boom") })
	f.Script(func(ctx context.Context, run *hermesfake.Run) { run.Complete("right") })
	run := f.Run(submit(t, f, `{"input": "x"}`))
	awaitSettled(t, run)
	if errs := f.ScriptErrors(); !strings.Contains(run.JSON(), "right") || len(errs) != 1 || !strings.Contains(errs[0].Error(), "boom") {
		t.Errorf("%s, %v", run.JSON(), errs)
	}
}

// A script from before a reset cannot touch the run after it, which has the same id.
func TestScriptCannotOutliveAReset(t *testing.T) {
	f := hermesfake.Start(t)
	resume, refused := make(chan struct{}), make(chan error, 1)
	f.Script(func(ctx context.Context, run *hermesfake.Run) {
		run.Start()
		<-resume
		refused <- run.Complete("late")
	}, hermesfake.ModelIs("old"))
	id := submit(t, f, `{"input": "x", "model": "old"}`)
	f.Reset()
	if again := submit(t, f, `{"input": "x"}`); again != id {
		t.Fatalf("the id after a reset is %s, was %s", again, id)
	}
	close(resume)
	if err := <-refused; !errors.Is(err, hermesfake.RunNotFound) {
		t.Errorf("the old script's Complete: %v", err)
	}
	if got := f.Run(id).Status(); got != hermesfake.Queued {
		t.Errorf("the new run is %s", got)
	}
}

func TestScriptIsChosen(t *testing.T) {
	f := hermesfake.Start(t)
	say := func(text string) func(context.Context, *hermesfake.Run) {
		return func(ctx context.Context, run *hermesfake.Run) { run.Complete(text) }
	}
	f.Script(say("deploys"), hermesfake.InputContains("deploy"), hermesfake.ModelIs("big"))
	f.Script(say("session"), hermesfake.SessionIs("s1"))
	f.Script(say("otherwise"))
	view, err := f.Namespace("own")
	if err != nil {
		t.Fatal(err)
	}
	view.Script(say("own"), hermesfake.ModelIs("m"))
	for _, c := range []struct {
		fake       *hermesfake.Fake
		body, want string
	}{
		{f, `{"input": "please deploy", "model": "big"}`, "deploys"},
		{f, `{"input": [{"role": "user", "content": [{"type": "text", "text": "now"}, "deploy"]}], "model": "big"}`, "deploys"},
		{f, `{"input": "please deploy", "session_id": "s1"}`, "session"},
		{f, `{"input": "x", "session_id": 1}`, "otherwise"},
		{view, `{"input": "x", "model": "m"}`, "own"},
	} {
		run := c.fake.Run(submit(t, c.fake, c.body))
		awaitSettled(t, run)
		if !strings.Contains(run.JSON(), `"output": "`+c.want+`"`) {
			t.Errorf("%s: got %s, want %s", c.body, run.JSON(), c.want)
		}
	}
	unplayed := view.Run(submit(t, view, `{"input": "x"}`))
	f.ClearScripts()
	unplayedToo := f.Run(submit(t, f, `{"input": "x"}`))
	if unplayed.Status() != hermesfake.Queued || unplayedToo.Status() != hermesfake.Queued {
		t.Errorf("got %s and %s, want both queued", unplayed, unplayedToo)
	}
}

func TestJSONScript(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithFrozenClock(start2023))
	err := f.SetScript(`{"scripts": [
		{"when": {"input": "danger"}, "steps": [
			{"status": "running"},
			{"approval": {"command": "rm", "request_id": "r"}, "on_deny": [{"fail": "denied"}]},
			{"complete": "removed"}]},
		{"when": {"model": "slow"}, "steps": [
			{"after": "90s", "status": "running"},
			{"after": 1500, "event": "tool.started", "tool": "t"},
			{"after": "1h"},
			{"complete": {"output": "slow", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}}]},
		{"steps": [{"fail": "no"}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	failed := f.Run(submit(t, f, `{"input": "x"}`))
	awaitSettled(t, failed)
	if !strings.Contains(failed.JSON(), `"error": "no"`) {
		t.Errorf("got %s", failed.JSON())
	}
	slow := f.Run(submit(t, f, `{"input": "x", "model": "slow"}`))
	f.Advance(2 * time.Hour)
	if want := `"updated_at": 1700003691.5`; !strings.Contains(slow.JSON(), want) || slow.Status() != hermesfake.Completed {
		t.Errorf("got %s, want completed with %s", slow.JSON(), want)
	}
	for choice, want := range map[string]string{"deny": `"error": "denied"`, "always": `"output": "removed"`} {
		run := f.Run(submit(t, f, `{"input": "danger"}`))
		f.Advance(time.Second)
		if status, reply := request(t, f, "POST", "/v1/runs/"+run.ID()+"/approval", `{"choice": "`+choice+`", "request_id": "r"}`); status != 200 {
			t.Fatalf("approval: %d %s", status, reply)
		}
		f.Advance(time.Second)
		if !strings.Contains(run.JSON(), want) {
			t.Errorf("%s: got %s", choice, run.JSON())
		}
	}
	stopped := f.Run(submit(t, f, `{"input": "x", "model": "slow"}`))
	request(t, f, "POST", "/v1/runs/"+stopped.ID()+"/stop", "")
	f.Advance(time.Second)
	if stopped.Status() != hermesfake.Cancelled {
		t.Errorf("got %s, want cancelled", stopped)
	}
}

func TestAutoScript(t *testing.T) {
	f := hermesfake.Start(t)
	if err := f.SetScript(hermesfake.AutoScript); err != nil {
		t.Fatal(err)
	}
	id := submit(t, f, `{"input": "x"}`)
	awaitSettled(t, f.Run(id))
	_, stream := request(t, f, "GET", "/v1/runs/"+id+"/events", "")
	deltas := 0
	for lines := bufio.NewScanner(strings.NewReader(stream)); lines.Scan(); {
		deltas += strings.Count(lines.Text(), "message.delta")
	}
	if deltas != 3 || !strings.HasSuffix(stream, ": stream closed\n\n") {
		t.Errorf("got %q", stream)
	}
}

func TestBadJSONScripts(t *testing.T) {
	f := hermesfake.Start(t)
	if err := f.SetScript(`{"steps": [{"complete": "the old one"}]}`); err != nil {
		t.Fatal(err)
	}
	for document, where := range map[string]string{
		`{`:                                  "not JSON",
		`[]`:                                 "must be an object",
		`{}`:                                 "script.steps",
		`{"steps": {}}`:                      "script.steps",
		`{"steps": [], "x": 1}`:              `unknown member "x"`,
		`{"steps": []}`:                      "must end with a step that settles",
		`{"steps": [{"status": "running"}]}`: "must end with a step that settles",
		`{"steps": [{"complete": "x"}, {"status": "running"}]}`:                "script.steps[1]: the run has settled",
		`{"steps": [{"approval": {}, "on_deny": []}, {"fail": "x"}]}`:          "script.steps[0].on_deny must end",
		`{"steps": [{"event": "mesage.delta"}, {"fail": "x"}]}`:                `"mesage.delta"`,
		`{"steps": [{"event": "message.delta", "detla": "x"}, {"fail": "x"}]}`: `no field "detla"`,
		`{"steps": [1]}`:  "script.steps[0]",
		`{"steps": [{}]}`: "script.steps[0]: is empty",
		`{"steps": [{"status": "running"}, {"status": "nope"}]}`:                         "script.steps[1]",
		`{"steps": [{"status": "running", "output": "x"}]}`:                              "output",
		`{"steps": [{"event": "message.delta", "delta": 1}]}`:                            "delta must be a string",
		`{"steps": [{"after": "soon"}]}`:                                                 "script.steps[0]",
		`{"steps": [{"after": -1}]}`:                                                     "not negative",
		`{"steps": [{"complete": 1}]}`:                                                   "complete must be",
		`{"steps": [{"complete": "x", "fail": "y"}]}`:                                    "complete must be",
		`{"steps": [{"complete": {"usage": {"input_tokens": 1}}}]}`:                      "usage",
		`{"steps": [{"approval": 1}]}`:                                                   "approval must be an object",
		`{"steps": [{"on_deny": []}]}`:                                                   "on_deny needs an approval",
		`{"steps": [{"approval": {}, "on_deny": [{"x": 1}]}]}`:                           "script.steps[0].on_deny[0]",
		`{"steps": [{"say": "x"}]}`:                                                      `"say"`,
		`{"scripts": [{"steps": [{"fail": "x"}]}, {"when": {"input": 1}, "steps": []}]}`: "scripts[1].when.input",
		`{"scripts": [], "steps": []}`:                                                   "nothing beside it",
		`{"when": {"prompt": "x"}, "steps": []}`:                                         `unknown member "prompt"`,
	} {
		err := f.SetScript(document)
		if !errors.Is(err, hermesfake.ErrScript) || !strings.Contains(fmt.Sprint(err), where) {
			t.Errorf("%s: got %v, want an error with %q", document, err, where)
		}
		status, reply := request(t, f, "POST", "/__admin/hermes/script", document)
		if status != http.StatusBadRequest || !strings.Contains(reply, `"invalid_request_error"`) {
			t.Errorf("%s: got %d %s", document, status, reply)
		}
	}
	run := f.Run(submit(t, f, `{"input": "x"}`))
	if awaitSettled(t, run); !strings.Contains(run.JSON(), "the old one") {
		t.Errorf("a bad script changed something: %s", run.JSON())
	}
}
