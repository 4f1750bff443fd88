package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hermesfake/hermesfake/canon"
)

// A walk starts from New(WalkStart, WalkCapacity).
const (
	WalkStart    = 1_700_000_000 * int64(time.Second)
	WalkCapacity = 10
)

// A Command is one step of a walk. Do is the step's name in the README of the vectors; the fields that follow are those
// of some steps each. A walk names runs by their place in the order of admission.
type Command struct {
	Do string

	Run int // request with {run} in its path, subscribe, and every executor step

	Method, Path string // request; {run} stands for the id
	Header       map[string]string
	Body         string

	As string // subscribe, disconnect, checkpoint, checkout; no name comes twice in a walk

	Branch   string // checkout
	Explicit bool   // checkpoint: made for itself, even where the command before has made one

	Output       string // complete
	Usage        *[3]int64
	PendingSteer *string
	Error        *string      // fail
	Text         string       // delta
	EventType    string       // event
	Fields       canon.Object // event: see Model.Event; approval: its data
	Accept       string       // steer_policy: true, false or error
	Message      string

	Nanos             int64 // advance
	Max               int   // capacity
	On                bool  // draining
	Owner             string
	Profile, Identity string
}

// String is the command on one line, for the message of a failing test.
func (c Command) String() string {
	switch c.Do {
	case "request":
		return fmt.Sprintf("%s %s %v %q run %d", c.Method, c.Path, c.Header, c.Body, c.Run)
	case "subscribe":
		return fmt.Sprintf("subscribe %s run %d", c.As, c.Run)
	case "disconnect":
		return "disconnect " + c.As
	case "checkpoint":
		return fmt.Sprintf("checkpoint %s, explicit %t", c.As, c.Explicit)
	case "checkout":
		return fmt.Sprintf("checkout %s on %s", c.As, c.Branch)
	case "advance":
		return "advance " + time.Duration(c.Nanos).String()
	case "sweep":
		return "sweep"
	case "capacity":
		return fmt.Sprint("capacity ", c.Max)
	case "draining":
		return fmt.Sprint("draining ", c.On)
	case "restart":
		return "restart " + c.Owner
	case "scope":
		return "scope " + c.Profile + " " + c.Identity
	case "complete":
		return fmt.Sprintf("complete run %d %q %v %s", c.Run, c.Output, c.Usage, quoted(c.PendingSteer))
	case "fail":
		return fmt.Sprintf("fail run %d %s", c.Run, quoted(c.Error))
	case "event", "approval":
		return fmt.Sprintf("%s run %d %s %s", c.Do, c.Run, c.EventType, wire(c.Fields))
	}
	return fmt.Sprintf("%s run %d %s", c.Do, c.Run, c.Text+c.Accept)
}

func quoted(s *string) string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *s)
}

// Do carries a command out. ids gives the id of the i-th admitted run, newRunID the id of a run that the command may
// admit, as the implementation under test has minted it. The reply is zero unless the command is a request or a
// subscribe. What subscribers were given meanwhile is for Take to tell.
func (m *Model) Do(c Command, ids func(i int) string, newRunID string) Reply {
	switch c.Do {
	case "checkpoint":
		m.Checkpoint(c.As)
		return Reply{}
	case "checkout":
		m.Checkout(c.As)
		return Reply{}
	}
	m.remember(c, ids, newRunID)
	switch c.Do {
	case "disconnect all":
		m.line, m.subscribers = nil, nil
	case "request":
		path := c.Path
		if strings.Contains(path, "{run}") {
			path = strings.ReplaceAll(path, "{run}", ids(c.Run))
		}
		return m.Request(c.Method, path, c.Header, []byte(c.Body), newRunID)
	case "subscribe":
		return m.Subscribe(ids(c.Run), c.As)
	case "disconnect":
		m.Disconnect(c.As)
	case "start":
		m.Start(ids(c.Run))
	case "complete":
		m.Complete(ids(c.Run), c.Output, c.Usage, c.PendingSteer)
	case "fail":
		m.Fail(ids(c.Run), c.Error)
	case "cancelled":
		m.Cancelled(ids(c.Run))
	case "delta":
		m.Delta(ids(c.Run), c.Text)
	case "event":
		m.Event(ids(c.Run), c.EventType, c.Fields)
	case "approval":
		m.Approval(ids(c.Run), c.Fields)
	case "steer_policy":
		m.SteerPolicy(ids(c.Run), c.Accept, c.Message)
	case "advance":
		m.Advance(c.Nanos)
	case "sweep":
		m.Sweep()
	case "capacity":
		m.Capacity(c.Max)
	case "draining":
		m.Draining(c.On)
	case "restart":
		m.Restart(c.Owner)
	case "scope":
		m.Scope(c.Profile, c.Identity)
	}
	return Reply{}
}

