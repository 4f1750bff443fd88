package examples_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// The README's ten scenarios. Each client here is as simple as can be; a real
// test would call the code under test in its place.
func TestTenScenarios(t *testing.T) {
	keyed := func(t *testing.T, client *http.Client) (id string, err error) {
		t.Helper()
		r, err := http.NewRequest("POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(`{"input": "x"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "order-7")
		res, err := client.Do(r)
		if err != nil {
			return "", err
		}
		var admitted struct {
			RunID string `json:"run_id"`
		}
		decode(t, res, &admitted)
		return admitted.RunID, nil
	}
	state := func(t *testing.T, client *http.Client, id string) observation {
		t.Helper()
		var o observation
		get(t, client, "/v1/runs/"+id, &o)
		return o
	}

	t.Run("the reply is lost after the run was accepted", func(t *testing.T) {
		hermes := hermesfake.Start(t)
		hermes.Inject(faults.SubmitAcceptedDrop())
		_, err := keyed(t, hermes.Client()) // connection reset
		id, _ := keyed(t, hermes.Client())  // the retry replays the run
		runs := len(hermes.Runs())          // 1
		if err == nil || id != hermes.Runs().Last().ID() || runs != 1 {
			t.Errorf("%v, %s, %d runs", err, id, runs)
		}
	})
	t.Run("a poll is slower than the deadline", func(t *testing.T) {
		hermes := hermesfake.Start(t)
		id := submit(t, hermes.Client(), `{"input": "x"}`)
		hermes.Inject(faults.PollTimeout()) // one poll takes a second
		client := &http.Client{Transport: hermes, Timeout: 30 * time.Millisecond}
		_, err := client.Get(hermesfake.BaseURL + "/v1/runs/" + id)
		if err == nil {
			t.Error("the poll was in time")
		}
	})
	t.Run("the gateway is full", func(t *testing.T) {
		hermes := hermesfake.Start(t, hermesfake.WithMaxConcurrentRuns(1))
		submit(t, hermes.Client(), `{"input": "x"}`)
		status := post(t, hermes.Client(), "/v1/runs", `{"input": "x"}`, nil) // 429, Retry-After: 1
		hermes.Runs().Last().Complete("done")                                 // frees the slot
		if again := post(t, hermes.Client(), "/v1/runs", `{"input": "x"}`, nil); status != 429 || again != 202 {
			t.Errorf("%d, then %d", status, again)
		}
	})
	t.Run("the gateway is draining", func(t *testing.T) {
		hermes := hermesfake.Start(t)
		hermes.SetDraining(true)
		status := post(t, hermes.Client(), "/v1/runs", `{"input": "x"}`, nil) // 503, Retry-After: 1
		if status != 503 {
			t.Errorf("got %d", status)
		}
	})
	t.Run("the gateway restarts", func(t *testing.T) {
		hermes := hermesfake.Start(t)
		id, _ := keyed(t, hermes.Client())
		hermes.Restart(hermesfake.OwnerStale) // the run is interrupted, which is terminal too
		if o := state(t, hermes.Client(), id); o.Status != "interrupted" {
			t.Errorf("got %+v", o)
		}
	})
	t.Run("a day passes", func(t *testing.T) {
		hermes := hermesfake.Start(t)
		first, _ := keyed(t, hermes.Client())
		hermes.Run(first).Complete("done")
		hermes.Advance(25 * time.Hour)
		second, _ := keyed(t, hermes.Client()) // the key is free again: a new run
		if first == second {
			t.Error("the old run was replayed")
		}
	})
	t.Run("a stop comes too late", func(t *testing.T) {
		hermes := hermesfake.Start(t)
		id := submit(t, hermes.Client(), `{"input": "x"}`)
		post(t, hermes.Client(), "/v1/runs/"+id+"/stop", "", nil) // {"status": "stopping"}
		hermes.Run(id).Complete("won the race")
		if o := state(t, hermes.Client(), id); o.Status != "completed" {
			t.Errorf("got %+v", o)
		}
	})
	t.Run("the agent asks for approval", func(t *testing.T) {
		hermes := hermesfake.Start(t)
		id := submit(t, hermes.Client(), `{"input": "x"}`)
		run := hermes.Run(id)
		run.RequestApproval(hermesfake.Approval{Command: "rm -rf build", RequestID: "r1"})
		post(t, hermes.Client(), "/v1/runs/"+id+"/approval", `{"choice": "deny", "request_id": "r1"}`, nil)
		in, _ := run.Snapshot() // in.Decisions[0].Choice is hermesfake.Deny
		if in.Decisions[0].Choice != hermesfake.Deny {
			t.Errorf("got %+v", in.Decisions)
		}
	})
	t.Run("the event stream is cut", func(t *testing.T) {
		hermes := hermesfake.Start(t)
		id := submit(t, hermes.Client(), `{"input": "x"}`)
		hermes.Inject(faults.EventsCut(1)) // after one event, without a terminal one
		res := follow(t, hermes.Client(), id)
		hermes.Run(id).Delta("Hel")
		hermes.Run(id).Complete("Hello") // only a poll tells
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "run.completed") {
				t.Error("the terminal event arrived")
			}
		}
		if o := state(t, hermes.Client(), id); lines.Err() == nil || o.Output != "Hello" {
			t.Errorf("%v, %+v", lines.Err(), o)
		}
	})
	t.Run("the stream is quiet", func(t *testing.T) {
		hermes := hermesfake.Start(t, hermesfake.WithFrozenClock(time.Unix(1700000000, 0)))
		res := follow(t, hermes.Client(), submit(t, hermes.Client(), `{"input": "x"}`))
		defer res.Body.Close()
		hermes.Advance(95 * time.Second) // three comments: ": keepalive"
		lines := bufio.NewScanner(res.Body)
		for range 3 {
			lines.Scan()
			if lines.Text() != ": keepalive" {
				t.Errorf("got %q", lines.Text())
			}
			lines.Scan()
		}
	})
}
