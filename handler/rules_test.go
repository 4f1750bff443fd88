package handler_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// These tests hold the rules that the contract states and no recording proves.

func (d *door) keyed(key, body string) reply {
	d.t.Helper()
	return d.send(d.request("POST", "/v1/runs", body, map[string]string{"Idempotency-Key": key}))
}

func (d *door) act(id, action, body string) reply {
	d.t.Helper()
	return d.post("/v1/runs/"+id+"/"+action, body)
}

func (d *door) ask(id, approval string) {
	d.t.Helper()
	d.observe(id, `{"status": "waiting_for_approval", "approval": `+approval+`}`)
}

func (d *door) complete(id string) {
	d.t.Helper()
	d.observe(id, `{"status": "completed"}`)
}

func (d *door) restart(owner string) {
	d.t.Helper()
	d.control("/hermes/restart", `{"owner": "`+owner+`"}`)
}

func (d *door) sweep() {
	d.t.Helper()
	d.control("/hermes/sweep", `{}`)
}

func TestPruneOnlyAtKeyedLookup(t *testing.T) {
	d := open(t, handler.Options{})
	old := d.started("old")
	d.complete(old)
	active := d.started("active")
	d.advance(24*time.Hour + time.Nanosecond)

	d.poll(active).want(t, 200)
	d.submit("")
	d.keyed("new", `{}`).want(t, 400)
	d.keyed("bad key", `{"input": "x"}`).want(t, 400)
	d.poll(old).want(t, 200) // read back from its row
	d.sweep()
	d.poll(old).want(t, 200)

	d.control("/hermes/gateway", `{"max_concurrent_runs": 1}`)
	d.keyed("new", `{"input": "x"}`).want(t, 429)
	d.poll(old).want(t, 200) // the cache outlives the row
	d.sweep()
	d.poll(old).want(t, 404)
	d.poll(active).want(t, 200)
}

func TestConflictAndEventsReadNothingBack(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("k")
	d.restart("stale")
	d.advance(time.Second)
	d.keyed("k", `{"input": "y"}`).want(t, 409)
	d.get("/v1/runs/"+id+"/events").want(t, 404)
	d.do("HEAD", "/v1/runs/"+id+"/events", "").want(t, 404)
	d.advance(time.Second)
	d.poll(id).want(t, 200, `"interrupted"`, `"updated_at": 1700000002.0`)
}

func TestUpdatesThatReachTheRow(t *testing.T) {
	steps := []struct {
		do      func(d *door, id string)
		written bool
	}{
		{func(d *door, id string) { d.ask(id, `{"command": "first"}`) }, true},
		{func(d *door, id string) { d.ask(id, `{"command": "second"}`) }, false},
		{func(d *door, id string) { d.act(id, "approval", `{"choice": "once"}`) }, true},
		{func(d *door, id string) { d.act(id, "approval", `{"choice": "once"}`) }, false},
		{func(d *door, id string) { d.act(id, "steer", `{"input": "left"}`) }, false},
		{func(d *door, id string) { d.emit(id, `{"event": "tool.started"}`) }, false},
		{func(d *door, id string) { d.emit(id, `{"event": "message.delta", "delta": "x"}`) }, false},
		{func(d *door, id string) { d.act(id, "stop", "") }, true},
		{func(d *door, id string) { d.act(id, "stop", "") }, false},
		{func(d *door, id string) { d.complete(id) }, true},
	}
	for n := range steps {
		d := open(t, handler.Options{})
		id := d.started("k")
		last := 0
		for i, s := range steps[:n+1] {
			d.advance(time.Second)
			s.do(d, id)
			if s.written {
				last = i + 1
			}
		}
		d.restart("alive")
		d.poll(id).want(t, 200, fmt.Sprintf(`"updated_at": %d.0`, 1_700_000_000+last))
		if n == 1 {
			d.poll(id).want(t, 200, `"waiting_for_approval"`, `"command": "first"`)
		}
	}
}

func TestRequestIDResolvesOne(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("")
	for _, q := range []string{"q1", "q2", "q1"} {
		d.ask(id, `{"request_id": "`+q+`"}`)
	}
	d.act(id, "approval", `{"choice": "deny", "request_id": " q2 ", "all": true}`).want(t, 200, `"request_id": "q2", "resolved": 1`)
	d.act(id, "approval", `{"choice": "deny", "request_id": "q2"}`).want(t, 409, "approval_not_pending")
	d.act(id, "approval", `{"choice": "deny", "request_id": "q1"}`).want(t, 200, `"resolved": 1`)
	d.act(id, "approval", `{"choice": "deny", "all": "YES"}`).want(t, 200, `"resolved": 1`)
	d.act(id, "approval", `{"choice": "deny", "all": true}`).want(t, 409, "approval_not_pending")
}

func TestEndMarkerOutlivesALostTerminalEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, handler.Options{})
		id := d.started("")
		d.subscribe(id).close()
		b, c := d.subscribe(id), d.subscribe(id)
		defer b.close()
		defer c.close()
		d.complete(id)
		synctest.Wait()
		if got := b.take(); got != ": stream closed\n\n" || b.over() == nil {
			t.Errorf("the second got %q, over: %v", got, b.over())
		}
		d.advance(time.Minute)
		synctest.Wait()
		if got := c.take(); got != ": keepalive\n\n: keepalive\n\n" || c.over() != nil {
			t.Errorf("the third got %q, over: %v", got, c.over())
		}
		d.get("/v1/runs/"+id+"/events").want(t, 404)
	})
}

