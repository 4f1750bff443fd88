package openapitest

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine"
)

// broken is a store that fails to write once it is full, and to read where it is damaged.
type broken struct {
	engine.Store
	full, damaged bool
}

var errFull, errDamaged = errors.New("no space left"), errors.New("rows are damaged")

func (b *broken) Load(namespace string, row func(engine.RunID, []byte) error) (uint64, error) {
	if b.damaged {
		return 0, errDamaged
	}
	return b.Store.Load(namespace, row)
}

func (b *broken) Apply(namespace string, c engine.Changes) error {
	if b.full {
		return errFull
	}
	return b.Store.Apply(namespace, c)
}

func (b *broken) Replace(namespace string, count int, reserved uint64, each func(put func(engine.StoredRow) error) error) error {
	if b.full {
		return errFull
	}
	return b.Store.Replace(namespace, count, reserved, each)
}

func (b *broken) Drop(namespace string) error {
	if b.full {
		return errFull
	}
	return b.Store.Drop(namespace)
}

// TestReplies brings about what the document describes, and compares every exchange with it. In the end each status of each operation has
// come.
func TestReplies(t *testing.T) {
	seen := map[string]bool{}
	t.Run("controls", func(t *testing.T) { sendAll(t, seen) })
	t.Run("run", func(t *testing.T) { runs(t, seen) })
	t.Run("timeline", func(t *testing.T) { timeline(t, seen) })
	t.Run("evidence", func(t *testing.T) { evidence(t, seen) })
	t.Run("supplied input", func(t *testing.T) { supplied(t, seen) })
	t.Run("guards", func(t *testing.T) { guards(t, seen) })
	t.Run("storage", func(t *testing.T) { storage(t, seen) })
	t.Run("closed", func(t *testing.T) { closed(t, seen) })

	open(t, nil).operations(func(method, path string, operation *v3.Operation) {
		for code := range operation.Responses.Codes.FromOldest() {
			if key := method + " " + path + " " + code; !seen[key] {
				t.Errorf("the document has %s, which never came", key)
			}
		}
	})
}

// unseen are the operations whose replies are not compared: the page is for people.
var unseen = []string{"GET /__admin/ui"}

func runs(t *testing.T, seen map[string]bool) {
	play(open(t, seen))
}

