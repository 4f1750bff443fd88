package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// socketServer is a server behind a real socket.
type socketServer struct {
	t       *testing.T
	address string
	stop    func() // ends it, and returns when it has ended
	stderr  bytes.Buffer
}

// onSocket serves with the given flags on a port of its own.
func onSocket(t *testing.T, flags string, within limits) *socketServer {
	t.Helper()
	var set settings
	if err := parse(set.flagSet(), strings.Fields(flags)); err != nil {
		t.Fatal(err)
	}
	listener, err := listen(t.Context(), "127.0.0.1", 0, false)
	if err != nil {
		t.Fatal(err)
	}
	s := &socketServer{t: t, address: listener.Addr().String()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, listener, &set, within, io.Discard, &s.stderr) }()
	s.stop = func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
	return s
}

// patience bounds how long a test waits for what should come at once.
const patience = 15 * time.Second

func (s *socketServer) dial() *net.TCPConn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(patience))
	return conn.(*net.TCPConn)
}

// answer is a reply as it came.
type answer struct {
	*http.Response
	body string
}

// readAnswer reads a reply. methods are those of the requests whose replies are still to come, and
// one is taken off for each final one; a reply beyond them is that to a GET.
func readAnswer(r *bufio.Reader, methods *[]string) (answer, error) {
	method := http.MethodGet
	if len(*methods) > 0 {
		method = (*methods)[0]
	}
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		return answer{}, err
	}
	if res.StatusCode >= 200 && len(*methods) > 0 {
		*methods = (*methods)[1:]
	}
	body, err := io.ReadAll(res.Body)
	return answer{res, string(body)}, err
}

// exchange writes the pieces, shuts the writing side down, and returns the
// replies up to the end of the connection.
func (s *socketServer) exchange(methods []string, pieces ...string) ([]answer, error) {
	s.t.Helper()
	conn := s.dial()
	defer conn.Close()
	written := make(chan struct{})
	go func() {
		defer close(written)
		for _, p := range pieces {
			// The server need not read what it has refused.
			if _, err := io.WriteString(conn, p); err != nil {
				return
			}
		}
		conn.CloseWrite()
	}()
	defer func() { <-written }()
	r := bufio.NewReader(conn)
	var answers []answer
	for {
		if _, err := r.Peek(1); err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
			return answers, nil
		}
		a, err := readAnswer(r, &methods)
		if err != nil {
			return answers, err
		}
		answers = append(answers, a)
	}
}

// hostileLimits make the server give up soon on what does not come.
func hostileLimits() limits {
	within := defaultLimits()
	within.headerTime, within.requestTime, within.closeTime = 5*time.Second, 5*time.Second, time.Second
	return within
}

// post is a POST with a body.
func post(path, body string, fields ...string) string {
	head := "POST " + path + " HTTP/1.1\r\nHost: hermes.test\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	for _, f := range fields {
		head += f + "\r\n"
	}
	return head + "\r\n" + body
}

// get is a GET without a body.
func get(path string, fields ...string) string {
	head := "GET " + path + " HTTP/1.1\r\nHost: hermes.test\r\n"
	for _, f := range fields {
		head += f + "\r\n"
	}
	return head + "\r\n"
}

// chunkedPost is a POST of a body that comes in chunks, which are given as
// they go over the wire.
func chunkedPost(chunks string) string {
	return "POST /v1/runs HTTP/1.1\r\nHost: hermes.test\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
}

const (
	hi    = `{"input": "hi"}`
	probe = "GET /v1/health HTTP/1.1\r\nHost: hermes.test\r\n\r\n"
)

