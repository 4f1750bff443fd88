package hermesfake_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// inputClient is a host in another language, and its test.
type inputClient struct {
	client
	t *testing.T
}

// do calls a control and compares what it answers with want, a JSON object of which each member must be there just so.
func (c inputClient) do(method, path, body string, status int, want string) map[string]any {
	c.t.Helper()
	got, text, err := c.fetch(c.t.Context(), method, "/__admin/hermes/supplied-input"+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	var answer, wanted map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		c.t.Fatalf("%s %s: %s: %v", method, path, text, err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		c.t.Fatal(err)
	}
	if got != status {
		c.t.Errorf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	for name, value := range wanted {
		if fmt.Sprint(answer[name]) != fmt.Sprint(value) {
			c.t.Errorf("%s %s: %s is %v, want %v", method, path, name, answer[name], value)
		}
	}
	return answer
}

// submit submits a run with the header of a scope, and returns its id.
func (c inputClient) submit(scope, session string) string {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), "POST", c.base+"/v1/runs", strings.NewReader(`{"input": "do it", "session_id": "`+session+`"}`))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("x-mockingbird-supplied-input", scope)
	res, err := c.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var admitted struct {
		RunID string `json:"run_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&admitted); err != nil || res.StatusCode != 202 {
		c.t.Fatalf("%d %v", res.StatusCode, err)
	}
	return admitted.RunID
}

// TestInputControls takes a host through all routes, over both doors.
func TestInputControls(t *testing.T) {
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			f := hermesfake.Start(t, hermesfake.WithInputMisuseAllowed(), hermesfake.WithFrozenClock(start2023))
			d := door.open(t, f)
			c := inputClient{client{&http.Client{Transport: d.Transport}, d.BaseURL}, t}
			hash := hermesfake.HashText("hello")
			c.do("POST", "/sources", `{"source_id": "m/1", "text": "hello"}`, 201, `{"source_id": "m/1", "source_version": 1, "input_message_hash": "`+hash+`", "annotated": false, "erased": false, "assistant": false}`)
			c.do("POST", "/sources", `{"source_id": "s", "text": "a", "source_version": 3}`, 201, `{"source_version": 3}`)
			c.do("GET", "/sources/m%2F1", "", 200, `{"source_id": "m/1"}`)
			c.do("POST", "/sources/m%2F1/annotate", `{"annotation": "private"}`, 200, `{"annotated": true}`)
			c.do("POST", "/sources/m%2F1/annotate", `{"annotation": ""}`, 200, `{"annotated": false}`)
			if list := c.do("GET", "/sources", "", 200, `{}`)["sources"].([]any); len(list) != 2 {
				t.Errorf("sources %v", list)
			}
			opening := `{"contact_id": "anna", "session_id": "root", "inputs": [{"source_id": "m/1", "input_message_hash": "` + hash + `"}], "sources": [{"source_id": "s", "source_version": 3}]}`
			opened := c.do("POST", "", opening, 201, `{"contact_id": "anna", "session_id": "root", "closed": false, "admitted": false, "failure": null, "result": null, "tasks": 0}`)
			id := opened["id"].(string)
			scope := "/scopes/" + id
			if block := c.do("POST", scope+"/blocks", `{"source_id": "s", "text": "a"}`, 201, `{}`)["block"].(string); !strings.Contains(block, "\na\n") {
				t.Errorf("block %q", block)
			}
			run := c.submit(id, "root")
			runs := "/runs/" + run
			c.do("POST", runs+"/participant", `{"contact_id": "anna", "platform": "chat", "authenticated": true}`, 200, `{"allowed": true}`)
			c.do("POST", runs+"/model-request", `{"texts": ["x"]}`, 200, `{"allowed": true}`)
			c.do("POST", runs+"/child", `{"session_id": "child"}`, 200, `{"allowed": true}`)
			c.do("POST", runs+"/tool", `{"child": "child"}`, 200, `{"allowed": true}`)
			c.do("POST", runs+"/rotate-session", `{"session_id": "rotated"}`, 200, `{"allowed": true}`)
			c.do("POST", runs+"/tool", ``, 200, `{"allowed": true}`)
			c.do("GET", scope, "", 200, `{"session_id": "rotated", "admitted": true, "sessions": ["child", "root", "rotated"], "tasks": 1}`)
			c.do("GET", scope+"/result", "", 200, `{"result": null}`)
			if status, text, err := c.fetch(t.Context(), "POST", "/__admin/hermes/runs/"+run+"/observe", `{"status": "completed", "output": "done"}`); status != 200 || err != nil {
				t.Fatalf("%d %s %v", status, text, err)
			}
			result := c.do("GET", scope+"/result", "", 200, `{}`)["result"].(map[string]any)
			if result["session_id"] != "rotated" || len(result["input_refs"].([]any)) != 1 || len(result["source_refs"].([]any)) != 1 {
				t.Errorf("result %v", result)
			}
			c.do("GET", scope+"/failure", "", 200, `{"failure": null}`)
			if queued := c.do("GET", "/queue", "", 200, `{"failures": []}`)["envelopes"].([]any); len(queued) != 1 || queued[0].(map[string]any)["turn_id"] != result["turn_id"] {
				t.Errorf("queued %v", queued)
			}
			if work := c.do("GET", "/work?contact_id=anna", "", 200, `{}`)["work"].([]any); len(work) != 1 || work[0].(map[string]any)["excerpt"] != "hello" {
				t.Errorf("work %v", work)
			}
			text, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			c.do("POST", "/revalidate", string(text), 200, `{"valid": true}`)
			c.do("POST", scope+"/close", "", 200, `{"closed": true}`)
			c.do("GET", scope+"/result", "", 200, `{"result": null}`)
			c.do("POST", runs+"/tool", `{"child": "child"}`, 409, `{}`)
			c.do("POST", "/deliver", "", 200, `{"delivered": 1}`)
			c.do("POST", "/revalidate", string(text), 200, `{"valid": true}`)
			c.do("POST", "/sources/m%2F1/erase", "", 200, `{"erased": "m/1", "dependents": 1}`)
			c.do("POST", "/revalidate", string(text), 200, `{"valid": false, "reason": "source_input_erased"}`)

			c.do("POST", "/sources", `{"source_id": "n", "text": "hello"}`, 201, `{}`)
			c.do("POST", "/verifications", `{"failure": "http_503", "times": 1, "takes": 0}`, 201, `{"failure": "http_503", "times": 1, "takes": 0}`)
			second := c.do("POST", "", `{"contact_id": "anna", "platform": "chat", "recall_query": "q", "inputs": [{"source_id": "n", "input_message_hash": "`+hash+`"}]}`,
				201, `{"platform": "chat"}`)["id"].(string)
			run = c.submit(second, "any")
			c.do("POST", "/runs/"+run+"/tool", "{}", 200, `{"allowed": false, "reason": "source_freshness_unavailable"}`)
			failure := c.do("GET", "/scopes/"+second+"/failure", "", 200, `{}`)["failure"].(map[string]any)
			if failure["reason"] != "source_freshness_unavailable" || failure["retryable"] != true || failure["admitted"] != false {
				t.Errorf("failure %v", failure)
			}
			c.do("POST", "/verifications", `{"source_id": "n", "failure": "http_401"}`, 201, `{"times": 0}`)
			c.do("POST", "/scopes/"+second+"/revalidate", "", 200, `{"valid": false, "reason": "source_input_unavailable"}`)
			if left := c.do("GET", "/verifications", "", 200, `{}`)["verifications"].([]any); len(left) != 1 {
				t.Errorf("verifications %v", left)
			}
			c.do("DELETE", "/verifications?source_id=n", "", 200, `{"verifications": []}`)
			c.do("POST", "/scopes/"+second+"/revalidate", "", 200, `{"valid": true}`)
			if scopes := c.do("GET", "", "", 200, `{}`)["scopes"].([]any); len(scopes) != 2 {
				t.Errorf("scopes %v", scopes)
			}
			misuses := c.do("GET", "/misuses", "", 200, `{}`)["misuses"].([]any)
			if len(misuses) != 2 || misuses[0].(map[string]any)["kind"] != "result_after_close" || misuses[1].(map[string]any)["kind"] != "used_after_close" {
				t.Errorf("misuses %v", misuses)
			}
		})
	}
}

// TestInputControlsRefuse what makes no sense, with the provider's envelope, and change nothing.
func TestInputControlsRefuse(t *testing.T) {
	f := hermesfake.Start(t)
	c := inputClient{client{f.Client(), hermesfake.BaseURL}, t}
	run := "/runs/" + submit(t, f, `{"input": "x"}`)
	settled := submit(t, f, `{"input": "x"}`)
	f.Run(settled).Complete("x")
	hash := hermesfake.HashText("x")
	input := `"inputs": [{"source_id": "m", "input_message_hash": "` + hash + `"}]`
	for _, r := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "", ``, 400}, {"POST", "", `[]`, 400}, {"POST", "", `{`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b"}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", "inputs": {}}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", "inputs": ["m"]}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", "inputs": [{"source_id": "m"}]}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", "x": 1, ` + input + `}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", "inputs": [{"source_id": "m", "input_message_hash": "` + hash + `", "x": 1}]}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", ` + input + `, "sources": [{"source_id": "s", "source_version": "1"}]}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", ` + input + `, "sources": [{"source_id": "s", "source_version": 1.0}]}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", ` + input + `, "sources": [{"source_id": "s"}]}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", "platform": "chat", ` + input + `}`, 400},
		{"POST", "", `{"contact_id": "a", "session_id": "b", "recall_query": "x", ` + input + `}`, 400},
		{"POST", "", `{"contact_id": "a", "platform": "chat", "recall_query": "", ` + input + `}`, 400},
		{"POST", "", `{"contact_id": "\ud800", "session_id": "b", ` + input + `}`, 400},
		{"GET", "/scopes/x", ``, 404}, {"POST", "/scopes/x/close", ``, 404}, {"GET", "/scopes/x/result", ``, 404}, {"GET", "/scopes/x/failure", ``, 404},
		{"POST", "/scopes/x/blocks", `{"source_id": "s", "text": "x"}`, 404}, {"POST", "/scopes/x/blocks", `{}`, 400}, {"POST", "/scopes/x/revalidate", ``, 404},
		{"POST", "/revalidate", `{}`, 400}, {"POST", "/sources", `{"text": "x"}`, 400}, {"GET", "/sources/x", ``, 404},
		{"POST", "/sources/x/annotate", `{"annotation": "x"}`, 404}, {"POST", "/sources/x/annotate", `{}`, 400}, {"POST", "/sources/x/erase", ``, 404},
		{"POST", "/verifications", `{}`, 400}, {"POST", "/verifications", `{"failure": "http_500"}`, 400}, {"POST", "/verifications", `{"failure": "timeout", "takes": "x"}`, 400},
		{"GET", "/work", ``, 400},
		{"POST", "/runs/run_x/tool", ``, 404}, {"POST", run + "/participant", `{}`, 400}, {"POST", run + "/tool", `{"x": 1}`, 400},
		{"POST", run + "/child", `{}`, 400}, {"POST", run + "/rotate-session", `{}`, 400}, {"POST", run + "/model-request", `{"texts": [1]}`, 400},
		{"POST", "/runs/" + settled + "/tool", ``, 409},
		{"PUT", "", ``, 405}, {"GET", "/nonsense", ``, 404},
	} {
		answer := c.do(r.method, r.path, r.body, r.status, `{}`)
		problem, _ := answer["error"].(map[string]any)
		if message, _ := problem["message"].(string); message == "" {
			t.Errorf("%s %s %s: %v", r.method, r.path, r.body, answer)
		}
	}
	if len(f.Handoffs()) != 0 || len(f.Sources().All()) != 0 || len(f.Sources().Verifications()) != 0 {
		t.Errorf("something was changed: %v %v %v", f.Handoffs(), f.Sources().All(), f.Sources().Verifications())
	}
}
