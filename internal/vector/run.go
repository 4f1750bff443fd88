package vector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// T is what Run needs of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Door is one way to reach the implementation.
type Door struct {
	// Transport carries every request, control calls included. Each event stream needs a connection of its own and an end of it
	// that the implementation can see; over a socket that is its business.
	Transport http.RoundTripper
	// BaseURL is the URL that the recorded paths are appended to, without a slash at its end: "http://hermes.test", or a listener's.
	BaseURL string
	// Restart, when set, replaces the restart control by a real one, of the process or of its store; owner is "stale" or "alive".
	// The runner sets clock, capacity, draining and scope again afterwards, so they need not survive it.
	Restart func(owner string) error
	// Live says that replies stream. Without it, scenarios that hold streams open are logged and left out.
	Live bool
}

// began is when every recording begins, in milliseconds: 1700000000.0 s.
const began = 1700000000000

// patience bounds, in real time, each wait for something that is due at once.
const patience = 5 * time.Second

// Run replays s in the namespace, which must not have been used before. It reports the first step whose outcome differs from the
// recording by Errorf and goes no further then; Fatalf is for a world that cannot even be set up. When it returns, every stream is
// closed, and every goroutine has ended unless the Transport's body goes on reading after its Close, which is an error too.
func (d *Door) Run(t T, s Scenario, namespace string) {
	t.Helper()
	if s.Streams() && !d.Live {
		t.Logf("%s: %s: left out: it needs live streams", s.File, s.Name)
		return
	}
	r := &replay{
		door:      d,
		namespace: namespace,
		now:       big.NewRat(began, 1),
		scope:     defaultScope,
		runs:      map[string]run{},
		streams:   map[string]*stream{},
	}
	if err := r.setUp(s.MaxConcurrentRuns); err != nil {
		t.Fatalf("%s: %s: setting up the world: %v", s.File, s.Name, err)
		return
	}
	err := r.play(s.Steps)
	if hung := r.hangUp(); err == nil {
		err = hung
	}
	if err != nil {
		t.Errorf("%s: %s: %v", s.File, s.Name, err)
	}
}

func (r *replay) play(steps []Step) error {
	for i, step := range steps {
		if err := r.step(step); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, step.describe(), err)
		}
	}
	if err := r.flushStreams(); err != nil {
		return fmt.Errorf("after the last step: %w", err)
	}
	return nil
}

// describe says what the step is in a message.
func (s Step) describe() string {
	text := s.Do
	for _, word := range []string{s.Request.Method, s.Request.Path, s.Control.Path, s.Control.Body, s.As} {
		if word != "" {
			text += " " + word
		}
	}
	if s.Note != "" {
		text += " (" + s.Note + ")"
	}
	return text
}

// replay is the state of one Run.
type replay struct {
	door      *Door
	namespace string
	now       *big.Rat // the namespace's clock, ms
	capacity  Control  // the last of each kind, zero before the first: what a real restart has to bring back
	draining  Control
	scope     Control
	runs      map[string]run
	streams   map[string]*stream // by subscriber, also those that ended
}

// run is a run that a reply told the id of.
type run struct {
	id    string
	scope Control // selects the scope it was admitted in
}

// defaultScope selects the scope that a namespace begins with.
var defaultScope = Control{
	Path: "/__admin/hermes/scope",
	Body: `{"profile":"default","identity":"unauthenticated-test-listener"}`,
}

// setUp sets the clock before anything else: it is the namespace's first use, from which its first sweep falls due 60 s later.
func (r *replay) setUp(capacity *int) error {
	if err := r.setClock(); err != nil {
		return err
	}
	if capacity == nil {
		return nil
	}
	r.capacity = Control{"/__admin/hermes/gateway", fmt.Sprintf(`{"max_concurrent_runs":%d}`, *capacity)}
	return r.control(r.capacity)
}

func (r *replay) setClock() error {
	return r.control(Control{"/__admin/clock", `{"set":` + decimal(r.now) + `,"freeze":true}`})
}

// step carries out one step and compares everything that it brought about.
func (r *replay) step(s Step) error {
	var err error
	switch s.Do {
	case "request":
		err = r.request(s.Request)
	case "subscribe":
		err = r.subscribe(s)
	case "disconnect":
		err = r.disconnect(r.streams[s.As])
	case "advance":
		passed, _ := new(big.Rat).SetString(s.Millis)
		r.now.Add(r.now, passed)
		err = r.control(s.Control)
	case "restart":
		err = r.restart(s)
	case "capacity":
		r.capacity = s.Control
		err = r.control(s.Control)
	case "draining":
		r.draining = s.Control
		err = r.control(s.Control)
	case "scope":
		r.scope = s.Control
		err = r.control(s.Control)
	case "sweep":
		err = r.control(s.Control)
	default:
		err = r.inScopeOf(s.Run, func() error { return r.control(s.Control) })
	}
	if err != nil {
		return err
	}
	return r.receive(s.Receive, s.Ended)
}

