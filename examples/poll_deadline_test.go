package examples_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// One poll takes a second, which is more than the client allows. In a bubble no real time
// passes.
func TestPollDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hermes := hermesfake.Start(t)
		client := hermes.Client()
		id := submit(t, client, `{"input": "work"}`)
		hermes.Inject(faults.PollTimeout())

		client.Timeout = 30 * time.Millisecond
		began := time.Now()
		_, err := client.Get(hermesfake.BaseURL + "/v1/runs/" + id)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != client.Timeout {
			t.Errorf("got %v after %s", err, took)
		}
		// The run knows nothing of it, and the next poll is quick.
		var o observation
		if get(t, client, "/v1/runs/"+id, &o); o.Status != "queued" {
			t.Errorf("the run is %+v", o)
		}
	})
}