// play has most kinds of replies come.
func play(d *desk) {
	d.do(200, "GET", "/__admin", "")
	d.do(200, "GET", "/__admin/health", "")
	d.do(200, "GET", "/__admin/namespaces", "")
	d.do(200, "GET", "/__admin/openapi.yaml", "")
	d.do(200, "GET", "/health", "")
	d.do(200, "GET", "/v1/health", "")
	d.do(200, "GET", "/v1/models", "")
	d.do(200, "GET", "/v1/capabilities", "")
	for _, path := range []string{"/health/detailed", "/v1/chat/completions", "/v1/responses/x", "/api/x", "/v1/artifacts/x"} {
		d.do(501, "GET", path, "")
	}
	d.do(404, "GET", "/v1/nope", "")
	d.do(405, "DELETE", "/v1/runs", "")
	d.do(404, "GET", "/__admin/nope", "")
	d.do(405, "PUT", "/__admin/clock", "")

	keyed := []string{"Idempotency-Key", "k", "X-Hermes-Session-Key", "s"}
	id := d.submit(keyed...)
	d.submit(keyed...)
	d.do(409, "POST", "/v1/runs", `{"input": "y"}`, keyed...)
	d.do(400, "POST", "/v1/runs", `{}`)
	d.do(400, "POST", "/v1/runs", `{`)
	d.do(400, "POST", "/v1/runs", `{"input": "x"}`, "Idempotency-Key", "a b")
	d.do(400, "POST", "/v1/runs", `{"input": "x"}`, "X-Hermes-Session-Key", strings.Repeat("s", 257))
	d.do(501, "POST", "/v1/runs", `5`)
	d.do(501, "POST", "/v1/runs", `{"input": "x", "hosted_room_dispatch": 1}`)
	for path, body := range map[string]string{"": "GET", "/events": "GET", "/stop": "POST", "/approval": "POST", "/steer": "POST"} {
		d.do(404, body, "/v1/runs/run_missing"+path, "")
	}
	d.do(200, "HEAD", "/v1/runs/"+id, "")
	d.do(200, "HEAD", "/v1/runs/"+id+"/events", "")
	stream := d.follow(id)
	d.do(409, "POST", "/v1/runs/"+id+"/steer", `{"input": "x"}`)
	d.observe(id, `{"status": "running"}`)
	d.do(200, "GET", "/__admin/hermes/runs", "")
	d.do(200, "POST", "/v1/runs/"+id+"/steer", `{"input": "x"}`)
	d.do(400, "POST", "/v1/runs/"+id+"/steer", `{`)
	d.do(400, "POST", "/v1/runs/"+id+"/steer", `[]`)
	d.do(400, "POST", "/v1/runs/"+id+"/steer", `{"input": " "}`)
	d.do(200, "POST", "/__admin/hermes/runs/"+id+"/steering", `{"accept": false}`)
	d.do(409, "POST", "/v1/runs/"+id+"/steer", `{"input": "x"}`)
	d.do(200, "POST", "/__admin/hermes/runs/"+id+"/steering", `{"accept": "error", "message": "crashed"}`)
	d.do(500, "POST", "/v1/runs/"+id+"/steer", `{"input": "x"}`)
	d.do(409, "POST", "/v1/runs/"+id+"/approval", `{"choice": "once"}`)
	d.observe(id, `{"status": "waiting_for_approval", "approval": {"command": "rm", "request_id": "r1", "allow_permanent": false}}`)
	d.do(200, "GET", "/v1/runs/"+id, "")
	d.do(200, "GET", "/__admin/hermes/runs/"+id, "")
	d.do(400, "POST", "/v1/runs/"+id+"/approval", `{"choice": "maybe"}`)
	d.do(400, "POST", "/v1/runs/"+id+"/approval", `{"choice": "once", "request_id": 5}`)
	d.do(501, "POST", "/v1/runs/"+id+"/approval", `5`)
	d.do(200, "POST", "/v1/runs/"+id+"/approval", `{"choice": "deny", "request_id": "r1"}`)
	d.do(200, "GET", "/__admin/hermes/runs/"+id, "")
	d.do(200, "POST", "/v1/runs/"+id+"/stop", "")
	d.do(200, "POST", "/__admin/hermes/runs/"+id+"/events", `{"event": "message.delta", "delta": "x"}`)
	d.observe(id, `{"status": "cancelled"}`)
	if _, err := io.ReadAll(stream); err != nil {
		d.t.Error(err)
	}
	stream.Close()
	if d.judge.streams != 1 {
		d.t.Errorf("%d streams were compared", d.judge.streams)
	}
	d.do(200, "POST", "/v1/runs/"+id+"/stop", "")
	for path, body := range map[string]string{"observe": `{"status": "running"}`, "events": `{"event": "x"}`, "steering": `{"accept": true}`} {
		d.do(409, "POST", "/__admin/hermes/runs/"+id+"/"+path, body)
		d.do(404, "POST", "/__admin/hermes/runs/run_missing/"+path, body)
	}
	d.do(404, "GET", "/__admin/hermes/runs/run_missing", "")

	other := d.started("Idempotency-Key", "other")
	d.do(200, "POST", "/__admin/hermes/restart", `{"owner": "alive"}`)
	d.do(200, "GET", "/__admin/hermes/runs/"+other, "")
	d.do(409, "POST", "/v1/runs/"+other+"/stop", "")
	d.do(409, "POST", "/__admin/hermes/runs/"+other+"/events", `{"event": "message.delta"}`)
	d.do(200, "POST", "/__admin/hermes/restart", `{"owner": "stale"}`)
	d.do(200, "GET", "/v1/runs/"+other, "")
	failed := d.submit()
	d.observe(failed, `{"status": "failed", "error": "boom"}`)
	d.do(200, "GET", "/v1/runs/"+failed, "")

	d.do(200, "GET", "/__admin/hermes/gateway", "")
	d.do(200, "POST", "/__admin/hermes/gateway", `{"max_concurrent_runs": 1}`)
	d.submit()
	d.do(429, "POST", "/v1/runs", `{"input": "x"}`)
	d.do(200, "POST", "/__admin/hermes/gateway", `{"draining": true}`)
	d.do(503, "POST", "/v1/runs", `{"input": "x"}`)
	d.do(200, "DELETE", "/__admin/hermes/script", "")

	// The provider's paths in a namespace, and controls of one.
	d.do(202, "POST", "/ns/team-a/v1/runs", `{"input": "x"}`)
	d.do(200, "GET", "/__admin/hermes/runs?namespace=team-a", "")
	d.do(200, "GET", "/__admin/clock", "", "X-Mockingbird-Namespace", "team-a")
	d.do(200, "POST", "/__admin/reset", "")
	d.do(200, "POST", "/__admin/reset?all=1", "")
}

