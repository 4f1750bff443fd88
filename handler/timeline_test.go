package handler_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/faults"
	"github.com/hermesfake/hermesfake/handler"
)

const checkpointHeader = "X-Mockingbird-Checkpoint"

// read decodes the body of a control's reply.
func (r reply) read(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), into); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
}

type checkpointReply struct {
	ID, Branch, Namespace string
	Parent                *string
	At                    float64
	Pinned                bool
}

// TestCheckpointControls: the shapes of CONTROL.md, and what each reply says.
func TestCheckpointControls(t *testing.T) {
	d := open(t, handler.Options{})
	empty := d.get("/__admin/checkpoints")
	if want := `{"branch":"main","checkpoints":[],"dropped":0,"head":null}`; empty.status != 200 || empty.body != want {
		t.Errorf("%d %s, want %s", empty.status, empty.body, want)
	}
	id := d.submit("key")
	made := d.control("/checkpoints", "")
	var cp checkpointReply
	made.read(t, &cp)
	if made.status != 201 || cp.Branch != "main" || cp.Namespace != "default" || cp.Parent == nil || !cp.Pinned || cp.At == 0 {
		t.Errorf("%d %s", made.status, made.body)
	}
	if got := made.header.Get(checkpointHeader); got != cp.ID {
		t.Errorf("header %q, id %q", got, cp.ID)
	}
	d.observe(id, `{"status": "completed", "output": "done"}`)

	back := d.control("/branches/main/checkout", fmt.Sprintf(`{"checkpoint": %q}`, cp.ID))
	if want := fmt.Sprintf(`{"name":"main","head":%q,"current":true,"checkpoint":%q}`, cp.ID, cp.ID); back.status != 200 || back.body != want {
		t.Errorf("%d %s, want %s", back.status, back.body, want)
	}
	if got := back.header.Get(checkpointHeader); got != cp.ID {
		t.Errorf("header %q", got)
	}
	if poll := d.get("/v1/runs/" + id); !strings.Contains(poll.body, `"status": "queued"`) {
		t.Errorf("after the checkout: %s", poll.body)
	}
	forked := d.control("/branches", fmt.Sprintf(`{"name": "b", "from": %q}`, *cp.Parent))
	if want := fmt.Sprintf(`{"name":"b","head":%q,"current":false}`, *cp.Parent); forked.status != 201 || forked.body != want {
		t.Errorf("%d %s, want %s", forked.status, forked.body, want)
	}
	if got, want := d.get("/__admin/branches").body, fmt.Sprintf(
		`{"branches":[{"name":"b","head":%q,"current":false},{"name":"main","head":%q,"current":true}]}`, *cp.Parent, cp.ID); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	d.control("/branches/b/checkout", `{}`)
	d.control("/branches/fresh/checkout", fmt.Sprintf(`{"checkpoint": %q}`, cp.ID))
	var elsewhere checkpointReply
	d.control("/ns/elsewhere/checkpoints", "").read(t, &elsewhere)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"DELETE", "/branches/b", "", 200},
		{"DELETE", "/branches/b", "", 404},
		{"DELETE", "/branches/main", "", 409},
		{"DELETE", "/branches/fresh", "", 409},
		{"DELETE", "/checkpoints/" + cp.ID, "", 409},
		{"DELETE", "/checkpoints/" + elsewhere.ID, "", 409},
		{"DELETE", "/checkpoints/" + *cp.Parent, "", 200},
		{"DELETE", "/checkpoints/" + *cp.Parent, "", 404},
		{"DELETE", "/checkpoints/nonsense", "", 404},
		{"POST", "/branches/main/checkout", fmt.Sprintf(`{"checkpoint": %q}`, *cp.Parent), 404},
		{"POST", "/branches/main/checkout", fmt.Sprintf(`{"checkpoint": %q}`, elsewhere.ID), 409},
		{"POST", "/branches/unknown/checkout", `{}`, 404},
		{"POST", "/branches/a%2Fb/checkout", fmt.Sprintf(`{"checkpoint": %q}`, cp.ID), 400},
		{"POST", "/branches/main/checkout", `{"checkpoint": ""}`, 400},
		{"POST", "/branches/main/checkout", `{"checkpoint": 1}`, 400},
		{"POST", "/branches/main/checkout", `{"more": 1}`, 400},
		{"POST", "/branches", `{}`, 400},
		{"POST", "/branches", `{"name": ""}`, 400},
		{"POST", "/branches", `{"name": "x", "from": ""}`, 400},
		{"POST", "/branches", `{"name": "x", "from": null}`, 400},
		{"POST", "/branches", `{"name": "x", "from": "cp_x"}`, 404},
		{"POST", "/branches", `{"name": "main"}`, 409},
		{"POST", "/checkpoints", `{"name": "x"}`, 400},
		{"POST", "/checkpoints", `[]`, 400},
		{"PUT", "/checkpoints", ``, 405},
	} {
		before := d.get("/__admin/checkpoints").body
		r := d.do(c.method, "/__admin"+c.path, c.body)
		if r.status != c.status {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, r.status, r.body, c.status)
		}
		if after := d.get("/__admin/checkpoints").body; r.status != 200 && after != before {
			t.Errorf("%s %s %s: has changed %s to %s", c.method, c.path, c.body, before, after)
		}
	}
}

