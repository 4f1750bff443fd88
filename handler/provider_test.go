package handler_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// TestEmulatorRefusals proves the emulator's own 501s, and their places in the order of checks.
func TestEmulatorRefusals(t *testing.T) {
	const (
		surrogate = `"x": "\ud800"`
		room      = `"hosted_room_dispatch": null`
		policy    = `"_room_execution_policy": 1`
		notUTF8   = "\xff"
		badKey    = "bad key"
	)
	for _, c := range []struct {
		name         string
		body         string
		key, session string
		status       int
		text         string
	}{
		{"a session key that is not UTF-8", `{`, badKey, notUTF8, 501, "session key"},
		{"JSON before room members", `{` + room, badKey, "", 400, "Invalid JSON"},
		{"room members before the key", `{` + room + `}`, badKey, "", 501, "hosted_room_dispatch"},
		{"the other room member", `{` + policy + `}`, badKey, "", 501, "_room_execution_policy"},
		{"room members before a surrogate", `{` + room + `, ` + surrogate + `}`, "k", "", 501, "hosted_room_dispatch"},
		{"the key before a surrogate", `{` + surrogate + `}`, badKey, "", 400, "Idempotency-Key must"},
		{"a surrogate with a key", `{"input": "x", ` + surrogate + `}`, "k", "", 501, "surrogate"},
		{"a surrogate in a name with a key", `{"input": "x", "\udfff": 1}`, "k", "", 501, "surrogate"},
		{"a surrogate with a key before input", `{` + surrogate + `}`, "k", "", 501, "surrogate"},
		{"a surrogate with a key before the root", `["\ud800"]`, "k", "", 501, "surrogate"},
		{"a surrogate without a key", `{"input": "x", ` + surrogate + `}`, "", "", 202, "started"},
		{"the key before the root", `[]`, badKey, "", 400, "Idempotency-Key must"},
		{"an array", `[]`, "k", "", 501, "no JSON object"},
		{"an array without a key", `["\ud800"]`, "", "", 501, "no JSON object"},
		{"a string", `"hosted_room_dispatch"`, "", "", 501, "no JSON object"},
		{"null", `null`, "", "", 501, "no JSON object"},
		{"a last item that is no object", `{"input": [{"content": "x"}, 1], "conversation_history": 1}`, "", "", 501, "input item"},
		{"a first item that is no object", `{"input": [1, {"content": "x"}]}`, "", "", 202, "started"},
		{"history after a good last item", `{"input": [1, {"content": "x"}], "conversation_history": 1}`, "", "", 400, "must be an array"},
	} {
		d := open(t, handler.Options{})
		header := map[string]string{}
		if c.key != "" {
			header["Idempotency-Key"] = c.key
		}
		if c.session != "" {
			header["X-Hermes-Session-Key"] = c.session
		}
		r := d.send(d.request("POST", "/v1/runs", c.body, header))
		if r.status != c.status || !strings.Contains(r.body, c.text) {
			t.Errorf("%s: %d %s, want %d and %q", c.name, r.status, r.body, c.status, c.text)
		}
		if c.status == http.StatusNotImplemented {
			r.want(t, 501, `{"error": {"message": "Mockingbird: `, `", "type": "mockingbird_unsupported", "param": null, "code": "operation_not_implemented"}}`)
		}
		if admitted := d.counts().Admitted; admitted != 0 && c.status != 202 || admitted != 1 && c.status == 202 {
			t.Errorf("%s: %d admitted", c.name, admitted)
		}
		d.control("/hermes/gateway", `{"draining": true}`)
		d.send(d.request("POST", "/v1/runs", c.body, header)).want(t, 503, "gateway_draining")
	}

	d := open(t, handler.Options{})
	id := d.started("")
	for _, body := range []string{`[]`, `null`, `"once"`, `5`} {
		d.act(id, "approval", body).want(t, 501, `{"error": {"message": "Mockingbird: an approval body`)
		d.act("run_missing", "approval", body).want(t, 404)
	}
	for _, path := range []string{"/health/detailed", "/v1/chat/completions", "/v1/responses", "/v1/responses/resp_1",
		"/v1/responses/resp_1/cancel", "/v1/skills", "/v1/toolsets", "/v1/artifacts/a/b", "/v1/browser-control/x", "/api/", "/api/jobs"} {
		for _, method := range []string{"GET", "POST", "DELETE", "PUT"} {
			d.do(method, path, "").want(t, 501, `"message": "Mockingbird: `+path+`"`)
		}
	}
}

