package examples_test

import (
	"bufio"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
)

// follow opens a run's event stream.
func follow(t *testing.T, client *http.Client, id string) *http.Response {
	t.Helper()
	res, err := client.Get(hermesfake.BaseURL + "/v1/runs/" + id + "/events")
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A client that lost its stream cannot follow the run again: the next event
// is lost with it and events are 404 from then on. Polling still works.
func TestDisconnectedStreamIsPolled(t *testing.T) {
	hermes := hermesfake.Start(t)
	client := hermes.Client()
	id := submit(t, client, `{"input": "work"}`)
	run := hermes.Run(id)
	run.Start()

	follow(t, client, id).Body.Close()
	run.Delta("into the void")

	res := follow(t, client, id)
	res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("following again got %d, want 404", res.StatusCode)
	}
	run.Complete("done")
	var o observation
	get(t, client, "/v1/runs/"+id, &o)
	if o.Output != "done" {
		t.Errorf("the poll says %+v", o)
	}
}

// A client that reconnects before the gateway has noticed gets 200 and
// stands in line behind itself: the event given to the connection that is
// gone ends the queue, and the new one hears keepalives for ever.
func TestReconnectedTooSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hermes := hermesfake.Start(t)
		client := hermes.Client()
		id := submit(t, client, `{"input": "work"}`)
		run := hermes.Run(id)

		follow(t, client, id).Body.Close()
		again := follow(t, client, id)
		defer again.Body.Close()
		if again.StatusCode != http.StatusOK {
			t.Fatalf("reconnecting at once got %d", again.StatusCode)
		}
		run.Complete("done")

		// The terminal event went to the connection that is gone; the end
		// marker, which came with it, still reaches the second in line.
		lines := bufio.NewScanner(again.Body)
		lines.Scan()
		if lines.Text() != ": stream closed" {
			t.Errorf("got %q", lines.Text())
		}

		other := hermes.Run(submit(t, client, `{"input": "more work"}`))
		follow(t, client, other.ID()).Body.Close()
		stuck := follow(t, client, other.ID())
		defer stuck.Body.Close()
		other.Delta("lost")
		other.Delta("goes nowhere")
		began := time.Now()
		lines = bufio.NewScanner(stuck.Body)
		lines.Scan()
		if lines.Text() != ": keepalive" || time.Since(began) != 30*time.Second {
			t.Errorf("got %q after %s", lines.Text(), time.Since(began))
		}
	})
}
