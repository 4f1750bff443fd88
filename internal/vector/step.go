package vector

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// Step is one step of a Scenario. The kinds (Do) and their members are those of the recordings' README; the loader has already
// written down what a step says over the wire, so that running it needs no further knowledge of its kind.
type Step struct {
	Do      string
	Note    string            // a remark for people
	Run     string            // the name bound to the run it is about, "" where it is about none
	As      string            // the subscriber, with subscribe and disconnect
	Request Request           // with request and subscribe
	Control Control           // with every other kind but disconnect
	Owner   string            // with restart: "stale" or "alive"
	Millis  string            // with advance: exact decimal milliseconds
	Receive map[string]string // what each subscriber gets because of this step; the others get nothing
	Ended   []string          // whose bodies end
}

// Request is a request to a provider route and the reply that was recorded. {{name}} in its path and in the expected body
// stands for the id of the run bound to name.
type Request struct {
	Method, Path string
	Header       map[string]string // exact bytes
	Body         []byte
	Bind         string // names the run that the reply tells
	Expect       Expect
}

// Expect is a recorded reply. A header that is not listed is not compared, except those that must then be absent.
type Expect struct {
	Status int
	Header map[string]string
	Body   string // empty for a stream, whose bytes are in the Receive of the steps
}

// Control is a POST to the control plane.
type Control struct {
	Path string // {{name}} stands for a run id
	Body string
}

// parseStep reads one step. Raw members (texts of the executor, approvals) are passed on as they are written: decoding them would
// lose the order of members and the spelling of numbers.
func parseStep(raw json.RawMessage) (Step, error) {
	m, err := parseMembers(raw)
	if err != nil {
		return Step{}, err
	}
	var s Step
	m.need("do", &s.Do)
	m.read("note", &s.Note)
	m.read("receive", &s.Receive)
	m.read("ended", &s.Ended)

	switch s.Do {
	case "request":
		s.Request = parseRequest(m)
	case "subscribe":
		m.need("run", &s.Run)
		m.need("as", &s.As)
		s.Request = Request{Method: "GET", Path: "/v1/runs/{{" + s.Run + "}}/events"}
		s.Request.Expect = parseExpect(m, func(status int) bool { return status != 200 })
	case "disconnect":
		m.need("as", &s.As)
	case "start", "complete", "fail", "cancelled", "approval":
		m.need("run", &s.Run)
		s.Control = runControl(s.Run, "observe", observation(s.Do, m))
	case "delta":
		m.need("run", &s.Run)
		s.Control = runControl(s.Run, "events", object("event", quoted("message.delta"), "delta", m.take("text", true)))
	case "event":
		m.need("run", &s.Run)
		s.Control = runControl(s.Run, "events", progress(m))
	case "steer_policy":
		m.need("run", &s.Run)
		s.Control = runControl(s.Run, "steering", object("accept", m.take("accept", true)))
	case "advance":
		s.Millis = milliseconds(m)
		s.Control = Control{"/__admin/clock", object("advance", json.RawMessage(s.Millis))}
	case "sweep":
		s.Control = Control{"/__admin/hermes/sweep", "{}"}
	case "capacity":
		s.Control = Control{"/__admin/hermes/gateway", object("max_concurrent_runs", m.take("max", true))}
	case "draining":
		s.Control = Control{"/__admin/hermes/gateway", object("draining", m.take("on", true))}
	case "restart":
		m.need("owner", &s.Owner)
		if s.Owner != "stale" && s.Owner != "alive" {
			m.fail(fmt.Errorf("owner is %q, neither stale nor alive", s.Owner))
		}
		s.Control = Control{"/__admin/hermes/restart", object("owner", quoted(s.Owner))}
	case "scope":
		s.Control = Control{"/__admin/hermes/scope", object("profile", m.take("profile", true), "identity", m.take("identity", true))}
	default:
		m.fail(fmt.Errorf("unknown kind of step %q", s.Do))
	}
	return s, m.finish()
}

func parseRequest(m *members) Request {
	r := Request{Header: map[string]string{}}
	m.need("method", &r.Method)
	m.need("path", &r.Path)
	m.read("bind", &r.Bind)
	m.read("headers", &r.Header)
	var text string
	if m.read("body", &text) {
		r.Body = []byte(text)
	}
	if m.read("body_hex", &text) {
		if r.Body != nil {
			m.fail(errors.New("both body and body_hex"))
		}
		r.Body = []byte(m.unhex(text))
	}
	var inHex map[string]string
	m.read("headers_hex", &inHex)
	for name, text := range inHex {
		if _, twice := r.Header[name]; twice {
			m.fail(fmt.Errorf("%s is in headers and in headers_hex", name))
		}
		r.Header[name] = m.unhex(text)
	}
	r.Expect = parseExpect(m, func(int) bool { return true })
	return r
}

// parseExpect takes the member expect; hasBody says for which status a body belongs to it.
func parseExpect(m *members, hasBody func(status int) bool) (e Expect) {
	raw := m.take("expect", true)
	if raw == nil {
		return e
	}
	in, err := parseMembers(raw)
	if err != nil {
		m.fail(fmt.Errorf("expect: %w", err))
		return e
	}
	in.need("status", &e.Status)
	in.need("headers", &e.Header)
	if hasBody(e.Status) {
		in.need("body", &e.Body)
	}
	if err := in.finish(); err != nil {
		m.fail(fmt.Errorf("expect: %w", err))
	}
	return e
}

