package examples_test

import (
	"context"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// A guarded step asks, the client sees what is asked in its poll, and denies.
func TestApproval(t *testing.T) {
	hermes := hermesfake.Start(t)
	hermes.Script(func(ctx context.Context, run *hermesfake.Run) {
		run.Start()
		ask := hermesfake.Approval{Command: "rm -rf build", RequestID: "r1", NoPermanent: true}
		switch run.AskApproval(ctx, ask) {
		case hermesfake.Deny:
			run.Complete("left the build alone")
		case "": // nobody answered
		default:
			run.Complete("removed the build")
		}
	})
	client := hermes.Client()
	id := submit(t, client, `{"input": "clean up"}`)
	run := hermes.Run(id)
	if err := run.WaitStatus(t.Context(), hermesfake.WaitingForApproval); err != nil {
		t.Fatal(err)
	}

	var o observation
	get(t, client, "/v1/runs/"+id, &o)
	if o.Approval == nil || o.Approval.Command != "rm -rf build" || len(o.Approval.Choices) != 3 {
		t.Fatalf("the poll shows %+v", o)
	}
	if status := post(t, client, "/v1/runs/"+id+"/approval", `{"choice": "deny", "request_id": "r1"}`, nil); status != 200 {
		t.Fatalf("the answer got %d", status)
	}
	if _, err := run.WaitSettled(t.Context()); err != nil {
		t.Fatal(err)
	}
	get(t, client, "/v1/runs/"+id, &o)
	if o.Output != "left the build alone" {
		t.Errorf("got %q", o.Output)
	}
	if status := post(t, client, "/v1/runs/"+id+"/approval", `{"choice": "deny", "request_id": "r1"}`, nil); status != 409 {
		t.Errorf("a second answer got %d, want 409: the run has settled", status)
	}
}
