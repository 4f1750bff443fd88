package examples_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
)

// In a testing/synctest bubble hours pass at once, with no option set.
func TestHoursInNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hermes := hermesfake.Start(t)
		hermes.Script(func(ctx context.Context, run *hermesfake.Run) {
			run.Start()
			run.Sleep(ctx, 3*time.Hour)
			run.Complete("done")
		})
		client := hermes.Client()
		began := time.Now()
		id := submit(t, client, `{"input": "long work"}`)
		var o observation
		for o.Status != "completed" {
			time.Sleep(time.Minute)
			synctest.Wait() // what happens at this very moment has happened
			get(t, client, "/v1/runs/"+id, &o)
		}
		if took := time.Since(began); took != 3*time.Hour {
			t.Errorf("took %s", took)
		}
	})
}

// A client's one timeout for everything also ends a quiet event stream, long
// before the first keepalive.
func TestTimeoutEndsQuietStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hermes := hermesfake.Start(t)
		client := &http.Client{Transport: hermes, Timeout: 25 * time.Second}
		id := submit(t, client, `{"input": "long work"}`)
		began := time.Now()
		res := follow(t, client, id)
		defer res.Body.Close()
		_, err := io.ReadAll(res.Body)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 25*time.Second {
			t.Errorf("the stream ended with %v after %s", err, time.Since(began))
		}
	})
}
