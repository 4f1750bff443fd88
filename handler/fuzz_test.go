package handler_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// FuzzRequest sends any method, path, header field and body to a handler that knows some runs; {run} in the path and
// {k} in the header stand for one of them and its key. There is always a reply, JSON replies are JSON as the provider
// reads it, and the number of runs grows by one with a 202 that is no replay, and not otherwise.
func FuzzRequest(f *testing.F) {
	for _, seed := range []struct{ method, path, name, value, body string }{
		{"POST", "/v1/runs", "Idempotency-Key", "new", `{"input": "x", "model": null, "session_id": [1e400]}`},
		{"POST", "/v1/runs", "Idempotency-Key", "k", `{"input": "x"}`},
		{"POST", "/v1/runs", "idempotency-key", "k", `{"input": "\ud800"}`},
		{"POST", "/v1/runs", "X-Hermes-Session-Key", "\x85\xff", `[{"input":1}]`},
		{"POST", "/v1/runs", "X-Mockingbird-Namespace", "other", `{"input": [{"content": "x"}], "conversation_history": [{"role": 1, "content": 2}]}`},
		{"GET", "/v1/runs/{run}", "", "", ""},
		{"HEAD", "/v1/runs/{run}/events", "", "", ""},
		{"GET", "/v1/runs/{run}/events", "", "", ""},
		{"POST", "/v1/runs/{run}/stop", "", "", "not json"},
		{"POST", "/v1/runs/{run}/approval", "", "", `{"choice": "Once ", "request_id": "q", "all": "on"}`},
		{"POST", "/v1/runs/{run}/steer", "", "", `{"input": [{"type": "text", "text": "x"}, ["y"]], "text": {"a": -0.0}}`},
		{"GET", "/ns/x/v1/runs/%2F%00%ff", "Origin", "null", ""},
		{"OPTIONS", "*", "", "", ""},
		{"", "", "", "", ""},
		{"POST", "/__admin/clock", "", "", `{"set": "2024-02-29", "advance": "3d", "freeze": false}`},
		{"POST", "/__admin/ns/default/hermes/runs/{run}/observe", "", "", `{"status": "completed", "output": "\ud800", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}`},
		{"POST", "/__admin/hermes/runs/{run}/events", "", "", `{"event": "tool.completed", "duration": 0.12345}`},
		{"POST", "/__admin/hermes/runs/{run}/steering", "", "", `{"accept": "error", "message": "m"}`},
		{"POST", "/__admin/hermes/restart", "", "", `{"owner": "stale"}`},
		{"POST", "/__admin/reset?all=1", "", "", ""},
		{"GET", "/__admin/requests?status=202&limit=1&since=0", "", "", ""},
		{"GET", "/__admin/hermes/runs/{run}?namespace=default", "", "", ""},
	} {
		f.Add(seed.method, seed.path, seed.name, seed.value, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, method, path, name, value string, body []byte) {
		d := open(t, handler.Options{})
		run := d.started("k")
		d.ask(run, `{"request_id": "q"}`)
		d.started("")
		h := handler.New(d.engine, handler.Options{})

		path = strings.ReplaceAll(path, "{run}", run)
		u, err := url.Parse(host + path)
		if err != nil {
			u = &url.URL{Path: path}
		}
		r := &http.Request{Method: method, URL: u, Header: http.Header{name: {value}}, Body: io.NopCloser(bytes.NewReader(body)),
			ContentLength: int64(len(body))}
		before := admitted(t, d.engine)
		reply, err := h.Respond(r)
		if err != nil || reply == nil {
			t.Fatalf("no reply: %v", err)
		}
		if reply.Stream != nil {
			reply.Stream.Leave()
		}
		header := reply.Header()
		for name, values := range header {
			if len(values) != 1 || strings.ContainsAny(name+values[0], "\r\n\x00") {
				t.Errorf("header field %q: %q", name, values)
			}
		}
		if reply.Status < 200 || reply.Status > 599 {
			t.Errorf("status %d", reply.Status)
		}
		isNew := false
		if strings.HasPrefix(header.Get("Content-Type"), "application/json") {
			v, err := canon.Parse(reply.Body)
			if err != nil {
				t.Fatalf("%v: %q", err, reply.Body)
			}
			object, _ := v.(canon.Object)
			replayed, _ := object.Get("replayed")
			isNew = reply.Status == http.StatusAccepted && replayed == canon.Bool(false)
		}
		grown := admitted(t, d.engine) - before
		if isNew && grown != 1 || !isNew && grown > 0 || grown < 0 && !strings.Contains(u.Path, "/reset") {
			t.Errorf("%d runs more after %d %s", grown, reply.Status, reply.Body)
		}
		for _, text := range []string{"/__admin/hermes/runs", "/__admin/requests", "/__admin/hermes/runs/" + run} {
			if r := d.get(text); !strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
				t.Errorf("%s: %v", text, r)
			} else if _, err := canon.Parse([]byte(r.body)); err != nil {
				t.Errorf("%s: %v: %q", text, err, r.body)
			}
		}
	})
}

// admitted counts the admissions of all namespaces.
func admitted(t *testing.T, e *engine.Engine) int {
	total := 0
	for _, name := range e.Namespaces() {
		n, err := e.Namespace(name)
		if err != nil {
			t.Fatal(err)
		}
		total += n.Counts().Admitted
	}
	return total
}
