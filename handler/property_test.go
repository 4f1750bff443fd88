package handler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
	"github.com/hermesfake/hermesfake/internal/model"
	"github.com/hermesfake/hermesfake/transport"
)

// TestWalks plays random walks on the model and on the handler in process, and compares every reply and
// every byte of every stream. A frozen clock is moved by its control; a live one runs on the bubble's time.
//
// HERMESFAKE_WALKS is how many walks to play instead of 60, HERMESFAKE_WALK_LENGTH how many commands each has instead of 300,
// HERMESFAKE_WALK_SEED the seed of the first instead of 0.
func TestWalks(t *testing.T) {
	walks, length, first := number(t, "WALKS", 60), number(t, "WALK_LENGTH", 300), number(t, "WALK_SEED", 0)
	for _, clock := range []string{"frozen", "live"} {
		t.Run(clock, func(t *testing.T) {
			for seed := first; seed < first+walks; seed++ {
				commands := model.Walk(rand.New(rand.NewPCG(uint64(seed), 0)), length)
				if d := play(t, clock, commands); d != nil {
					t.Errorf("seed %d, %v\nshrunk to:\n%s", seed, d, shrink(t, clock, commands[:d.step+1]))
					return
				}
			}
		})
	}
}

func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv("HERMESFAKE_" + name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("HERMESFAKE_%s: %v", name, err)
	}
	return n
}

// difference is where the handler and the model part.
type difference struct {
	step    int
	command model.Command
	problem string
}

func (d *difference) String() string {
	return fmt.Sprintf("step %d, %v:\n%s", d.step, d.command, d.problem)
}

// shrink leaves out every command that the difference does not need, and tells the rest.
func shrink(t *testing.T, clock string, commands []model.Command) string {
	last := play(t, clock, commands)
	for i := len(commands) - 2; i >= 0 && last != nil; i-- {
		if i >= len(commands)-1 {
			continue
		}
		fewer := slices.Delete(slices.Clone(commands), i, i+1)
		if d := play(t, clock, fewer); d != nil {
			commands, last = fewer[:d.step+1], d
		}
	}
	var told strings.Builder
	for i, c := range commands {
		fmt.Fprintf(&told, "%4d %v\n", i, c)
	}
	return fmt.Sprint(told.String(), last)
}

// play plays a walk in a bubble, which fails the test if a goroutine is left, and returns the first difference.
func play(t *testing.T, clock string, commands []model.Command) (d *difference) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayer(t, clock == "frozen")
		defer p.close()
		for i, c := range commands {
			if problem := p.step(c); problem != "" {
				d = &difference{i, c, problem}
				return
			}
		}
		problem := p.consistent()
		if problem == "" {
			problem = p.stored()
		}
		if problem != "" {
			d = &difference{len(commands) - 1, commands[len(commands)-1], problem}
		}
	})
	return d
}

// player plays one walk.
type player struct {
	*door
	model   *model.Model
	ids     []string
	scopes  []string // the control that selects each run's scope
	scope   string
	frozen  bool
	streams map[string]*subscriber

	store    engine.Store
	recorder *recorder
	points   map[string]point
	forks    int
}

// point is what the player knows of a checkpoint.
type point struct {
	checkpoint  string
	ids, scopes []string
	scope       string
}

// recorder remembers the checkpoint of the latest reply that told one.
type recorder struct {
	http.RoundTripper
	latest string
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	res, err := r.RoundTripper.RoundTrip(q)
	if err == nil && res.Header.Get("X-Mockingbird-Checkpoint") != "" {
		r.latest = res.Header.Get("X-Mockingbird-Checkpoint")
	}
	return res, err
}

// subscriber is a stream by the name that the walk gave it.
type subscriber struct {
	*stream
	cancel context.CancelFunc
	gone   bool
}

const defaultScope = `{"profile": "default", "identity": "unauthenticated-test-listener"}`

