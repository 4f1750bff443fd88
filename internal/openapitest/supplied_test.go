package openapitest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

const input = "/__admin/hermes/supplied-input"

func supplied(t *testing.T, seen map[string]bool) {
	hand(open(t, seen, hermesfake.WithInputMisuseAllowed()))

	d := open(t, seen, hermesfake.WithInputQueue(lost{suppliedinput.NewMemoryQueue()}))
	d.do(500, "GET", input+"/queue", "")
	d.do(500, "POST", input+"/deliver", "")
}

// lost is a queue that cannot be read.
type lost struct{ suppliedinput.Queue }

func (lost) Envelopes(string) ([]suppliedinput.Envelope, error) {
	return nil, errors.New("the queue is lost")
}

// hand takes a host through a handoff, and through what goes wrong.
func hand(d *desk) {
	hash := hermesfake.HashText("hello")
	parents := `"inputs": [{"source_id": "m", "input_message_hash": "` + hash + `"}], "sources": [{"source_id": "s", "source_version": 1}]`
	open := func(session string) string {
		d.t.Helper()
		var scope struct{ ID string }
		text := d.do(201, "POST", input, `{"contact_id": "anna", "session_id": "`+session+`", `+parents+`}`)
		if err := json.Unmarshal([]byte(text), &scope); err != nil {
			d.t.Fatal(err)
		}
		return scope.ID
	}
	submit := func(scope, session string) string {
		d.t.Helper()
		var run struct {
			ID string `json:"run_id"`
		}
		text := d.do(202, "POST", "/v1/runs", `{"input": "x", "session_id": "`+session+`"}`, "X-Mockingbird-Supplied-Input", scope)
		if err := json.Unmarshal([]byte(text), &run); err != nil {
			d.t.Fatal(err)
		}
		return input + "/runs/" + run.ID
	}
	d.do(201, "POST", input+"/sources", `{"source_id": "m", "text": "hello"}`)
	d.do(201, "POST", input+"/sources", `{"source_id": "s", "text": "`+strings.Repeat("long ", 100)+`"}`)
	d.do(200, "GET", input+"/sources", "")
	d.do(200, "GET", input+"/sources/m", "")
	d.do(404, "GET", input+"/sources/nowhere", "")
	d.do(404, "POST", input+"/sources/nowhere/annotate", `{"annotation": "x"}`)

	scope := open("s-1")
	at := input + "/scopes/" + scope
	d.do(200, "GET", at+"/result", "")
	d.do(200, "GET", at+"/failure", "")
	d.do(201, "POST", at+"/blocks", `{"source_id": "s", "text": "what it says"}`)
	d.do(200, "POST", at+"/revalidate", "")
	run := submit(scope, "s-1")
	d.do(200, "GET", input+"/work?contact_id=anna", "")
	d.do(200, "POST", run+"/participant", `{"contact_id": "anna"}`)
	d.do(200, "POST", run+"/model-request", `{"texts": ["x"]}`)
	d.do(200, "POST", run+"/child", `{"session_id": "s-2"}`)
	d.do(200, "POST", run+"/tool", `{"child": "s-2"}`)
	d.do(404, "POST", run+"/tool", `{"child": "nobody"}`)
	d.do(404, "POST", run+"/model-request", `{"child": "nobody"}`)
	d.do(404, "POST", run+"/child", `{"child": "nobody", "session_id": "s-3"}`)
	d.do(404, "POST", run+"/rotate-session", `{"child": "nobody", "session_id": "s-3"}`)
	d.do(200, "POST", run+"/rotate-session", `{"session_id": "s-3"}`)
	d.observe(strings.TrimPrefix(run, input+"/runs/"), `{"status": "completed", "output": "done"}`)
	d.do(200, "GET", at, "")
	d.do(200, "GET", input+"/queue", "")
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(d.do(200, "GET", at+"/result", "")), &answer); err != nil || answer.Result == nil {
		d.t.Fatalf("no result, error %v", err)
	}
	d.do(200, "POST", input+"/revalidate", string(answer.Result))
	d.do(409, "POST", run+"/participant", `{"contact_id": "anna"}`)
	d.do(200, "POST", input+"/deliver", "")
	d.do(200, "GET", input+"/sources", "")
	d.do(200, "GET", input+"/work?contact_id=anna", "")
	d.do(400, "GET", input+"/work", "")

	d.do(201, "POST", input+"/verifications", `{"failure": "http_503", "times": 1}`)
	d.do(201, "POST", input+"/verifications", `{"source_id": "m", "failure": "timeout"}`)
	d.do(200, "GET", input+"/verifications", "")
	d.do(200, "POST", at+"/revalidate", "")
	d.do(200, "DELETE", input+"/verifications?source_id=m", "")
	d.do(200, "DELETE", input+"/verifications", "")
	d.do(200, "POST", input+"/sources/m/annotate", `{"annotation": "private"}`)

	blocked := open("s-9")
	run = submit(blocked, "s-9")
	d.do(200, "POST", input+"/sources/s/erase", "")
	d.do(200, "POST", run+"/model-request", "")
	d.do(200, "POST", run+"/tool", "")
	d.do(200, "GET", input+"/scopes/"+blocked+"/failure", "")
	d.do(200, "POST", input+"/revalidate", string(answer.Result))
	submit(blocked, "s-9")
	d.do(200, "POST", input+"/scopes/"+blocked+"/close", "")
	d.do(200, "GET", input, "")
	d.do(200, "GET", input+"/misuses", "")
	for _, step := range []string{"model-request", "tool"} {
		d.do(409, "POST", run+"/"+step, "")
	}
	for _, step := range []string{"child", "rotate-session"} {
		d.do(409, "POST", run+"/"+step, `{"session_id": "s-4"}`)
	}
	d.do(409, "POST", input+"/scopes/"+blocked+"/blocks", `{"source_id": "s", "text": "x"}`)
	d.do(409, "POST", "/v1/runs", `{"input": "x"}`, "X-Mockingbird-Supplied-Input", blocked)
	d.do(400, "POST", "/v1/runs", `{"input": "x"}`, "X-Mockingbird-Supplied-Input", "input_nowhere")
	for _, path := range []string{"", "/result", "/failure"} {
		d.do(404, "GET", input+"/scopes/nowhere"+path, "")
	}
	d.do(404, "POST", input+"/scopes/nowhere/close", "")
	d.do(404, "POST", input+"/scopes/nowhere/revalidate", "")
	d.do(404, "POST", input+"/scopes/nowhere/blocks", `{"source_id": "s", "text": "x"}`)
	for step, body := range map[string]string{
		"participant": `{"contact_id": "anna"}`, "model-request": "", "tool": "", "child": `{"session_id": "x"}`, "rotate-session": `{"session_id": "x"}`,
	} {
		d.do(404, "POST", input+"/runs/run_missing/"+step, body)
	}
	d.do(201, "POST", input, `{"contact_id": "anna", "platform": "telegram", "recall_query": "when?", `+parents+`}`)
}
