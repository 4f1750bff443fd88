package openapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/internal/vector"
)

// TestMutations changes what came: a member less, a member more, a member of another type, another status, a header less. The document must not
// allow it, but for what it says is optional or free.
func TestMutations(t *testing.T) {
	d := open(t, nil)
	d.judge.keep = true
	play(d)
	for _, more := range []func(*desk){travel, look} {
		next := open(t, nil)
		next.judge.keep = true
		more(next)
		d.judge.kept = append(d.judge.kept, next.judge.kept...)
	}
	tried, survived := 0, map[string]bool{}
	for _, e := range d.judge.kept {
		pattern := d.judge.document.pattern(e.request)
		if pattern == "" || e.request.Method == "HEAD" || e.response.StatusCode == 405 {
			continue // compared in a way of its own
		}
		for name := range e.response.Header {
			changed := *e
			head := *e.response
			head.Header = e.response.Header.Clone()
			head.Header.Del(name)
			changed.response = &head
			tried++
			if d.judge.document.checkResponse(&changed) == nil && d.judge.document.checkFields(&changed) == nil {
				survived["header "+name] = true
			}
		}
		where := e.request.Method + " " + pattern
		other := *e.response
		other.StatusCode = 299
		if tried++; d.judge.document.checkResponse(&exchange{e.request, e.sent, &other, e.received}) == nil {
			survived[where+" status"] = true
		}
		if !strings.HasPrefix(e.response.Header.Get("Content-Type"), "application/json") {
			continue
		}
		var v any
		if err := json.Unmarshal(e.received, &v); err != nil {
			t.Fatal(err)
		}
		mutate(v, "", func(what string) {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			changed := *e
			changed.received = text
			tried++
			if d.judge.document.checkResponse(&changed) == nil {
				survived[where+" "+what] = true
			}
		})
	}
	for _, what := range slices.Sorted(maps.Keys(survived)) {
		if !slices.ContainsFunc(free, func(pattern *regexp.Regexp) bool { return pattern.MatchString(what) }) {
			t.Errorf("the document allows it: %s", what)
		}
	}
	t.Logf("%d mutations, %d kinds allowed", tried, len(survived))
	if tried < 1000 {
		t.Errorf("only %d mutations", tried)
	}
}

// TestEventMutations does the same with an event of each kind, and with each field that it has.
func TestEventMutations(t *testing.T) {
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	files, err := vector.Load("../../testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, file := range files {
		for _, s := range file.Scenarios {
			for _, step := range s.Steps {
				for line := range strings.Lines(fill(step.Request.Expect.Body)) {
					if text, ok := strings.CutPrefix(line, "data: "); ok {
						var event map[string]any
						if err := json.Unmarshal([]byte(text), &event); err != nil {
							t.Fatal(err)
						}
						kind := fmt.Sprint(event["event"])
						if len(text) > len(kinds[kind]) {
							kinds[kind] = text
						}
					}
				}
			}
		}
	}
	if len(kinds) != 12 {
		t.Fatalf("the recordings have the events %q", slices.Sorted(maps.Keys(kinds)))
	}
	for kind, text := range kinds {
		var event map[string]any
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			t.Fatal(err)
		}
		mutate(event, "", func(what string) {
			text, err := json.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			needed := what == "less .event" || what == "less .run_id" || what == "less .timestamp"
			if d.checkSchema("RunEvent", text) == nil && (needed || !freeInEvents.MatchString(kind+" "+what)) {
				t.Errorf("the document allows it: %s %s", kind, what)
			}
		})
	}
}

// freeInEvents are the mutations of events that the document allows: an approval's own members, and what may be absent or null.
var freeInEvents = regexp.MustCompile(`^approval\.request (more in |.*\.(command|description|request_id|allow_\w+|smart_denied|pattern_key\w*))` +
	`|^subagent\.\w+ (less|\S+ \.files_(read|written)\[\]|(object|null) \.files)` +
	`|^tool\.\w+ <nil> \.(tool|preview)$|less \.(request_id|pending_steer)$`)

// free are the mutations that the document allows.
var free = []*regexp.Regexp{
	// Header fields that every reply has, and those that some replies of a kind have.
	regexp.MustCompile(`^header (Content-Length|Date|Retry-After|Idempotency-Replayed|X-Hermes-Session-Key|X-Mockingbird-Checkpoint)$`),
	// What a client or a test makes up.
	regexp.MustCompile(`(bool|float64|string|<nil>|interface \{\}) \S*\.(model|session_id)$`),
	regexp.MustCompile(`approvals?(\[\])?\.(command|request_id|allow_permanent)$`),
	regexp.MustCompile(`more in .*\.(approval|pending_approvals\[\])$`),
	regexp.MustCompile(`faults.*\.headers(\.|$)`),
	// What may be absent or null.
	regexp.MustCompile(`<nil> .*\.(parent|head|queue|row|remaining|owners|identity)$`),
	regexp.MustCompile(`/v1/runs/{run_id} less \.(approval|last_event)$`),
	regexp.MustCompile(`less \.run\.(approval|last_event)$|less \.runs\[\]\.last_event$`),
	regexp.MustCompile(`/__admin/hermes/runs/{id}/observe less \.(approval|last_event)$`),
	regexp.MustCompile(`less .*decisions\[\]\.request_id$|/approval less \.request_id$`),
	regexp.MustCompile(`/__admin/requests less \.requests\[\]\.(accepted|checkpoint|faultId|ids\.runId|operationId)$`),
	regexp.MustCompile(`/__admin/metrics less \.byOperation\.`),
	regexp.MustCompile(`/__admin/faults(/presets)? less .*(operationId|count|delayMs|status|headers|body|drop|effect|params|params\.after|params\.bytesPerSecond)$`),
}

// mutate calls try with v changed in each of many ways. what tells the change, with [] for an item.
func mutate(v any, at string, try func(what string)) {
	switch v := v.(type) {
	case map[string]any:
		v["unheard_of"] = 1.0
		try("more in " + at)
		delete(v, "unheard_of")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			old := v[name]
			delete(v, name)
			try("less " + at + "." + name)
			for _, other := range []any{"", "~", 0.5, true, nil, []any{5.0}, map[string]any{"unheard_of": 1.0}} {
				if fmt.Sprintf("%T", other) == fmt.Sprintf("%T", old) {
					continue
				}
				v[name] = other
				try(fmt.Sprintf("%T %s.%s", other, at, name))
			}
			v[name] = old
			mutate(old, at+"."+name, try)
		}
	case []any:
		for i, old := range v {
			v[i] = map[string]any{"unheard_of": 1.0}
			try("object " + at + "[]")
			v[i] = nil
			try("null " + at + "[]")
			v[i] = old
			mutate(old, at+"[]", try)
		}
	}
}