// inScopeOf does something to a run from the scope it was admitted in. An executor belongs to its run whichever scope the
// requests of the moment come from (walk-1008 asks for an approval so), while the controls see the runs of the selected scope only.
func (r *replay) inScopeOf(name string, do func() error) error {
	scope := r.runs[name].scope
	if scope == r.scope {
		return do()
	}
	if err := r.control(scope); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return r.control(r.scope)
}

// restart replaces the process. What a control would have kept, a real restart may have lost.
func (r *replay) restart(s Step) error {
	if r.door.Restart == nil {
		return r.control(s.Control)
	}
	if err := r.door.Restart(s.Owner); err != nil {
		return err
	}
	if err := r.setClock(); err != nil {
		return err
	}
	for _, kept := range []Control{r.capacity, r.draining, r.scope} {
		if kept == (Control{}) {
			continue
		}
		if err := r.control(kept); err != nil {
			return err
		}
	}
	return nil
}

// control calls the control plane, which must accept.
func (r *replay) control(c Control) error {
	_, err := r.ask("POST", c.Path, c.Body)
	return err
}

// ask calls the control plane and returns the text of its reply, which must be a 2xx.
func (r *replay) ask(method, path, body string) ([]byte, error) {
	path, err := r.fill(path)
	if err != nil {
		return nil, err
	}
	reply, text, err := r.exchange(method, path, map[string]string{"Content-Type": "application/json"}, []byte(body))
	if err != nil {
		return nil, fmt.Errorf("control %s %s: %w", method, path, err)
	}
	if reply.StatusCode/100 != 2 {
		return nil, &refusal{method, path, body, reply.StatusCode, text}
	}
	return text, nil
}

// refusal is a control call that was not accepted.
type refusal struct {
	method, path, body string
	status             int
	reply              []byte
}

func (e *refusal) Error() string {
	return fmt.Sprintf("control %s %s %s answered %d: %s", e.method, e.path, e.body, e.status, e.reply)
}

// request sends a provider request and compares the whole reply.
func (r *replay) request(q Request) error {
	path, err := r.fill(q.Path)
	if err != nil {
		return err
	}
	reply, text, err := r.exchange(q.Method, path, q.Header, q.Body)
	if err != nil {
		return err
	}
	if q.Bind != "" {
		if err := r.bind(q.Bind, text); err != nil {
			return fmt.Errorf("%w; the reply is %d %s", err, reply.StatusCode, text)
		}
	}
	return r.compare(q.Expect, reply, text)
}

func (r *replay) compare(want Expect, reply *http.Response, text []byte) error {
	body, err := r.fill(want.Body)
	if err != nil {
		return err
	}
	return errors.Join(checkHead(want, reply), checkBody(body, text))
}

// runID is the shape of every id that the server mints.
var runID = regexp.MustCompile(`^run_[0-9a-f]{32}$`)

// bind gives a name to the run that a reply tells. Every recorded bind is an admission, so the id must be a new one.
func (r *replay) bind(name string, reply []byte) error {
	var told struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(reply, &told); err != nil {
		return fmt.Errorf("no run_id for %q: %w", name, err)
	}
	if !runID.MatchString(told.RunID) {
		return fmt.Errorf("run_id %q is not run_ and 32 hexadecimal digits", told.RunID)
	}
	for other, known := range r.runs {
		if known.id == told.RunID {
			return fmt.Errorf("run_id of %q is that of %q", name, other)
		}
	}
	r.runs[name] = run{told.RunID, r.scope}
	return nil
}

// fill replaces each {{name}} by the id of the run.
func (r *replay) fill(text string) (string, error) {
	var err error
	text = placeholder.ReplaceAllStringFunc(text, func(found string) string {
		known, ok := r.runs[strings.Trim(found, "{}")]
		if !ok {
			err = fmt.Errorf("no run is bound to %s", found)
		}
		return known.id
	})
	return text, err
}

// exchange makes one request and reads the reply to its end.
func (r *replay) exchange(method, path string, header map[string]string, body []byte) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := r.newRequest(ctx, method, path, header, body)
	if err != nil {
		return nil, nil, err
	}
	reply, err := r.door.Transport.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%d, body %q, then: %w", reply.StatusCode, text, err)
	}
	return reply, text, nil
}

// newRequest builds a request whose target is exactly the path and whose header values are exactly the bytes given. It has no
// Content-Type of its own: the recorded ones had none.
func (r *replay) newRequest(ctx context.Context, method, path string, header map[string]string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.door.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	sent := request.URL.Scheme + "://" + request.URL.Host + request.URL.RequestURI()
	if sent != r.door.BaseURL+path {
		return nil, fmt.Errorf("%s would be sent as %s", r.door.BaseURL+path, sent)
	}
	for name, value := range header {
		request.Header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	request.Header["X-Mockingbird-Namespace"] = []string{r.namespace}
	return request, nil
}
