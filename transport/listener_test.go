package transport_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// listener serves another world of the same seed and time.
func listener(t *testing.T) (w *world, url string, client *http.Transport) {
	w = open(t)
	server := httptest.NewServer(handler.New(w.engine, handler.Options{}))
	client = &http.Transport{}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	return w, server.URL, client
}

// shown is what a client sees of a response's head, without what the time or the connection decides.
func shown(res *http.Response) string {
	header := res.Header.Clone()
	for _, name := range []string{"Date", "Connection"} {
		header.Del(name)
	}
	return fmt.Sprintf("%q %d %s %d.%d length %d, encoding %q, uncompressed %t, trailer %v\n%q",
		res.Status, res.StatusCode, res.Proto, res.ProtoMajor, res.ProtoMinor, res.ContentLength, res.TransferEncoding,
		res.Uncompressed, res.Trailer, header)
}

// TestLikeAListener proves that a response in process has the fields that a client gets of a listener for the same
// request, but for Date and Connection.
func TestLikeAListener(t *testing.T) {
	inside := open(t)
	outside, url, client := listener(t)
	id := inside.submit()
	if other := outside.submit(); other != id {
		t.Fatalf("%v and %v", id, other)
	}
	run := "/v1/runs/" + id.String()
	key := http.Header{"Idempotency-Key": {"k"}, "X-Hermes-Session-Key": {" mem\xc3\xa9\t"}}
	for _, c := range []struct {
		method, path, body string
		header             http.Header
	}{
		{"GET", "/health", "", nil},
		{"HEAD", "/health", "", nil},
		{"", "/v1/models", "", nil},
		{"GET", "/v1/capabilities", "", nil},
		{"POST", "/v1/runs", submission, nil},
		{"POST", "/v1/runs", submission, key},
		{"POST", "/v1/runs", submission, key},
		{"POST", "/v1/runs", `{"input": "y"}`, key},
		{"POST", "/v1/runs", ``, nil},
		{"POST", "/v1/runs", `[]`, nil},
		{"POST", "/v1/runs", `{"input": "x", "model": "é\ud800"}`, nil},
		{"GET", run, "", nil},
		{"GET", run, "a body", nil},
		{"HEAD", run, "", nil},
		{"HEAD", run + "/events", "", nil},
		{"GET", "/v1/runs/run_x/events", "", nil},
		{"POST", run + "/stop", "", nil},
		{"POST", run + "/approval", `{"choice": "once"}`, nil},
		{"POST", run + "/steer", `{`, nil},
		{"PUT", run, "x", nil},
		{"OPTIONS", run, "", nil},
		{"GET", "/v1/runs", "", nil},
		{"HEAD", "/v1/runs", "", nil},
		{"DELETE", "/nope", "", nil},
		{"GET", "//v1/runs/../x", "", nil},
		{"GET", "/v1/runs/%2F%00é", "", nil},
		{"GET", "/api/x", "", nil},
		{"GET", "/ns/a%20b/health", "", nil},
		{"GET", "/health", "", http.Header{"X-Mockingbird-Namespace": {"other"}}},
		{"GET", "/__admin/hermes/runs", "", nil},
		{"POST", "/__admin/hermes/sweep", "{}", nil},
		{"POST", "/__admin/hermes/sweep", "{", nil},
		{"PUT", "/__admin/clock", "{", nil},
		{"POST", "/__admin/hermes/gateway", `{"draining": true}`, nil},
		{"POST", "/v1/runs", submission, nil},
		{"POST", "/__admin/hermes/gateway", `{"draining": false, "max_concurrent_runs": 1}`, nil},
		{"POST", "/v1/runs", submission, nil},
	} {
		send := func(rt http.RoundTripper, base string) (*http.Response, string) {
			var content io.Reader
			if c.body != "" {
				content = strings.NewReader(c.body)
			}
			r := newRequest(t, c.method, base+c.path, content)
			r.Method = c.method // newRequest makes GET of none
			for name, values := range c.header {
				r.Header[name] = values
			}
			res, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatalf("%s %s: %v", c.method, c.path, err)
			}
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatalf("%s %s: %v", c.method, c.path, err)
			}
			if res.Request != r || res.Header.Get("Date") == "" || res.Close {
				t.Errorf("%s %s: %+v", c.method, c.path, res)
			}
			return res, string(got)
		}
		got, body := send(inside.transport, base)
		want, wantBody := send(client, url)
		if shown(got) != shown(want) || body != wantBody {
			t.Errorf("%s %s %s\nin process %s\n%s\nlistener   %s\n%s", c.method, c.path, c.body, shown(got), body, shown(want), wantBody)
		}
		for name, values := range got.Header {
			if name != http.CanonicalHeaderKey(name) || len(values) != 1 {
				t.Errorf("%s %s: %q %q", c.method, c.path, name, values)
			}
		}
	}
}

