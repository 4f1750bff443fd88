package handler_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// state is all that the control plane shows of the default namespace.
func (d *door) state(ids ...string) string {
	d.t.Helper()
	told := []string{fmt.Sprintf("%+v", d.counts())}
	paths := []string{"/__admin/hermes/runs", "/__admin/hermes/gateway", "/__admin/clock", "/__admin/namespaces"}
	for _, id := range ids {
		paths = append(paths, "/__admin/hermes/runs/"+id)
	}
	for _, path := range paths {
		r := d.get(path)
		r.want(d.t, 200)
		body, _, _ := strings.Cut(r.body, `,"offsetMs":`) // the system's clock moves
		told = append(told, body)
	}
	n, err := d.engine.Namespace(engine.DefaultNamespace)
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.Join(append(told, n.Scope().Profile(), n.Scope().Identity()), "\n")
}

// notObjects are bodies that no control takes.
var notObjects = []string{`{`, `[]`, `null`, `"x"`, `5`, `{} {}`, "\xff", `{"a": 01}`, `{"nonsense": 1}`}

// badBodies are what each control must refuse with 400, beside notObjects.
var badBodies = map[string][]string{
	"/clock": {
		`{"set": "x"}`, `{"set": true}`, `{"set": null}`, `{"set": {}}`, `{"set": ""}`, `{"set": "2024-13-01"}`,
		`{"set": -1}`, `{"set": -0.001}`, `{"set": 7258118400000}`, `{"set": "1969-12-31T23:59:59Z"}`, `{"set": "2200-01-01"}`,
		`{"set": 1e300}`, `{"set": NaN}`, `{"set": Infinity}`, `{"set": 99999999999999999999999}`,
		`{"advance": "x"}`, `{"advance": ""}`, `{"advance": "5"}`, `{"advance": "d"}`, `{"advance": "-1s"}`, `{"advance": "-1d"}`,
		`{"advance": "100000d"}`, `{"advance": "NaNd"}`, `{"advance": -1}`, `{"advance": -0.5}`, `{"advance": true}`,
		`{"advance": null}`, `{"advance": []}`, `{"advance": 1e300}`, `{"advance": NaN}`, `{"advance": 7258118400000}`,
		`{"freeze": 1}`, `{"freeze": "true"}`, `{"freeze": null}`, `{"reset": 1}`, `{"reset": null}`,
		`{"set": 1800000000000, "advance": "x"}`, `{"advance": 5, "freeze": "no"}`, `{"reset": true, "nonsense": 1}`,
		`{"reset": true, "set": 1800000000000, "advance": 7258118400000}`,
	},
	"/hermes/scope": {
		``, `{}`, `{"profile": "p"}`, `{"identity": "i"}`, `{"profile": "", "identity": "i"}`, `{"profile": "p", "identity": ""}`,
		`{"profile": "p\u0000", "identity": "i"}`, `{"profile": "p", "identity": "\u0000"}`, `{"profile": 1, "identity": "i"}`,
		`{"profile": "p", "identity": null}`, `{"profile": "p", "identity": ["i"]}`, `{"profile": "p", "identity": "i", "more": 1}`,
	},
	"/hermes/restart": {
		``, `{}`, `{"owner": ""}`, `{"owner": "Stale"}`, `{"owner": "gone"}`, `{"owner": null}`, `{"owner": true}`,
		`{"owner": ["stale"]}`, `{"owner": "stale", "more": 1}`,
	},
	"/hermes/sweep": {`{"all": true}`},
	"/hermes/gateway": {
		`{"max_concurrent_runs": -1}`, `{"max_concurrent_runs": 1.0}`, `{"max_concurrent_runs": "1"}`,
		`{"max_concurrent_runs": true}`, `{"max_concurrent_runs": null}`, `{"max_concurrent_runs": 99999999999999999999}`,
		`{"draining": 1}`, `{"draining": "true"}`, `{"draining": null}`, `{"max_concurrent_runs": 1, "draining": 1}`,
		`{"max_concurrent_runs": 1, "more": 1}`,
	},
	"/hermes/runs/{id}/observe": {
		``, `{}`, `{"status": "Running"}`, `{"status": ""}`, `{"status": "unknown"}`, `{"status": 5}`, `{"status": null}`,
		`{"status": ["running"]}`, `{"last_event": "x"}`, `{"status": "running", "last_event": 5}`,
		`{"status": "running", "last_event": null}`, `{"status": "running", "more": 1}`,
		`{"status": "running", "approval": {}}`, `{"status": "completed", "approval": {}}`,
		`{"status": "waiting_for_approval", "approval": []}`, `{"status": "waiting_for_approval", "approval": null}`,
		`{"status": "waiting_for_approval", "approval": "x"}`,
		`{"status": "completed", "error": "e"}`, `{"status": "cancelled", "error": "e"}`, `{"status": "running", "error": "e"}`,
		`{"status": "failed", "error": 5}`, `{"status": "failed", "error": null}`, `{"status": "interrupted", "error": {}}`,
		`{"status": "running", "output": "o"}`, `{"status": "failed", "output": "o"}`, `{"status": "completed", "output": 5}`,
		`{"status": "completed", "output": null}`,
		`{"status": "failed", "pending_steer": "s"}`, `{"status": "completed", "pending_steer": 5}`,
		`{"status": "cancelled", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}`,
		`{"status": "completed", "usage": null}`, `{"status": "completed", "usage": []}`, `{"status": "completed", "usage": {}}`,
		`{"status": "completed", "usage": {"input_tokens": 1, "output_tokens": 2}}`,
		`{"status": "completed", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "more": 4}}`,
		`{"status": "completed", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": -3}}`,
		`{"status": "completed", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3.0}}`,
		`{"status": "completed", "usage": {"input_tokens": "1", "output_tokens": 2, "total_tokens": 3}}`,
		`{"status": "completed", "usage": {"input_tokens": true, "output_tokens": 2, "total_tokens": 3}}`,
	},
	"/hermes/runs/{id}/events": {
		``, `{}`, `{"event": ""}`, `{"event": 5}`, `{"event": null}`, `{"delta": "x"}`, `{"event": "message.delta", "delta": 5}`,
		`{"event": "tool.started", "tool": 5}`, `{"event": "tool.started", "tool": "t", "preview": {}}`,
		`{"event": "tool.completed", "tool": []}`, `{"event": "tool.completed", "duration": "1"}`,
		`{"event": "tool.completed", "duration": true}`, `{"event": "tool.completed", "error": "no"}`,
		`{"event": "tool.completed", "error": 0}`, `{"event": "reasoning.available", "text": 5}`,
	},
	"/hermes/runs/{id}/steering": {
		``, `{}`, `{"accept": "yes"}`, `{"accept": 1}`, `{"accept": null}`, `{"accept": "true"}`, `{"message": "m"}`,
		`{"accept": true, "message": "m"}`, `{"accept": false, "message": "m"}`, `{"accept": "error", "message": 5}`,
		`{"accept": "error", "message": null}`, `{"accept": true, "more": 1}`,
	},
}

