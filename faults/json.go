package faults

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/handler"
)

// wireRule is a rule as the control plane prints it.
type wireRule struct {
	ID         string            `json:"id,omitempty"`
	Operation  handler.Operation `json:"operationId,omitempty"`
	Method     string            `json:"method,omitempty"`
	PathPrefix string            `json:"pathPrefix,omitempty"`
	Namespace  string            `json:"namespace,omitempty"`
	Count      int               `json:"count,omitempty"`
	Rate       float64           `json:"rate,omitempty"`
	Delay      float64           `json:"delayMs,omitempty"`
	Status     int               `json:"status,omitempty"`
	Header     map[string]any    `json:"headers,omitempty"`
	Body       string            `json:"body,omitempty"`
	Drop       bool              `json:"drop,omitempty"`
	Effect     Effect            `json:"effect,omitempty"`
	Params     map[string]int    `json:"params,omitempty"`
}

func (r *Rule) wire() wireRule {
	w := wireRule{
		ID: r.ID, Operation: r.Operation, Method: r.Method, PathPrefix: r.PathPrefix, Namespace: r.Namespace,
		Count: r.Count, Rate: r.Rate, Delay: float64(r.Delay) / 1e6, Status: r.Status, Body: r.Body,
		Drop: r.Drop, Effect: r.Effect,
	}
	for name, values := range r.Header {
		if w.Header == nil {
			w.Header = map[string]any{}
		}
		if len(values) == 1 {
			w.Header[name] = values[0]
		} else {
			w.Header[name] = values
		}
	}
	switch r.Effect {
	case EffectEventsCut:
		w.Params = map[string]int{"after": r.After}
	case EffectSlowBody:
		w.Params = map[string]int{"bytesPerSecond": r.BytesPerSecond}
	}
	return w
}

// MarshalJSON prints the rule as the control plane does, which also reads it so.
func (r Rule) MarshalJSON() ([]byte, error) { return json.Marshal(r.wire()) }

// MarshalJSON prints the rule, and remaining and hits beside its members;
// remaining is null where there is no bound.
func (i Injected) MarshalJSON() ([]byte, error) {
	var remaining *int
	if i.Remaining >= 0 {
		remaining = &i.Remaining
	}
	return json.Marshal(struct {
		wireRule
		Remaining *int `json:"remaining"`
		Hits      int  `json:"hits"`
	}{i.wire(), remaining, i.Hits})
}

// UnmarshalJSON is ReadRule.
func (r *Rule) UnmarshalJSON(document []byte) error {
	read, err := ReadRule(document)
	if err == nil {
		*r = read
	}
	return err
}

// ReadRule reads a rule as the control plane takes it: a JSON object of id, operationId, method,
// pathPrefix, namespace, count, rate, delayMs (or latencyMs), status, headers, body, drop, effect and params, or
// the name of a preset, of which other members change what they name. A null stands for a member that is
// absent, a body that is no string for its JSON as the provider prints it. An error wraps ErrRule.
func ReadRule(document []byte) (Rule, error) {
	v, err := canon.Parse(document)
	if err != nil {
		return Rule{}, fmt.Errorf("%w: the body is not JSON: %w", ErrRule, err)
	}
	object, ok := v.(canon.Object)
	if !ok {
		return Rule{}, fmt.Errorf("%w: the body must be a JSON object", ErrRule)
	}
	r := reader{}
	if name, ok := object.Get("preset"); ok {
		if r.rule, err = Named(r.text("preset", name)); err != nil {
			return Rule{}, err
		}
		r.preset = true
	}
	for _, m := range object {
		if m.Value != (canon.Null{}) {
			r.member(m.Name, m.Value)
		}
	}
	if r.problem != "" {
		return Rule{}, fmt.Errorf("%w: %s", ErrRule, r.problem)
	}
	if err := r.rule.Validate(); err != nil {
		return Rule{}, err
	}
	return r.rule, nil
}

// reader reads the members of a rule. The first thing wrong is its problem.
type reader struct {
	rule    Rule
	preset  bool
	delay   string // the name that the delay came by
	problem string
}