// TestStreamLikeAListener proves the same of an event stream.
func TestStreamLikeAListener(t *testing.T) {
	inside := open(t)
	outside, url, client := listener(t)
	play := func(w *world, rt http.RoundTripper, base string) (*http.Response, string) {
		id := w.submit()
		w.delta(id, "é😀")
		res, err := rt.RoundTrip(newRequest(t, "GET", base+"/v1/runs/"+id.String()+"/events", nil))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		p := make([]byte, len(frame(id, `\u00e9\ud83d\ude00`)))
		if _, err := io.ReadFull(res.Body, p); err != nil {
			t.Fatal(err)
		}
		w.observe(id, engine.Completed)
		rest, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(p) + string(rest)
	}
	got, body := play(inside, inside.transport, base)
	want, wantBody := play(outside, client, url)
	if shown(got) != shown(want) || body != wantBody {
		t.Errorf("in process %s\n%q\nlistener   %s\n%q", shown(got), body, shown(want), wantBody)
	}
	if !reflect.DeepEqual(got.TransferEncoding, []string{"chunked"}) || got.ContentLength != -1 {
		t.Errorf("%s", shown(got))
	}
}

// TestInvalidRequests proves that what net/http refuses to send is refused in process, and that what it sends is answered.
func TestInvalidRequests(t *testing.T) {
	inside := open(t)
	_, url, client := listener(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, change := range map[string]func(r *http.Request){
		"nothing":              func(r *http.Request) {},
		"tab in a value":       func(r *http.Request) { r.Header.Set("X-A", "a\tb") },
		"0x85 in a value":      func(r *http.Request) { r.Header.Set("X-A", "a\x85") },
		"0xff in a value":      func(r *http.Request) { r.Header.Set("X-A", "\xff") },
		"LF in a value":        func(r *http.Request) { r.Header.Set("X-A", "a\nb") },
		"CR in a value":        func(r *http.Request) { r.Header.Set("X-A", "a\r") },
		"NUL in a value":       func(r *http.Request) { r.Header.Set("X-A", "\x00") },
		"DEL in a value":       func(r *http.Request) { r.Header.Set("X-A", "\x7f") },
		"ESC in a value":       func(r *http.Request) { r.Header.Set("X-A", "\x1b[0m") },
		"CR in a second value": func(r *http.Request) { r.Header["X-A"] = []string{"a", "\r"} },
		"NUL in a key":         func(r *http.Request) { r.Header.Set("X-Hermes-Session-Key", "a\x00b") },
		"an empty value":       func(r *http.Request) { r.Header.Set("X-A", "") },
		"an empty name":        func(r *http.Request) { r.Header[""] = []string{"x"} },
		"space in a name":      func(r *http.Request) { r.Header["a b"] = []string{"x"} },
		"colon in a name":      func(r *http.Request) { r.Header["a:"] = []string{"x"} },
		"umlaut in a name":     func(r *http.Request) { r.Header["ä"] = []string{"x"} },
		"LF in a name":         func(r *http.Request) { r.Header["a\n"] = []string{"x"} },
		"a name of marks":      func(r *http.Request) { r.Header["!#$%&'*+-.^_`|~"] = []string{"x"} },
		"a bad name alone":     func(r *http.Request) { r.Header["a b"] = nil },
		"space in the method":  func(r *http.Request) { r.Method = "GE T" },
		"LF in the method":     func(r *http.Request) { r.Method = "GET\n" },
		"slash in the method":  func(r *http.Request) { r.Method = "GET/" },
		"a method of marks":    func(r *http.Request) { r.Method = "X-!#~" },
		"no method":            func(r *http.Request) { r.Method = "" },
		"no URL":               func(r *http.Request) { r.URL = nil },
		"another scheme":       func(r *http.Request) { r.URL.Scheme = "ftp" },
		"no host":              func(r *http.Request) { r.URL.Host = "" },
		"no header":            func(r *http.Request) { r.Header = http.Header{} },
		"cancelled":            func(r *http.Request) { *r = *r.WithContext(cancelled) },
	} {
		answered := func(rt http.RoundTripper, base string) bool {
			r := newRequest(t, "GET", base+"/health", nil)
			change(r)
			res, err := rt.RoundTrip(r)
			if err != nil {
				return false
			}
			res.Body.Close()
			return true
		}
		if got, want := answered(inside.transport, base), answered(client, url); got != want {
			t.Errorf("%s: answered in process %t, over a connection %t", name, got, want)
		}
	}
}

// TestNoNetwork proves that a request to another host is an error, and that nothing listens to it meanwhile.
func TestNoNetwork(t *testing.T) {
	w := open(t)
	reached := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer server.Close()
	for _, url := range []string{server.URL + "/v1/runs", "http://hermes.test.example/v1/runs", "https://sub.hermes.test/", "http://hermes/",
		"http://user:word@elsewhere.test/v1/runs?q=word"} {
		r, _ := post(t, url)
		res, err := w.transport.RoundTrip(r)
		if res != nil || err == nil || strings.Contains(err.Error(), "word") {
			t.Errorf("%s: %v %v", url, res, err)
		}
	}
	if got := w.namespace().Counts().Admitted; reached || got != 0 {
		t.Errorf("reached the network: %t, %d admitted", reached, got)
	}
}
