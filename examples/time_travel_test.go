package examples_test

import (
	"testing"

	"github.com/hermesfake/hermesfake"
)

// Both outcomes of a race from the same moment: the run completes although a stop was requested, or it is cancelled.
func TestTimeTravel(t *testing.T) {
	hermes := hermesfake.Start(t)
	id := submit(t, hermes.Client(), `{"input": "x"}`)
	hermes.Run(id).Start()

	before := hermes.Checkpoint()
	post(t, hermes.Client(), "/v1/runs/"+id+"/stop", "", nil)
	hermes.Run(id).Complete("won the race")

	hermes.Checkout(before) // as if neither had happened
	hermes.Run(id).Cancel()
	if s := hermes.Run(id).Status(); s != hermesfake.Cancelled {
		t.Errorf("%v", s)
	}
}

// Back to where the last but one request had left the gateway.
func TestBackOneRequest(t *testing.T) {
	hermes := hermesfake.Start(t)
	submit(t, hermes.Client(), `{"input": "x"}`)
	submit(t, hermes.Client(), `{"input": "y"}`)

	requests := hermes.Requests()
	err := hermes.Checkout(requests[len(requests)-2].Checkpoint)
	if n := len(hermes.Runs()); err != nil || n != 1 {
		t.Errorf("%d runs, %v", n, err)
	}
}

// Two branches go on from one checkpoint.
func TestBranches(t *testing.T) {
	hermes := hermesfake.Start(t)
	id := submit(t, hermes.Client(), `{"input": "x"}`)

	hermes.Fork("failing", hermes.Checkpoint()) // a branch, and still on main
	hermes.Run(id).Complete("done")
	hermes.CheckoutBranch("failing")
	hermes.Run(id).Fail("boom")
	hermes.CheckoutBranch(hermesfake.MainBranch) // completed again
	if s := hermes.Run(id).Status(); s != hermesfake.Completed {
		t.Errorf("%v", s)
	}
}