// Walk returns n random commands. It keeps a model of its own at its side, so that it can aim: executors act on runs
// that they still have, the clock is moved to just before, on and just after the instants at which something falls
// due, and a stream is only read to its end where it has one.
//
// A property test gives each command to the implementation first, then to Do with the id that a 202 without
// Idempotency-Replayed named, compares the replies (of a 501 the status alone) and, for every name in Subscribers, what
// Take returns; then it keeps the id as the next in the order of admission.
func Walk(rng *rand.Rand, n int) []Command {
	w := &walker{rng: rng, model: New(WalkStart, WalkCapacity)}
	commands := make([]Command, 0, n)
	for len(commands) < n {
		c, ok := w.next()
		if !ok {
			continue
		}
		newRunID := fmt.Sprintf("run_%032x", len(w.ids))
		reply := w.model.Do(c, func(i int) string { return w.ids[i] }, newRunID)
		switch {
		case c.Path == "/v1/runs" && reply.Status == 202 && reply.Header["Idempotency-Replayed"] == "":
			w.ids = append(w.ids, newRunID)
		case c.Do == "checkpoint":
			w.points = append(w.points, walkPoint{c.As, slices.Clone(w.ids), w.otherScope})
		case c.Do == "checkout":
			w.returnTo(c.As)
		}
		commands = append(commands, c)
	}
	return commands
}

type walker struct {
	rng         *rand.Rand
	model       *Model
	ids         []string
	keyed       []Command // submissions with a key, accepted or not
	focus       int       // the run that most commands are about for a while
	subscribers int
	otherScope  bool
	points      []walkPoint
}

// walkPoint is what a walker knew at a checkpoint.
type walkPoint struct {
	name       string
	ids        []string
	otherScope bool
}

// next is a command, or not one where there is nothing for it to act on.
func (w *walker) next() (Command, bool) {
	steps := []struct {
		weight int
		step   func() (Command, bool)
	}{
		{10, w.submit},
		{5, w.submitAgain},
		{2, w.submitBadly},
		{14, w.poll},
		{4, w.stop},
		{7, w.approve},
		{7, w.steer},
		{9, w.subscribe},
		{4, w.disconnect},
		{2, w.readEvents},
		{1, w.stray},
		{8, w.begin},
		{4, w.settle},
		{12, w.progress},
		{8, w.ask},
		{3, w.policy},
		{14, w.advance},
		{2, w.sweep},
		{1, w.gateway},
		{2, w.restart},
		{3, w.scope},
		{3, w.checkpoint},
		{2, w.checkout},
	}
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	at := w.rng.IntN(total)
	for _, s := range steps {
		if at < s.weight {
			return s.step()
		}
		at -= s.weight
	}
	panic("unreachable")
}

func pick[T any](w *walker, from []T) T { return from[w.rng.IntN(len(from))] }

var walkBodies = []string{
	`{"input": "x"}`,
	`{"input": "x", "n": 1}`,
	`{"input": "\u00e9\u2603", "model": null, "n": 1e+22}`,
	`{"input": [{"role": "user", "content": "hi"}], "session_id": "s1", "model": {"b": 1, "a": [1.0, {"d": 2, "c": -0.0}]}}`,
	`{"input": [1, {"content": ["p"]}], "session_id": "", "conversation_history": [{"role": "user", "content": null}]}`,
	`{"input": "x", "session_id": 5, "model": "", "run_id": "mine"}`,
}

// walkSpellings maps one of the bodies to others of the same fingerprint.
var walkSpellings = map[string][]string{
	walkBodies[0]: {" {\"input\":\"x\"}\n", `{"input": "y", "input": "\u0078"}`},
	walkBodies[1]: {`{"n": 1, "input": "x"}`, `{"n":-0,"input":"x","n":1}`},
	walkBodies[2]: {`{"n": 10000000000000000000000.0, "model": null, "input": "é☃"}`},
}