// TestControlsRefuse proves that a bad body is 400 with a message, and changes nothing.
func TestControlsRefuse(t *testing.T) {
	for path, bodies := range badBodies {
		t.Run(path, func(t *testing.T) {
			d := open(t, handler.Options{})
			id := d.started("k")
			d.ask(id, `{"command": "c"}`)
			d.submit("")
			before := d.state(id)
			for _, body := range slices.Concat(notObjects, bodies) {
				r := d.post("/__admin"+strings.Replace(path, "{id}", id, 1), body)
				if r.status != http.StatusBadRequest {
					if body == `{"nonsense": 1}` && strings.HasSuffix(path, "/events") {
						continue // an event's fields may be any
					}
					t.Errorf("%s: %d %s", body, r.status, r.body)
				}
				wantMessage(t, path, r)
				if after := d.state(id); after != before {
					t.Fatalf("%s changed\n%s\nto\n%s", body, before, after)
				}
			}
		})
	}
}

// wantMessage checks the error envelope of a control.
func wantMessage(t *testing.T, path string, r reply) {
	t.Helper()
	var told struct {
		Error struct {
			Message, Type string
		}
	}
	if err := json.Unmarshal([]byte(r.body), &told); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
	kind, prefix := "mockingbird_admin", "clock"
	if rest, ok := strings.CutPrefix(path, "/hermes/"); ok {
		kind, prefix = "invalid_request_error", rest[strings.LastIndex(rest, "/")+1:]
	}
	if told.Error.Type != kind || !strings.HasPrefix(told.Error.Message, prefix+": ") || len(told.Error.Message) < len(prefix)+8 {
		t.Errorf("%s: %s", path, r.body)
	}
}