// TestRefusalsChangeNothing sends everything that is refused at a full and at an empty gateway.
func TestRefusalsChangeNothing(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("k")
	before := d.state(id)
	d.keyed("k", `{"input": "other"}`).want(t, 409)
	d.keyed("k2", `{}`).want(t, 400)
	d.post("/v1/runs", `{"input": [{}]}`).want(t, 400)
	d.act(id, "approval", `{`).want(t, 400)
	d.act(id, "approval", `{"choice": "maybe"}`).want(t, 400)
	d.act(id, "approval", `{"choice": "once", "request_id": 5}`).want(t, 400)
	d.act(id, "approval", `{"choice": "once"}`).want(t, 409)
	d.act(id, "steer", `{`).want(t, 400)
	d.act(id, "steer", `{}`).want(t, 400)
	d.act("run_x", "stop", ``).want(t, 404)
	d.get("/v1/runs/run_x/events").want(t, 404)
	d.do("PUT", "/v1/runs/"+id, "").want(t, 405)
	d.do("HEAD", "/v1/runs/"+id+"/events", "").want(t, 200)
	if after := d.state(id); after != before {
		t.Errorf("refused requests changed\n%s\nto\n%s", before, after)
	}
}

// endless is a body that has no end.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += int64(len(p))
	return len(p), nil
}

const maxBody = 10_000_000

// padded is a submission of exactly so many bytes.
func padded(size int) string {
	const head, tail = `{"input": "`, `"}`
	return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
}

const tooLarge = `{"error": {"message": "Request body too large.", "type": "invalid_request_error", "param": null, "code": "body_too_large"}}`

func TestBodyBound(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("")
	declared := func(method, path string, size int64, body io.Reader) reply {
		r := d.request(method, path, "", nil)
		r.Body, r.ContentLength = io.NopCloser(body), size
		return d.send(r)
	}
	for _, path := range []string{"/v1/runs", "/v1/runs/" + id + "/approval", "/v1/runs/" + id + "/steer", "/v1/runs/run_x/stop"} {
		unread := &endless{}
		declared("POST", path, maxBody+1, unread).want(t, 413, tooLarge)
		if unread.read > 0 {
			t.Errorf("%s: %d bytes of a body declared too large were read", path, unread.read)
		}
	}
	for _, path := range []string{"/v1/runs", "/v1/runs/" + id + "/approval", "/v1/runs/" + id + "/steer"} {
		stream := &endless{}
		declared("POST", path, -1, stream).want(t, 413, tooLarge)
		if stream.read > 2*maxBody {
			t.Errorf("%s: %d bytes were read", path, stream.read)
		}
	}
	declared("POST", "/v1/runs", maxBody, strings.NewReader(padded(maxBody))).want(t, 202)
	declared("POST", "/v1/runs", -1, strings.NewReader(padded(maxBody))).want(t, 202)
	declared("POST", "/v1/runs", -1, strings.NewReader(padded(maxBody+1))).want(t, 413, tooLarge)
	if n := d.counts().Admitted; n != 3 {
		t.Errorf("%d admitted, want 3", n)
	}
	declared("POST", "/__admin/hermes/sweep", maxBody+1, &endless{}).want(t, 413, "mockingbird_admin")
	declared("POST", "/__admin/hermes/sweep", -1, &endless{}).want(t, 413, "mockingbird_admin")
}

