package handler_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// entry is a journal entry as the control plane shows it.
type entry struct {
	At          int64
	Service     string
	Namespace   string
	OperationID string
	Method      string
	Path        string
	Status      int
	DurationMs  *float64
	Unmatched   bool
	IDs         map[string]string
	Accepted    bool
	ContentType *string
	BodyBytes   *int64
}

// journal reads the journal of the default namespace; query may be "".
func (d *door) journal(query string) (entries []entry, dropped int) {
	d.t.Helper()
	r := d.get("/__admin/requests" + query)
	var told struct {
		Requests []entry
		Dropped  int
	}
	if err := json.Unmarshal([]byte(r.body), &told); err != nil || r.status != 200 || told.Requests == nil {
		d.t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return told.Requests, told.Dropped
}

func TestJournal(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("k")
	d.keyed("k", `{"input": "x"}`)
	d.keyed("k", `{"input": "y"}`)
	d.advance(1500 * time.Microsecond)
	d.poll(id)
	d.get("/v1/runs/run_missing?token=secret")
	d.ask(id, `{}`)
	d.act(id, "approval", `{"choice": "once"}`)
	d.act(id, "approval", `{"choice": "once"}`)
	d.act(id, "steer", `{"input": "x"}`)
	d.act(id, "steer", `{}`)
	d.act(id, "stop", "")
	d.complete(id)
	d.act(id, "stop", "")
	d.do("HEAD", "/v1/runs/"+id+"/events", "")
	d.get("/v1/runs/" + id + "/events")
	d.get("/health")
	d.get("/v1/models")
	d.get("/v1/capabilities")
	d.get("/nope")
	d.do("DELETE", "/v1/runs", "")
	d.get("/api/jobs")
	r := d.request("POST", "/v1/runs", `[]`, map[string]string{"Content-Type": "text/x; boundary=secret"})
	d.send(r)
	d.post("/v1/runs", `{"input": "x"}`)
	d.post("/ns/other/v1/runs", `{}`)

	type want struct {
		operation, method, path string
		status                  int
		run                     string
		accepted, unmatched     bool
	}
	run := "/v1/runs/" + id
	entries, dropped := d.journal("")
	wanted := []want{
		{"RunCreate", "POST", "/v1/runs", 202, id, true, false},
		{"RunCreate", "POST", "/v1/runs", 202, id, false, false},
		{"RunCreate", "POST", "/v1/runs", 409, "", false, false},
		{"RunGet", "GET", run, 200, id, false, false},
		{"RunGet", "GET", "/v1/runs/run_missing", 404, "", false, false},
		{"RunApproval", "POST", run + "/approval", 200, id, true, false},
		{"RunApproval", "POST", run + "/approval", 409, id, false, false},
		{"RunSteer", "POST", run + "/steer", 200, id, true, false},
		{"RunSteer", "POST", run + "/steer", 400, id, false, false},
		{"RunStop", "POST", run + "/stop", 200, id, true, false},
		{"RunStop", "POST", run + "/stop", 200, id, false, false},
		{"RunEvents", "HEAD", run + "/events", 200, id, false, false},
		{"RunEvents", "GET", run + "/events", 200, id, false, false},
		{"Health", "GET", "/health", 200, "", false, false},
		{"Models", "GET", "/v1/models", 200, "", false, false},
		{"Capabilities", "GET", "/v1/capabilities", 200, "", false, false},
		{"", "GET", "/nope", 404, "", false, true},
		{"", "DELETE", "/v1/runs", 405, "", false, true},
		{"", "GET", "/api/jobs", 501, "", false, false},
		{"RunCreate", "POST", "/v1/runs", 501, "", false, false},
		{"RunCreate", "POST", "/v1/runs", 202, "", true, false},
	}
	if len(entries) != len(wanted) || dropped != 0 {
		t.Fatalf("%d entries, %d dropped, want %d", len(entries), dropped, len(wanted))
	}
	for i, w := range wanted {
		e := entries[i]
		got := want{e.OperationID, e.Method, e.Path, e.Status, e.IDs["runId"], e.Accepted, e.Unmatched}
		if i == len(wanted)-1 {
			got.run = ""
		}
		if got != w {
			t.Errorf("entry %d: %+v, want %+v", i, got, w)
		}
		if at := began.UnixMilli(); e.Service != "hermes" || e.Namespace != "default" || e.DurationMs == nil || *e.DurationMs < 0 ||
			i < 3 && e.At != at || i >= 3 && e.At != at+1 {
			t.Errorf("entry %d: %+v", i, e)
		}
		if own := e.Status == http.StatusNotImplemented; own != (e.ContentType != nil) || own != (e.BodyBytes != nil) {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if e := entries[19]; *e.ContentType != "text/x" || *e.BodyBytes != 2 {
		t.Errorf("%s, %d bytes", *e.ContentType, *e.BodyBytes)
	}

	for query, count := range map[string]int{
		"?operationId=RunStop": 2, "?status=404": 2, "?status=0": 0, "?limit=3": 3, "?limit=0": 0,
		"?limit=1000": 21, "?limit=9223372036854775807": 21, "?status=202&operationId=RunCreate": 3, "?since=1700000000001": 18, "?since=1700000000002": 0,
		"?since=-5": 21, "?status=&limit=": 21, "?namespace=other": 1,
		"?since=1700000000001&limit=1&status=200": 1,
	} {
		if got, _ := d.journal(query); len(got) != count {
			t.Errorf("%s: %d entries, want %d", query, len(got), count)
		}
	}
	if latest, _ := d.journal("?limit=2"); latest[0].Status != 501 || latest[1].Status != 202 {
		t.Errorf("limit keeps %+v", latest)
	}
	for _, query := range []string{"?status=x", "?since=now", "?limit=-1", "?limit=1.5", "?operationId=Nope", "?status=99999999999999999999"} {
		d.get("/__admin/requests"+query).want(t, 400, "requests: ")
	}
	d.do("DELETE", "/__admin/requests", "").want(t, 200)
	if left, _ := d.journal(""); len(left) != 0 {
		t.Errorf("%d entries after the journal was cleared", len(left))
	}
	if other, _ := d.journal("?namespace=other"); len(other) != 1 {
		t.Errorf("clearing one journal cleared another")
	}
}

func TestJournalRing(t *testing.T) {
	for _, c := range []struct{ size, kept, dropped int }{{3, 3, 4}, {7, 7, 0}, {8, 7, 0}, {1, 1, 6}, {-1, 0, 7}} {
		d := open(t, handler.Options{JournalSize: c.size})
		for i := range 7 {
			d.get(fmt.Sprintf("/v1/runs/run_%d", i))
		}
		entries, dropped := d.journal("")
		if len(entries) != c.kept || dropped != c.dropped {
			t.Errorf("size %d: %d kept, %d dropped", c.size, len(entries), dropped)
		}
		for i, e := range entries {
			if want := fmt.Sprintf("/v1/runs/run_%d", 7-c.kept+i); e.Path != want {
				t.Errorf("size %d, entry %d: %s, want %s", c.size, i, e.Path, want)
			}
		}
		d.do("DELETE", "/__admin/requests", "")
		d.get("/health")
		if entries, dropped := d.journal(""); c.size > 0 && (len(entries) != 1 || dropped != 0) || c.size < 0 && len(entries) != 0 {
			t.Errorf("size %d, after clearing: %d kept, %d dropped", c.size, len(entries), dropped)
		}
	}
	if handler.DefaultJournalSize != 1000 {
		t.Error(handler.DefaultJournalSize)
	}
}

func TestJournalPathIsCut(t *testing.T) {
	d := open(t, handler.Options{})
	d.get("/v1/runs/" + strings.Repeat("a", 5000))
	d.get("/" + strings.Repeat("b", 5000))
	entries, _ := d.journal("")
	for _, e := range entries {
		if len(e.Path) != 1024 {
			t.Errorf("a path of %d bytes", len(e.Path))
		}
	}
}

func TestUnmatchedIsBounded(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	h := handler.New(e, handler.Options{})
	d := &door{t: t, engine: e}
	for i := range 1000 {
		if _, err := h.Respond(d.request("GET", fmt.Sprintf("/nope/%d", i), "", nil)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := h.In("other").Respond(d.request("PUT", "/nope/0", "", nil)); err != nil {
			t.Fatal(err)
		}
	}
	list := h.Unmatched()
	total := 0
	for _, u := range list {
		total += u.Count
	}
	if len(list) > 100 || total != 1003 {
		t.Errorf("%d paths, %d requests", len(list), total)
	}
	if first := list[0]; first != (handler.Unmatched{Method: "GET", Path: "/nope/0", Count: 1}) {
		t.Errorf("%+v", first)
	}
}

func TestNamespaces(t *testing.T) {
	d := open(t, handler.Options{})
	in := func(name string) map[string]string { return map[string]string{"X-Mockingbird-Namespace": name} }
	// One submission by each way of naming a namespace.
	d.post("/v1/runs", `{"input": "x"}`).want(t, 202)
	d.send(d.request("POST", "/v1/runs", `{"input": "x"}`, in("by-header"))).want(t, 202)
	d.post("/ns/by.path/v1/runs", `{"input": "x"}`).want(t, 202)
	d.send(d.request("POST", "/ns/path-wins/v1/runs", `{"input": "x"}`, in("ignored"))).want(t, 202)
	ids := map[string]bool{}
	for _, name := range []string{"default", "by-header", "by.path", "path-wins"} {
		n, err := d.engine.Namespace(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Counts(); got.Admitted != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		ids[n.Runs()[0].ID().String()] = true
		for _, r := range []reply{
			d.get("/__admin/ns/" + name + "/hermes/runs"),
			d.get("/__admin/hermes/runs?namespace=" + name),
			d.send(d.request("GET", "/__admin/hermes/runs", "", in(name))),
			d.send(d.request("GET", "/__admin/ns/"+name+"/hermes/runs?namespace=ignored", "", in("ignored"))),
			d.send(d.request("GET", "/__admin/hermes/runs?namespace="+name, "", in("ignored"))),
		} {
			r.want(t, 200, `"status": "queued"`)
			if got := r.header.Get("X-Mockingbird"); !strings.HasSuffix(got, "; ns="+name) {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	if len(ids) != 4 {
		t.Errorf("namespaces share ids: %v", ids)
	}
	if names := d.engine.Namespaces(); slices.Contains(names, "ignored") {
		t.Errorf("%v", names)
	}
	d.get("/__admin/namespaces").want(t, 200, `{"default":"default","namespaces":["by-header","by.path","default","path-wins"]}`)
	// Everything of one namespace leaves the others alone.
	d.control("/ns/by.path/hermes/gateway", `{"draining": true}`)
	d.control("/ns/by.path/hermes/scope", `{"profile": "p", "identity": "i"}`)
	d.control("/ns/by.path/hermes/restart", `{"owner": "stale"}`)
	d.control("/ns/by.path/reset", ``)
	d.control("/ns/by.path/clock", `{"advance": "1d"}`)
	d.get("/__admin/ns/by-header/clock").want(t, 200, `"now":1700000000000`)
	d.get("/__admin/ns/by.path/clock").want(t, 200, `"now":1700086400000`)
	d.get("/__admin/clock").want(t, 200, `"now":1700000000000`)
	d.get("/__admin/ns/by-header/hermes/runs").want(t, 200, `"status": "queued"`)

	for _, bad := range []string{"a b", "a/b", "ä", "a;b", "a:b", strings.Repeat("x", 65), "\x7f", "a\n", "a\x00"} {
		const message = `{"error":{"message":"namespace: must match ^[A-Za-z0-9_.-]{1,64}$","type":"mockingbird_admin"}}`
		if !strings.ContainsAny(bad, "\n\x00\x7f") {
			d.send(d.request("GET", "/health", "", in(bad))).want(t, 400, message)
			d.send(d.request("GET", "/__admin/clock", "", in(bad))).want(t, 400, message)
		}
		d.get("/__admin/clock?namespace="+escape(bad)).want(t, 400, message)
		d.get("/ns/"+escape(bad)+"/health").want(t, 400, message)
		d.get("/__admin/ns/"+escape(bad)+"/clock").want(t, 400, message)
	}
	d.get("/__admin/ns//clock").want(t, 400)
}

// escape escapes every byte for a path or a query.
func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	return b.String()
}

// TestHandlersOfANamespace proves that a view answers for its namespace unless a request names another.
func TestHandlersOfANamespace(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	h := handler.New(e, handler.Options{Namespace: "main"})
	d := &door{t: t, engine: e}
	for want, respond := range map[string]func() (*handler.Reply, error){
		"main": func() (*handler.Reply, error) { return h.Respond(d.request("GET", "/health", "", nil)) },
		"view": func() (*handler.Reply, error) { return h.In("view").Respond(d.request("GET", "/health", "", nil)) },
		"other": func() (*handler.Reply, error) {
			return h.In("view").Respond(d.request("GET", "/ns/other/health", "", nil))
		},
		"x": func() (*handler.Reply, error) { return h.In("x").Respond(d.request("GET", "/__admin/clock", "", nil)) },
	} {
		r, err := respond()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header().Get("X-Mockingbird"); got != "hermes@"+handler.Version+"; ns="+want {
			t.Errorf("%s, want ns=%s", got, want)
		}
	}
}

// TestClockOfAll proves that a clock call without a namespace moves every clock, those to come included.
func TestClockOfAll(t *testing.T) {
	d := open(t, handler.Options{})
	d.control("/ns/a/clock", `{"set": 5000}`)
	d.control("/clock", `{"advance": 1000}`)
	for name, now := range map[string]string{"a": "6000", "default": "1700000001000", "to-come": "1700000001000"} {
		d.get("/__admin/clock?namespace="+name).want(t, 200, `{"now":`+now+`,"frozen":true,`)
	}
	d.control("/ns/a/clock", `{"set": 7258118399000}`)
	d.post("/__admin/clock", `{"advance": 2000}`).want(t, 400, "namespace a: ") // one cannot, so none does
	for name, now := range map[string]string{"a": "7258118399000", "default": "1700000001000", "new": "1700000001000"} {
		d.get("/__admin/clock?namespace="+name).want(t, 200, `{"now":`+now+`,"frozen":true,`)
	}
	d.control("/clock", `{"freeze": false}`).want(t, 200, `"frozen":false`)
	d.control("/clock", `{"reset": true}`).want(t, 200, `"frozen":false,"offsetMs":0}`)
}
