package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// TestStreamIsPulled proves that a stream gives what was given to its subscription, in pieces of any size.
func TestStreamIsPulled(t *testing.T) {
	for _, size := range []int{1, 7, 4096} {
		w := open(t)
		id := w.submit()
		w.delta(id, "one")
		res := w.events(t.Context(), id)
		w.delta(id, "two")
		w.observe(id, engine.Cancelled)
		var got strings.Builder
		p := make([]byte, size)
		for {
			n, err := res.Body.Read(p)
			got.Write(p[:n])
			if err == io.EOF {
				break
			}
			if err != nil || n == 0 {
				t.Fatalf("size %d: %d %v", size, n, err)
			}
		}
		want := frame(id, "one") + frame(id, "two") + `data: {"event": "run.cancelled", "run_id": "` + id.String() +
			`", "timestamp": 1700000000.0}` + "\n\n: stream closed\n\n"
		// It was alone in line, so both the event and the end are its own.
		if got.String() != want {
			t.Errorf("size %d:\n%q, want\n%q", size, got.String(), want)
		}
		if n, err := res.Body.Read(p); n != 0 || err != io.EOF {
			t.Errorf("after the end: %d %v", n, err)
		}
		if n, err := res.Body.Read(nil); n != 0 || err != nil && err != io.EOF {
			t.Errorf("a read of nothing: %d %v", n, err)
		}
		res.Body.Close()
	}
}

// TestReadOfNothing proves that a read without room does not wait.
func TestReadOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := live(t)
		res := w.events(t.Context(), w.submit())
		defer res.Body.Close()
		began := time.Now()
		if n, err := res.Body.Read(nil); n != 0 || err != nil || time.Since(began) != 0 {
			t.Errorf("%d %v after %v", n, err, time.Since(began))
		}
	})
}

// TestCloseDuringRead proves that closing a stream, or the end of its context, ends a Read that waits, at once.
func TestCloseDuringRead(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(res *http.Response, cancel context.CancelFunc, w *world)
		want string
	}{
		"close":   {func(res *http.Response, _ context.CancelFunc, _ *world) { res.Body.Close() }, "http: read on closed response body"},
		"cancel":  {func(_ *http.Response, cancel context.CancelFunc, _ *world) { cancel() }, context.Canceled.Error()},
		"restart": {func(_ *http.Response, _ context.CancelFunc, w *world) { w.namespace().Restart(engine.OwnerAlive) }, io.ErrUnexpectedEOF.Error()},
		"reset":   {func(_ *http.Response, _ context.CancelFunc, w *world) { w.namespace().Reset() }, io.ErrUnexpectedEOF.Error()},
		"engine":  {func(_ *http.Response, _ context.CancelFunc, w *world) { w.engine.Close() }, io.ErrUnexpectedEOF.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := open(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			res := w.events(ctx, w.submit())
			began := time.Now()
			done := make(chan error)
			go func() {
				n, err := res.Body.Read(make([]byte, 100))
				if n != 0 {
					err = errors.New("read something")
				}
				done <- err
			}()
			synctest.Wait()
			c.end(res, cancel, w)
			if err := <-done; err == nil || err.Error() != c.want {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("%s took %v", name, took)
			}
			res.Body.Close()
			synctest.Wait()
			if got := w.namespace().Counts().Streams; got != 0 {
				t.Errorf("%s: %d streams are open", name, got)
			}
		})
	}
}

// TestGoneClientKeepsItsPlace proves that a closed stream is noticed by the next write to it only (vectors: live.json).
func TestGoneClientKeepsItsPlace(t *testing.T) {
	w := open(t)
	id := w.submit()
	w.events(t.Context(), id).Body.Close()
	second := w.events(t.Context(), id)
	defer second.Body.Close()
	w.delta(id, "lost") // to the first, and with it the queue
	w.delta(id, "nowhere")
	w.advance(30 * time.Second)
	p := make([]byte, 1000)
	if n, err := second.Body.Read(p); string(p[:n]) != ": keepalive\n\n" || err != nil {
		t.Errorf("%q %v", p[:n], err)
	}
	res, err := w.transport.RoundTrip(newRequest(t, "GET", base+"/v1/runs/"+id.String()+"/events", nil))
	if err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("%v %v", res, err)
	}
	res.Body.Close()
}

// TestIdleStreamsOwnNoGoroutine opens many streams, idle ones and such with a deadline, and counts goroutines.
func TestIdleStreamsOwnNoGoroutine(t *testing.T) {
	w := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	before := runtime.NumGoroutine()
	const streams = 1000
	var open []*http.Response
	ids := []engine.RunID{w.submit(), w.submit()}
	for i := range streams {
		open = append(open, w.events(ctx, ids[i%2]))
	}
	if got := runtime.NumGoroutine(); got > before {
		t.Errorf("%d idle streams own %d goroutines", streams, got-before)
	}
	if got := w.namespace().Counts().Streams; got != streams {
		t.Errorf("%d streams", got)
	}
	w.advance(31 * time.Second)
	p := make([]byte, 100)
	for _, res := range open {
		if n, err := res.Body.Read(p); string(p[:n]) != ": keepalive\n\n" || err != nil {
			t.Fatalf("%q %v", p[:n], err)
		}
		res.Body.Close()
	}
	if got := w.namespace().Counts().Streams; got != 0 {
		t.Errorf("%d streams are left", got)
	}
	if got := runtime.NumGoroutine(); got > before {
		t.Errorf("%d goroutines are left", got-before)
	}
}