func TestBodyBoundOverASocket(t *testing.T) {
	e := engine.New(engine.Config{Seed: 1})
	defer e.Close()
	server := httptest.NewServer(handler.New(e, handler.Options{}))
	defer server.Close()
	for _, c := range []struct {
		name   string
		size   int64
		body   io.Reader
		status int
	}{
		{"declared", maxBody + 1, io.LimitReader(&endless{}, maxBody+1), 413},
		{"chunked", -1, io.LimitReader(&endless{}, maxBody+100_000), 413}, // net/http reads a little more before it hangs up
		{"chunked, one byte over", -1, strings.NewReader(padded(maxBody + 1)), 413},
		{"chunked, at the bound", -1, strings.NewReader(padded(maxBody)), 202},
		{"declared, at the bound", maxBody, strings.NewReader(padded(maxBody)), 202},
	} {
		r, err := http.NewRequest("POST", server.URL+"/v1/runs", io.NopCloser(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = c.size
		client := &http.Transport{ExpectContinueTimeout: 1 << 40}
		r.Header.Set("Expect", "100-continue") // the body is sent once it is asked for
		res, err := client.RoundTrip(r)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		client.CloseIdleConnections()
		if err != nil || res.StatusCode != c.status || c.status == 413 && string(body) != tooLarge {
			t.Errorf("%s: %d %s %v", c.name, res.StatusCode, body, err)
		}
	}
}

// TestBodyThatBreaks proves that a body that cannot be read is an error, and admits nothing.
func TestBodyThatBreaks(t *testing.T) {
	d := open(t, handler.Options{})
	broken := errors.New("the client's disk is on fire")
	r := d.request("POST", "/v1/runs", "", nil)
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"input": "x"}`), failing{broken}))
	if _, err := d.client.RoundTrip(r); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if n := d.counts().Admitted; n != 0 {
		t.Errorf("%d admitted", n)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestHeaderFieldsInOtherCase proves that a request in process may spell field names as it likes.
func TestHeaderFieldsInOtherCase(t *testing.T) {
	for _, spell := range []func(string) string{strings.ToLower, strings.ToUpper, http.CanonicalHeaderKey} {
		d := open(t, handler.Options{})
		header := map[string]string{
			spell("Idempotency-Key"):         " k1\u3000",
			spell("X-Hermes-Session-Key"):    "mem",
			spell("X-Mockingbird-Namespace"): "other",
		}
		r := d.send(d.request("POST", "/v1/runs", `{"input": "x"}`, header))
		r.want(t, 202, `"replayed": false`)
		if r.header.Get("X-Hermes-Session-Key") != "mem" || !strings.HasSuffix(r.header.Get("X-Mockingbird"), "; ns=other") {
			t.Errorf("%v", r.header)
		}
		r = d.send(d.request("POST", "/v1/runs", `{"input": "x"}`, header))
		r.want(t, 202, `"replayed": true`)
		if r.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%v", r.header)
		}
	}
}

// TestHead proves that HEAD answers as GET without a body.
func TestHead(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("")
	for _, path := range []string{"/health", "/v1/health", "/v1/models", "/v1/capabilities", "/v1/runs/" + id, "/v1/runs/run_x",
		"/v1/runs", "/v1/runs/run_x/events", "/nope"} {
		get, head := d.get(path), d.do("HEAD", path, "")
		if head.body != "" || head.status != get.status || fmt.Sprint(head.header) != fmt.Sprint(get.header) {
			t.Errorf("%s:\nGET  %d %v\nHEAD %d %v %q", path, get.status, get.header, head.status, head.header, head.body)
		}
	}
	head := d.do("HEAD", "/v1/runs/"+id+"/events", "")
	head.want(t, 200)
	if head.body != "" || head.header.Get("Content-Type") != "text/event-stream" || head.header.Get("Content-Length") != "" {
		t.Errorf("%+v", head)
	}
	if n := d.counts().Streams; n != 0 {
		t.Errorf("HEAD subscribed: %d streams", n)
	}
	d.do("HEAD", "/v1/runs/"+id+"/stop", "").want(t, 405)
}

// TestMethods proves 405 and its Allow for every provider route.
func TestMethods(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("")
	before := d.state(id)
	for path, allow := range map[string]string{
		"/health": "GET,HEAD", "/v1/health": "GET,HEAD", "/v1/models": "GET,HEAD", "/v1/capabilities": "GET,HEAD",
		"/v1/runs": "POST", "/v1/runs/" + id: "GET,HEAD", "/v1/runs/" + id + "/events": "GET,HEAD",
		"/v1/runs/" + id + "/stop": "POST", "/v1/runs/" + id + "/approval": "POST", "/v1/runs/" + id + "/steer": "POST",
		"/v1/runs/run_missing/stop": "POST",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "X"} {
			if strings.Contains(","+allow+",", ","+method+",") {
				continue
			}
			r := d.do(method, path, `{"input": "x"}`)
			if r.status != 405 || r.header.Get("Allow") != allow || r.header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s %s: %d %v", method, path, r.status, r.header)
			}
			if r.body != "405: Method Not Allowed" && method != "HEAD" {
				t.Errorf("%s %s: %q", method, path, r.body)
			}
		}
	}
	if after := d.state(id); after != before {
		t.Errorf("refused methods changed\n%s\nto\n%s", before, after)
	}
}

func TestOddPaths(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("")
	notFound := func(name string) string {
		return `{"error": {"message": "Run not found: ` + name + `", "type": "invalid_request_error", "param": null, "code": "run_not_found"}}`
	}
	const noRoute = "404: Not Found"
	huge := strings.Repeat("a", 1<<20)
	for path, want := range map[string]string{
		"//v1/runs":                       noRoute,
		"/v1//runs":                       noRoute,
		"/v1/runs/":                       noRoute,
		"/v1/runs//":                      noRoute,
		"/v1/runs//events":                noRoute,
		"/v1/runs/../x":                   noRoute,
		"/v1/runs/../runs":                noRoute,
		"/v1/./runs/x":                    noRoute,
		"/v1/runs/" + id + "/":            noRoute,
		"/v1/runs/" + id + "/../" + id:    noRoute,
		"/v1/runs/" + id + "/events/":     noRoute,
		"/v1/runs/" + id + "/nope":        noRoute,
		"/v1/runs/" + id + "/events/x":    noRoute,
		"/V1/runs/x":                      noRoute,
		"/v1/runsx":                       noRoute,
		"/v1%2Fruns/x":                    noRoute,
		"/v1/%72uns/x":                    noRoute,
		"/":                               noRoute,
		"/health/":                        noRoute,
		"/ns":                             noRoute,
		"/ns/x":                           noRoute,
		"/ns/x/":                          noRoute,
		"/ns/x/ns/y/health":               noRoute,
		"/ns/x/__admin/health":            noRoute,
		"/v1/runs/..":                     notFound(".."),
		"/v1/runs/%2F":                    notFound("/"),
		"/v1/runs/%2e%2e%2fx":             notFound("../x"),
		"/v1/runs/a%2Fb%20c":              notFound("a/b c"),
		"/v1/runs/%00":                    notFound(`\u0000`),
		"/v1/runs/%C3%A9":                 notFound(`\u00e9`),
		"/v1/runs/%22%5C":                 notFound(`\"\\`),
		"/v1/runs/" + strings.ToUpper(id): notFound(strings.ToUpper(id)),
		"/v1/runs/" + id + "%20":          notFound(id + " "),
		"/v1/runs/" + id + "0":            notFound(id + "0"),
		"/v1/runs/" + id[:35]:             notFound(id[:35]),
		"/v1/runs/" + huge:                notFound(huge),
		"/v1/runs/{run_id}":               notFound("{run_id}"),
		"/v1/runs/run_" + strings.Repeat("%30", 32): notFound("run_" + strings.Repeat("0", 32)),
	} {
		r := d.get(path)
		if r.status != 404 || r.body != want {
			t.Errorf("%.80s: %d %.200s, want %.200s", path, r.status, r.body, want)
		}
	}
	for path, status := range map[string]int{
		"/v1/runs/" + strings.Replace(id, "r", "%72", 1): 200, // an escaped letter is the letter
		"/v1/runs/" + id + "?q=1#f":                      200,
		"/v1/runs/" + id + "?":                           200,
		"/ns/a%2Fb/v1/runs":                              400,
		"/ns/":                                           400,
		"/ns//v1/runs":                                   400,
		"/ns/%20/health":                                 400,
		"/ns/x%2e/health":                                200,
		"/ns/../health":                                  200, // ".." is a name like any other
		"/ns/" + strings.Repeat("n", 64) + "/health":     200,
		"/ns/" + strings.Repeat("n", 65) + "/health":     400,
	} {
		if r := d.get(path); r.status != status {
			t.Errorf("%s: %d %s, want %d", path, r.status, r.body, status)
		}
	}
}

