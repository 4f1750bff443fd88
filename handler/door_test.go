package handler_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
	"github.com/hermesfake/hermesfake/transport"
)

const host = "http://hermes.test"

// began is where the clocks of these tests stand at first.
var began = time.Unix(1_700_000_000, 0)

// door is a handler that is reached in process.
type door struct {
	t      testing.TB
	engine *engine.Engine
	client http.RoundTripper
}

// open returns a door to an engine of its own, whose clock stands at began.
func open(t testing.TB, o handler.Options) *door {
	t.Helper()
	e := engine.New(engine.Config{Seed: 1, Gateway: engine.Gateway{MaxConcurrentRuns: engine.DefaultMaxConcurrentRuns}})
	t.Cleanup(e.Close)
	freeze := true
	if _, err := e.ChangeClock(engine.ClockChange{Set: began, Freeze: &freeze}); err != nil {
		t.Fatal(err)
	}
	return &door{t, e, transport.New(handler.New(e, o), "hermes.test")}
}

// reply is what came back, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

func (d *door) request(method, path, body string, header map[string]string) *http.Request {
	d.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, host+path, content)
	if err != nil {
		d.t.Fatal(err)
	}
	for name, value := range header {
		r.Header[name] = []string{value}
	}
	return r
}

// send answers a request whose reply has an end.
func (d *door) send(r *http.Request) reply {
	d.t.Helper()
	res, err := d.client.RoundTrip(r)
	if err != nil {
		d.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	return reply{res.StatusCode, res.Header, string(body)}
}

func (d *door) do(method, path, body string) reply {
	d.t.Helper()
	return d.send(d.request(method, path, body, nil))
}

func (d *door) get(path string) reply {
	d.t.Helper()
	return d.do("GET", path, "")
}

func (d *door) post(path, body string) reply {
	d.t.Helper()
	return d.do("POST", path, body)
}

// control is a POST to the control plane that must be accepted.
func (d *door) control(path, body string) reply {
	d.t.Helper()
	r := d.post("/__admin"+path, body)
	if r.status/100 != 2 {
		d.t.Fatalf("POST /__admin%s %s: %d %s", path, body, r.status, r.body)
	}
	return r
}

// submit admits a run and returns its id; an empty key is none.
func (d *door) submit(key string) string {
	d.t.Helper()
	header := map[string]string{}
	if key != "" {
		header["Idempotency-Key"] = key
	}
	r := d.send(d.request("POST", "/v1/runs", `{"input": "x"}`, header))
	var told struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(r.body), &told); r.status != http.StatusAccepted || err != nil {
		d.t.Fatalf("not admitted: %d %s", r.status, r.body)
	}
	return told.RunID
}

// started is submit, and the executor begins.
func (d *door) started(key string) string {
	d.t.Helper()
	id := d.submit(key)
	d.observe(id, `{"status": "running"}`)
	return id
}

func (d *door) observe(id, body string) reply {
	d.t.Helper()
	return d.control("/hermes/runs/"+id+"/observe", body)
}

func (d *door) emit(id, body string) reply {
	d.t.Helper()
	return d.control("/hermes/runs/"+id+"/events", body)
}

func (d *door) poll(id string) reply {
	d.t.Helper()
	return d.get("/v1/runs/" + id)
}

// advance moves the clock on.
func (d *door) advance(by time.Duration) {
	d.t.Helper()
	d.control("/clock", `{"advance": `+millis(int64(by))+`}`)
}

// millis writes nanoseconds as milliseconds, exactly.
func millis(nanos int64) string {
	return fmt.Sprintf("%d.%06d", nanos/1e6, nanos%1e6)
}

func (d *door) counts() engine.Counts {
	d.t.Helper()
	n, err := d.engine.Namespace(engine.DefaultNamespace)
	if err != nil {
		d.t.Fatal(err)
	}
	return n.Counts()
}

// want fails the test unless a reply has a status and, as part of its body, each of the texts.
func (r reply) want(t testing.TB, status int, texts ...string) {
	t.Helper()
	if r.status != status {
		t.Errorf("status %d, want %d: %s", r.status, status, r.body)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			t.Errorf("%s\nlacks %s", r.body, text)
		}
	}
}

// stream is a reply's open event stream, read on a goroutine of its own.
type stream struct {
	body io.ReadCloser
	read chan struct{} // closed when reading is over

	mu  sync.Mutex
	got []byte
	err error
}

// subscribe opens the event stream of a run.
func (d *door) subscribe(id string) *stream {
	d.t.Helper()
	res, err := d.client.RoundTrip(d.request("GET", "/v1/runs/"+id+"/events", "", nil))
	if err != nil || res.StatusCode != http.StatusOK {
		d.t.Fatalf("subscribe: %v %v", res, err)
	}
	return follow(res.Body)
}

func follow(body io.ReadCloser) *stream {
	s := &stream{body: body, read: make(chan struct{})}
	go func() {
		defer close(s.read)
		piece := make([]byte, 4096)
		for {
			n, err := body.Read(piece)
			s.mu.Lock()
			s.got = append(s.got, piece[:n]...)
			s.err = err
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// take returns the bytes given since the last take. They must have been read: in a
// bubble, synctest.Wait makes sure of that.
func (s *stream) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := string(s.got)
	s.got = nil
	return got
}

// over returns why reading is over, nil while it goes on.
func (s *stream) over() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// close is the client going; it joins the reading goroutine.
func (s *stream) close() {
	s.body.Close()
	<-s.read
}
