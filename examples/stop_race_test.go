package examples_test

import (
	"testing"

	"github.com/hermesfake/hermesfake"
)

// A stop is a request. The run may complete all the same, and a client must
// not report it as cancelled then.
func TestStopRaceThatCompletionWins(t *testing.T) {
	hermes := hermesfake.Start(t)
	client := hermes.Client()
	id := submit(t, client, `{"input": "long work"}`)
	run := hermes.Run(id)
	run.Start()

	var o observation
	if status := post(t, client, "/v1/runs/"+id+"/stop", "", &o); status != 200 || o.Status != "stopping" {
		t.Fatalf("stop got %d %+v", status, o)
	}
	run.Complete("finished just in time")

	get(t, client, "/v1/runs/"+id, &o)
	if o.Status != "completed" || o.Output != "finished just in time" {
		t.Errorf("the run is %+v", o)
	}
	// A stop of a settled run answers with the whole status object.
	if status := post(t, client, "/v1/runs/"+id+"/stop", "", &o); status != 200 || o.Status != "completed" {
		t.Errorf("a late stop got %d %+v", status, o)
	}
}