// TestUnusualURLs sends what no client library would make of a text.
func TestUnusualURLs(t *testing.T) {
	d := open(t, handler.Options{})
	for _, u := range []url.URL{
		{Path: "*"}, {Opaque: "*"}, {}, {Path: "v1/runs"}, {Path: "/v1/runs/\xff\xfe"}, {Path: "/v1/runs/a b"},
		{Path: "/v1/runs/x", RawPath: "%zz"}, {Path: "/ns/\x00/health"}, {Path: "/__admin/ns/\xff/health"},
	} {
		u.Scheme, u.Host = "http", "hermes.test"
		for _, method := range []string{"OPTIONS", "GET", "POST"} {
			r := d.send(&http.Request{Method: method, URL: &u, Header: http.Header{}})
			if r.status < 400 || r.status > 405 {
				t.Errorf("%s %+v: %d %s", method, u, r.status, r.body)
			}
		}
	}
}

// TestAsteriskOverASocket proves that OPTIONS * does no harm.
func TestAsteriskOverASocket(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	server := httptest.NewServer(handler.New(e, handler.Options{}))
	defer server.Close()
	for _, line := range []string{"OPTIONS * HTTP/1.1", "GET * HTTP/1.1", "GET //v1/runs HTTP/1.1", "GET /v1/runs/../x HTTP/1.1",
		"GET http://elsewhere/v1/runs/%2F HTTP/1.1"} {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "%s\r\nHost: x\r\nConnection: close\r\n\r\n", line)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		io.Copy(io.Discard, res.Body)
		c.Close()
		want := 404
		if strings.Contains(line, " * ") {
			want = res.StatusCode // net/http's own business
		}
		if res.StatusCode != want || res.StatusCode >= 500 {
			t.Errorf("%s: %s", line, res.Status)
		}
	}
}