// TestCheckpointHeader: replies to accepted mutations have it, others do not, and the journal says the same.
func TestCheckpointHeader(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.submit("key")
	run := "/v1/runs/" + id
	d.observe(id, `{"status": "waiting_for_approval", "approval": {}}`)
	for _, c := range []struct {
		method, path, body string
		accepted           bool
	}{
		{"POST", "/v1/runs", `{"input": "x"}`, true},
		{"POST", "/v1/runs", `{}`, false},
		{"GET", run, "", false},
		{"POST", run + "/approval", `{"choice": "once"}`, true},
		{"POST", run + "/approval", `{"choice": "once"}`, false},
		{"POST", run + "/steer", `{"text": "left"}`, true},
		{"POST", run + "/steer", `{}`, false},
		{"POST", run + "/stop", "", true},
		{"GET", "/health", "", false},
		{"GET", "/nowhere", "", false},
	} {
		r := d.do(c.method, c.path, c.body)
		header := r.header.Get(checkpointHeader)
		if (header != "") != c.accepted {
			t.Errorf("%s %s %s: %d, header %q", c.method, c.path, c.body, r.status, header)
		}
		var journal struct {
			Requests []struct {
				Accepted   bool
				Checkpoint string
			}
		}
		d.get("/__admin/requests?limit=1").read(t, &journal)
		if e := journal.Requests[0]; e.Accepted != c.accepted || e.Checkpoint != header {
			t.Errorf("%s %s: the journal has %+v, the header %q", c.method, c.path, e, header)
		}
	}
	replay := d.send(d.request("POST", "/v1/runs", `{"input": "x"}`, map[string]string{"Idempotency-Key": "key"}))
	if replay.status != http.StatusAccepted || replay.header.Get(checkpointHeader) != "" {
		t.Errorf("a replay: %d %v", replay.status, replay.header)
	}
	for _, c := range []struct {
		path, body string
	}{
		{"/hermes/scope", `{"profile": "default", "identity": "unauthenticated-test-listener"}`},
		{"/hermes/gateway", `{"draining": false}`},
		{"/hermes/sweep", `{}`},
		{"/hermes/runs/" + id + "/events", `{"event": "message.delta", "delta": "x"}`},
		{"/hermes/runs/" + id + "/steering", `{"accept": true}`},
		{"/hermes/runs/" + id + "/observe", `{"status": "completed"}`},
		{"/hermes/restart", `{"owner": "stale"}`},
	} {
		if r := d.control(c.path, c.body); r.header.Get(checkpointHeader) == "" {
			t.Errorf("%s: no checkpoint", c.path)
		}
	}
	for _, path := range []string{"/clock", "/reset"} {
		if r := d.control(path, `{}`); r.header.Get(checkpointHeader) != "" {
			t.Errorf("%s: checkpoint %s", path, r.header.Get(checkpointHeader))
		}
	}
}

// TestCheckpointOfLostReply: a submission whose reply is lost has its checkpoint in the journal.
func TestCheckpointOfLostReply(t *testing.T) {
	d := open(t, handler.Options{Middleware: lossy(t)})
	if res, err := d.client.RoundTrip(d.request("POST", "/v1/runs", `{"input": "x"}`, nil)); err == nil {
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		t.Fatalf("the reply was not lost: %d", res.StatusCode)
	}
	var journal struct {
		Requests []struct {
			Status     int
			Accepted   bool
			Checkpoint string
		}
	}
	d.get("/__admin/requests").read(t, &journal)
	var list struct{ Head string }
	d.get("/__admin/checkpoints").read(t, &list)
	if e := journal.Requests[0]; e.Status != 0 || !e.Accepted || e.Checkpoint == "" || e.Checkpoint != list.Head {
		t.Errorf("the journal has %+v, the head is %s", e, list.Head)
	}
}

func lossy(t *testing.T) handler.Middleware {
	set := faults.New(1)
	t.Cleanup(set.Close)
	if _, err := set.Add(engine.DefaultNamespace, faults.SubmitAcceptedDrop()); err != nil {
		t.Fatal(err)
	}
	return set
}