func TestControlsAccept(t *testing.T) {
	frozen := `{"now":1700000000000,"frozen":true,"offsetMs":`
	for _, c := range []struct{ path, body, want string }{
		{"/clock", ``, frozen},
		{"/clock", `{}`, frozen},
		{"/clock", " \t\r\n", frozen},
		{"/clock", `{"advance": 0}`, frozen},
		{"/clock", `{"advance": 1.5}`, `{"now":1700000000001.5,"frozen":true,`},
		{"/clock", `{"advance": "90s"}`, `{"now":1700000090000,"frozen":true,`},
		{"/clock", `{"advance": "15m"}`, `{"now":1700000900000,"frozen":true,`},
		{"/clock", `{"advance": "2h"}`, `{"now":1700007200000,"frozen":true,`},
		{"/clock", `{"advance": "3d"}`, `{"now":1700259200000,"frozen":true,`},
		{"/clock", `{"advance": "0.5d"}`, `{"now":1700043200000,"frozen":true,`},
		{"/clock", `{"set": 0}`, `{"now":0,"frozen":true,`},
		{"/clock", `{"set": 7258118399999}`, `{"now":7258118399999,"frozen":true,`},
		{"/clock", `{"set": "2024-02-29T12:00:00Z"}`, `{"now":1709208000000,"frozen":true,`},
		{"/clock", `{"set": "2024-02-29T12:00:00.25+01:00"}`, `{"now":1709204400250,"frozen":true,`},
		{"/clock", `{"set": "2024-02-29T12:00:00"}`, `{"now":1709208000000,"frozen":true,`},
		{"/clock", `{"set": "2024-02-29"}`, `{"now":1709164800000,"frozen":true,`},
		{"/clock", `{"set": 5, "advance": 6, "freeze": true}`, `{"now":11,"frozen":true,`},
		{"/clock", `{"reset": true, "set": 5, "freeze": true}`, `{"now":5,"frozen":true,`},
		{"/clock", `{"reset": false}`, frozen},
		{"/hermes/scope", `{"identity": "i", "profile": "p"}`, `{"identity":"i","profile":"p","simulated":true}`},
		{"/hermes/restart", `{"owner": "stale"}`, `{"discarded":1,"owner":"stale","retained":1,"simulated":true}`},
		{"/hermes/restart", `{"owner": "alive"}`, `{"discarded":1,"owner":"alive","retained":1,"simulated":true}`},
		{"/hermes/sweep", ``, `{"cacheRemoved":0,"simulated":true}`},
		{"/hermes/sweep", `{}`, `{"cacheRemoved":0,"simulated":true}`},
		{"/hermes/gateway", `{}`, `{"draining":false,"max_concurrent_runs":10,"simulated":true}`},
		{"/hermes/gateway", `{"max_concurrent_runs": 0}`, `{"draining":false,"max_concurrent_runs":0,"simulated":true}`},
		{"/hermes/gateway", `{"draining": true}`, `{"draining":true,"max_concurrent_runs":10,"simulated":true}`},
		{"/hermes/runs/{id}/observe", `{"status": "queued"}`, `"status": "queued"`},
		{"/hermes/runs/{id}/observe", `{"status": "running", "last_event": "é"}`, `"status": "running", "updated_at": 1700000000.0`},
		{"/hermes/runs/{id}/observe", `{"status": "running", "last_event": "é"}`, `"last_event": "\u00e9"`},
		{"/hermes/runs/{id}/observe", `{"status": "waiting_for_approval"}`, `"last_event": "approval.request"`},
		{"/hermes/runs/{id}/observe", `{"status": "waiting_for_approval", "approval": {"a": 1}}`,
			`"approval": {"a": 1, "event": "approval.request", "run_id": "`},
		{"/hermes/runs/{id}/observe", `{"status": "stopping"}`, `"last_event": "run.stopping"`},
		{"/hermes/runs/{id}/observe", `{"status": "completed"}`,
			`"output": "", "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}, "last_event": "run.completed"}`},
		{"/hermes/runs/{id}/observe", `{"status": "completed", "output": "o", "last_event": "mine", "pending_steer": "s",
			"usage": {"total_tokens": 3, "input_tokens": 1, "output_tokens": 2}}`,
			`"output": "o", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, "last_event": "mine", "pending_steer": "s"}`},
		{"/hermes/runs/{id}/observe", `{"status": "failed"}`, `"error": "agent run failed", "last_event": "run.failed"}`},
		{"/hermes/runs/{id}/observe", `{"status": "failed", "error": "e"}`, `"error": "e", "last_event": "run.failed"}`},
		{"/hermes/runs/{id}/observe", `{"status": "cancelled"}`, `"last_event": "run.cancelled"}`},
		{"/hermes/runs/{id}/observe", `{"status": "interrupted", "error": "e"}`, `"error": "e", "last_event": "run.interrupted"}`},
		{"/hermes/runs/{id}/observe", `{"status": "interrupted"}`, `"last_event": "run.interrupted"}`},
		{"/hermes/runs/{id}/events", `{"event": "message.delta", "delta": "x"}`, `{"emitted":true}`},
		{"/hermes/runs/{id}/events", `{"event": "message.delta", "delta": null}`, `{"emitted":true}`},
		{"/hermes/runs/{id}/events", `{"event": "tool.started", "tool": "t", "preview": null}`, `{"emitted":true}`},
		{"/hermes/runs/{id}/events", `{"event": "tool.completed", "tool": "t", "duration": 1, "error": true}`, `{"emitted":true}`},
		{"/hermes/runs/{id}/events", `{"event": "reasoning.available", "text": "t"}`, `{"emitted":true}`},
		{"/hermes/runs/{id}/events", `{"event": "subagent.start", "goal": "g", "other": []}`, `{"emitted":true}`},
		{"/hermes/runs/{id}/events", `{"event": "subagent.complete"}`, `{"emitted":true}`},
		{"/hermes/runs/{id}/events", `{"event": "subagent.tool", "delta": 5}`, `{"emitted":false}`},
		{"/hermes/runs/{id}/events", `{"event": "run.completed"}`, `{"emitted":false}`},
		{"/hermes/runs/{id}/steering", `{"accept": true}`, `{"accept":true}`},
		{"/hermes/runs/{id}/steering", `{"accept": false}`, `{"accept":false}`},
		{"/hermes/runs/{id}/steering", `{"accept": "error"}`, `{"accept":"error","message":"`},
		{"/hermes/runs/{id}/steering", `{"accept": "error", "message": "m"}`, `{"accept":"error","message":"m"}`},
	} {
		d := open(t, handler.Options{})
		id := d.started("k")
		d.submit("")
		r := d.post("/__admin"+strings.Replace(c.path, "{id}", id, 1), c.body)
		r.want(t, 200, c.want)
		if t.Failed() {
			t.Fatalf("POST %s %s", c.path, c.body)
		}
	}
}

