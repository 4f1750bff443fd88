package hermesfake_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/faults"
)

// What a test that fails has in its log.
func ExampleFake_Dump() {
	hermes := hermesfake.New(hermesfake.WithSeed(42), hermesfake.WithFrozenClock(time.Unix(1700000000, 0)))
	post := func(path, key, body string) {
		r, _ := http.NewRequest("POST", hermesfake.BaseURL+path, strings.NewReader(body))
		r.Header.Set("Idempotency-Key", key)
		if res, err := hermes.Client().Do(r); err == nil {
			res.Body.Close()
		}
	}
	post("/v1/runs", "order-7", `{"input": "a secret"}`)
	first := hermes.Runs().Last()
	first.Start()
	first.Delta("Hel")
	hermes.Advance(90 * time.Second)
	first.Complete("Hello")
	hermes.Inject(faults.SubmitAcceptedDrop())
	post("/v1/runs", "order-8", `{"input": "a secret"}`)
	second := hermes.Runs().Last()
	second.Start()
	post("/v1/runs/"+second.ID()+"/steer", "", `{"text": "a secret"}`)
	second.RequestApproval(hermesfake.Approval{Command: "rm -rf build"})
	hermes.Advance(5 * time.Minute)
	post("/v1/runs/"+second.ID()+"/stop", "", "")
	post("/v1/responses", "", `{"input": "a secret"}`)

	fmt.Println(hermes.Dump())
	// Output:
	// hermesfake 0.1.0, seed 42
	//   faults    1 rule
	//     fault-1        RunCreate: accepted_drop (1 hit, 0 left)
	//   requests  5: RunCreate lost x1, RunCreate 202 x1, RunSteer 200 x1, RunStop 200 x1, no operation x1; 1 met a fault
	//
	// namespace default
	//   clock     2023-11-14T22:19:50Z, frozen; next sweep in 30s
	//   scope     default, unauthenticated-test-listener
	//   gateway   1 active of at most 10
	//   timeline  branch main at cp_00000000000000093539dc59edd4f7a6, 9 checkpoints kept
	//   runs      2 admitted, 2 cached, 2 rows, 0 open streams
	//     run_0dd5ae0415d3a0f4e2b4656e83929e0c  completed             admitted 6m30s ago, settled 5m ago
	//         last_event run.completed
	//         output     "Hello"
	//         row        completed, written 5m ago
	//     run_2090b0ccc9108d40b7566f1132c0a139  stopping              admitted 5m ago, updated now
	//         last_event run.stopping
	//         approval   pending, asked 5m ago: "rm -rf build"
	//         steers     1 taken
	//         row        stopping, written now
	//         events     2 for the next subscriber, 318 bytes
	//   requests  5
	//     22:13:20.000  202   POST /v1/runs  (run_0dd5ae0415d3a0f4e2b4656e83929e0c, accepted)
	//     22:14:50.000  lost  POST /v1/runs  (run_2090b0ccc9108d40b7566f1132c0a139, accepted, fault fault-1)
	//     22:14:50.000  200   POST /v1/runs/run_2090b0ccc9108d40b7566f1132c0a139/steer  (accepted)
	//     22:19:50.000  200   POST /v1/runs/run_2090b0ccc9108d40b7566f1132c0a139/stop  (accepted)
	//     22:19:50.000  501   POST /v1/responses
}

// lines checks that a dump has each text in a line of its own, in order.
func lines(t *testing.T, dump string, texts ...string) {
	t.Helper()
	rest := dump
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Fatalf("the dump lacks %q, or has it too early:\n%s", text, dump)
		}
		_, rest, _ = strings.Cut(after, "\n")
	}
}

