package examples_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// What a client really sent: the reply of its submission was lost, it tried again, and polled.
func TestWhatArrived(t *testing.T) {
	hermes := hermesfake.Start(t)
	hermes.Inject(faults.SubmitAcceptedDrop())
	submitKeyed(hermes.Client(), "order-7")
	res, err := submitKeyed(hermes.Client(), "order-7")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	id := hermes.Runs().Last().ID()
	get(t, hermes.Client(), "/v1/runs/"+id, nil)

	sent := hermes.Requests()
	tries := sent.CountByOperation(hermesfake.RunCreate)        // 2
	lost := sent.ByStatus(0)                                    // the first one
	polls := sent.ByRun(id).CountByOperation(hermesfake.RunGet) // 1
	stopped := sent.CountByOperation(hermesfake.RunStop) > 0    // false: nobody called stop
	fresh := sent[0].Accepted && !sent[1].Accepted              // true: the second one was a replay
	if tries != 2 || len(lost) != 1 || polls != 1 || stopped || !fresh {
		t.Errorf("%d tries, %d lost, %d polls, stopped %t, fresh %t", tries, len(lost), polls, stopped, fresh)
	}
}

// The run completes once the client has polled it three times, however long that takes it.
func TestAfterTheThirdPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hermes := hermesfake.Start(t)
		id := submit(t, hermes.Client(), `{"input": "x"}`)
		polls := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for status := ""; status != "completed"; polls++ {
				var run struct{ Status string }
				get(t, hermes.Client(), "/v1/runs/"+id, &run)
				status = run.Status
				time.Sleep(time.Second)
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		if _, err := hermes.WaitRequests(ctx, hermesfake.RunGet, 3); err != nil {
			t.Fatal(err) // ... waited for 3 RunGet, got 2 (so far: RunCreate 1, RunGet 2): context deadline exceeded
		}
		hermes.Run(id).Complete("done")

		<-done
		if polls != 4 {
			t.Errorf("%d polls", polls)
		}
	})
}

// A line for each request in the log.
func ExampleWithLogger() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" {
			return slog.Attr{}
		}
		return a
	}}))
	hermes := hermesfake.New(hermesfake.WithLogger(log))
	hermes.Client().Get(hermesfake.BaseURL + "/health")
	// Output:
	// level=INFO msg=request namespace=default operation=Health method=GET path=/health status=200
}