// TestControlsOfSettledRuns proves that a terminal run, one of another scope, a missing one and one that another
// gateway owns are told apart.
func TestControlsOfSettledRuns(t *testing.T) {
	good := map[string]string{
		"observe":  `{"status": "completed", "output": "o"}`,
		"events":   `{"event": "message.delta", "delta": "x"}`,
		"steering": `{"accept": true}`,
	}
	scope := func(d *door, profile string) {
		d.control("/hermes/scope", `{"profile": "`+profile+`", "identity": "unauthenticated-test-listener"}`)
	}
	for control, body := range good {
		d := open(t, handler.Options{})
		id := d.started("k")
		do := func(id string) reply { return d.post("/__admin/hermes/runs/"+id+"/"+control, body) }
		notFound := func(id string) {
			t.Helper()
			do(id).want(t, 404, `{"error": {"message": "Run not found: `+strings.ReplaceAll(id, "%2F", "/")+
				`", "type": "invalid_request_error", "param": null, "code": "run_not_found"}}`)
		}
		notFound("run_missing")
		notFound("a%2Fb")
		notFound(strings.ToUpper(id))
		scope(d, "other")
		before := d.state()
		notFound(id)
		if d.state() != before {
			t.Errorf("%s changed a run of another scope", control)
		}
		scope(d, "default")
		d.restart("alive")
		if r := do(id); control == "observe" {
			r.want(t, 200, `"output": "o"`) // it models the owner
		} else {
			r.want(t, 409, control+": ")
		}
		again := d.started("again")
		d.complete(again)
		before = d.state(again)
		r := do(again)
		r.want(t, 409, control+": ", `"code": "mock_terminal_run"`)
		if control == "observe" {
			r.want(t, 409, `"observe: terminal runs cannot be changed"`)
		}
		if d.state(again) != before {
			t.Errorf("%s changed a terminal run", control)
		}
	}
}