// hostileCases are what a client sends before it shuts its writing side down, and the statuses of the
// replies. The probe that most end with tells whether the server still knows where requests begin.
var hostileCases = []struct {
	name    string
	send    string
	want    string
	methods string // of the requests, where they matter to how replies are read
}{
	// Request lines.
	{"nothing", "", "", ""},
	{"an empty line first", "\r\n" + probe, "400", ""},
	{"garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n" + probe, "400", ""},
	{"half a request line", "GET /v1/heal", "400", ""},
	{"no version", "GET /v1/health\r\n\r\n" + probe, "400", ""},
	{"version 0.9", "GET /v1/health HTTP/0.9\r\n\r\n" + probe, "505", ""},
	{"version 2", "GET /v1/health HTTP/2.0\r\nHost: h\r\n\r\n" + probe, "505", ""},
	{"version 9", "GET /v1/health HTTP/9.9\r\nHost: h\r\n\r\n" + probe, "505", ""},
	{"version in words", "GET /v1/health HTTP/one\r\nHost: h\r\n\r\n" + probe, "400", ""},
	{"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + probe, "404", ""},
	{"two spaces", "GET  /v1/health HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "400", ""},
	{"NUL in the path", get("/v1/\x00health") + probe, "400", ""},
	{"DEL in the path", get("/v1/\x7fhealth") + probe, "400", ""},
	{"lone CR in the path", get("/v1/\rhealth") + probe, "400", ""},
	{"no method", " /v1/health HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "400", ""},
	{"method with a tab", "G\tET /v1/health HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "400", ""},
	{"unknown method", "BREW /v1/runs HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "405 200", ""},
	{"method of 8 KB", strings.Repeat("M", 8<<10) + " /v1/runs HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "405 200", ""},
	{"method of 80 KB", strings.Repeat("M", 80<<10) + " /v1/runs HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "431", ""},
	{"lines that end in LF", "GET /v1/health HTTP/1.1\nHost: h\n\n" + probe, "200 200", ""},
	{"bad escape", get("/v1/runs/%zz") + probe, "400", ""},
	{"half an escape", get("/v1/runs/%4") + probe, "400", ""},
	{"relative path", "GET v1/health HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "400", ""},
	{"absolute form", get("http://elsewhere.test/v1/health") + probe, "200 200", ""},
	{"absolute form without a path", get("http://elsewhere.test") + probe, "404 200", ""},
	{"CONNECT", "CONNECT hermes.test:80 HTTP/1.1\r\nHost: hermes.test:80\r\n\r\n" + probe, "404 200", ""},
	{"HEAD", "HEAD /v1/health HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "200 200", "HEAD GET"},
	{"HEAD of no run", "HEAD /v1/runs/none HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "404 200", "HEAD GET"},
	{"HEAD of no stream", "HEAD /v1/runs/none/events HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "404 200", "HEAD GET"},
	{"HEAD where only POST goes", "HEAD /v1/runs HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "405 200", "HEAD GET"},
	{"HEAD of a control", "HEAD /__admin/health HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "200 200", "HEAD GET"},
	{"OPTIONS", "OPTIONS /v1/runs HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "405 200", ""},
	{"OPTIONS of a page", "OPTIONS /v1/runs HTTP/1.1\r\nHost: h\r\nOrigin: http://evil.test\r\n\r\n" + probe, "403 200", ""},
	{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "404 200", ""},
	{"GET *", get("*") + probe, "404 200", ""},

	// Header fields.
	{"no Host", "GET /v1/health HTTP/1.1\r\n\r\n" + probe, "400", ""},
	{"two Hosts", get("/v1/health", "Host: other") + probe, "400", ""},
	{"Host with a slash", "GET /v1/health HTTP/1.1\r\nHost: a/b\r\n\r\n" + probe, "400", ""},
	{"lone CR in a value", get("/v1/health", "X: a\rb: c") + probe, "400", ""},
	{"lone LF in a value", get("/v1/health", "X: a\nY: c") + probe, "200 200", ""},
	{"lone LF before no field", get("/v1/health", "X: a\nforged") + probe, "400", ""},
	{"NUL in a value", get("/v1/health", "X: a\x00b") + probe, "400", ""},
	{"NUL in a name", get("/v1/health", "X\x00: a") + probe, "400", ""},
	{"0x85 in a value", get("/v1/health", "X: a\x85b") + probe, "200 200", ""},
	{"0x85 in a name", get("/v1/health", "X\x85: b") + probe, "400", ""},
	{"space before the colon", get("/v1/health", "X : b") + probe, "400", ""},
	{"no name", get("/v1/health", ": b") + probe, "400", ""},
	{"folded", get("/v1/health", "X: a", " b") + probe, "200 200", ""},
	{"fold of nothing", "GET /v1/health HTTP/1.1\r\n X: a\r\nHost: h\r\n\r\n" + probe, "400", ""},
	{"value of 60 KB", get("/v1/health", "X: "+strings.Repeat("x", 60<<10)) + probe, "200 200", ""},
	{"value of 1 MB", get("/v1/health", "X: "+strings.Repeat("x", 1<<20)) + probe, "431", ""},
	{"5000 fields", get("/v1/health", slices.Repeat([]string{"X: y"}, 5000)...) + probe, "200 200", ""},
	{"50000 fields", get("/v1/health", slices.Repeat([]string{"X: y"}, 50000)...) + probe, "431", ""},
	{"session key with 0x85 around", post("/v1/runs", hi, "X-Hermes-Session-Key: \xc2\x85 key \xc2\x85") + probe, "202 200", ""},
	{"session key that is not UTF-8", post("/v1/runs", hi, "X-Hermes-Session-Key: \x85") + probe, "501 200", ""},
	{"session key of 60 KB", post("/v1/runs", hi, "X-Hermes-Session-Key: "+strings.Repeat("k", 60<<10)) + probe, "400 200", ""},
	{"key that is not UTF-8", post("/v1/runs", hi, "Idempotency-Key: \x85") + probe, "400 200", ""},
	{"key with a tab", post("/v1/runs", hi, "Idempotency-Key: a\tb") + probe, "400 200", ""},
	{"key of 60 KB", post("/v1/runs", hi, "Idempotency-Key: "+strings.Repeat("k", 60<<10)) + probe, "400 200", ""},
	{"upgrade to nothing", get("/v1/health", "Connection: Upgrade", "Upgrade: websocket") + probe, "200 200", ""},
	{"upgrade to HTTP/2", get("/v1/health", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk") + probe, "200 200", ""},
	{"close", get("/v1/health", "Connection: close") + probe, "200", ""},

	// Where the body ends.
	{"the same length twice", post("/v1/runs", hi, "Content-Length: 15") + probe, "202 200", ""},
	{"two lengths", post("/v1/runs", hi, "Content-Length: 16") + probe, "400", ""},
	{"two lengths in one field", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 15, 15\r\n\r\n" + hi + probe, "400", ""},
	{"negative length", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n" + probe, "400", ""},
	{"length with a plus", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: +15\r\n\r\n" + hi + probe, "400", ""},
	{"length in hex", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 0xf\r\n\r\n" + hi + probe, "400", ""},
	{"no length in the field", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n" + probe, "400", ""},
	{"length beyond 64 bits", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n" + probe, "400", ""},
	{"no length", "POST /v1/runs HTTP/1.1\r\nHost: h\r\n\r\n" + probe, "400 200", ""},
	{"length and chunks", post("/v1/runs", "f\r\n"+hi+"\r\n0\r\n\r\n", "Transfer-Encoding: chunked") + probe, "202 200", ""},
	{"short length and chunks", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n" + hi + "\r\n0\r\n\r\n" + probe, "202 200", ""},
	{"too large a length and chunks", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n" + hi + "\r\n0\r\n\r\n" + probe, "202 200", ""},
	{"chunked twice", post("/v1/runs", "0\r\n\r\n", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + probe, "501", ""},
	{"chunked, chunked", post("/v1/runs", "0\r\n\r\n", "Transfer-Encoding: chunked, chunked") + probe, "501", ""},
	{"gzip, chunked", post("/v1/runs", "0\r\n\r\n", "Transfer-Encoding: gzip, chunked") + probe, "501", ""},
	{"identity", post("/v1/runs", hi, "Transfer-Encoding: identity") + probe, "501", ""},
	{"xchunked", post("/v1/runs", hi, "Transfer-Encoding: xchunked") + probe, "501", ""},
	{"VT chunked", post("/v1/runs", hi, "Transfer-Encoding: \x0bchunked") + probe, "400", ""},
	{"0x85 chunked", post("/v1/runs", hi, "Transfer-Encoding: \x85chunked") + probe, "501", ""},
	{"GET with chunks", get("/v1/health", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n" + probe, "200 200", ""},
	{"GET with a body that is a request", get("/v1/health", "Content-Length: "+strconv.Itoa(len(probe))) + probe + probe, "200 200", ""},
	{"body of an unknown path", post("/v1/none", probe) + probe, "404 200", ""},
	{"body of a stop", post("/v1/runs/none/stop", probe) + probe, "404 200", ""},

	// Chunks.
	{"chunks", chunkedPost("8\r\n{\"input\"\r\n7\r\n: \"hi\"}\r\n0\r\n\r\n") + probe, "202 200", ""},
	{"chunk extension", chunkedPost("f;a=b\r\n"+hi+"\r\n0\r\n\r\n") + probe, "202 200", ""},
	{"trailer", chunkedPost("f\r\n"+hi+"\r\n0\r\nX: y\r\n\r\n") + probe, "202 200", ""},
	{"trailer that is a length", chunkedPost("f\r\n"+hi+"\r\n0\r\nContent-Length: 99999999\r\n\r\n") + probe, "202 200", ""},
	{"size in words", chunkedPost("zz\r\n"+hi+"\r\n0\r\n\r\n") + probe, "", ""},
	{"negative size", chunkedPost("-1\r\n"+hi+"\r\n0\r\n\r\n") + probe, "", ""},
	{"size with 0x", chunkedPost("0xf\r\n"+hi+"\r\n0\r\n\r\n") + probe, "", ""},
	{"no size", chunkedPost("\r\n"+hi+"\r\n0\r\n\r\n") + probe, "", ""},
	{"size beyond 64 bits", chunkedPost("fffffffffffffffff\r\n"+hi) + probe, "", ""},
	{"size of 63 bits", chunkedPost("7fffffffffffffff\r\n"+hi) + probe, "", ""},
	{"size of 64 bits", chunkedPost("ffffffffffffffff\r\n"+hi) + probe, "", ""},
	{"chunk longer than its size", chunkedPost("3\r\n"+hi+"\r\n0\r\n\r\n") + probe, "", ""},
	{"chunk shorter than its size", chunkedPost("ff\r\n"+hi+"\r\n0\r\n\r\n") + probe, "", ""},
	{"no last chunk", chunkedPost("f\r\n" + hi + "\r\n"), "", ""},
	{"chunk extension of 1 MB", chunkedPost("f;"+strings.Repeat("x", 1<<20)+"\r\n"+hi+"\r\n0\r\n\r\n") + probe, "", ""},
	{"lone CR in a chunk extension", chunkedPost("f;a\rb\r\n"+hi+"\r\n0\r\n\r\n") + probe, "", ""},
	{"12 MB of chunks", chunkedPost(strings.Repeat("100000\r\n"+strings.Repeat(" ", 1<<20)+"\r\n", 12)+"0\r\n\r\n") + probe, "413", ""},
	{"100000 small chunks", chunkedPost(strings.Repeat("1\r\n \r\n", 100_000) + "0\r\n\r\n"), "400", ""},
	{"12 MB for a control", strings.Replace(chunkedPost(strings.Repeat("100000\r\n"+strings.Repeat(" ", 1<<20)+"\r\n", 12)+"0\r\n\r\n"),
		"/v1/runs", "/__admin/hermes/sweep", 1), "413", ""},

	// Bodies that do not come.
	{"half a body", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 15\r\n\r\n{\"input", "", ""},
	{"half a body for a control", "POST /__admin/hermes/sweep HTTP/1.1\r\nHost: h\r\nContent-Length: 15\r\n\r\n{", "", ""},
	{"half a body for no path", "POST /v1/none HTTP/1.1\r\nHost: h\r\nContent-Length: 15\r\n\r\n{", "404", ""},

	// Run ids.
	{"traversal", get("/v1/runs/../../health") + get("/v1/runs/..") + get("/../v1/health") + get("//v1/health") + probe, "404 404 404 404 200", ""},
	{"empty id", get("/v1/runs/") + get("/v1/runs//events") + probe, "404 404 200", ""},
	{"id of 60 KB", get("/v1/runs/"+strings.Repeat("a", 60<<10)) + probe, "404 200", ""},
	{"id of 80 KB", get("/v1/runs/"+strings.Repeat("a", 80<<10)) + probe, "431", ""},
	{"query of 60 KB", get("/v1/health?"+strings.Repeat("a", 60<<10)) + probe, "200 200", ""},

	// Namespaces.
	{"namespace ../..", get("/v1/health", "X-Mockingbird-Namespace: ../..") + probe, "400 200", ""},
	{"namespace of 65", get("/v1/health", "X-Mockingbird-Namespace: "+strings.Repeat("n", 65)) + probe, "400 200", ""},
	{"namespace of 60 KB", get("/v1/health", "X-Mockingbird-Namespace: "+strings.Repeat("n", 60<<10)) + probe, "400 200", ""},
	{"namespace with CR and LF", get("/v1/health", "X-Mockingbird-Namespace: a\r\nb") + probe, "400", ""},
	{"namespace with 0x85", get("/v1/health", "X-Mockingbird-Namespace: a\x85") + probe, "400 200", ""},
	{"namespaces in paths", get("/ns/..%2f../v1/health") + get("/ns/a%2fb/v1/health") + get("/ns/a%0d%0ab/v1/health") + get("/ns//v1/health") +
		get("/ns/%00/v1/health") + get("/ns/a%252fb/v1/health") + get("/ns") + get("/ns/") + probe, "400 400 400 400 400 400 404 400 200", ""},
	{"namespaces of controls", get("/__admin/ns/..%2f../health") + get("/__admin/ns/a%0d%0ab/health") + get("/__admin/health?namespace=../..") +
		get("/__admin/health?namespace=a%0d%0ab") + probe, "400 400 400 400 200", ""},
	{"namespaces that are named dots", get("/ns/../v1/health") + get("/ns/./v1/health") + probe, "200 200 200", ""},
	{"profiles", get("/p/..%2f../v1/health") + get("/p//v1/health") + get("/p/a%0d%0ab/v1/health") + get("/p") + probe, "404 404 404 404 200", ""},
	{"controls", get("/__admin/%2e%2e/health") + get("/__admin/hermes/runs/%0d%0a") + get("/__adminx") + get("/__admin//health") + probe, "404 404 404 404 200", ""},

	// Expect.
	{"another expectation", post("/v1/runs", hi, "Expect: the-best") + probe, "417", ""},
	{"continue without waiting", post("/v1/runs", hi, "Expect: 100-continue") + probe, "100 202 200", ""},
	{"continue with too much", "POST /v1/runs HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 10000001\r\n\r\n", "413", ""},
	{"continue for no run", "POST /v1/runs/none/steer HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 15\r\n\r\n", "404", ""},
	{"continue with version 1.0", "POST /v1/runs HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 15\r\n\r\n" + hi, "202", ""},
}

// TestHostileCases sends what no decent client sends, while a decent one is served.
func TestHostileCases(t *testing.T) {
	underAttack(t, logText, hostileMemory, func(s *socketServer) {
		for _, c := range hostileCases {
			answers, err := s.exchange(strings.Fields(c.methods), c.send)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			var got []string
			for _, a := range answers {
				got = append(got, strconv.Itoa(a.StatusCode))
				s.check(c.name, a)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: statuses %q, want %q", c.name, strings.Join(got, " "), c.want)
			}
		}
		s.runIDs()
		s.tooLarge()
		s.pipelined()
		s.awaited()
		s.slow()
		s.endless()
		s.flood()
	})
}

// check looks for what no reply of the fake may be.
func (s *socketServer) check(name string, a answer) {
	s.t.Helper()
	if a.StatusCode == http.StatusInternalServerError {
		s.t.Errorf("%s: status 500: %.300s", name, a.body)
	}
	for field, values := range a.Header {
		if field == "Forged" || strings.ContainsFunc(strings.Join(values, ""), func(c rune) bool { return c < ' ' || c == 0x7f }) {
			s.t.Errorf("%s: field %s: %q", name, field, values)
		}
	}
	if a.body != "" && strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") && !json.Valid([]byte(a.body)) {
		s.t.Errorf("%s: no JSON: %.300q", name, a.body)
	}
}

// runIDs: an id that is none comes back in the message, decoded, and harms nothing.
func (s *socketServer) runIDs() {
	s.t.Helper()
	for escaped, id := range map[string]string{
		"none":                             "none",
		"%2e%2e%2f%2e%2e%2fetc%2fpasswd":   "../../etc/passwd",
		"..%5c..%5cwin.ini":                `..\..\win.ini`,
		"%3Cscript%3Ealert(1)%3C/script":   "", // a slash that is not escaped leads nowhere
		"%3Cscript%3Ealert(1)%3C%2Fscript": "<script>alert(1)</script",
		"%0d%0aForged:%20yes":              "\r\nForged: yes",
		"%00":                              "\x00",
		"%22%7d":                           `"}`,
		"%252e":                            "%2e",
		"%ff%85":                           "\ufffd\ufffd",
		"%f0%9f%98%80":                     "\U0001f600",
		"run_%30":                          "run_0",
		"run_" + strings.Repeat("A", 32):   "run_" + strings.Repeat("A", 32),
		strings.Repeat("%41", 16<<10):      strings.Repeat("A", 16<<10),
	} {
		answers, err := s.exchange(nil, get("/v1/runs/"+escaped), post("/v1/runs/"+escaped+"/stop", ""), get("/v1/runs/"+escaped+"/events"))
		if err != nil || len(answers) != 3 {
			s.t.Errorf("id %.100q: %d replies, error %v", escaped, len(answers), err)
			continue
		}
		for _, a := range answers {
			s.check(escaped, a)
			var refusal struct{ Error struct{ Message string } }
			if id != "" {
				json.Unmarshal([]byte(a.body), &refusal)
			}
			if want := "Run not found: " + id; a.StatusCode != http.StatusNotFound || id != "" && refusal.Error.Message != want {
				s.t.Errorf("id %.100q: %d %.200s", escaped, a.StatusCode, a.body)
			}
		}
	}
}

// tooLarge: a declared length that is too large is answered at once, though the client sends
// nothing and does not shut its side down.
func (s *socketServer) tooLarge() {
	s.t.Helper()
	for _, head := range []string{
		"POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 10000001\r\n\r\n",
		"POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775807\r\n\r\n",
		"POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 10000001\r\nExpect: 100-continue\r\n\r\n",
		"POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 10000001\r\n\r\n" + strings.Repeat(" ", 100_000),
		"POST /__admin/hermes/sweep HTTP/1.1\r\nHost: h\r\nContent-Length: 10000001\r\n\r\n",
	} {
		conn := s.dial()
		began := time.Now()
		io.WriteString(conn, head)
		a, err := readAnswer(bufio.NewReader(conn), &[]string{"POST"})
		if err != nil || a.StatusCode != http.StatusRequestEntityTooLarge {
			s.t.Errorf("%.100q: %v, error %v", head, a.Response, err)
		} else if !a.Close {
			s.t.Errorf("%.100q: the connection is to be used again", head)
		}
		if took := time.Since(began); took > hostileLimits().requestTime/2 {
			s.t.Errorf("%.100q: the reply took %v", head, took)
		}
		conn.Close()
	}
}

// pipelined: many requests in one write are answered in their order.
func (s *socketServer) pipelined() {
	s.t.Helper()
	const n = 100
	var all strings.Builder
	var methods []string
	for i := range n {
		switch i % 4 {
		case 0:
			all.WriteString(get(fmt.Sprint("/v1/runs/", i)))
		case 1:
			all.WriteString(post(fmt.Sprintf("/v1/runs/%d/stop", i), probe))
		case 2:
			all.WriteString(strings.Replace(chunkedPost("5\r\nGET /\r\n0\r\n\r\n"), "/v1/runs", fmt.Sprintf("/v1/runs/%d/steer", i), 1))
		case 3:
			all.WriteString(fmt.Sprintf("HEAD /v1/runs/%d HTTP/1.1\r\nHost: h\r\n\r\n", i))
		}
		methods = append(methods, []string{"GET", "POST", "POST", "HEAD"}[i%4])
	}
	answers, err := s.exchange(methods, all.String())
	if err != nil || len(answers) != n {
		s.t.Errorf("pipelined: %d replies, error %v", len(answers), err)
	}
	for i, a := range answers {
		want := fmt.Sprintf(`"Run not found: %d"`, i)
		if i%4 == 3 {
			want = ""
		}
		if a.StatusCode != http.StatusNotFound || !strings.Contains(a.body, want) || i%4 == 3 && a.body != "" {
			s.t.Errorf("pipelined: reply %d is %d %s", i, a.StatusCode, a.body)
		}
	}
}

// awaited: a client that waits for 100 Continue gets it, and then its reply.
func (s *socketServer) awaited() {
	s.t.Helper()
	conn := s.dial()
	defer conn.Close()
	r := bufio.NewReader(conn)
	io.WriteString(conn, "POST /v1/runs HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 15\r\n\r\n")
	methods := []string{"POST"}
	if a, err := readAnswer(r, &methods); err != nil || a.StatusCode != http.StatusContinue {
		s.t.Fatalf("Expect: got %+v, error %v", a.Response, err)
	}
	io.WriteString(conn, hi)
	if a, err := readAnswer(r, &methods); err != nil || a.StatusCode != http.StatusAccepted {
		s.t.Fatalf("the body after 100: %+v, error %v", a.Response, err)
	}
}

// slow: a request that comes in many pieces is one.
func (s *socketServer) slow() {
	s.t.Helper()
	answers, err := s.exchange(nil, strings.Split(post("/v1/runs", hi)+probe, "")...)
	if err != nil || len(answers) != 2 || answers[0].StatusCode != http.StatusAccepted || answers[1].StatusCode != http.StatusOK {
		s.t.Errorf("byte by byte: %d replies, error %v", len(answers), err)
	}
}

// flood: many long requests leave no more behind than the journal keeps of them.
func (s *socketServer) flood() {
	s.t.Helper()
	const atOnce = 10
	long := strings.Repeat(get("/v1/health?"+strings.Repeat("q", 60<<10)), atOnce)
	for range 100 {
		if answers, err := s.exchange(nil, long); err != nil || len(answers) != atOnce {
			s.t.Fatalf("long queries: %d replies, error %v", len(answers), err)
		}
	}
}

// endless: what never ends is ended by the deadline or the bound, all at the same time.
func (s *socketServer) endless() {
	s.t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	for name, c := range map[string]struct {
		head, again string
		want        int // 0: no reply
	}{
		"header":             {"GET /v1/health HTTP/1.1\r\n", "X: y\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"request line":       {"GET /", "a", http.StatusRequestHeaderFieldsTooLarge},
		"empty lines":        {"", "\r\n", http.StatusBadRequest},
		"body in chunks":     {chunkedPost(""), "400\r\n" + strings.Repeat("x", 1<<10) + "\r\n", http.StatusRequestEntityTooLarge},
		"chunk":              {chunkedPost("7fffffffffffffff\r\n"), strings.Repeat("x", 1<<10), http.StatusRequestEntityTooLarge},
		"body for no path":   {strings.Replace(chunkedPost(""), "/v1/runs", "/v1/none", 1), "400\r\n" + strings.Repeat("x", 1<<10) + "\r\n", http.StatusNotFound},
		"body of a GET":      {"GET /v1/health HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", http.StatusOK},
		"trailer":            {chunkedPost("0\r\n"), "X: y\r\n", 0},
		"silence":            {"", "", 0},
		"half a header":      {"GET /v1/health HTTP/1.1\r\nHost: her", "", 0},
		"half a body":        {"POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 15\r\n\r\n{", "", 0},
		"chunk without text": {chunkedPost("400\r\n"), "", 0},
	} {
		conn := s.dial()
		all.Go(func() {
			defer conn.Close()
			written := make(chan struct{})
			go func() {
				defer close(written)
				_, err := io.WriteString(conn, c.head)
				for err == nil && c.again != "" {
					_, err = io.WriteString(conn, strings.Repeat(c.again, 1+(4<<10)/len(c.again)))
				}
			}()
			r := bufio.NewReader(conn)
			a, err := readAnswer(r, &[]string{"GET"})
			switch {
			case c.want == 0 && a.Response != nil:
				s.t.Errorf("endless %s: status %d", name, a.StatusCode)
			case errors.Is(err, syscall.ECONNRESET): // net/http resets the connection half a second behind its reply
			case c.want != 0 && (err != nil || a.Response == nil || a.StatusCode != c.want):
				s.t.Errorf("endless %s: %+v, error %v, want %d", name, a.Response, err, c.want)
			}
			if _, err := r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				s.t.Errorf("endless %s: the connection is open: %v", name, err)
			}
			conn.Close()
			<-written
		})
	}
}

// hostileRounds is how many mutants TestHostileMutants sends. The environment variable
// HERMESFAKE_HOSTILE_ROUNDS changes it.
func hostileRounds(t *testing.T) int {
	text := os.Getenv("HERMESFAKE_HOSTILE_ROUNDS")
	if text == "" {
		return 2000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("HERMESFAKE_HOSTILE_ROUNDS=%s: want a whole number", text)
	}
	return n
}

// hostileSeeds are what mutants are made of. None can become a control that moves other namespaces.
var hostileSeeds = []string{
	probe,
	post("/v1/runs", hi, "Idempotency-Key: key", "X-Hermes-Session-Key: session"),
	post("/ns/mutant/v1/runs", `{"input": [{"role": "user", "content": "hi"}], "conversation_history": []}`),
	chunkedPost("8\r\n{\"input\"\r\n7\r\n: \"hi\"}\r\n0\r\n\r\n"),
	get("/v1/runs/run_00000000000000000000000000000000", "X-Mockingbird-Namespace: mutant"),
	get("/v1/runs/run_00000000000000000000000000000000/events"),
	post("/v1/runs/run_00000000000000000000000000000000/approval", `{"choice": "once", "all": true}`),
	post("/v1/runs/run_00000000000000000000000000000000/steer", `{"input": "left"}`),
	post("/v1/runs", hi, "Expect: 100-continue"),
	"HEAD /v1/models HTTP/1.1\r\nHost: h\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: h\r\nOrigin: http://evil.test\r\n\r\n",
	get("http://hermes.test/p/one/v1/capabilities"),
	get("/__admin/requests?namespace=mutant&limit=1"),
	get("/__admin/hermes/runs/run_00000000000000000000000000000000"),
	post("/__admin/ns/mutant/hermes/runs/run_00000000000000000000000000000000/observe", `{"status": "completed", "output": "x"}`),
	post("/__admin/ns/mutant/hermes/gateway", `{"draining": false}`),
}

// hostileWords are what mutation puts in.
var hostileWords = []string{
	"\r", "\n", "\r\n", "\r\n\r\n", "\x00", "\x85", "\xff", "\x7f", "\t", " ", ":", ";", ",", "/", "//", "/..", "%2e%2e%2f", "%00", "%0d%0a",
	"%", "?", "#", "*", "\"", "<script>", "\\ud800", "1e999", "NaN", "[[[[[[", "-1", "0", "99999999999", "ffffffffffffffff",
	"\r\nForged: yes\r\n", "%0d%0atime=0 level=ERROR msg=forged", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\n",
	"Connection: close\r\n", "HTTP/1.0", "HTTP/2.0", "0\r\n\r\n", "X-Mockingbird-Namespace: ../..\r\n", "Authorization: Bearer x\r\n", "GET ", "POST ",
}

// mutant is one to three seeds in a row, changed in some places.
func mutant(rng *rand.Rand) string {
	var b []byte
	for range 1 + rng.IntN(3) {
		b = append(b, hostileSeeds[rng.IntN(len(hostileSeeds))]...)
	}
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(b) + 1)
		end := min(len(b), at+rng.IntN(20))
		switch rng.IntN(6) {
		case 0:
			if at < len(b) {
				b[at] = byte(rng.UintN(256))
			}
		case 1:
			b = slices.Delete(b, at, end)
		case 2:
			b = slices.Insert(b, at, slices.Clone(b[at:end])...)
		case 3:
			b = b[:max(1, at)]
		default:
			b = slices.Insert(b, at, []byte(hostileWords[rng.IntN(len(hostileWords))])...)
		}
	}
	return string(b)
}

// TestHostileMutants sends requests with errors in them. Replies to them are replies, and the
// connection ends.
func TestHostileMutants(t *testing.T) {
	rounds := hostileRounds(t)
	// The runs that mutants submit stay.
	underAttack(t, logJSON, hostileMemory+256*int64(rounds), func(s *socketServer) {
		rng := rand.New(rand.NewPCG(1, 2))
		statuses := map[int]int{}
		for range rounds {
			text := mutant(rng)
			// What the requests' methods are now is not known, and so not where a reply to HEAD ends:
			// such a mutant only has to come to its end.
			if strings.Contains(text, "HEAD") {
				s.raw(text)
				continue
			}
			answers, err := s.exchange(nil, text)
			if err != nil {
				t.Errorf("%q: after %d replies: %v", text, len(answers), err)
			}
			for _, a := range answers {
				statuses[a.StatusCode]++
				s.check(strconv.Quote(text), a)
			}
		}
		for _, status := range []int{200, 202, 400, 404, 501} {
			if rounds >= 2000 && statuses[status] == 0 {
				t.Errorf("no reply had status %d: %v", status, statuses)
			}
		}
	})
}

// raw writes the text and reads to the end of the connection.
func (s *socketServer) raw(text string) {
	s.t.Helper()
	conn := s.dial()
	defer conn.Close()
	io.WriteString(conn, text)
	conn.CloseWrite()
	if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		s.t.Errorf("%q: %v", text, err)
	}
}

// hostileMemory bounds what an attack leaves behind in a server whose journals keep 100 entries, in bytes.
const hostileMemory = 16 << 20

// underAttack plays an attack on a server, which serves a decent client all the while. When the attack is
// over it has left at most so many bytes, no goroutine, and a log whose lines are all the server's own.
func underAttack(t *testing.T, logFormat string, most int64, attack func(s *socketServer)) {
	before, memory := runtime.NumGoroutine(), heap()
	s := onSocket(t, "--seed 1 --max-concurrent-runs 0 --journal-size 100 --log-format "+logFormat, hostileLimits())
	var over atomic.Bool
	served := make(chan int)
	go func() {
		n, err := s.decent(&over)
		if err != nil {
			t.Errorf("the decent client, round %d: %v", n, err)
		}
		served <- n
	}()
	attack(s)
	over.Store(true)
	if n := <-served; n < 2 {
		t.Errorf("the decent client had %d rounds", n)
	}
	s.checkLog(func() {
		if left := heap() - memory - int64(s.stderr.Cap()); left > most {
			t.Errorf("%d MB are left in use", left>>20)
		}
	}, logFormat)
	noMoreThan(t, before)
}

// heap is what is in use, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// noMoreThan waits until there are no more goroutines than before. Those that were told to
// end may need a moment.
func noMoreThan(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// decent submits, polls and completes runs, on a connection that it keeps, until it is over. It returns how
// many, and what went wrong.
func (s *socketServer) decent(over *atomic.Bool) (rounds int, err error) {
	dials := 0
	transport := &http.Transport{MaxConnsPerHost: 1, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	ask := func(method, path, body string, want int, member, value string) (map[string]any, error) {
		r, err := http.NewRequest(method, "http://"+s.address+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("X-Mockingbird-Namespace", "decent")
		res, err := client.Do(r)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil || res.StatusCode != want || got[member] != value {
			return nil, fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
		}
		return got, nil
	}
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for ; !over.Load() || rounds < 2; rounds++ {
		<-pace.C
		run, err := ask("POST", "/v1/runs", hi, http.StatusAccepted, "status", "started")
		if err != nil {
			return rounds, err
		}
		id := fmt.Sprint(run["run_id"])
		if _, err := ask("GET", "/v1/runs/"+id, "", http.StatusOK, "status", "queued"); err != nil {
			return rounds, err
		}
		output := fmt.Sprint("round ", rounds)
		completed := fmt.Sprintf(`{"status": "completed", "output": %q}`, output)
		if _, err := ask("POST", "/__admin/hermes/runs/"+id+"/observe", completed, http.StatusOK, "status", "completed"); err != nil {
			return rounds, err
		}
		if _, err := ask("GET", "/v1/runs/"+id, "", http.StatusOK, "output", output); err != nil {
			return rounds, err
		}
	}
	// On a busy machine net/http gives up a connection whose writer is a moment late. An attack that ended it would do so often.
	if dials > 1+rounds/20 {
		return rounds, fmt.Errorf("%d connections were needed", dials)
	}
	return rounds, nil
}

// checkLog ends the server after a last look at it, and reads its log: a line for each request and
// nothing else, neither a panic nor what a client wrote to look like a line.
func (s *socketServer) checkLog(lastLook func(), format string) {
	s.t.Helper()
	lastLook()
	s.stop()
	log := strings.TrimSuffix(s.stderr.String(), "\n")
	for i, line := range strings.Split(log, "\n") {
		message := "request"
		if i == 0 {
			message = "started"
		}
		good := !strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c == 0x7f || c == 0x85 || c == 0x2028 || c == '\ufffd' })
		if format == logJSON {
			var entry struct{ Level, Msg string }
			good = good && json.Unmarshal([]byte(line), &entry) == nil && entry.Level == "INFO" && entry.Msg == message
		} else {
			_, rest, _ := strings.Cut(line, " ")
			good = good && strings.HasPrefix(line, "time=") && strings.HasPrefix(rest, "level=INFO msg="+message+" ")
		}
		if !good {
			s.t.Errorf("line %d of the log: %.500q", i+1, line)
		}
	}
}