func (r *reader) fail(name, problem string) {
	if r.problem == "" {
		r.problem = name + " " + problem
	}
}

func (r *reader) text(name string, v canon.Value) string {
	text, ok := v.(canon.String)
	if !ok || text == "" {
		r.fail(name, "must be a string that is not empty")
	}
	return string(text)
}

func (r *reader) whole(name string, v canon.Value, least int) int {
	digits, ok := v.(canon.Int)
	n, err := strconv.ParseInt(string(digits), 10, 32)
	if !ok || err != nil || int(n) < least {
		r.fail(name, fmt.Sprintf("must be a whole number from %d on", least))
	}
	return int(n)
}

func (r *reader) number(name string, v canon.Value) float64 {
	switch v := v.(type) {
	case canon.Int:
		f, _ := strconv.ParseFloat(string(v), 64)
		return f
	case canon.Float:
		return float64(v)
	}
	r.fail(name, "must be a number")
	return 0
}

func (r *reader) member(name string, v canon.Value) {
	rule := &r.rule
	switch name {
	case "preset":
	case "id":
		rule.ID = r.text(name, v)
	case "operationId":
		rule.Operation = handler.Operation(r.text(name, v))
	case "method":
		rule.Method = r.text(name, v)
	case "pathPrefix":
		rule.PathPrefix = r.text(name, v)
	case "namespace":
		rule.Namespace = r.text(name, v)
	case "count":
		rule.Count = r.whole(name, v, 1)
	case "rate":
		if rule.Rate = r.number(name, v); !(rule.Rate > 0) {
			r.fail(name, "must be above 0 and at most 1")
		}
	case "delayMs", "latencyMs":
		r.readDelay(name, v)
	case "status":
		rule.Status = r.whole(name, v, 200)
	case "headers":
		r.readHeaders(v)
	case "body":
		if text, ok := v.(canon.String); ok {
			rule.Body = string(text)
		} else {
			rule.Body = string(canon.AppendWire(nil, v))
		}
	case "drop":
		drop, ok := v.(canon.Bool)
		if !ok {
			r.fail(name, "must be true or false")
		}
		rule.Drop = bool(drop)
	case "effect":
		rule.Effect = Effect(r.text(name, v))
	case "params":
		params, ok := v.(canon.Object)
		if !ok {
			r.fail(name, "must be an object")
		}
		for _, m := range params {
			if !r.readParam(m.Name, m.Value) {
				r.fail("params:", fmt.Sprintf("unknown member %q", m.Name))
			}
		}
	default:
		// The parameters of a preset may also stand beside its name.
		if !r.preset || !r.readParam(name, v) {
			r.fail("unknown", fmt.Sprintf("member %q", name))
		}
	}
}

func (r *reader) readParam(name string, v canon.Value) (known bool) {
	switch name {
	case "after":
		r.rule.After = r.whole("params.after", v, 0)
	case "bytesPerSecond":
		r.rule.BytesPerSecond = r.whole("params.bytesPerSecond", v, 1)
	default:
		return false
	}
	return true
}

// maxDelay bounds delays that come as JSON, in milliseconds.
const maxDelay = 1e9

func (r *reader) readDelay(name string, v canon.Value) {
	ms := r.number(name, v)
	if !(ms >= 0 && ms <= maxDelay) {
		r.fail(name, "must be milliseconds from 0 to 1000000000")
		return
	}
	delay := time.Duration(math.Round(ms * 1e6))
	if r.delay != "" && r.rule.Delay != delay {
		r.fail(name, "contradicts "+r.delay)
	}
	r.delay, r.rule.Delay = name, delay
}

func (r *reader) readHeaders(v canon.Value) {
	object, ok := v.(canon.Object)
	if !ok {
		r.fail("headers", "must be an object")
	}
	r.rule.Header = http.Header{}
	for _, m := range object {
		values, many := m.Value.(canon.Array)
		if !many {
			values = canon.Array{m.Value}
		}
		for _, v := range values {
			text, ok := v.(canon.String)
			if !ok {
				r.fail("headers."+m.Name, "must be a string or an array of strings")
			}
			r.rule.Header.Add(m.Name, string(text))
		}
	}
}
