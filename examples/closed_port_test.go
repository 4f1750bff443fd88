package examples_test

import (
	"errors"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// While the gateway restarts nothing listens on its port. A keyed run that was under way
// comes back as interrupted.
func TestRestartWhileThePortIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hermes := hermesfake.Start(t)
		client := hermes.Client()
		if _, err := submitKeyed(client, "order-7"); err != nil {
			t.Fatal(err)
		}
		run := hermes.Runs().Last()
		run.Start()

		hermes.Restart(hermesfake.OwnerStale)
		hermes.Inject(faults.ConnectionRefused(3))
		var res *http.Response
		var err error = syscall.ECONNREFUSED
		tries := 0
		for errors.Is(err, syscall.ECONNREFUSED) {
			time.Sleep(time.Second)
			res, err = client.Get(hermesfake.BaseURL + "/v1/runs/" + run.ID())
			tries++
		}
		if err != nil {
			t.Fatal(err)
		}
		var o observation
		if decode(t, res, &o); tries != 4 || o.Status != "interrupted" {
			t.Errorf("try %d found %+v", tries, o)
		}
	})
}
