package model

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/canon"
)

const start = 1_700_000_000 * int64(1e9)

type vectorFile struct {
	Scenarios []scenario
}

type scenario struct {
	Name   string
	Config struct {
		MaxConcurrentRuns *int `json:"max_concurrent_runs"`
	}
	Steps []json.RawMessage
}

type step struct {
	Do, Run, As, Bind string

	Method, Path string
	Headers      map[string]string
	HeadersHex   map[string]string `json:"headers_hex"`
	Body         string
	BodyHex      string `json:"body_hex"`
	Expect       *struct {
		Status  int
		Headers map[string]string
		Body    *string
	}

	Output       string
	Usage        *[3]int64
	PendingSteer *string `json:"pending_steer"`
	Error        *string
	Text         string
	EventType    string `json:"event_type"`
	Data         json.RawMessage
	Accept       bool

	Seconds           float64
	Max               int
	On                bool
	Owner             string
	Profile, Identity string

	Receive map[string]string
	Ended   []string
}

// TestVectors replays every recording, byte for byte.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../../testdata/vectors/*.json")
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file vectorFile
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		for _, s := range file.Scenarios {
			steps += len(s.Steps)
			t.Run(strings.TrimSuffix(filepath.Base(name), ".json")+"/"+s.Name, func(t *testing.T) { replay(t, s) })
		}
	}
	if steps < 5000 {
		t.Errorf("%d steps replayed: vectors are missing", steps)
	}
}

// player is a scenario being replayed.
type player struct {
	model *Model
	ids   map[string]string
	ended map[string]bool
}

func replay(t *testing.T, s scenario) {
	max := 10
	if s.Config.MaxConcurrentRuns != nil {
		max = *s.Config.MaxConcurrentRuns
	}
	p := &player{model: New(start, max), ids: map[string]string{}, ended: map[string]bool{}}
	for i, raw := range s.Steps {
		var st step
		if err := json.Unmarshal(raw, &st); err != nil {
			t.Fatal(err)
		}
		v, err := canon.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range append(p.play(i, st, v.(canon.Object)), p.received(st)...) {
			t.Errorf("step %d, %s %s%s %s: %s", i, st.Do, st.Method, st.Run+st.As, st.Path, problem)
		}
		if t.Failed() {
			return
		}
	}
}

// play takes one step and returns what is wrong with its reply.
func (p *player) play(i int, st step, fields canon.Object) []string {
	m, id := p.model, p.ids[st.Run]
	switch st.Do {
	case "request":
		newRunID := fmt.Sprintf("run_%032x", 0xabc000+i)
		if st.Bind != "" {
			p.ids[st.Bind] = newRunID
		}
		header := map[string]string{}
		for k, v := range st.Headers {
			header[k] = v
		}
		for k, v := range st.HeadersHex {
			header[k] = unhex(v)
		}
		body := st.Body
		if st.BodyHex != "" {
			body = unhex(st.BodyHex)
		}
		return p.compare(st, m.Request(st.Method, p.named(st.Path), header, []byte(body), newRunID))
	case "subscribe":
		return p.compare(st, m.Subscribe(id, st.As))
	case "disconnect":
		m.Disconnect(st.As)
	case "start":
		m.Start(id)
	case "complete":
		m.Complete(id, st.Output, st.Usage, st.PendingSteer)
	case "fail":
		m.Fail(id, st.Error)
	case "cancelled":
		m.Cancelled(id)
	case "delta":
		m.Delta(id, st.Text)
	case "event":
		m.Event(id, st.EventType, fields)
	case "approval":
		data, _ := fields.Get("data")
		m.Approval(id, data.(canon.Object))
	case "steer_policy":
		m.SteerPolicy(id, fmt.Sprint(st.Accept), "")
	case "advance":
		m.Advance(int64(math.Round(st.Seconds * 1e9)))
	case "sweep":
		m.Sweep()
	case "capacity":
		m.Capacity(st.Max)
	case "draining":
		m.Draining(st.On)
	case "restart":
		m.Restart(st.Owner)
	case "scope":
		m.Scope(st.Profile, st.Identity)
	default:
		return []string{"unknown step"}
	}
	return nil
}

func (p *player) compare(st step, got Reply) []string {
	var problems []string
	if got.Status != st.Expect.Status {
		problems = append(problems, fmt.Sprintf("status %d, want %d", got.Status, st.Expect.Status))
	}
	if st.Expect.Body != nil && got.Body != p.named(*st.Expect.Body) {
		problems = append(problems, fmt.Sprintf("body\n got %s\nwant %s", got.Body, p.named(*st.Expect.Body)))
	}
	for k, want := range st.Expect.Headers {
		have := got.Header[k]
		if k == "Allow" {
			have, want = set(have), set(want)
		}
		if have != want {
			problems = append(problems, fmt.Sprintf("%s: %q, want %q", k, have, want))
		}
	}
	for _, k := range []string{"Idempotency-Replayed", "Retry-After", "X-Hermes-Session-Key"} {
		if _, ok := st.Expect.Headers[k]; !ok && got.Header[k] != "" {
			problems = append(problems, fmt.Sprintf("%s: %q, want none", k, got.Header[k]))
		}
	}
	return problems
}

// received compares what the subscribers were given by a step.
func (p *player) received(st step) []string {
	var problems []string
	for _, as := range p.model.Subscribers() {
		bytes, ended := p.model.Take(as)
		if want := p.named(st.Receive[as]); bytes != want {
			problems = append(problems, fmt.Sprintf("%s receives %q, want %q", as, bytes, want))
		}
		if ends := ended && !p.ended[as]; as != requester && ends != slices.Contains(st.Ended, as) {
			problems = append(problems, fmt.Sprintf("%s ends: %v", as, ends))
		}
		p.ended[as] = ended
	}
	for as := range st.Receive {
		if p.model.subscriber(as) == nil {
			problems = append(problems, as+" never subscribed")
		}
	}
	return problems
}

// named puts the ids in place of their names.
func (p *player) named(s string) string {
	for name, id := range p.ids {
		s = strings.ReplaceAll(s, "{{"+name+"}}", id)
	}
	return s
}

func set(list string) string {
	items := strings.Split(strings.ReplaceAll(list, " ", ""), ",")
	sort.Strings(items)
	return strings.Join(items, ",")
}

func unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