// TestIndexIsTheTruth proves that every control that the index lists is there, and takes no other methods.
func TestIndexIsTheTruth(t *testing.T) {
	d := open(t, handler.Options{})
	var index struct {
		Service string
		Routes  []string
	}
	if err := json.Unmarshal([]byte(d.get("/__admin").body), &index); err != nil {
		t.Fatal(err)
	}
	if index.Service != "hermes" || len(index.Routes) < 18 {
		t.Errorf("%+v", index)
	}
	methods := map[string][]string{}
	for _, route := range index.Routes {
		method, path, _ := strings.Cut(route, " ")
		methods[path] = append(methods[path], method)
	}
	for _, known := range []string{"/__admin", "/__admin/health", "/__admin/reset", "/__admin/namespaces", "/__admin/clock",
		"/__admin/requests", "/__admin/hermes/scope", "/__admin/hermes/restart", "/__admin/hermes/sweep",
		"/__admin/hermes/gateway", "/__admin/hermes/runs"} {
		if methods[known] == nil {
			t.Errorf("the index lacks %s", known)
		}
	}
	for path, takes := range methods {
		id := d.submit("")
		path = strings.NewReplacer("{id}", id, "{name}", "main").Replace(path)
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "get", "NONSENSE"} {
			r := d.do(method, path, `{"nonsense": 1}`)
			taken := slices.Contains(takes, method) || method == "HEAD" && slices.Contains(takes, "GET")
			allow := r.header.Get("Allow")
			switch {
			case taken && (r.status == 405 || r.status == 404 && strings.Contains(r.body, "no such control")):
				t.Errorf("%s %s is listed: %d %s", method, path, r.status, r.body)
			case !taken && (r.status != 405 || !slices.Equal(strings.Split(allow, ","), takes)):
				t.Errorf("%s %s: %d, Allow %q, want 405 and %q", method, path, r.status, allow, takes)
			case !taken && method != "HEAD":
				r.want(t, 405, `{"error":{"message":"this control takes `, `"type":"mockingbird_admin"`)
			}
		}
		d.control("/reset", "")
	}
}

func TestUnknownControls(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.submit("")
	for _, path := range []string{"/__admin/nope", "/__admin//", "/__admin//clock", "/__admin/clock/now", "/__admin/hermes",
		"/__admin/hermes/runs/" + id + "/nope", "/__admin/hermes/runs/" + id + "/observe/x", "/__admin/hermes/runs//observe",
		"/__admin/hermes/runs/a/b/observe", "/__admin/CLOCK", "/__admin/%63lock", "/__admin/../__admin/clock"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			d.do(method, path, "").want(t, 404, `{"error":{"message":"no such control; GET /__admin lists them","type":"mockingbird_admin"}}`)
		}
	}
	d.get("/__adminx").want(t, 404, "404: Not Found")
	d.get("/__admin/clock/").want(t, 200) // a slash at the end is no matter
}

func TestHealthControl(t *testing.T) {
	d := open(t, handler.Options{})
	d.get("/ns/other/health")
	r := d.get("/__admin/health")
	var told map[string]any
	if err := json.Unmarshal([]byte(r.body), &told); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"status": "ok", "platform": "hermes-agent", "version": "0.21.0", "service": "hermes",
		"namespaces": 2.0} {
		if told[name] != want {
			t.Errorf("%s: %v, want %v", name, told[name], want)
		}
	}
	if up, ok := told["uptimeMs"].(float64); !ok || up < 0 {
		t.Errorf("uptimeMs: %v", told["uptimeMs"])
	}
	if clock, ok := told["clock"].(map[string]any); !ok || clock["frozen"] != true || clock["now"] != 1.7e12 {
		t.Errorf("clock: %v", told["clock"])
	}
}

