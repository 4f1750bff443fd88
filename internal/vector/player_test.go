package vector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// player answers one scenario's requests with what was recorded, so a runner is right to accept it and must notice whatever spoil
// changes. It knows no rule of the provider; it does insist that each step is asked for once, in order, in the run's own scope.
type player struct {
	scenario  Scenario
	namespace string
	orphans   bool // show no subscriber in line, as after the end of a queue

	// spoil, when set, may change the answer to step i (len(Steps) is the time that passes at the end) before it is given.
	spoil func(i int, a *answer)

	mu      sync.Mutex
	next    int // index of the step that is due
	setUp   []string
	scope   string
	ids     map[string]string // by bound name
	scopes  map[string]string // by run id
	streams map[string]*feed
}

// answer is what a step brings about.
type answer struct {
	err   error
	reply *http.Response
	body  string
	bytes map[string]string // what each subscriber gets
	ends  map[string]error  // whose bodies end, and how
}

func newPlayer(s Scenario) *player {
	p := &player{
		scenario:  s,
		namespace: "n1",
		setUp:     []string{`POST /__admin/clock {"set":1700000000000,"freeze":true}`},
		scope:     defaultScope.Body,
		ids:       map[string]string{},
		scopes:    map[string]string{},
		streams:   map[string]*feed{},
	}
	if n := s.MaxConcurrentRuns; n != nil {
		p.setUp = append(p.setUp, fmt.Sprintf(`POST /__admin/hermes/gateway {"max_concurrent_runs":%d}`, *n))
	}
	return p
}

func (p *player) fill(text string) string {
	for name, id := range p.ids {
		text = strings.ReplaceAll(text, "{{"+name+"}}", id)
	}
	return text
}

func (p *player) RoundTrip(q *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var body []byte
	if q.Body != nil {
		body, _ = io.ReadAll(q.Body)
		q.Body.Close()
	}
	a := p.answer(q, string(body))
	if a.err != nil {
		return nil, a.err
	}
	for name, text := range a.bytes {
		p.streams[name].give(text)
	}
	for name, err := range a.ends {
		p.streams[name].end(err)
	}
	if a.reply.Body == nil {
		a.reply.Body = io.NopCloser(strings.NewReader(a.body))
	}
	return a.reply, nil
}

// ServeHTTP gives the same answers over a socket.
func (p *player) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	for _, name := range []string{"User-Agent", "Content-Length"} { // http.Transport's own
		q.Header.Del(name)
	}
	got, err := p.RoundTrip(q)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), got.Header)
	w.WriteHeader(got.StatusCode)
	http.NewResponseController(w).Flush()
	piece := make([]byte, 100) // less than an event
	for {
		n, err := got.Body.Read(piece)
		w.Write(piece[:n])
		http.NewResponseController(w).Flush()
		if err != nil {
			return
		}
	}
}

func reply(status int, body string) *answer {
	return &answer{reply: &http.Response{StatusCode: status, Header: http.Header{}}, body: body,
		bytes: map[string]string{}, ends: map[string]error{}}
}

func (p *player) answer(q *http.Request, body string) *answer {
	path := q.URL.RequestURI()
	asked := fmt.Sprintf("%s %s %s", q.Method, path, body)
	if got := q.Header.Get("x-mockingbird-namespace"); got != p.namespace {
		return reply(500, "namespace "+got)
	}
	// What belongs to no step: the world's beginning, a look at the subscribers, another scope for an executor.
	if len(p.setUp) > 0 && asked == p.setUp[0] {
		p.setUp = p.setUp[1:]
		return reply(200, "{}")
	}
	if len(p.setUp) > 0 {
		return reply(500, "not set up: want "+p.setUp[0]+", got "+asked)
	}
	if id, ok := strings.CutPrefix(path, "/__admin/hermes/runs/"); ok && q.Method == "GET" {
		return p.show(id)
	}
	for p.next < len(p.scenario.Steps) && p.scenario.Steps[p.next].Do == "disconnect" {
		if !p.streams[p.scenario.Steps[p.next].As].gone() {
			return reply(500, "did not disconnect")
		}
		p.next++
	}
	a := reply(200, "{}")
	switch {
	case p.next < len(p.scenario.Steps) && p.is(p.scenario.Steps[p.next], q, path, body):
		a = p.play(p.scenario.Steps[p.next], q)
	case path == defaultScope.Path:
		p.scope = body
		return a
	case p.next == len(p.scenario.Steps):
		if asked != `POST /__admin/clock {"advance":30000}` {
			return reply(500, "after the last step: "+asked)
		}
		for name, f := range p.streams {
			if !f.over() {
				a.bytes[name] = keepalive
			}
		}
	default:
		return reply(500, fmt.Sprintf("step %d is due, got %s", p.next, asked))
	}
	if p.spoil != nil {
		p.spoil(p.next, a)
	}
	p.next++
	return a
}