func timeline(t *testing.T, seen map[string]bool) {
	travel(open(t, seen))
}

// travel has the replies of the timeline come.
func travel(d *desk) {
	d.do(200, "GET", "/__admin/checkpoints", "")
	d.do(200, "GET", "/__admin/branches", "")
	id := d.submit()
	d.do(201, "POST", "/__admin/checkpoints", "")
	d.do(200, "GET", "/__admin/checkpoints", "")
	before := string(d.fake.Checkpoint())
	d.observe(id, `{"status": "running"}`)
	d.do(201, "POST", "/__admin/branches", `{"name": "retry", "from": "`+before+`"}`)
	d.do(201, "POST", "/__admin/branches", `{"name": "now"}`)
	d.do(409, "POST", "/__admin/branches", `{"name": "now"}`)
	d.do(404, "POST", "/__admin/branches", `{"name": "lost", "from": "cp_00000000000000000000000000000000"}`)
	d.do(200, "GET", "/__admin/branches", "")
	d.do(200, "POST", "/__admin/branches/retry/checkout", "")
	d.do(200, "POST", "/__admin/branches/main/checkout", `{"checkpoint": "`+before+`"}`)
	d.do(404, "POST", "/__admin/branches/lost/checkout", "")
	d.do(409, "POST", "/__admin/branches/main/checkout?namespace=other", `{"checkpoint": "`+before+`"}`)
	d.do(400, "POST", "/__admin/branches/a%20b/checkout", `{"checkpoint": "`+before+`"}`)
	d.do(409, "DELETE", "/__admin/branches/main", "")
	d.do(200, "DELETE", "/__admin/branches/now", "")
	d.do(404, "DELETE", "/__admin/branches/now", "")
	d.do(409, "DELETE", "/__admin/checkpoints/"+before, "")
	later := string(d.fake.Checkpoint())
	d.fake.Checkpoint()
	d.do(200, "DELETE", "/__admin/checkpoints/"+later, "")
	d.do(404, "DELETE", "/__admin/checkpoints/"+later, "")
}

func evidence(t *testing.T, seen map[string]bool) {
	look(open(t, seen))
}