// observation is the body of the control observe for what the executor of a run is seen to do.
func observation(do string, m *members) string {
	switch do {
	case "start":
		return object("status", quoted("running"))
	case "cancelled":
		return object("status", quoted("cancelled"))
	case "approval":
		return object("status", quoted("waiting_for_approval"), "approval", m.take("data", true))
	case "fail":
		return object("status", quoted("failed"), "error", m.take("error", false))
	}
	var usage json.RawMessage
	var tokens []json.RawMessage
	if m.read("usage", &tokens) {
		if len(tokens) != 3 {
			m.fail(errors.New("usage is not [input, output, total]"))
			return ""
		}
		usage = json.RawMessage(object("input_tokens", tokens[0], "output_tokens", tokens[1], "total_tokens", tokens[2]))
	}
	return object("status", quoted("completed"), "output", m.take("output", true), "usage", usage,
		"pending_steer", m.take("pending_steer", false))
}

// progress is the body of the control events for a step event. The step writes the executor's own words, the control those of
// the event; members without a word of their own (those of subagents) are the same in both, so all that is left is passed on.
func progress(m *members) string {
	var event string
	m.need("event_type", &event)
	pairs := []any{"event", quoted(event), "tool", m.take("tool_name", false), "error", m.take("is_error", false)}
	if event == "reasoning.available" {
		pairs = append(pairs, "text", m.take("preview", false))
	}
	for _, rest := range m.left {
		pairs = append(pairs, rest.name, rest.value)
	}
	m.left = nil
	return object(pairs...)
}

// milliseconds takes the member seconds. It works on the decimal text: 82799.999 times 1000 is not 82799999 in floating point.
func milliseconds(m *members) string {
	raw := m.take("seconds", true)
	if raw == nil {
		return ""
	}
	seconds, ok := new(big.Rat).SetString(string(raw))
	if !ok || seconds.Sign() < 0 {
		m.fail(fmt.Errorf("seconds is %s, no time to advance by", raw))
		return ""
	}
	return decimal(seconds.Mul(seconds, big.NewRat(1000, 1)))
}

// decimal writes r in full. It is exact for what came from a decimal text.
func decimal(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}

func runControl(run, name, body string) Control {
	return Control{"/__admin/hermes/runs/{{" + run + "}}/" + name, body}
}

func quoted(s string) json.RawMessage {
	text, _ := json.Marshal(s)
	return text
}

// object writes a JSON object of name, value pairs in this order. A pair whose value is nil is left out.
func object(pairs ...any) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i < len(pairs); i += 2 {
		value := pairs[i+1].(json.RawMessage)
		if value == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(quoted(pairs[i].(string)))
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.String()
}

// members are the members of a JSON object in their order. Reading takes them out, and finish complains of those left, so a
// member that no reader asked for cannot go unseen. The first error is kept.
type members struct {
	left []member
	err  error
}

type member struct {
	name  string
	value json.RawMessage
}

func parseMembers(raw json.RawMessage) (*members, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if start, err := dec.Token(); err != nil {
		return nil, err
	} else if start != json.Delim('{') {
		return nil, fmt.Errorf("%s is not an object", raw)
	}
	m := &members{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		next := member{name: name.(string)}
		if err := dec.Decode(&next.value); err != nil {
			return nil, err
		}
		for _, other := range m.left {
			if other.name == next.name {
				return nil, fmt.Errorf("member %q is there twice", next.name)
			}
		}
		m.left = append(m.left, next)
	}
	return m, nil
}

func (m *members) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// take removes a member and returns its value, nil when it is absent.
func (m *members) take(name string, needed bool) json.RawMessage {
	for i, found := range m.left {
		if found.name == name {
			m.left = append(m.left[:i:i], m.left[i+1:]...)
			return found.value
		}
	}
	if needed {
		m.fail(fmt.Errorf("member %q is missing", name))
	}
	return nil
}

// read takes a member into a Go value and reports whether it was there.
func (m *members) read(name string, into any) bool {
	raw := m.take(name, false)
	if raw == nil {
		return false
	}
	if string(raw) == "null" {
		m.fail(fmt.Errorf("member %q is null", name))
	} else if err := decodeStrictly(raw, into); err != nil {
		m.fail(fmt.Errorf("member %q: %w", name, err))
	}
	return true
}

func (m *members) need(name string, into any) {
	if !m.read(name, into) {
		m.fail(fmt.Errorf("member %q is missing", name))
	}
}

func (m *members) unhex(text string) string {
	raw, err := hex.DecodeString(text)
	if err != nil {
		m.fail(err)
	}
	return string(raw)
}

// finish returns the first error, and complains of members that nobody took.
func (m *members) finish() error {
	if m.err == nil && len(m.left) > 0 {
		return fmt.Errorf("unknown member %q", m.left[0].name)
	}
	return m.err
}