// is reports whether the request is the one of the step.
func (p *player) is(s Step, q *http.Request, path, body string) bool {
	if s.Control != (Control{}) {
		return q.Method == "POST" && path == p.fill(s.Control.Path) && body == s.Control.Body
	}
	header := maps.Clone(q.Header)
	header.Del("x-mockingbird-namespace")
	for name, value := range s.Request.Header {
		if !slices.Equal(header[name], []string{value}) {
			return false
		}
		delete(header, name)
	}
	return q.Method == s.Request.Method && path == p.fill(s.Request.Path) && body == string(s.Request.Body) && len(header) == 0
}

func (p *player) play(s Step, q *http.Request) *answer {
	if s.Run != "" && s.Control != (Control{}) && p.scopes[p.ids[s.Run]] != p.scope {
		return reply(404, "a run of another scope")
	}
	if s.Do == "scope" {
		p.scope = s.Control.Body
	}
	if bind := s.Request.Bind; bind != "" {
		p.ids[bind] = fmt.Sprintf("run_%032x", len(p.ids)+1)
		p.scopes[p.ids[bind]] = p.scope
	}
	a := reply(200, "{}")
	if want := s.Request.Expect; want.Status != 0 {
		a = reply(want.Status, p.fill(want.Body))
		for name, value := range want.Header {
			a.reply.Header.Set(name, value)
		}
		if s.Do == "subscribe" && want.Status == 200 {
			p.streams[s.As] = newFeed(q.Context(), p.ids[s.Run])
			a.reply.Body = p.streams[s.As]
		}
	}
	for name, text := range s.Receive {
		a.bytes[name] = p.fill(text)
	}
	for _, name := range s.Ended {
		a.ends[name] = io.EOF
	}
	return a
}

// show is the control plane's view of a run, as far as the runner looks at it.
func (p *player) show(id string) *answer {
	type subscriber struct {
		WaitingMS int  `json:"waiting_ms"`
		Gone      bool `json:"gone"`
	}
	line := []subscriber{}
	for _, f := range p.streams {
		if f.run == id && !p.orphans {
			line = append(line, subscriber{Gone: f.over()})
		}
	}
	text, _ := json.Marshal(map[string]any{"subscribers": line})
	a := reply(200, string(text))
	if p.spoil != nil {
		p.spoil(-1, a)
	}
	return a
}

// feed is the body of an event stream.
type feed struct {
	run string

	mu     sync.Mutex
	change sync.Cond
	left   bytes.Buffer
	err    error // what Read says once nothing is left
	closed bool  // the client has gone
}

func newFeed(ctx context.Context, run string) *feed {
	f := &feed{run: run}
	f.change.L = &f.mu
	context.AfterFunc(ctx, func() { f.Close() })
	return f
}

func (f *feed) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.left.Len() == 0 && f.err == nil && !f.closed {
		f.change.Wait()
	}
	if f.left.Len() > 0 {
		return f.left.Read(p)
	}
	if f.err != nil {
		return 0, f.err
	}
	return 0, context.Canceled
}

func (f *feed) Close() error {
	f.set(func() { f.closed = true })
	return nil
}

func (f *feed) give(text string) { f.set(func() { f.left.WriteString(text) }) }
func (f *feed) end(err error)    { f.set(func() { f.err = err }) }
func (f *feed) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.change.Broadcast()
}

func (f *feed) gone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// over reports whether nothing more is due: the client has gone or the body has ended.
func (f *feed) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed || f.err != nil
}
