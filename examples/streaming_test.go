package examples_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// An answer streams in pieces, as the agent of a script writes it.
func TestStreaming(t *testing.T) {
	hermes := hermesfake.Start(t)
	hermes.Script(func(ctx context.Context, run *hermesfake.Run) {
		run.Start()
		run.ToolStarted("terminal", "ls")
		run.ToolCompleted("terminal", 0.25, false)
		for _, piece := range []string{"Hel", "lo, ", "world"} {
			run.Delta(piece)
		}
		run.Complete("Hello, world")
	})
	client := hermes.Client()
	id := submit(t, client, `{"input": "greet"}`)

	res, err := client.Get(hermesfake.BaseURL + "/v1/runs/" + id + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer strings.Builder
	var last string
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue // a blank line, or a comment such as ": keepalive"
		}
		var event struct{ Event, Delta string }
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatal(err)
		}
		answer.WriteString(event.Delta)
		last = event.Event
	}
	if answer.String() != "Hello, world" || last != "run.completed" {
		t.Errorf("streamed %q up to %s", answer.String(), last)
	}
}

// submit submits a run and returns its id.
func submit(t *testing.T, client *http.Client, body string) string {
	t.Helper()
	var admitted struct {
		RunID string `json:"run_id"`
	}
	if status := post(t, client, "/v1/runs", body, &admitted); status != http.StatusAccepted {
		t.Fatalf("submission: %d", status)
	}
	return admitted.RunID
}

// post sends a body and decodes the reply into v, if it is not nil.
func post(t *testing.T, client *http.Client, path, body string, v any) (status int) {
	t.Helper()
	res, err := client.Post(hermesfake.BaseURL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, res, v)
}

// get polls and decodes the reply into v, if it is not nil.
func get(t *testing.T, client *http.Client, path string, v any) (status int) {
	t.Helper()
	res, err := client.Get(hermesfake.BaseURL + path)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, res, v)
}

func decode(t *testing.T, res *http.Response, v any) (status int) {
	t.Helper()
	defer res.Body.Close()
	if v != nil {
		if err := json.NewDecoder(res.Body).Decode(v); err != nil {
			t.Fatal(err)
		}
	}
	return res.StatusCode
}

// observation is what these examples read of a status object.
type observation struct {
	Status       string
	Output       string
	Error        string
	LastEvent    string `json:"last_event"`
	PendingSteer string `json:"pending_steer"`
	Approval     *struct {
		Command   string
		RequestID string `json:"request_id"`
		Choices   []string
	}
}