// look has the replies come that tell what happened.
func look(d *desk) {
	d.submit()
	d.do(404, "GET", "/v1/nope", "")
	d.do(501, "POST", "/v1/runs", `5`)
	d.do(201, "POST", "/__admin/faults", `{"preset": "hermes_throttled"}`)
	d.do(429, "POST", "/v1/runs", `{"input": "x"}`)
	d.do(201, "POST", "/__admin/faults", `{"preset": "hermes_draining"}`)
	d.do(503, "POST", "/v1/runs", `{"input": "x"}`)
	d.do(201, "POST", "/__admin/faults", `{"preset": "hermes_submit_accepted_drop", "namespace": "*"}`)
	if _, err := d.fake.RoundTrip(d.request("POST", "/v1/runs", `{"input": "x"}`)); err == nil {
		d.t.Error("the reply was not lost")
	}
	d.do(200, "GET", "/__admin/faults", "")
	d.do(200, "GET", "/__admin/faults/presets", "")
	d.do(200, "GET", "/__admin/requests", "")
	d.do(200, "GET", "/__admin/requests?operationId=RunCreate&status=202&since=0&limit=1", "")
	d.do(400, "GET", "/__admin/requests?operationId=Nope", "")
	d.do(400, "GET", "/__admin/requests?limit=-1", "")
	d.do(200, "GET", "/__admin/metrics", "")
	d.do(200, "GET", "/__admin/metrics?format=prometheus", "")
	d.do(400, "GET", "/__admin/metrics?format=xml", "")
	d.do(200, "GET", "/__admin/requests?operationId=RunCreate&wait=1&timeoutMs=5&limit=1", "")
	d.do(504, "GET", "/__admin/requests?wait=1000&timeoutMs=0", "")
	d.do(400, "GET", "/__admin/requests?timeoutMs=5", "")
	d.submit("Idempotency-Key", "k")
	d.do(200, "GET", "/__admin/state", "")
	d.do(400, "GET", "/__admin/state?limit=1001", "")
	d.do(200, "POST", "/__admin/hermes/restart", `{"owner": "stale"}`)
	d.do(200, "GET", "/__admin/state?limit=1", "")
	d.do(200, "DELETE", "/__admin/metrics", "")
	d.do(200, "DELETE", "/__admin/requests", "")
	d.do(200, "GET", "/__admin/requests", "")
	d.do(404, "DELETE", "/__admin/faults?id=nope", "")
	d.do(200, "DELETE", "/__admin/faults?id=fault-1", "")
	d.do(200, "DELETE", "/__admin/faults", "")
}

// operations calls do with each operation of the document that is served and compared.
func (d *desk) operations(do func(method, path string, operation *v3.Operation)) {
	served := d.routes()
	for path, item := range d.judge.document.model.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			route := strings.ToUpper(method) + " " + path
			skipped := slices.ContainsFunc(unseen, func(u string) bool { return strings.HasPrefix(route, u) })
			if !skipped && (!strings.HasPrefix(path, "/__admin") || slices.Contains(served, route)) {
				do(strings.ToUpper(method), path, operation)
			}
		}
	}
}

// routes are the controls that the fake lists.
func (d *desk) routes() []string {
	d.t.Helper()
	var index struct{ Routes []string }
	if err := json.Unmarshal([]byte(d.do(200, "GET", "/__admin", "", "X-Mockingbird-Admin-Key", "admin")), &index); err != nil {
		d.t.Fatal(err)
	}
	return index.Routes
}

var names = strings.NewReplacer("{run_id}", "run_00000000000000000000000000000000", "{id}", "run_00000000000000000000000000000000", "{name}", "b")

func guards(t *testing.T, seen map[string]bool) {
	d := open(t, seen, hermesfake.WithAPIKey("secret"), hermesfake.WithAdminKey("admin"), hermesfake.WithProfile("work", "w"),
		hermesfake.WithCORSOrigins("http://good.test"))
	large := strings.Repeat("x", 10_000_001)
	d.operations(func(method, path string, _ *v3.Operation) {
		path = names.Replace(path)
		if strings.HasPrefix(path, "/__admin") {
			d.do(401, method, path, "")
			d.do(403, method, path, "", "Origin", "http://evil.test")
			d.do(400, method, path, "", "X-Mockingbird-Admin-Key", "admin", "X-Mockingbird-Namespace", "a b")
			if method == "POST" {
				d.do(413, method, path, large, "X-Mockingbird-Admin-Key", "admin")
			}
			return
		}
		d.do(403, method, path, "", "Origin", "http://evil.test")
		d.do(400, method, path, "", "X-Mockingbird-Namespace", "a b")
		d.do(404, method, "/p/nobody"+path, "")
		if method == "POST" {
			d.do(413, method, path, large)
		}
		if strings.HasSuffix(path, "/health") {
			d.do(200, method, path, "", "Origin", "http://good.test")
			return
		}
		d.do(401, method, path, "", "Origin", "http://good.test")
	})
	d.do(202, "POST", "/v1/runs", `{"input": "x"}`, "Authorization", "Bearer secret", "Origin", "http://good.test")
	d.do(202, "POST", "/p/work/v1/runs", `{"input": "x"}`, "Authorization", "Bearer w")
	d.do(202, "POST", "/ns/team-a/p/work/v1/runs", `{"input": "x"}`, "Authorization", "Bearer w")
	d.do(200, "GET", "/__admin/health", "", "X-Mockingbird-Admin-Key", "admin")
}

