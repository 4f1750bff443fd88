package transport_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
	"github.com/hermesfake/hermesfake/transport"
)

const base = "http://hermes.test"

// world is an engine whose clock stands still, and what answers for it.
type world struct {
	t         testing.TB
	engine    *engine.Engine
	handler   *handler.Handler
	transport *transport.Transport
}

func open(t testing.TB) *world {
	t.Helper()
	w := live(t)
	freeze := true
	if _, err := w.engine.ChangeClock(engine.ClockChange{Set: time.Unix(1_700_000_000, 0), Freeze: &freeze}); err != nil {
		t.Fatal(err)
	}
	return w
}

// live is open with a clock that follows the system's.
func live(t testing.TB) *world {
	t.Helper()
	e := engine.New(engine.Config{Seed: 1})
	t.Cleanup(e.Close)
	h := handler.New(e, handler.Options{})
	return &world{t, e, h, transport.New(h, "hermes.test")}
}

func (w *world) namespace() *engine.Namespace {
	w.t.Helper()
	n, err := w.engine.Namespace(engine.DefaultNamespace)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// submit admits a run in process.
func (w *world) submit() engine.RunID {
	w.t.Helper()
	a, err := w.namespace().Submit(engine.Submission{})
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Run.ID()
}

func (w *world) observe(id engine.RunID, s engine.Status) {
	w.t.Helper()
	if _, err := w.namespace().Observe(id, engine.Observation{Status: s}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delta(id engine.RunID, text string) {
	w.t.Helper()
	if _, err := w.namespace().EmitDelta(id, text); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) advance(by time.Duration) {
	w.t.Helper()
	if _, err := w.engine.ChangeClock(engine.ClockChange{Advance: by}); err != nil {
		w.t.Fatal(err)
	}
}

// frame is a delta as it is streamed while the clock stands where open put it.
func frame(id engine.RunID, text string) string {
	return fmt.Sprintf(`data: {"event": "message.delta", "run_id": "%v", "timestamp": 1700000000.0, "delta": "%s"}`, id, text) + "\n\n"
}

// events opens the event stream of a run.
func (w *world) events(ctx context.Context, id engine.RunID) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", base+"/v1/runs/"+id.String()+"/events", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := w.transport.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("%v %v", res, err)
	}
	return res
}

// body is a request's body that tells what became of it.
type body struct {
	io.Reader
	closed int
}

func (b *body) Close() error {
	b.closed++
	return nil
}

const submission = `{"input": "x"}`

func newRequest(t testing.TB, method, url string, content io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, content)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// post is a submission whose body is watched.
func post(t testing.TB, url string) (*http.Request, *body) {
	t.Helper()
	b := &body{Reader: strings.NewReader(submission)}
	return newRequest(t, "POST", url, b), b
}