func TestDump(t *testing.T) {
	f := hermesfake.New(hermesfake.WithFrozenClock(start2023), hermesfake.WithStore(engine.NewMemoryStore()), hermesfake.WithJournalSize(6),
		hermesfake.WithMaxConcurrentRuns(0))
	defer f.Close()
	c := client{f.Client(), hermesfake.BaseURL}
	if _, err := c.submit(t.Context(), "k", `{"input": "x", "model": "m-1", "session_id": ["s", {}]}`); err != nil {
		t.Fatal(err)
	}
	submit(t, f, `{"input": "x"}`)
	f.SetScope("work", "me\nor you")
	lost := f.Run(submit(t, f, `{"input": "x"}`))
	res := follow(t, f.Client(), hermesfake.BaseURL, lost)
	defer res.Body.Close()
	f.Advance(12 * time.Second)
	lost.Start()
	lost.RequestApproval(hermesfake.Approval{Command: strings.Repeat("ü", 80)})
	request(t, f, "POST", "/v1/runs/"+lost.ID()+"/approval", `{"choice": "always"}`)
	lost.AcceptSteer(false)
	follow(t, f.Client(), hermesfake.BaseURL, lost).Body.Close()
	f.SetDraining(true)
	f.Inject(faults.Rule{Operation: hermesfake.RunGet, Status: 418, Body: "a body", Rate: 0.5, Delay: time.Minute, Namespace: "other"},
		faults.Rule{Drop: true, Count: 1, Namespace: "other"})
	request(t, f, "GET", "/nope", "")
	request(t, f, "GET", "/nope", "")
	view, err := f.Namespace("view")
	if err != nil {
		t.Fatal(err)
	}
	view.Script(func(context.Context, *hermesfake.Run) {})
	awaitSettled(t, view.Run(submit(t, view, `{"input": "x"}`)))
	lines(t, f.Dump(),
		"store     *engine.MemoryStore", "faults    2 rules",
		"fault-1        RunGet in other at rate 0.5: delay 1m0s, answer 418 (0 hits, no bound)",
		"fault-2        any request in other: drop (0 hits, 1 left)",
		"scripts   1 for namespace view", "error: script of run_", "requests  9: RunApproval 200 x1, RunCreate 202 x4, RunEvents 200 x2, no operation x2",
		"unmatched GET /nope, 2 times",
		"namespace default", "clock     2023-11-14T22:13:32Z, frozen; next sweep in 48s", `scope     work, "me\nor you"`,
		"gateway   3 active of at most any number, draining", "runs      3 admitted, 3 cached, 1 row, 1 open stream",
		"queued                admitted 12s ago, updated 12s ago", "scope      default, unauthenticated-test-listener", `session_id ["s", {}]`,
		`model      "m-1"`, "row        queued, written 12s ago",
		lost.ID()+"  running               admitted 12s ago, updated now", "last_event approval.responded",
		"approval   answered now: always", "steers     0 taken; the executor refuses more", "subscriber waits for 0ms",
		"subscriber waits for 0ms; its client has gone, which the gateway has not noticed",
		"requests  8, 2 fell out of the journal", "22:13:20.000  202   POST /v1/runs  ("+lost.ID()+", accepted)",
		"22:13:32.000  404   GET  /nope  (no route)",
		"namespace view", "failed", `error      "hermesfake: the script ended without settling the run"`)
	if strings.Contains(f.Dump(), "a body") {
		t.Error("the dump has the body of a fault rule")
	}
	if first, own := strings.Index(view.Dump(), "namespace default"), strings.Index(view.Dump(), "namespace view"); own > first {
		t.Error("a view's own namespace is not the first one")
	}
	f.Restart(hermesfake.OwnerAlive)
	f.SetScope(engine.DefaultProfile, engine.DefaultIdentity)
	f.Advance(25 * time.Hour)
	lines(t, f.Dump(), "clock     2023-11-15T23:13:32Z", "restarted the owner of unfinished rows is alive",
		"runs      3 admitted, 0 cached, 1 row, 0 open streams", "admitted 1d1h ago", "row        queued, written 1d1h ago; not in the cache")
}

