package openapitest

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// bodies are what a control takes, and what it refuses with 400.
type bodies struct {
	path   string // {id}: of a run that is running
	status int    // of what it takes
	good   []string
	bad    []string
	beyond []string // refused too, for a reason that a schema cannot say
}

var controls = []bodies{
	{"/clock", 200, []string{
		``, `{}`, `{"set": 1700000000000}`, `{"set": 1700000000000.5, "freeze": true}`, `{"set": "2026-08-31"}`, `{"set": "2026-08-31T12:00"}`,
		`{"set": "2026-08-31T12:00:00.25Z"}`, `{"set": "2026-08-31T12:00:00+02:00"}`, `{"advance": 0}`, `{"advance": 1.5}`, `{"advance": "90s"}`,
		`{"advance": "1h30m"}`, `{"advance": "0.5d"}`, `{"advance": "3d"}`, `{"freeze": false}`, `{"reset": true}`,
		`{"reset": true, "set": 0, "advance": "1ms", "freeze": true}`,
	}, []string{
		`[]`, `null`, `"x"`, `{"nonsense": 1}`, `{"set": "x"}`, `{"set": true}`, `{"set": null}`, `{"set": {}}`, `{"set": ""}`, `{"set": "2024-13-01"}`,
		`{"set": -1}`, `{"set": -0.001}`, `{"set": 7258118400000}`, `{"set": "1969-12-31T23:59:59Z"}`, `{"set": "2200-01-01"}`, `{"set": 1e300}`,
		`{"advance": "x"}`, `{"advance": ""}`, `{"advance": "5"}`, `{"advance": "d"}`, `{"advance": "-1s"}`, `{"advance": "-1d"}`,
		`{"advance": "100000d"}`, `{"advance": -1}`, `{"advance": -0.5}`, `{"advance": true}`, `{"advance": null}`, `{"advance": []}`, `{"advance": 1e300}`,
		`{"freeze": 1}`, `{"freeze": "true"}`, `{"freeze": null}`, `{"reset": 1}`, `{"reset": null}`,
	}, []string{`{"set": "2026-02-30"}`, `{"set": 7258118399999, "advance": "1d"}`}},
	{"/hermes/scope", 200, []string{`{"profile": "p", "identity": "i"}`, `{"profile": "default", "identity": "unauthenticated-test-listener"}`}, []string{
		`[]`, `{}`, `{"profile": "p"}`, `{"identity": "i"}`, `{"profile": "", "identity": "i"}`, `{"profile": "p", "identity": ""}`,
		`{"profile": "p\u0000", "identity": "i"}`, `{"profile": 1, "identity": "i"}`, `{"profile": "p", "identity": null}`,
		`{"profile": "p", "identity": "i", "more": 1}`,
	}, nil},
	{"/hermes/sweep", 200, []string{``, `{}`}, []string{`[]`, `{"all": true}`}, nil},
	{"/hermes/gateway", 200, []string{``, `{}`, `{"max_concurrent_runs": 0}`, `{"max_concurrent_runs": 9007199254740992}`, `{"draining": true}`,
		`{"draining": false, "max_concurrent_runs": 10}`}, []string{
		`{"max_concurrent_runs": -1}`, `{"max_concurrent_runs": 1.5}`, `{"max_concurrent_runs": "1"}`, `{"max_concurrent_runs": true}`,
		`{"max_concurrent_runs": null}`, `{"max_concurrent_runs": 99999999999999999999}`, `{"draining": 1}`, `{"draining": null}`, `{"more": 1}`,
	}, []string{`{"max_concurrent_runs": 1.0}`}},
	{"/hermes/script", 200, []string{
		`{"scripts": []}`, `{"steps": [{"complete": "done"}]}`, hermesfake.AutoScript,
		`{"when": {"input": "a", "model": "m", "session_id": "s"}, "steps": [{"after": 5}, {"after": "90s", "status": "running"}, {"fail": "no"}]}`,
		`{"scripts": [{"steps": [{"approval": {"command": "rm"}, "on_deny": [{"after": 1, "fail": "denied"}]}, {"complete": {}}]}]}`,
		`{"steps": [{"event": "tool.started", "tool": "t", "preview": null}, {"event": "tool.completed", "duration": 1, "error": true}, {"event": "reasoning.available", "text": "x"},
			{"event": "subagent.start", "goal": "g", "depth": 1}, {"status": "cancelled", "last_event": "x"}]}`,
		`{"steps": [{"complete": {"output": "x", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, "pending_steer": "s"}, "after": "1m"}]}`,
		`{"steps": [{"participant": {"contact_id": "c"}, "after": 1}, {"model_request": {"texts": ["x"]}, "on_blocked": [{"fail": "b"}]}, {"tool": {}}, {"child": {"session_id": "s"}},
			{"on_blocked": [{"complete": "b"}], "rotate_session": {"session_id": "t", "child": "s"}}, {"complete": "x"}]}`,
	}, []string{
		`{"steps": [{"tool": 5}, {"complete": "x"}]}`, `{"steps": [{"tool": {"more": 1}}, {"complete": "x"}]}`, `{"steps": [{"tool": {}, "on_blocked": []}, {"complete": "x"}]}`,
		`{"steps": [{"child": {}}, {"complete": "x"}]}`, `{"steps": [{"participant": {"contact_id": "c"}, "on_blocked": [{"fail": "b"}]}, {"complete": "x"}]}`,
		`{"steps": [{"on_blocked": [{"fail": "b"}]}, {"complete": "x"}]}`, `{"steps": [{"tool": {}, "model_request": {}}, {"complete": "x"}]}`,
		`[]`, `{}`, `{"steps": []}`, `{"steps": {}}`, `{"steps": [{}]}`, `{"steps": [5]}`, `{"steps": [{"complete": 5}]}`, `{"steps": [{"complete": "x", "fail": "y"}]}`,
		`{"steps": [{"fail": 5}]}`, `{"steps": [{"fail": null}]}`, `{"steps": [{"status": "gone"}]}`, `{"steps": [{"status": "failed", "output": "x"}]}`,
		`{"steps": [{"event": "_thinking"}, {"complete": "x"}]}`, `{"steps": [{"event": "message.delta", "text": "x"}, {"complete": "x"}]}`,
		`{"steps": [{"event": "message.delta", "delta": 5}, {"complete": "x"}]}`, `{"steps": [{"event": "subagent.start", "more": 5}, {"complete": "x"}]}`,
		`{"steps": [{"approval": 5}, {"complete": "x"}]}`, `{"steps": [{"on_deny": [{"fail": "x"}]}, {"complete": "x"}]}`,
		`{"steps": [{"approval": {}, "on_deny": []}, {"complete": "x"}]}`, `{"steps": [{"after": "soon"}, {"complete": "x"}]}`, `{"steps": [{"after": -1}, {"complete": "x"}]}`,
		`{"steps": [{"complete": {"more": 1}}]}`, `{"steps": [{"complete": "x"}], "more": 1}`, `{"scripts": [], "more": 1}`, `{"scripts": {}}`,
		`{"when": {"more": "x"}, "steps": [{"complete": "x"}]}`, `{"when": {"input": 5}, "steps": [{"complete": "x"}]}`, `{"when": "x", "steps": [{"complete": "x"}]}`,
	}, []string{`{"steps": [{"status": "running"}]}`, `{"steps": [{"complete": "x"}, {"complete": "y"}]}`, `{"steps": [{"output": "x", "status": "completed"}]}`}},
	{"/hermes/runs/{id}/events", 200, []string{
		`{"event": "message.delta", "delta": "x"}`, `{"event": "message.delta"}`, `{"event": "message.delta", "delta": null, "more": 5}`,
		`{"event": "tool.started", "tool": "t", "preview": "p"}`, `{"event": "tool.completed", "tool": "t", "duration": 1.23456, "error": true}`,
		`{"event": "reasoning.available", "text": "x"}`, `{"event": "subagent.start", "goal": "g", "task_count": 2}`, `{"event": "subagent.complete", "files_read": ["a"]}`,
		`{"event": "_thinking", "delta": 5}`,
	}, []string{
		`[]`, `{}`, `{"event": ""}`, `{"event": 5}`, `{"event": null}`, `{"delta": "x"}`, `{"event": "message.delta", "delta": 5}`, `{"event": "tool.started", "tool": 5}`,
		`{"event": "tool.started", "tool": "t", "preview": {}}`, `{"event": "tool.completed", "tool": []}`, `{"event": "tool.completed", "duration": "1"}`,
		`{"event": "tool.completed", "duration": true}`, `{"event": "tool.completed", "error": 0}`, `{"event": "reasoning.available", "text": 5}`,
	}, nil},
	{"/hermes/runs/{id}/steering", 200, []string{`{"accept": true}`, `{"accept": false}`, `{"accept": "error"}`, `{"accept": "error", "message": "m"}`}, []string{
		`[]`, `{}`, `{"accept": "yes"}`, `{"accept": 1}`, `{"accept": null}`, `{"accept": "true"}`, `{"message": "m"}`, `{"accept": true, "message": "m"}`,
		`{"accept": false, "message": "m"}`, `{"accept": "error", "message": 5}`, `{"accept": "error", "message": null}`, `{"accept": true, "more": 1}`,
	}, nil},
	{"/hermes/runs/{id}/observe", 200, []string{
		`{"status": "queued"}`, `{"status": "running", "last_event": "x"}`, `{"status": "stopping"}`, `{"status": "waiting_for_approval"}`,
		`{"status": "waiting_for_approval", "approval": {"command": "rm", "request_id": "r1", "smart_denied": true}}`, `{"status": "waiting_for_approval", "approval": {}}`,
		`{"status": "completed", "output": "o", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, "pending_steer": "s"}`,
	}, []string{
		`[]`, `{}`, `{"status": "Running"}`, `{"status": ""}`, `{"status": 5}`, `{"status": null}`, `{"last_event": "x"}`, `{"status": "running", "last_event": 5}`,
		`{"status": "running", "more": 1}`, `{"status": "running", "approval": {}}`, `{"status": "completed", "approval": {}}`,
		`{"status": "waiting_for_approval", "approval": []}`, `{"status": "waiting_for_approval", "approval": null}`, `{"status": "completed", "error": "e"}`,
		`{"status": "cancelled", "error": "e"}`, `{"status": "failed", "error": 5}`, `{"status": "interrupted", "error": {}}`, `{"status": "running", "output": "o"}`,
		`{"status": "completed", "output": null}`, `{"status": "failed", "pending_steer": "s"}`,
		`{"status": "cancelled", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}`, `{"status": "completed", "usage": {}}`,
		`{"status": "completed", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "more": 4}}`,
		`{"status": "completed", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": -3}}`,
		`{"status": "completed", "usage": {"input_tokens": true, "output_tokens": 2, "total_tokens": 3}}`,
	}, nil},
	{"/hermes/restart", 200, []string{`{"owner": "alive"}`, `{"owner": "stale"}`}, []string{
		`[]`, `{}`, `{"owner": ""}`, `{"owner": "Stale"}`, `{"owner": null}`, `{"owner": ["stale"]}`, `{"owner": "stale", "more": 1}`,
	}, nil},
	{"/checkpoints", 201, []string{``, `{}`}, []string{`[]`, `{"pinned": true}`}, nil},
	{"/branches", 201, []string{`{"name": "a"}`, `{"name": "0123456789012345678901234567890123456789012345678901234567890_.-"}`}, []string{
		`[]`, `{}`, `{"name": ""}`, `{"name": "a b"}`, `{"name": 5}`, `{"name": null}`, `{"name": "x", "more": 1}`, `{"name": "x", "from": ""}`, `{"name": "x", "from": 5}`,
		`{"name": "x", "from": null}`, `{"name": "01234567890123456789012345678901234567890123456789012345678901234"}`,
	}, nil},
	{"/branches/a/checkout", 200, []string{``, `{}`}, []string{`[]`, `{"checkpoint": ""}`, `{"checkpoint": 5}`, `{"checkpoint": null}`, `{"more": 1}`}, nil},
	{"/faults", 201, []string{
		`{"status": 418}`, `{"status": 418, "body": {"a": [1]}, "headers": {"X-A": "1", "X-B": ["1", "2"]}, "count": 2}`, `{"drop": true, "rate": 0.5}`, `{"delayMs": 0.5}`,
		`{"latencyMs": 1000, "operationId": "RunGet", "method": "GET", "pathPrefix": "/v1", "namespace": "*"}`, `{"effect": "slow_body", "params": {"bytesPerSecond": 5}, "status": 200}`,
		`{"effect": "events_cut", "params": {"after": 3}}`, `{"effect": "accepted_drop", "operationId": "RunStop"}`, `{"effect": "connection_refused", "status": null, "id": "mine"}`,
		`{"status": 204}`, `{"preset": "hermes_events_cut", "after": 0}`, `{"preset": "hermes_slow_body", "params": {"bytesPerSecond": 9}}`, `{"preset": "hermes_bad_gateway", "count": null}`,
	}, []string{
		`[]`, `{}`, `{"preset": "nope"}`, `{"preset": null}`, `{"more": 1, "drop": true}`, `{"status": 199}`, `{"status": 600}`, `{"status": "500"}`, `{"status": 500, "drop": true}`,
		`{"body": "x"}`, `{"body": "x", "drop": true}`, `{"headers": {"A": "b"}, "drop": true}`, `{"status": 204, "body": "x"}`, `{"status": 500, "headers": {"Content-Length": "5"}}`,
		`{"status": 500, "headers": {"A b": "5"}}`, `{"status": 500, "headers": {"A": 5}}`, `{"status": 500, "headers": {"A": "x\ny"}}`, `{"drop": false}`, `{"drop": 1}`, `{"delayMs": 0}`,
		`{"delayMs": -1}`, `{"delayMs": 1000000001}`, `{"delayMs": "1s"}`, `{"effect": "nope"}`, `{"effect": "events_cut", "operationId": "RunGet"}`,
		`{"effect": "accepted_drop", "operationId": "RunGet"}`, `{"effect": "accepted_drop", "status": 500}`, `{"effect": "accepted_drop", "drop": true}`,
		`{"effect": "slow_body"}`, `{"effect": "slow_body", "params": {"bytesPerSecond": 0}}`, `{"effect": "slow_body", "params": {"after": 1, "bytesPerSecond": 1}}`,
		`{"effect": "events_cut", "params": {"after": -1}}`, `{"drop": true, "params": {"after": 1}}`, `{"drop": true, "params": {"more": 1}}`, `{"drop": true, "count": 0}`,
		`{"drop": true, "count": 1.5}`, `{"drop": true, "rate": 0}`, `{"drop": true, "rate": 1.5}`, `{"drop": true, "method": "get"}`, `{"drop": true, "pathPrefix": "v1"}`,
		`{"drop": true, "namespace": "a b"}`, `{"drop": true, "operationId": "Nope"}`, `{"drop": true, "id": "a b"}`, `{"drop": true, "id": ""}`, `{"drop": true, "after": 1}`,
	}, []string{`{"drop": true, "id": "mine"}`, `{"delayMs": 5, "latencyMs": 6}`, `{"preset": "hermes_throttled", "drop": true}`}},
	{"/hermes/supplied-input", 201, []string{
		`{"contact_id": "c", "session_id": "s", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`, `{"contact_id": "c", "platform": "p", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}], "sources": []}`,
		`{"contact_id": "c", "platform": "p", "recall_query": "q", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}], "sources": [{"source_id": "x", "source_version": 9}]}`,
	}, []string{
		`[]`, `{}`, `{"contact_id": "c", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`, `{"contact_id": "", "session_id": "s", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`, `{"contact_id": "c", "session_id": "", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`,
		`{"contact_id": "c", "session_id": "s", "platform": "p", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`, `{"contact_id": "c", "session_id": "s", "recall_query": "q", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`,
		`{"contact_id": "c", "platform": "", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`, `{"contact_id": "c", "platform": "p", "recall_query": "", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`, `{"contact_id": "c", "session_id": "s", "inputs": []}`,
		`{"contact_id": "c", "session_id": "s", "inputs": [{"source_id": "m"}]}`, `{"contact_id": "c", "session_id": "s", "inputs": [{"source_id": "m", "input_message_hash": "A"}]}`,
		`{"contact_id": "c", "session_id": "s", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}], "sources": [{"source_id": "x", "source_version": 0}]}`, `{"contact_id": "c", "session_id": "s", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}], "sources": [{"source_id": "x"}]}`,
		`{"contact_id": "c", "session_id": "s", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}], "more": 1}`, `{"contact_id": 5, "session_id": "s", "inputs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}`, `{"contact_id": "c", "session_id": "s", "inputs": [5]}`,
	}, nil},
	{"/hermes/supplied-input/sources", 201, []string{
		`{"source_id": "a"}`, `{"source_id": "a", "text": "x"}`, `{"source_id": "a", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`, `{"source_id": "b", "source_version": 7}`,
	}, []string{
		`[]`, `{}`, `{"source_id": ""}`, `{"source_id": 5}`, `{"source_id": "c", "text": 5}`, `{"source_id": "c", "input_message_hash": "x"}`, `{"source_id": "c", "source_version": -1}`,
		`{"source_id": "c", "more": 1}`,
	}, nil},
	{"/hermes/supplied-input/verifications", 201, []string{
		`{"failure": "timeout"}`, `{"failure": "unknown", "times": 3, "source_id": "a", "takes": "5s"}`, `{"takes": 100}`,
	}, []string{
		`[]`, `{}`, `{"failure": "nope"}`, `{"failure": 5}`, `{"failure": "timeout", "times": -1}`, `{"failure": "timeout", "takes": "x"}`, `{"times": 1}`, `{"failure": "timeout", "more": 1}`,
	}, nil},
	{"/hermes/supplied-input/revalidate", 200, []string{
		`{"session_id": "s", "turn_id": "t", "input_refs": [{"source_id": "m", "input_message_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}], "source_refs": []}`,
	}, []string{`[]`, `{}`, `{"session_id": "s"}`, `{"session_id": "s", "turn_id": 5, "input_refs": [], "source_refs": []}`}, nil},
	{"/hermes/supplied-input/runs/{id}/participant", 200, []string{`{"contact_id": "c"}`, `{"contact_id": "c", "platform": "p", "authenticated": false, "parent_session_id": "s"}`},
		[]string{`[]`, `{}`, `{"contact_id": 5}`, `{"contact_id": "c", "authenticated": 1}`, `{"contact_id": "c", "more": 1}`}, nil},
	{"/hermes/supplied-input/runs/{id}/model-request", 200, []string{``, `{}`, `{"texts": ["x"]}`}, []string{`[]`, `{"texts": "x"}`, `{"texts": [5]}`, `{"child": 5}`, `{"more": 1}`}, nil},
	{"/hermes/supplied-input/runs/{id}/tool", 200, []string{``, `{}`}, []string{`[]`, `{"child": 5}`, `{"more": 1}`}, nil},
	{"/hermes/supplied-input/runs/{id}/child", 200, []string{`{"session_id": "s"}`}, []string{`[]`, `{}`, `{"session_id": 5}`, `{"session_id": "s", "more": 1}`}, nil},
	{"/hermes/supplied-input/runs/{id}/rotate-session", 200, []string{`{"session_id": "s"}`}, []string{`[]`, `{}`, `{"session_id": 5}`, `{"session_id": "s", "more": 1}`}, nil},
}

