package examples_test

import (
	"testing"

	"github.com/hermesfake/hermesfake"
)

// Text that was accepted too late to be used comes back as pending_steer.
func TestSteering(t *testing.T) {
	hermes := hermesfake.Start(t)
	client := hermes.Client()
	id := submit(t, client, `{"input": "write a report"}`)
	run := hermes.Run(id)

	if status := post(t, client, "/v1/runs/"+id+"/steer", `{"input": "too early"}`, nil); status != 409 {
		t.Errorf("steering a queued run got %d, want 409", status)
	}
	run.Start()
	if status := post(t, client, "/v1/runs/"+id+"/steer", `{"input": "keep it short"}`, nil); status != 200 {
		t.Fatalf("steering got %d", status)
	}
	if steers := run.Steers(); len(steers) != 1 || steers[0] != "keep it short" {
		t.Errorf("the run was steered with %q", steers)
	}
	run.AcceptSteer(false)
	if status := post(t, client, "/v1/runs/"+id+"/steer", `{"input": "and add a table"}`, nil); status != 409 {
		t.Errorf("a refused text got %d, want 409", status)
	}

	run.Observe(hermesfake.Observation{Status: hermesfake.Completed, Output: "a report", PendingSteer: "keep it short"})
	var o observation
	get(t, client, "/v1/runs/"+id, &o)
	if o.PendingSteer != "keep it short" {
		t.Errorf("pending_steer is %q", o.PendingSteer)
	}
}