func newPlayer(t *testing.T, frozen bool) *player {
	store := engine.NewMemoryStore()
	e := engine.New(engine.Config{Seed: 1, Gateway: engine.Gateway{MaxConcurrentRuns: model.WalkCapacity}, Store: store})
	r := &recorder{RoundTripper: transport.New(handler.New(e, handler.Options{}), "hermes.test")}
	p := &player{
		door:    &door{t, e, r},
		model:   model.New(model.WalkStart, model.WalkCapacity),
		scope:   defaultScope,
		frozen:  frozen,
		streams: map[string]*subscriber{},

		store:    store,
		recorder: r,
		points:   map[string]point{},
	}
	if _, err := e.ChangeClock(engine.ClockChange{Set: time.Unix(0, model.WalkStart), Freeze: &frozen}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Namespace(engine.DefaultNamespace); err != nil { // its sweeps count from here on
		t.Fatal(err)
	}
	return p
}

func (p *player) close() {
	for _, s := range p.streams {
		s.close()
		s.cancel()
	}
	p.engine.Close()
}

// step carries a command out on both sides and returns how they differ, "" if they do not. A command about a run
// that a shrunk walk does not admit is left out.
func (p *player) step(c model.Command) string {
	if c.Run >= len(p.ids) && c.OfRun() {
		return ""
	}
	if c.Do == "checkpoint" || c.Do == "checkout" {
		return p.timeTravel(c)
	}
	p.recorder.latest = ""
	got := p.act(c)
	synctest.Wait()
	newRunID := ""
	if c.Path == "/v1/runs" && got.status == http.StatusAccepted && got.header.Get("Idempotency-Replayed") == "" {
		newRunID = got.body[len(`{"run_id": "`):][:len("run_")+32]
	}
	want := p.model.Do(c, func(i int) string { return p.ids[i] }, newRunID)
	if newRunID != "" {
		p.ids, p.scopes = append(p.ids, newRunID), append(p.scopes, p.scope)
	}
	var problems []string
	if c.Do == "request" || c.Do == "subscribe" {
		problems = unlike(got, want)
	}
	return strings.Join(append(problems, p.given()...), "\n")
}

// act carries a command out on the handler.
func (p *player) act(c model.Command) reply {
	switch c.Do {
	case "request":
		path := c.Path
		if strings.Contains(path, "{run}") {
			path = strings.ReplaceAll(path, "{run}", p.ids[c.Run])
		}
		if c.Method == "GET" && strings.HasSuffix(path, "/events") {
			return p.events(path)
		}
		return p.send(p.request(c.Method, path, c.Body, c.Header))
	case "subscribe":
		return p.open(c.As, "/v1/runs/"+p.ids[c.Run]+"/events")
	case "disconnect":
		if s := p.streams[c.As]; s != nil && !s.gone {
			s.gone = true
			if len(p.streams)%2 == 0 {
				s.cancel()
			}
			s.close()
		}
	case "advance":
		if p.frozen {
			p.advance(time.Duration(c.Nanos))
		} else {
			time.Sleep(time.Duration(c.Nanos))
		}
	case "sweep":
		p.control("/hermes/sweep", `{}`)
	case "capacity":
		p.control("/hermes/gateway", fmt.Sprintf(`{"max_concurrent_runs": %d}`, c.Max))
	case "draining":
		p.control("/hermes/gateway", fmt.Sprintf(`{"draining": %t}`, c.On))
	case "restart":
		p.control("/hermes/restart", fmt.Sprintf(`{"owner": %q}`, c.Owner))
	case "scope":
		p.scope = fmt.Sprintf(`{"profile": %q, "identity": %q}`, c.Profile, c.Identity)
		p.control("/hermes/scope", p.scope)
	default:
		p.execute(c)
	}
	return reply{}
}

// timeTravel makes a checkpoint, or takes the one that the command before has made, or goes to one. The model goes there by
// carrying out again what it had done.
func (p *player) timeTravel(c model.Command) string {
	if c.Do == "checkpoint" {
		p.model.Do(c, nil, "")
		id := p.recorder.latest
		if id == "" || c.Explicit {
			p.control("/checkpoints", "")
			id = p.recorder.latest
		}
		p.points[c.As] = point{id, slices.Clone(p.ids), slices.Clone(p.scopes), p.scope}
		return ""
	}
	to, ok := p.points[c.As]
	if !ok { // left out of a shrunk walk
		return ""
	}
	p.model.Do(c, nil, "")
	switch {
	case c.Branch != "":
		p.control("/branches/"+c.Branch+"/checkout", fmt.Sprintf(`{"checkpoint": %q}`, to.checkpoint))
	default:
		fork := fmt.Sprint("fork-", len(p.points), "-", p.forks)
		p.forks++
		p.control("/branches", fmt.Sprintf(`{"name": %q, "from": %q}`, fork, to.checkpoint))
		p.control("/branches/"+fork+"/checkout", "")
	}
	p.ids, p.scopes, p.scope = slices.Clone(to.ids), slices.Clone(to.scopes), to.scope
	synctest.Wait()
	var problems []string
	for name, s := range p.streams {
		if err := s.over(); !s.gone && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			problems = append(problems, fmt.Sprintf("%s: %v after a checkout", name, err))
		}
		s.close()
		s.cancel()
	}
	clear(p.streams)
	p.recorder.latest = "" // later commands have not made it
	return strings.Join(problems, "\n")
}

