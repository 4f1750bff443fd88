package examples_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// The gateway is at capacity for two submissions, and says when to come again.
func TestRetryAfterThrottling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hermes := hermesfake.Start(t)
		hermes.Inject(faults.Throttled().Times(2))
		began := time.Now()
		if status := submitPatiently(t, hermes.Client()); status != http.StatusAccepted {
			t.Errorf("gave up at %d", status)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("waited %s, want a second for each 429", took)
		}
	})
}

// submitPatiently submits a run, waits as long as Retry-After says and tries
// again, five times at most. It returns the last status.
func submitPatiently(t *testing.T, client *http.Client) (status int) {
	t.Helper()
	for range 5 {
		res, err := submitKeyed(client, "order-7")
		if err != nil {
			t.Fatal(err)
		}
		status = decode(t, res, nil)
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil {
			break
		}
		time.Sleep(time.Duration(seconds) * time.Second)
	}
	return status
}