// submit sends one of few bodies under one of few keys or none, so that replays and conflicts come by themselves.
func (w *walker) submit() (Command, bool) {
	c := Command{Do: "request", Method: "POST", Path: "/v1/runs", Header: map[string]string{}, Body: pick(w, walkBodies)}
	if w.rng.IntN(4) > 0 {
		c.Header["Idempotency-Key"] = pick(w, []string{"k1", "k2", "k3", "k4", "k5", "k6"})
	}
	if w.rng.IntN(4) == 0 {
		c.Header["X-Hermes-Session-Key"] = pick(w, []string{"mem", "é"})
	}
	if c.Header["Idempotency-Key"] != "" {
		w.keyed = append(w.keyed, c)
	}
	return c, true
}

// submitAgain repeats a keyed submission, perhaps spelt otherwise, or changes what counts or what does not.
func (w *walker) submitAgain() (Command, bool) {
	if len(w.keyed) == 0 {
		return Command{}, false
	}
	c := pick(w, w.keyed)
	header := map[string]string{}
	for k, v := range c.Header {
		header[k] = v
	}
	c.Header = header
	switch w.rng.IntN(6) {
	case 0:
		if spellings := walkSpellings[c.Body]; spellings != nil {
			c.Body = pick(w, spellings)
		}
	case 1:
		header["Idempotency-Key"] = " " + header["Idempotency-Key"] + "\t"
	case 2:
		header["X-Hermes-Session-Key"] = "another"
	case 3:
		c.Body = strings.Replace(c.Body, `"n": 1`, `"n": 1.0`, 1)
	}
	return c, true
}

func (w *walker) submitBadly() (Command, bool) {
	c := Command{Do: "request", Method: "POST", Path: "/v1/runs", Header: map[string]string{}}
	c.Body = pick(w, []string{
		``, `{`, `{"input": "x"} `, `{"input": ""}`, `{"input": {"a": 1}}`, `{"input": [{"content": ""}]}`,
		`{"input": "x", "conversation_history": "bad"}`, `{"input": "x", "conversation_history": [{"role": 1}]}`,
		`[]`, `{"input": [1]}`, `{"input": "x", "hosted_room_dispatch": null}`, `{"input": "\ud800"}`,
	})
	switch w.rng.IntN(3) {
	case 0:
		c.Header["Idempotency-Key"] = "bad key"
	case 1:
		c.Header["Idempotency-Key"] = "fresh"
	}
	if w.rng.IntN(6) == 0 {
		c.Header["X-Hermes-Session-Key"] = strings.Repeat("é", 257)
	}
	return c, true
}

// any is the run in focus, a late one or one of any age.
func (w *walker) any() (int, bool) {
	if len(w.ids) == 0 {
		return 0, false
	}
	if w.rng.IntN(25) == 0 {
		w.focus = len(w.ids) - 1
	}
	if w.rng.IntN(2) == 0 {
		return w.focus, true
	}
	if late := len(w.ids) - 6; late > 0 && w.rng.IntN(3) > 0 {
		return late + w.rng.IntN(6), true
	}
	return w.rng.IntN(len(w.ids)), true
}

func (w *walker) request(method, path, body string) (Command, bool) {
	run, ok := w.any()
	if w.rng.IntN(40) == 0 {
		path = strings.Replace(path, "{run}", "run_missing", 1)
		ok = true
	}
	return Command{Do: "request", Method: method, Path: path, Body: body, Run: run}, ok
}

func (w *walker) poll() (Command, bool) {
	return w.request(pick(w, []string{"GET", "GET", "GET", "GET", "HEAD"}), "/v1/runs/{run}", "")
}

func (w *walker) stop() (Command, bool) {
	return w.request("POST", "/v1/runs/{run}/stop", pick(w, []string{"", "not json"}))
}

// approve answers mostly where somebody asked.
func (w *walker) approve() (Command, bool) {
	c, ok := w.request("POST", "/v1/runs/{run}/approval", pick(w, []string{
		`{"choice": "once"}`, `{"choice": " ALLOW"}`, `{"choice": "approved", "all": false}`,
		`{"choice": "deny", "all": true}`, `{"choice": "always", "resolve_all": "on"}`, `{"choice": "session", "all": 0}`,
		`{"choice": "once", "request_id": "q1"}`, `{"choice": "deny", "request_id": " q2 ", "all": true}`,
		`{"choice": "once", "request_id": null}`, `{"choice": "once", "request_id": ""}`, `{"choice": "nope"}`, `{`, `[]`,
	}))
	if run, asked := w.active(func(r *run) bool { return len(r.approvals) > 0 }); asked && w.rng.IntN(4) > 0 {
		c.Run = run
	}
	return c, ok
}