// execute acts as the executor of a run. Executors act whatever the scope of requests is, controls only within it. In
// a shrunk walk the run may be one that no executor has any more; then the control is refused and nothing happens.
func (p *player) execute(c model.Command) {
	control, body := executorControl(c)
	if p.scopes[c.Run] != p.scope {
		p.control("/hermes/scope", p.scopes[c.Run])
		defer p.control("/hermes/scope", p.scope)
	}
	p.post("/__admin/hermes/runs/"+p.ids[c.Run]+"/"+control, body)
}

// executorControl is the control that does what a command says of an executor.
func executorControl(c model.Command) (control, body string) {
	var o canon.Object
	set := func(name string, v canon.Value) { o = append(o, canon.Member{Name: name, Value: v}) }
	text := func(name, s string) { set(name, canon.String(s)) }
	control = "observe"
	switch c.Do {
	case "start":
		text("status", "running")
	case "cancelled":
		text("status", "cancelled")
	case "complete":
		text("status", "completed")
		text("output", c.Output)
		if u := c.Usage; u != nil {
			set("usage", canon.Object{
				{Name: "input_tokens", Value: canon.IntOf(u[0])},
				{Name: "output_tokens", Value: canon.IntOf(u[1])},
				{Name: "total_tokens", Value: canon.IntOf(u[2])},
			})
		}
		if c.PendingSteer != nil {
			text("pending_steer", *c.PendingSteer)
		}
	case "fail":
		text("status", "failed")
		if c.Error != nil {
			text("error", *c.Error)
		}
	case "approval":
		text("status", "waiting_for_approval")
		set("approval", c.Fields)
	case "delta":
		control = "events"
		text("event", "message.delta")
		text("delta", c.Text)
	case "event":
		control = "events"
		text("event", c.EventType)
		names := map[string]string{"tool_name": "tool", "is_error": "error"}
		if c.EventType == "reasoning.available" {
			names["preview"] = "text"
		}
		for _, m := range c.Fields {
			if name, ok := names[m.Name]; ok {
				m.Name = name
			}
			o = append(o, m)
		}
	case "steer_policy":
		control = "steering"
		switch c.Accept {
		case "error":
			text("accept", "error")
			text("message", c.Message)
		default:
			set("accept", canon.Bool(c.Accept == "true"))
		}
	}
	return control, string(canon.AppendWire(nil, o))
}

// open opens an event stream under a name, or returns the reply that there is none.
func (p *player) open(name, path string) reply {
	ctx, cancel := context.WithCancel(context.Background())
	res, err := p.client.RoundTrip(p.request("GET", path, "", nil).WithContext(ctx))
	if err != nil {
		p.t.Fatal(err)
	}
	if res.StatusCode == http.StatusOK {
		p.streams[name] = &subscriber{stream: follow(res.Body), cancel: cancel}
		return reply{res.StatusCode, res.Header, ""}
	}
	defer cancel()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(body)}
}

