package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/canon"
)

// These tests hold the rules that the contract states and no recording proves.

type world struct {
	*Model
	t    *testing.T
	runs int
}

func newWorld(t *testing.T) *world { return &world{Model: New(start, 10), t: t} }

// admit submits, begins and returns a run; an empty key is none.
func (w *world) admit(key string) string {
	w.t.Helper()
	w.runs++
	id := fmt.Sprintf("run_%032x", w.runs)
	if r := w.submission(key, `{"input": "x"}`, id); r.Status != 202 || !strings.Contains(r.Body, id) {
		w.t.Fatalf("not admitted: %d %s", r.Status, r.Body)
	}
	w.Start(id)
	return id
}

func (w *world) submission(key, body, id string) Reply {
	return w.Request("POST", "/v1/runs", map[string]string{"Idempotency-Key": key}, []byte(body), id)
}

func (w *world) post(id, action, body string) Reply {
	return w.Request("POST", "/v1/runs/"+id+"/"+action, nil, []byte(body), "")
}

func (w *world) poll(id string) Reply { return w.Request("GET", "/v1/runs/"+id, nil, nil, "") }

func (w *world) after(d time.Duration) { w.Advance(int64(d)) }

// answers fails the test unless a reply has a status and, as part of its body, each of the texts.
func (w *world) answers(r Reply, status int, texts ...string) {
	w.t.Helper()
	if r.Status != status {
		w.t.Errorf("status %d, want %d: %s", r.Status, status, r.Body)
	}
	for _, text := range texts {
		if !strings.Contains(r.Body, text) {
			w.t.Errorf("%s\nlacks %s", r.Body, text)
		}
	}
}

func TestPruneOnlyAtKeyedLookup(t *testing.T) {
	w := newWorld(t)
	old := w.admit("old")
	w.Complete(old, "", nil, nil)
	active := w.admit("active")
	w.after(24*time.Hour + time.Millisecond)

	w.poll(active)
	w.admit("")
	w.answers(w.submission("new", `{}`, ""), 400)
	w.answers(w.submission("bad key", `{"input": "x"}`, ""), 400)
	w.answers(w.poll(old), 200)
	w.Sweep()
	w.answers(w.poll(old), 200)

	w.Capacity(1)
	w.answers(w.submission("new", `{"input": "x"}`, ""), 429)
	w.answers(w.poll(old), 200) // the cache outlives the row
	w.Sweep()
	w.answers(w.poll(old), 404)
	w.answers(w.poll(active), 200)
}

func TestConflictAndEventsReadNothingBack(t *testing.T) {
	w := newWorld(t)
	id := w.admit("k")
	w.Restart("stale")
	w.after(time.Second)
	w.answers(w.submission("k", `{"input": "y"}`, ""), 409)
	w.answers(w.Subscribe(id, "A"), 404)
	w.answers(w.Request("HEAD", "/v1/runs/"+id+"/events", nil, nil, ""), 404)
	w.after(time.Second)
	w.answers(w.poll(id), 200, `"interrupted"`, `"updated_at": 1700000002.0`)
}

func TestUpdatesThatReachTheRow(t *testing.T) {
	steps := []func(w *world, id string){
		func(w *world, id string) { w.Approval(id, canon.Object{text("command", "first")}) },
		func(w *world, id string) { w.Approval(id, canon.Object{text("command", "second")}) },
		func(w *world, id string) { w.post(id, "approval", `{"choice": "once"}`) },
		func(w *world, id string) { w.post(id, "approval", `{"choice": "once"}`) },
		func(w *world, id string) { w.post(id, "steer", `{"input": "left"}`) },
		func(w *world, id string) { w.Event(id, "tool.started", nil) },
		func(w *world, id string) { w.Delta(id, "x") },
		func(w *world, id string) { w.post(id, "stop", "") },
		func(w *world, id string) { w.post(id, "stop", "") },
		func(w *world, id string) { w.Complete(id, "", nil, nil) },
	}
	written := []bool{true, false, true, false, false, false, false, true, false, true}
	for n := range steps {
		w := newWorld(t)
		id := w.admit("k")
		last := 0
		for i := range n + 1 {
			w.after(time.Second)
			steps[i](w, id)
			if written[i] {
				last = i + 1
			}
		}
		w.Restart("alive")
		w.answers(w.poll(id), 200, fmt.Sprintf(`"updated_at": %d.0`, 1_700_000_000+last))
		if n == 1 {
			w.answers(w.poll(id), 200, `"waiting_for_approval"`, `"command": "first"`)
		}
	}
}

func TestRequestIDResolvesOne(t *testing.T) {
	w := newWorld(t)
	id := w.admit("")
	for _, q := range []string{"q1", "q2", "q1"} {
		w.Approval(id, canon.Object{text("request_id", q)})
	}
	w.answers(w.post(id, "approval", `{"choice": "deny", "request_id": " q2 ", "all": true}`), 200,
		`"request_id": "q2", "resolved": 1`)
	w.answers(w.post(id, "approval", `{"choice": "deny", "request_id": "q2"}`), 409, "approval_not_pending")
	w.answers(w.post(id, "approval", `{"choice": "deny", "request_id": "q1"}`), 200, `"resolved": 1`)
	w.answers(w.post(id, "approval", `{"choice": "deny", "all": "YES"}`), 200, `"resolved": 1`)
	w.answers(w.post(id, "approval", `{"choice": "deny", "all": true}`), 409, "approval_not_pending")
}