// TestDumpIsBounded proves that it stays readable however much there is.
func TestDumpIsBounded(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithUnmatchedAllowed(), hermesfake.WithMaxConcurrentRuns(0))
	for i := range 60 {
		view, err := f.Namespace(fmt.Sprintf("n%d", i))
		if err != nil {
			t.Fatal(err)
		}
		request(t, view, "GET", fmt.Sprintf("/nope/%d/%s", i, strings.Repeat("x", 5000)), "")
		f.Inject(faults.Rule{ID: fmt.Sprintf("%d%s", i, strings.Repeat("y", 5000)), Drop: true, PathPrefix: "/" + strings.Repeat("z", 5000)})
	}
	f.ClearFaults()
	for range 200 {
		run := f.Run(submit(t, f, `{"input": "x", "model": "`+strings.Repeat("m", 5000)+`"}`))
		run.RequestApproval(hermesfake.Approval{Command: strings.Repeat("\n", 5000)})
		run.Complete(strings.Repeat("é", 5000))
	}
	text := f.Dump()
	if n := strings.Count(text, "\n"); n > 600 || len(text) > 60_000 {
		t.Errorf("%d lines, %d bytes", n, len(text))
	}
	for line := range strings.Lines(text) {
		if len(line) > 300 || !utf8.ValidString(line) {
			t.Fatalf("a line of %d bytes: %q", len(line), line)
		}
	}
	lines(t, text, "unmatched ... 50 more", "namespace default", "... 150 earlier", "(10000 bytes)", "requests  200", "... 150 earlier", "... 41 more namespaces")
}

// TestDumpHidesKeys proves that an API key is not shown as the identity that it is.
// TestDumpIsPrintable proves that nothing that came in breaks a line of the dump, or drives a terminal.
func TestDumpIsPrintable(t *testing.T) {
	hermes := hermesfake.New(hermesfake.WithUnmatchedAllowed())
	t.Cleanup(hermes.Close)
	const hostile = "a\x1b[31m\nb\r\u2028\u202e\x00\u009b"
	hermes.Script(func(context.Context, *hermesfake.Run) { panic(hostile) })
	for _, path := range []string{"/v1/runs", "/" + hostile} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"input": "x", "model": "\u001b\n"}`))
		r.URL.Path = path
		if path != "/v1/runs" {
			r.Method = "P" + hostile
		}
		hermes.ServeHTTP(httptest.NewRecorder(), r)
	}
	run := hermes.Runs().Last()
	if _, err := run.WaitSettled(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range strings.ReplaceAll(hermes.Dump(), "\n", "") {
		if !strconv.IsPrint(c) {
			t.Fatalf("%q in the dump:\n%s", c, hermes.Dump())
		}
	}
	if dump := hermes.Dump(); !strings.Contains(dump, `panicked: a\x1b[31m`) || !strings.Contains(dump, `Pa\x1b[31m\nb`) {
		t.Errorf("the dump lacks what came in:\n%s", dump)
	}
}

func TestDumpHidesKeys(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithAPIKey("key-1"), hermesfake.WithProfile("work", "key-2"))
	c := client{&http.Client{Transport: bearer{f, "key-2"}}, hermesfake.BaseURL + "/p/work"}
	if _, err := c.submit(t.Context(), "", `{"input": "x"}`); err != nil {
		t.Fatal(err)
	}
	lines(t, f.Dump(), "scope     default, identified by its API key", "scope      work, identified by its API key")
	if s := readState(t, f, ""); s.Scope.Profile != "default" || s.Scope.Identity != nil {
		t.Errorf("%+v", s.Scope)
	}
	f.SetScope("work", "key-2")
	for _, text := range []string{f.Dump(), fmt.Sprint(request(t, f, "GET", "/__admin/state", ""))} {
		if strings.Contains(text, "key-") {
			t.Errorf("a key is shown: %s", text)
		}
	}
}

// bearer sends requests with a bearer token.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	with := r.Clone(r.Context())
	with.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(with)
}

// TestStartShowsWhatWasOpen proves that the dump of a failed test is of before the end, when streams are open.
func TestStartShowsWhatWasOpen(t *testing.T) {
	r := &recorder{}
	f := hermesfake.Start(r)
	res := follow(t, f.Client(), hermesfake.BaseURL, f.Run(submit(t, f, `{"input": "x"}`)))
	defer res.Body.Close()
	r.Errorf("a test has failed")
	r.end()
	lines(t, strings.Join(r.logs, "\n"), "the state when the test failed", "1 open stream", "subscriber waits for")
}