// sendAll sends every body, and holds the document's request schemas to what the fake takes and refuses.
func sendAll(t *testing.T, seen map[string]bool) {
	for _, c := range controls {
		t.Run(c.path, func(t *testing.T) {
			d := open(t, seen)
			id := d.started("Idempotency-Key", "k")
			path := "/__admin" + strings.Replace(c.path, "{id}", id, 1)
			if strings.HasPrefix(c.path, "/branches/a/") {
				d.do(201, "POST", "/__admin/branches", `{"name": "a"}`)
			}
			if c.path == "/faults" || c.path == "/branches" {
				// What was added is in the way of more.
				for _, body := range c.good {
					d.do(c.status, "POST", path, body)
				}
			}
			for _, body := range c.bad {
				d.do(400, "POST", path, body)
				if d.requestError(path, body) == nil {
					t.Errorf("%s is refused, and the document allows it", body)
				}
			}
			for _, body := range c.beyond {
				d.do(400, "POST", path, body)
				if err := d.requestError(path, body); err != nil {
					t.Errorf("%s is now said by the document: %v", body, err)
				}
			}
			for _, body := range []string{`{`, `{} {}`, "\xff", `{"a": 01}`} {
				d.do(400, "POST", path, body)
			}
			if c.path != "/faults" && c.path != "/branches" {
				for _, body := range c.good {
					d.do(c.status, "POST", path, body)
				}
			}
		})
	}
}

// requestError compares a request with the document.
func (d *desk) requestError(path, body string) error {
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		d.t.Errorf("%s is no JSON", body)
	}
	return d.judge.document.checkRequest(&exchange{request: d.request("POST", path, ""), sent: []byte(body)})
}

// follow opens an event stream.
func (d *desk) follow(id string) io.ReadCloser {
	d.t.Helper()
	res, err := d.judge.RoundTrip(d.request("GET", "/v1/runs/"+id+"/events", ""))
	if err != nil {
		d.t.Fatal(err)
	}
	return res.Body
}
