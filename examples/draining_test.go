package examples_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// The gateway drains ahead of a restart: 503 means to wait as well.
func TestRetryWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hermes := hermesfake.Start(t)
		hermes.Inject(faults.Draining())
		if status := submitPatiently(t, hermes.Client()); status != http.StatusAccepted {
			t.Errorf("gave up at %d", status)
		}
		if n := hermes.Requests().CountByOperation(hermesfake.RunCreate); n != 2 || len(hermes.Runs()) != 1 {
			t.Errorf("%d submissions made %d runs", n, len(hermes.Runs()))
		}
	})
}