func (w *walker) steer() (Command, bool) {
	c, ok := w.request("POST", "/v1/runs/{run}/steer", pick(w, []string{
		`{"input": "a"}`, `{"message": "b", "input": 0}`, `{"input": [{"type": "text", "text": "p"}]}`, `{"text": 5}`,
		`{"text": " "}`, `{}`, `[]`, `{`,
	}))
	if run, takes := w.active(running); takes && w.rng.IntN(4) > 0 {
		c.Run = run
	}
	return c, ok
}

func (w *walker) subscribe() (Command, bool) {
	run, ok := w.any()
	w.subscribers++
	return Command{Do: "subscribe", Run: run, As: fmt.Sprint("S", w.subscribers)}, ok
}

func (w *walker) disconnect() (Command, bool) {
	var names []string
	for _, s := range w.model.subscribers {
		if s.name != requester && !s.ended && !s.broken && !s.gone {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		return Command{}, false
	}
	return Command{Do: "disconnect", As: pick(w, names)}, true
}

// readEvents asks for the events of a run whose queue has an end, or for the head of any.
func (w *walker) readEvents() (Command, bool) {
	run, ok := w.any()
	if !ok {
		return Command{}, false
	}
	c := Command{Do: "request", Method: "GET", Path: "/v1/runs/{run}/events", Run: run}
	if r := w.model.cached(w.ids[run]); r != nil && r.active || w.rng.IntN(5) == 0 {
		c.Method = "HEAD"
	}
	return c, true
}

// stray asks for what there is not.
func (w *walker) stray() (Command, bool) {
	return w.request(pick(w, []string{"GET", "POST", "PUT", "DELETE"}),
		pick(w, []string{"/v1/runs/", "/v1/runs/{run}/", "/v1/runs/{run}/nope", "/v1/runs/a%2Fb%20c/stop", "/v1/nope"}), "")
}

// active is a run that has an executor and is as asked for.
func (w *walker) active(is func(*run) bool) (int, bool) {
	var runs []int
	for i, id := range w.ids {
		if r := w.model.executing(id); r != nil && is(r) {
			runs = append(runs, i)
		}
	}
	if len(runs) == 0 {
		return 0, false
	}
	if slices.Contains(runs, w.focus) && w.rng.IntN(2) == 0 {
		return w.focus, true
	}
	return pick(w, runs), true
}

func anyRun(*run) bool { return true }

func running(r *run) bool { return r.state() == "running" }

func (w *walker) begin() (Command, bool) {
	run, ok := w.active(func(r *run) bool { return r.state() == "queued" })
	return Command{Do: "start", Run: run}, ok
}

func (w *walker) settle() (Command, bool) {
	run, ok := w.active(anyRun)
	c := Command{Do: pick(w, []string{"complete", "fail", "cancelled"}), Run: run}
	switch c.Do {
	case "complete":
		c.Output = pick(w, []string{"", "done", "é😀"})
		if w.rng.IntN(2) == 0 {
			c.Usage = &[3]int64{1, 2, 3}
		}
		if w.rng.IntN(3) == 0 {
			c.PendingSteer = new(string)
			*c.PendingSteer = "later"
		}
	case "fail":
		if w.rng.IntN(2) == 0 {
			c.Error = new(string)
			*c.Error = "boom"
		}
	}
	return c, ok
}

func (w *walker) progress() (Command, bool) {
	run, ok := w.active(anyRun)
	if w.rng.IntN(2) == 0 {
		return Command{Do: "delta", Run: run, Text: pick(w, []string{"", "Hel", "lo é😀\n"})}, ok
	}
	c := Command{Do: "event", Run: run, EventType: pick(w, []string{
		"tool.started", "tool.completed", "reasoning.available", "subagent.start", "subagent.complete", "subagent.tool",
	})}
	switch c.EventType {
	case "tool.started":
		c.Fields = canon.Object{text("tool_name", "t"), text("preview", "p")}
	case "tool.completed":
		c.Fields = canon.Object{text("tool_name", "t"), member("duration", canon.Float(0.4125)), member("is_error", canon.Bool(true))}
	case "reasoning.available":
		c.Fields = canon.Object{text("preview", "hm")}
	default:
		c.Fields = canon.Object{text("status", "completed"), text("summary", "s"), member("depth", canon.IntOf(1)), text("preview", "p")}
	}
	return c, ok
}

func (w *walker) ask() (Command, bool) {
	run, ok := w.active(anyRun)
	c := Command{Do: "approval", Run: run, Fields: canon.Object{text("command", "c")}}
	switch w.rng.IntN(5) {
	case 0, 1:
		c.Fields = append(c.Fields, text("request_id", "q1"))
	case 2:
		c.Fields = append(c.Fields, member("allow_session", canon.Bool(false)), text("request_id", "q2"))
	case 3:
		c.Fields = append(c.Fields, member("allow_permanent", canon.Bool(false)), text("run_id", "spoof"))
	}
	return c, ok
}

func (w *walker) policy() (Command, bool) {
	run, ok := w.active(running)
	return Command{Do: "steer_policy", Run: run, Accept: pick(w, []string{"true", "false", "error"}), Message: "steering broke"}, ok
}

// advance moves the clock a little, to an instant at which something falls due, or over it.
func (w *walker) advance() (Command, bool) {
	m := w.model
	steps := []int64{int64(time.Millisecond), int64(time.Second), 12 * int64(time.Second), int64(keepaliveAfter), int64(sweepEvery)}
	due := []int64{m.nextSweep}
	if len(m.line) > 0 {
		due = append(due, m.line[0].since+int64(keepaliveAfter))
	}
	for _, q := range m.queues {
		due = append(due, q.admitted+int64(queueKept))
	}
	for _, r := range m.cache {
		due = append(due, r.updated+int64(cacheKept))
	}
	for _, row := range m.rows {
		due = append(due, row.updated+int64(rowKept))
	}
	nanos := pick(w, steps)
	if w.rng.IntN(2) == 0 {
		nanos = pick(w, due) - m.now + pick(w, []int64{-int64(time.Millisecond), 0, int64(time.Millisecond)})
	}
	// A day's jump ages everything, so most are left out.
	if nanos < 0 || nanos > 2*int64(cacheKept) && w.rng.IntN(4) > 0 {
		return Command{}, false
	}
	return Command{Do: "advance", Nanos: nanos}, true
}

func (w *walker) sweep() (Command, bool) { return Command{Do: "sweep"}, true }

func (w *walker) gateway() (Command, bool) {
	if w.model.draining || w.rng.IntN(4) == 0 {
		return Command{Do: "draining", On: !w.model.draining}, true
	}
	return Command{Do: "capacity", Max: pick(w, []int{0, 1, 3, 10})}, true
}

func (w *walker) restart() (Command, bool) {
	return Command{Do: "restart", Owner: pick(w, []string{"stale", "alive"})}, true
}

func (w *walker) scope() (Command, bool) {
	w.otherScope = !w.otherScope
	c := Command{Do: "scope", Profile: defaultProfile, Identity: defaultIdentity}
	if w.otherScope {
		c.Profile = "other"
	}
	return c, true
}

func (w *walker) checkpoint() (Command, bool) {
	return Command{Do: "checkpoint", As: fmt.Sprint("C", len(w.points)), Explicit: w.rng.IntN(2) == 0}, true
}

// checkout returns to one of the later checkpoints, or to any, on one of two branches or on the one that is current.
func (w *walker) checkout() (Command, bool) {
	if len(w.points) == 0 {
		return Command{}, false
	}
	points := w.points
	if late := len(points) - 4; late > 0 && w.rng.IntN(3) > 0 {
		points = points[late:]
	}
	return Command{Do: "checkout", As: pick(w, points).name, Branch: pick(w, []string{"main", "other", ""})}, true
}

func (w *walker) returnTo(name string) {
	for _, p := range w.points {
		if p.name == name {
			w.ids, w.otherScope = slices.Clone(p.ids), p.otherScope
		}
	}
	w.focus = max(0, len(w.ids)-1)
}

// OfRun reports whether the command is about the run that it names.
func (c Command) OfRun() bool {
	switch c.Do {
	case "request":
		return strings.Contains(c.Path, "{run}")
	case "subscribe", "start", "complete", "fail", "cancelled", "delta", "event", "approval", "steer_policy":
		return true
	}
	return false
}
