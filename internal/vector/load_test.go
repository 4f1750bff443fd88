package vector

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const recordings = "../../testdata/vectors"

// loaded spares each test reading the same files again; nothing changes what it holds.
var loaded = sync.OnceValues(func() ([]File, error) { return Load(recordings) })

func load(t *testing.T) []File {
	t.Helper()
	files, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// plainScenario is a scenario as encoding/json reads it, without the loader's help.
type plainScenario struct {
	Config map[string]int
	Steps  []map[string]json.RawMessage
}

func plainly(t *testing.T) (files int, scenarios []plainScenario) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(recordings, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Scenarios []plainScenario }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		scenarios = append(scenarios, file.Scenarios...)
	}
	return len(names), scenarios
}

// TestLoadHoldsEverything counts what was loaded against a plain reading of the same files.
func TestLoadHoldsEverything(t *testing.T) {
	want, got := map[string]int{}, map[string]int{}
	files, scenarios := plainly(t)
	want["files"] = files
	for _, s := range scenarios {
		want["scenarios"]++
		if s.Config != nil {
			want["capacities"]++
		}
		for _, step := range s.Steps {
			want["steps"]++
			want[string(step["do"])]++
			for _, member := range []string{"receive", "ended", "bind", "body", "note"} {
				if _, ok := step[member]; ok {
					want[member]++
				}
			}
		}
	}
	count := func(member string, present bool) {
		if present {
			got[member]++
		}
	}
	for _, file := range load(t) {
		got["files"]++
		if file.Source["upstream"] == "" {
			t.Errorf("%s has no source", file.Name)
		}
		for _, s := range file.Scenarios {
			got["scenarios"]++
			count("capacities", s.MaxConcurrentRuns != nil)
			if s.Streams() != strings.HasPrefix(s.Name, "live-") {
				t.Errorf("%s: Streams() = %v", s.Name, s.Streams())
			}
			for _, step := range s.Steps {
				got["steps"]++
				got[string(quoted(step.Do))]++
				count("receive", step.Receive != nil)
				count("ended", step.Ended != nil)
				count("bind", step.Request.Bind != "")
				count("body", step.Request.Body != nil)
				count("note", step.Note != "")
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("loaded %v\nthe files hold %v", got, want)
	}
	if want["files"] < 12 || want["steps"] < 1000 {
		t.Errorf("the recordings are not there: %v", want)
	}
}

// TestUnknownOrMissingMember takes every shape of step that the recordings hold and spoils it, one member at a time.
func TestUnknownOrMissingMember(t *testing.T) {
	optional := map[string]bool{
		"note": true, "receive": true, "ended": true, // of any step
		"bind": true, "body": true, "headers": true, "headers_hex": true, // of a request
		"usage": true, "pending_steer": true, "error": true, // of an outcome
	}
	shapes := map[string]map[string]json.RawMessage{}
	_, scenarios := plainly(t)
	for _, s := range scenarios {
		for _, step := range s.Steps {
			shapes[string(step["do"])+strings.Join(slices.Sorted(maps.Keys(step)), " ")] = step
		}
	}
	parse := func(step map[string]json.RawMessage) error {
		text, err := json.Marshal(step)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parseStep(text)
		return err
	}
	for shape, step := range shapes {
		if err := parse(step); err != nil {
			t.Errorf("%s: %v", shape, err)
		}
		event := string(step["do"]) == `"event"`
		if !event { // the members of an event are open
			spoilt := maps.Clone(step)
			spoilt["surprise"] = json.RawMessage("1")
			if parse(spoilt) == nil {
				t.Errorf("%s: an unknown member was accepted", shape)
			}
		}
		for name := range step {
			spoilt := maps.Clone(step)
			delete(spoilt, name)
			if needed := !optional[name] && (!event || name == "run" || name == "event_type" || name == "do"); needed && parse(spoilt) == nil {
				t.Errorf("%s: accepted without %s", shape, name)
			}
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	const admission = `{"do": "request", "method": "POST", "path": "/v1/runs", "body": "{}", "bind": "a",
		"expect": {"status": 202, "headers": {}, "body": ""}}, `
	const subscribed = admission + `{"do": "subscribe", "run": "a", "as": "A", "expect": {"status": 200, "headers": {}}}, `
	scenario := func(steps string) string {
		return `{"source": {}, "scenarios": [{"name": "s", "group": "g", "steps": [` + steps + `]}]}`
	}
	for _, tt := range []struct{ name, text, want string }{
		{"unknown kind", scenario(`{"do": "dance"}`), `unknown kind of step "dance"`},
		{"no kind", scenario(`{}`), `"do" is missing`},
		{"step is no object", scenario(`[]`), "not an object"},
		{"repeated member", scenario(`{"do": "sweep", "do": "sweep"}`), `"do" is there twice`},
		{"null member", scenario(`{"do": "sweep", "note": null}`), `"note" is null`},
		{"unknown member of a reply", scenario(`{"do": "request", "method": "GET", "path": "/",
			"expect": {"status": 404, "headers": {}, "body": "", "trailers": {}}}`), `expect: unknown member "trailers"`},
		{"reply without headers", scenario(`{"do": "request", "method": "GET", "path": "/", "expect": {"status": 404, "body": ""}}`),
			`expect: member "headers" is missing`},
		{"body of a stream", scenario(admission + `{"do": "subscribe", "run": "a", "as": "A",
			"expect": {"status": 200, "headers": {}, "body": ""}}`), `expect: unknown member "body"`},
		{"body in hex and in text", scenario(`{"do": "request", "method": "GET", "path": "/", "body": "", "body_hex": "00",
			"expect": {"status": 404, "headers": {}, "body": ""}}`), "both body and body_hex"},
		{"header in hex and in text", scenario(`{"do": "request", "method": "GET", "path": "/", "headers": {"A": ""},
			"headers_hex": {"A": "00"}, "expect": {"status": 404, "headers": {}, "body": ""}}`), "in headers and in headers_hex"},
		{"bad hex", scenario(`{"do": "request", "method": "GET", "path": "/", "body_hex": "0g",
			"expect": {"status": 404, "headers": {}, "body": ""}}`), "invalid byte"},
		{"usage of two", scenario(admission + `{"do": "complete", "run": "a", "output": "", "usage": [1, 2]}`), "usage is not"},
		{"owner", scenario(`{"do": "restart", "owner": "gone"}`), `owner is "gone"`},
		{"unbound run", scenario(`{"do": "start", "run": "a"}`), `no run is bound to "a"`},
		{"unbound run in a path", scenario(`{"do": "request", "method": "GET", "path": "/{{b}}",
			"expect": {"status": 404, "headers": {}, "body": ""}}`), "no run is bound to {{b}}"},
		{"bound twice", scenario(admission + admission + `{"do": "sweep"}`), `"a" is already bound`},
		{"two streams of a name", scenario(subscribed + subscribed[len(admission):] + `{"do": "sweep"}`), `"A" has subscribed before`},
		{"receives nowhere", scenario(`{"do": "sweep", "receive": {"A": "x"}}`), `"A" receives without an open stream`},
		{"ends nowhere", scenario(`{"do": "sweep", "ended": ["A"]}`), `"A" ends without an open stream`},
		{"receives after its end", scenario(subscribed + `{"do": "sweep", "ended": ["A"]}, {"do": "sweep", "receive": {"A": "x"}}`),
			`"A" receives without an open stream`},
		{"disconnects twice", scenario(subscribed + `{"do": "disconnect", "as": "A"}, {"do": "disconnect", "as": "A"}`),
			`"A" has no open stream`},
		{"restart under a stream", scenario(subscribed + `{"do": "restart", "owner": "alive"}`), "is still open"},
		{"unknown member of the config", `{"source": {}, "scenarios": [{"name": "s", "config": {"max": 1}, "steps": [{"do": "sweep"}]}]}`, `"max"`},
		{"unknown member of a scenario", `{"source": {}, "scenarios": [{"name": "s", "skip": true, "steps": [{"do": "sweep"}]}]}`, `"skip"`},
		{"unknown member of a file", `{"source": {}, "version": 2, "scenarios": []}`, `"version"`},
		{"no scenarios", `{"source": {}, "scenarios": []}`, "no scenarios"},
		{"no steps", scenario(``), "no steps"},
		{"two values", scenario(`{"do": "sweep"}`) + `{}`, "more than one JSON value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			files, err := Load(dir)
			if err == nil {
				t.Fatalf("accepted: %+v", files)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "x.json") {
				t.Errorf("error %q, want x.json and %q in it", err, tt.want)
			}
		})
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("an empty directory was accepted")
	}
}

func TestSecondsAreExact(t *testing.T) {
	for seconds, want := range map[string]string{
		"0.001":     "1",
		"1e-06":     "0.001",
		"82799.999": "82799999",
		"3600.001":  "3600001",
		"59.9":      "59900",
		"0.5":       "500",
		"1.0":       "1000",
		"1E3":       "1000000",
		"0":         "0",
		"301":       "301000",
	} {
		step, err := parseStep(json.RawMessage(`{"do": "advance", "seconds": ` + seconds + `}`))
		if err != nil {
			t.Errorf("%s: %v", seconds, err)
		} else if step.Millis != want || step.Control != (Control{"/__admin/clock", `{"advance":` + want + `}`}) {
			t.Errorf("%s s = %s ms, want %s; the control is %v", seconds, step.Millis, want, step.Control)
		}
	}
	for _, seconds := range []string{"-1", `"1"`, "null", "[1]"} {
		if _, err := parseStep(json.RawMessage(`{"do": "advance", "seconds": ` + seconds + `}`)); err == nil {
			t.Errorf("%s was accepted", seconds)
		}
	}
}

func TestControls(t *testing.T) {
	const observe, events = "/__admin/hermes/runs/{{a}}/observe", "/__admin/hermes/runs/{{a}}/events"
	for _, tt := range []struct{ step, path, body string }{
		{`"start", "run": "a"`, observe, `{"status":"running"}`},
		{`"complete", "run": "a", "output": "x\ud800<"`, observe, `{"status":"completed","output":"x\ud800<"}`},
		{`"complete", "run": "a", "pending_steer": "p", "usage": [10, 5, 15], "output": ""`, observe,
			`{"status":"completed","output":"","usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15},"pending_steer":"p"}`},
		{`"fail", "run": "a"`, observe, `{"status":"failed"}`},
		{`"fail", "run": "a", "error": "boom"`, observe, `{"status":"failed","error":"boom"}`},
		{`"cancelled", "run": "a"`, observe, `{"status":"cancelled"}`},
		{`"approval", "run": "a", "data": {"z": 1.50, "a": 1e400}`, observe,
			`{"status":"waiting_for_approval","approval":{"z": 1.50, "a": 1e400}}`},
		{`"delta", "run": "a", "text": "Hel"`, events, `{"event":"message.delta","delta":"Hel"}`},
		{`"event", "run": "a", "event_type": "tool.started", "tool_name": "t", "preview": "p"`, events,
			`{"event":"tool.started","tool":"t","preview":"p"}`},
		{`"event", "run": "a", "event_type": "tool.completed", "tool_name": "t", "duration": 0.4123456, "is_error": false`, events,
			`{"event":"tool.completed","tool":"t","error":false,"duration":0.4123456}`},
		{`"event", "run": "a", "event_type": "reasoning.available", "preview": "r"`, events, `{"event":"reasoning.available","text":"r"}`},
		{`"event", "run": "a", "event_type": "subagent.start", "preview": "g", "depth": 1, "unknown_field": []`, events,
			`{"event":"subagent.start","preview":"g","depth":1,"unknown_field":[]}`},
		{`"steer_policy", "run": "a", "accept": false`, "/__admin/hermes/runs/{{a}}/steering", `{"accept":false}`},
		{`"sweep"`, "/__admin/hermes/sweep", `{}`},
		{`"capacity", "max": 0`, "/__admin/hermes/gateway", `{"max_concurrent_runs":0}`},
		{`"draining", "on": true`, "/__admin/hermes/gateway", `{"draining":true}`},
		{`"restart", "owner": "alive"`, "/__admin/hermes/restart", `{"owner":"alive"}`},
		{`"scope", "identity": "i", "profile": "p"`, "/__admin/hermes/scope", `{"profile":"p","identity":"i"}`},
	} {
		step, err := parseStep(json.RawMessage(`{"do": ` + tt.step + `}`))
		if err != nil {
			t.Errorf("%s: %v", tt.step, err)
		} else if want := (Control{tt.path, tt.body}); step.Control != want {
			t.Errorf("%s\n got %v\nwant %v", tt.step, step.Control, want)
		}
	}
}
