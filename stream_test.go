package hermesfake_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
)

// Two thousand runs stream at once through one fake, each to its own reader.
func TestManyStreams(t *testing.T) {
	const runs, deltas = 2000, 20
	f := hermesfake.Start(t, hermesfake.WithMaxConcurrentRuns(0))
	var wg sync.WaitGroup
	for range runs {
		run := f.Run(submit(t, f, `{"input": "x"}`))
		res := follow(t, f.Client(), hermesfake.BaseURL, run)
		wg.Go(func() {
			defer res.Body.Close()
			if n, err := countFrames(res.Body); n != deltas+2 || err != nil {
				t.Errorf("%s: read %d frames, %v", run.ID(), n, err)
			}
		})
	}
	all := f.Runs()
	for i := range deltas {
		for _, run := range all {
			if err := run.Delta(fmt.Sprint("piece ", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, run := range all {
		if err := run.Complete("done"); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

// A million deltas go through one stream, and the terminal event is behind them.
func TestMillionDeltas(t *testing.T) {
	deltas := 1_000_000
	if testing.Short() {
		deltas = 10_000
	}
	f := hermesfake.Start(t)
	run := f.Run(submit(t, f, `{"input": "x"}`))
	res := follow(t, f.Client(), hermesfake.BaseURL, run)
	defer res.Body.Close()
	counted := make(chan int)
	go func() {
		n, _ := countFrames(res.Body)
		counted <- n
	}()
	for range deltas {
		// A full queue is an error, not a loss: the reader catches up.
		for err := run.Delta("piece"); err != nil; err = run.Delta("piece") {
			if run.Status().Terminal() {
				t.Fatal(err)
			}
		}
	}
	run.Complete("done")
	if n := <-counted; n != deltas+2 {
		t.Errorf("read %d frames of %d", n, deltas+2)
	}
}

// A client that disconnects in the middle of a stream over a socket frees it
// within a second, and keeps its place in line until something is due to it.
func TestDisconnectOverSocket(t *testing.T) {
	f := hermesfake.Start(t)
	server := httptest.NewServer(f.Handler())
	defer server.Close()
	run := f.Run(submit(t, f, `{"input": "x"}`))
	run.Delta("one")
	res := follow(t, server.Client(), server.URL, run)
	if _, err := res.Body.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := run.Wait(ctx, func(s hermesfake.Snapshot) bool {
		return len(s.Subscribers) == 1 && s.Subscribers[0].Gone
	})
	if err != nil {
		t.Fatalf("within a second the fake has not seen the client go: %v", err)
	}
	run.Delta("lost")
	in, err := run.Snapshot()
	if err != nil || in.Queue != nil || len(in.Subscribers) > 0 {
		t.Errorf("after the next event: queue %v, subscribers %v, %v", in.Queue, in.Subscribers, err)
	}
}
