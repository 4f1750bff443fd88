package examples_test

import (
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// The run was admitted, but its reply got lost. A client that tries again with the same
// Idempotency-Key finds the run; one that takes a new key starts a second.
func TestLostReplyIsRetried(t *testing.T) {
	hermes := hermesfake.Start(t)
	hermes.Inject(faults.SubmitAcceptedDrop())
	client := hermes.Client()

	res, err := submitKeyed(client, "order-7")
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the first try got %v, %v", res, err)
	}
	res, err = submitKeyed(client, "order-7")
	if err != nil {
		t.Fatal(err)
	}
	var admitted struct {
		RunID    string `json:"run_id"`
		Replayed bool
	}
	if status := decode(t, res, &admitted); status != http.StatusAccepted || !admitted.Replayed {
		t.Errorf("the retry got %d, %+v", status, admitted)
	}
	if runs := hermes.Runs(); len(runs) != 1 || runs.Last().ID() != admitted.RunID {
		t.Errorf("runs: %v, want %s alone", runs, admitted.RunID)
	}

	// The journal has the reply that was lost with status 0.
	lost := hermes.Requests()[0]
	if lost.Status != 0 || !lost.Accepted || lost.FaultID == "" {
		t.Errorf("the journal has %+v", lost)
	}
}

// submitKeyed submits a run with an idempotency key.
func submitKeyed(client *http.Client, key string) (*http.Response, error) {
	r, err := http.NewRequest("POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(`{"input": "work"}`))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Idempotency-Key", key)
	return client.Do(r)
}