func storage(t *testing.T, seen map[string]bool) {
	store := &broken{Store: engine.NewMemoryStore()}
	d := open(t, seen, hermesfake.WithStore(store))
	id := d.started("Idempotency-Key", "k")
	cp := string(d.fake.Checkpoint())
	store.full = true
	d.do(500, "POST", "/v1/runs", `{"input": "x"}`, "Idempotency-Key", "new")
	d.do(500, "POST", "/v1/runs/"+id+"/stop", "")
	d.do(500, "POST", "/__admin/hermes/runs/"+id+"/observe", `{"status": "completed"}`)
	d.do(500, "POST", "/__admin/branches/main/checkout", `{"checkpoint": "`+cp+`"}`)
	d.do(500, "POST", "/__admin/reset", "")

	d = open(t, seen, hermesfake.WithStore(&broken{Store: engine.NewMemoryStore(), damaged: true}))
	d.do(500, "POST", "/v1/runs", `{"input": "x"}`)
	for path, method := range map[string]string{"": "GET", "/events": "GET", "/stop": "POST", "/approval": "POST", "/steer": "POST"} {
		d.do(500, method, "/v1/runs/"+id+path, `{"choice": "once"}`)
	}
	for path, body := range map[string]string{
		"/checkpoints": "", "/branches": `{"name": "b"}`, "/hermes/scope": `{"profile": "p", "identity": "i"}`, "/hermes/restart": `{"owner": "stale"}`,
		"/hermes/sweep": "", "/hermes/gateway": "{}",
	} {
		d.do(500, "POST", "/__admin"+path, body)
	}
}

// closed has every operation answered by a fake that was closed.
func closed(t *testing.T, seen map[string]bool) {
	d := open(t, seen)
	id := d.started()
	d.fake.Close()
	d.do(503, "GET", "/__admin/requests?wait=5", "")
	for _, path := range []string{"", "/events"} {
		d.do(503, "GET", "/v1/runs/"+id+path, "")
	}
	d.do(503, "POST", "/v1/runs", `{"input": "x"}`)
	d.do(503, "POST", "/v1/runs/"+id+"/stop", "")
	d.do(503, "POST", "/v1/runs/"+id+"/approval", `{"choice": "once"}`)
	d.do(503, "POST", "/v1/runs/"+id+"/steer", `{"input": "x"}`)
	for path, body := range map[string]string{
		"/reset": "", "/clock": `{"advance": 1}`, "/checkpoints": "", "/branches": `{"name": "b"}`, "/branches/main/checkout": "",
		"/hermes/scope": `{"profile": "p", "identity": "i"}`, "/hermes/restart": `{"owner": "stale"}`, "/hermes/sweep": "", "/hermes/gateway": "{}",
		"/hermes/runs/" + id + "/observe": `{"status": "completed"}`, "/hermes/runs/" + id + "/events": `{"event": "message.delta"}`,
		"/hermes/runs/" + id + "/steering": `{"accept": true}`,
	} {
		d.do(503, "POST", "/__admin"+path, body)
	}
	d.do(503, "DELETE", "/__admin/checkpoints/cp_00000000000000000000000000000000", "")
	d.do(503, "DELETE", "/__admin/branches/b", "")
}