func TestEndMarkerOutlivesALostTerminalEvent(t *testing.T) {
	w := newWorld(t)
	id := w.admit("")
	w.Subscribe(id, "A")
	w.Disconnect("A")
	w.Subscribe(id, "B")
	w.Subscribe(id, "C")
	w.Complete(id, "", nil, nil)
	if got, ended := w.Take("B"); got != ": stream closed\n\n" || !ended {
		t.Errorf("B got %q, ended %v", got, ended)
	}
	w.after(time.Minute)
	if got, ended := w.Take("C"); got != ": keepalive\n\n: keepalive\n\n" || ended {
		t.Errorf("C got %q, ended %v", got, ended)
	}
	w.answers(w.Subscribe(id, "D"), 404)
}

func TestLatestRestartDecides(t *testing.T) {
	w := newWorld(t)
	id := w.admit("k")
	w.Approval(id, canon.Object{})
	w.Restart("stale")
	w.Restart("alive")
	w.answers(w.poll(id), 200, `"waiting_for_approval"`, `{"approval": {"choices": `)
	w.answers(w.post(id, "approval", `{"choice": "once"}`), 409, "approval_not_active")
	w.answers(w.post(id, "stop", ""), 409, "run_not_active")
	w.Restart("stale")
	w.answers(w.poll(id), 200, `"interrupted"`)
	w.Restart("alive")
	w.answers(w.poll(id), 200, `"interrupted"`)
}

func TestInterruptedStaysInCacheAndItsRowAges(t *testing.T) {
	w := newWorld(t)
	id := w.admit("k")
	w.Restart("stale")
	w.after(time.Hour)
	first := w.poll(id)
	w.after(2 * time.Hour)
	if again := w.poll(id); again.Body != first.Body {
		t.Errorf("read back again: %s", again.Body)
	}
	w.Restart("stale")
	w.after(22 * time.Hour) // 24 h after it was interrupted
	w.answers(w.submission("k", `{"input": "x"}`, ""), 202, "interrupted", `"replayed": true`)
	w.after(time.Millisecond)
	w.answers(w.submission("k", `{"input": "x"}`, "run_new"), 202, "run_new")
}

func TestSteerChecks(t *testing.T) {
	w := newWorld(t)
	w.submission("", `{"input": "x"}`, "run_queued")
	w.answers(w.post("run_queued", "steer", `{"input": "x"}`), 409, "run_not_accepting_steer")
	w.Start("run_queued")
	w.SteerPolicy("run_queued", "false", "")
	w.answers(w.post("run_queued", "steer", `{}`), 400, "invalid_steer_input")
	w.SteerPolicy("run_queued", "error", "it broke")
	w.answers(w.post("run_queued", "steer", `{"input": "x"}`), 500, `"message": "it broke"`, "steer_failed")
	w.after(time.Second)
	w.Event("run_queued", "_thinking", nil)
	w.answers(w.poll("run_queued"), 200, `"updated_at": 1700000000.0`)
}

func TestSweepSchedule(t *testing.T) {
	w := newWorld(t)
	w.after(30 * time.Second)
	w.Restart("stale")
	id := w.admit("")
	w.Complete(id, "", nil, nil)
	w.after(time.Hour + 59*time.Second)
	w.answers(w.poll(id), 200)
	w.after(time.Second)
	w.answers(w.poll(id), 404)
}

func TestRestartBreaksStreams(t *testing.T) {
	w := newWorld(t)
	id := w.admit("k")
	w.Subscribe(id, "A")
	w.Restart("alive")
	w.after(time.Hour)
	if got, ended := w.Take("A"); got != "" || ended || !w.Broken("A") {
		t.Errorf("got %q, ended %v, broken %v", got, ended, w.Broken("A"))
	}
}

func TestSteerText(t *testing.T) {
	for body, want := range map[string]string{
		`{"input": "", "message": " a "}`:                                  "a",
		`{"input": [{"type": "text", "text": "a"}, ["b", {"x": 1}], "c"]}`: "a\nb\nc",
		`{"input": {"k": [1, 2.50]}}`:                                      `{"k": [1, 2.5]}`,
		`{"input": [{"type": "image_url"}], "message": "x"}`:               "",
		`{"text": true}`: "true",
		`{"text": "` + strings.Repeat("é", steerCharacters) + `x"}`:                   strings.Repeat("é", steerCharacters),
		`{"text": [` + strings.Repeat(`"", `, steerParts) + `"x"]}`:                   "",
		`{"text": ` + strings.Repeat(`[`, 11) + `"x"` + strings.Repeat(`]`, 11) + `}`: "x",
		`{"text": ` + strings.Repeat(`[`, 12) + `"x"` + strings.Repeat(`]`, 12) + `}`: "",
	} {
		v, err := canon.Parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := steerText(v.(canon.Object)); got != want {
			t.Errorf("%.60s: %.60q, want %.60q", body, got, want)
		}
	}
}