func TestLatestRestartDecides(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("k")
	d.ask(id, `{}`)
	d.restart("stale")
	d.restart("alive")
	d.poll(id).want(t, 200, `"waiting_for_approval"`, `{"approval": {"choices": `)
	d.act(id, "approval", `{"choice": "once"}`).want(t, 409, "approval_not_active")
	d.act(id, "stop", "").want(t, 409, "run_not_active")
	d.restart("stale")
	d.poll(id).want(t, 200, `"interrupted"`)
	d.restart("alive")
	d.poll(id).want(t, 200, `"interrupted"`)
}

func TestInterruptedStaysInCacheAndItsRowAges(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("k")
	d.restart("stale")
	d.advance(time.Hour)
	first := d.poll(id)
	d.advance(2 * time.Hour)
	if again := d.poll(id); again.body != first.body {
		t.Errorf("read back again: %s", again.body)
	}
	d.restart("stale")
	d.advance(22 * time.Hour) // 24 h after it was interrupted
	d.keyed("k", `{"input": "x"}`).want(t, 202, "interrupted", `"replayed": true`)
	d.advance(time.Nanosecond)
	d.keyed("k", `{"input": "x"}`).want(t, 202, `"replayed": false`)
}

func TestSteerChecks(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.submit("")
	steering := func(body string) { d.control("/hermes/runs/"+id+"/steering", body) }
	d.act(id, "steer", `{"input": "x"}`).want(t, 409, "run_not_accepting_steer")
	d.observe(id, `{"status": "running"}`)
	steering(`{"accept": false}`)
	d.act(id, "steer", `{}`).want(t, 400, "invalid_steer_input")
	steering(`{"accept": "error", "message": "it broke"}`)
	d.act(id, "steer", `{"input": "x"}`).want(t, 500, `"message": "it broke"`, "steer_failed")
	d.advance(time.Second)
	d.emit(id, `{"event": "_thinking"}`).want(t, 200, `"emitted":false`)
	d.poll(id).want(t, 200, `"updated_at": 1700000000.0`)
}

func TestSweepSchedule(t *testing.T) {
	d := open(t, handler.Options{})
	d.poll("first use")
	d.advance(30 * time.Second)
	d.restart("stale")
	id := d.started("")
	d.complete(id)
	d.advance(time.Hour + 59*time.Second)
	d.poll(id).want(t, 200)
	d.advance(time.Second)
	d.poll(id).want(t, 404)
}

func TestRestartBreaksStreams(t *testing.T) {
	for _, cause := range []string{"/hermes/restart", "/reset"} {
		synctest.Test(t, func(t *testing.T) {
			d := open(t, handler.Options{})
			s := d.subscribe(d.started("k"))
			d.control(cause, `{"owner": "alive"}`)
			synctest.Wait()
			d.advance(time.Hour)
			if got := s.take(); got != "" || !errors.Is(s.over(), io.ErrUnexpectedEOF) {
				t.Errorf("%s: got %q, over: %v", cause, got, s.over())
			}
			s.close()
		})
	}
}

func TestSteerText(t *testing.T) {
	for body, want := range map[string]string{
		`{"input": "", "message": " a "}`:                                                        "a",
		`{"input": [{"type": "text", "text": "a"}, ["b", {"x": 1}], "c"]}`:                       "a\nb\nc",
		`{"input": {"k": [1, 2.50]}}`:                                                            `{"k": [1, 2.5]}`,
		`{"text": true}`:                                                                         "true",
		`{"text": "\ud83d\ude00", "message": 0}`:                                                 "😀",
		`{"text": [` + strings.Repeat("[", 9) + `"x"` + strings.Repeat("]", 9) + `]}`:            "x",
		`{"text": ["` + strings.Repeat("é", 65536) + `", "lost"]}`:                               strings.Repeat("é", 65536),
		`{"text": [` + strings.Repeat(`"a", `, 999) + `"b"]}`:                                    strings.Repeat("a\n", 999) + "b",
		`{"text": [` + strings.Repeat(`"a", `, 1000) + `"lost"]}`:                                strings.Repeat("a\n", 999) + "a",
		`{"input": [{"type": "input_text", "text": "i"}, {"type": "output_text", "text": "o"}]}`: "i\no",
	} {
		d := open(t, handler.Options{})
		id := d.started("")
		d.act(id, "steer", body).want(t, 200)
		if got := d.steers(id); len(got) != 1 || got[0] != want {
			t.Errorf("%.60s: %.60q, want %.60q", body, got, want)
		}
	}
	for _, body := range []string{
		`{"input": [{"type": "image_url"}], "message": "x"}`,
		`{"text": [` + strings.Repeat(`"", `, 1000) + `""]}`,
		`{"text": ` + strings.Repeat("[", 12) + `"x"` + strings.Repeat("]", 12) + `}`,
	} {
		d := open(t, handler.Options{})
		id := d.started("")
		d.act(id, "steer", body).want(t, 400, "invalid_steer_input")
	}
}

func (d *door) steers(id string) []string {
	d.t.Helper()
	n, err := d.engine.Namespace(engine.DefaultNamespace)
	if err != nil {
		d.t.Fatal(err)
	}
	parsed, _ := engine.ParseRunID(id)
	in, err := n.Inspect(parsed)
	if err != nil {
		d.t.Fatal(err)
	}
	return in.Steers
}