// TestReset proves what a reset clears and what it keeps.
func TestReset(t *testing.T) {
	d := open(t, handler.Options{})
	first := d.submit("k")
	d.post("/ns/other/v1/runs", `{"input": "x"}`).want(t, 202)
	d.control("/hermes/scope", `{"profile": "p", "identity": "i"}`)
	d.control("/hermes/gateway", `{"max_concurrent_runs": 1, "draining": true}`)
	d.advance(time.Minute)
	d.control("/reset", "").want(t, 200, `{"reset":["default"],"status":"ok"}`)
	if got := d.counts(); got != (engine.Counts{}) {
		t.Errorf("counts %+v", got)
	}
	d.get("/__admin/hermes/gateway").want(t, 200, `{"draining":false,"max_concurrent_runs":10,"simulated":true}`)
	d.get("/__admin/clock").want(t, 200, `"now":1700000060000,"frozen":true`)
	d.get("/__admin/requests").want(t, 200, `"operationId":"RunCreate"`)
	d.get("/__admin/ns/other/hermes/runs").want(t, 200, `"status": "queued"`)
	if again := d.submit("k"); again != first {
		t.Errorf("the id sequence goes on after a reset: %s, then %s", first, again)
	}
	d.control("/reset?all=1", "").want(t, 200, `{"reset":["default","other"],"status":"ok"}`)
	d.get("/__admin/ns/other/hermes/runs").want(t, 200, `{"runs":[]}`)
}

// TestRunControl reads everything that the control plane shows of a run.
func TestRunControl(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("k")
	path := "/__admin/hermes/runs/" + id
	d.act(id, "steer", `{"input": "left"}`).want(t, 200)
	d.ask(id, `{"request_id": "q1"}`)
	d.ask(id, `{"request_id": "q2"}`)
	d.act(id, "approval", `{"choice": "deny", "request_id": "q2"}`).want(t, 200)
	d.get(path).want(t, 200, `{"run":{"object": "hermes.run", "run_id": "`+id, `"cached":true`, `"active":true`, `"steers":["left"]`,
		`"steering":{"accept":true}`, `"pending_approvals":[{"request_id": "q1", "event": "approval.request"`,
		`"decisions":[{"choice": "deny", "request_id": "q2", "approval": {"request_id": "q2"`,
		`"queue":{"bytes":`, `"closed":false,"events":4}`, `"subscribers":[]`,
		`"row":{"status":"running","updated_at":1700000000000}`)

	s := d.subscribe(id)
	d.advance(1500 * time.Microsecond)
	d.get(path).want(t, 200, `"subscribers":[{"gone":false,"waiting_ms":1.5}]`, `"events":0}`)
	s.close()
	d.get(path).want(t, 200, `"subscribers":[{"gone":true,"waiting_ms":1.5}]`)
	d.complete(id)
	d.get(path).want(t, 200, `"active":false`, `"pending_approvals":[]`, `"queue":null`, `"subscribers":[]`)
	d.restart("stale")
	d.get(path).want(t, 200, `"cached":false`, `"steers":[]`, `"decisions":[]`, `"row":{"status":"completed"`)
	d.get("/__admin/hermes/runs/run_missing").want(t, 404, `"message": "Run not found: run_missing"`)
	keyless := d.submit("")
	d.get("/__admin/hermes/runs/"+keyless).want(t, 200, `"row":null`)
}

// TestControlReplies are all JSON that the provider's parser reads, and say who answered.
func TestControlReplies(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.submit("k")
	for _, path := range []string{"", "/health", "/namespaces", "/clock", "/requests", "/hermes/gateway", "/hermes/runs",
		"/hermes/runs/" + id, "/hermes/runs/none", "/none"} {
		get, head := d.get("/__admin"+path), d.do("HEAD", "/__admin"+path, "")
		if _, err := canon.Parse([]byte(get.body)); err != nil {
			t.Errorf("%s: %v: %s", path, err, get.body)
		}
		if !strings.HasPrefix(get.header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: %v", path, get.header)
		}
		if want := "hermes@" + handler.Version + "; ns=default"; get.header.Get("X-Mockingbird") != want {
			t.Errorf("%s: %v", path, get.header)
		}
		if head.status != get.status || head.body != "" {
			t.Errorf("HEAD %s: %+v", path, head)
		}
	}
}