// events is a plain request for events: what there is, then the client goes.
func (p *player) events(path string) reply {
	const name = "a plain request"
	r := p.open(name, path)
	if r.status == http.StatusOK {
		synctest.Wait()
		s := p.streams[name]
		r.body = s.take()
		s.close()
		s.cancel()
		delete(p.streams, name)
	}
	return r
}

// modelled are the header fields that the model says.
var modelled = []string{"Content-Type", "Retry-After", "Idempotency-Replayed", "X-Hermes-Session-Key", "Cache-Control",
	"X-Accel-Buffering", "Allow"}

// unlike tells how a reply differs from the model's.
func unlike(got reply, want model.Reply) []string {
	if got.status == http.StatusNotImplemented && want.Status == http.StatusNotImplemented {
		return nil
	}
	same := got.status == want.Status && got.body == want.Body
	for _, name := range modelled {
		values := got.header.Values(name)
		same = same && strings.Join(values, " and ") == want.Header[name]
	}
	if same {
		return nil
	}
	shown := http.Header{}
	for _, name := range modelled {
		if v, ok := got.header[name]; ok {
			shown[name] = v
		}
	}
	return []string{fmt.Sprintf(" got %d %v %.2000q\nwant %d %v %.2000q",
		got.status, shown, got.body, want.Status, want.Header, want.Body)}
}

// given compares what the subscribers got since the last step, and whose streams are over.
func (p *player) given() []string {
	var problems []string
	for _, name := range p.model.Subscribers() {
		want, ends := p.model.Take(name)
		s := p.streams[name]
		if s == nil || s.gone {
			continue
		}
		if got := s.take(); got != want {
			problems = append(problems, fmt.Sprintf("%s\n got %.2000q\nwant %.2000q", name, got, want))
		}
		err := s.over()
		switch {
		case ends && err != io.EOF,
			p.model.Broken(name) && !errors.Is(err, io.ErrUnexpectedEOF),
			!ends && !p.model.Broken(name) && err != nil:
			problems = append(problems, fmt.Sprintf("%s: %v, want end %t, broken %t", name, err, ends, p.model.Broken(name)))
		}
	}
	return problems
}

// consistent compares the namespace's counts with its runs, one by one.
func (p *player) consistent() string {
	n, err := p.engine.Namespace(engine.DefaultNamespace)
	if err != nil {
		p.t.Fatal(err)
	}
	want := engine.Counts{Admitted: len(p.ids)}
	for _, id := range p.ids {
		parsed, ok := engine.ParseRunID(id)
		if !ok {
			return "no id: " + id
		}
		in, err := n.Inspect(parsed)
		if errors.Is(err, engine.RunNotFound) {
			continue
		}
		if err != nil {
			p.t.Fatal(err)
		}
		if in.Cached {
			want.Cached++
			if in.Run.Active() {
				want.Active++
			}
		}
		if in.Row != nil {
			want.Durable++
		}
	}
	for _, s := range p.streams {
		if !s.gone && s.over() == nil {
			want.Streams++
		}
	}
	if got := n.Counts(); got != want {
		return fmt.Sprintf("counts are %+v, but its runs are %+v", got, want)
	}
	return ""
}

// stored compares the rows with those that the store has for the next process.
func (p *player) stored() string {
	rows := func(e *engine.Engine) map[string]engine.Row {
		n, err := e.Namespace(engine.DefaultNamespace)
		if err != nil {
			p.t.Fatal(err)
		}
		rows := map[string]engine.Row{}
		for _, id := range p.ids {
			parsed, _ := engine.ParseRunID(id)
			if in, err := n.Inspect(parsed); err == nil && in.Row != nil {
				rows[id] = *in.Row
			}
		}
		if counts := n.Counts(); counts.Durable != len(rows) {
			p.t.Errorf("%d rows of %d", len(rows), counts.Durable)
		}
		return rows
	}
	before := rows(p.engine)
	p.engine.Close()
	next := engine.New(engine.Config{Seed: 1, Store: p.store})
	defer next.Close()
	if after := rows(next); !maps.Equal(before, after) {
		return fmt.Sprintf("the store has %v, not %v", after, before)
	}
	return ""
}
