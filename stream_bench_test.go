package hermesfake_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// follow opens the run's event stream through a client.
func follow(tb testing.TB, client *http.Client, base string, run *hermesfake.Run) *http.Response {
	tb.Helper()
	res, err := client.Get(base + "/v1/runs/" + run.ID() + "/events")
	if err != nil {
		tb.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		tb.Fatalf("events: %s", res.Status)
	}
	return res
}

// countFrames reads a stream to its end and counts its frames.
func countFrames(body io.Reader) (frames int, err error) {
	buffer := make([]byte, 64<<10)
	newline := false // the last byte read was a newline
	for {
		n, err := body.Read(buffer)
		read := buffer[:n]
		if newline && n > 0 && read[0] == '\n' {
			frames++
		}
		frames += bytes.Count(read, []byte("\n\n"))
		if n > 0 {
			newline = read[n-1] == '\n' && !bytes.HasSuffix(read, []byte("\n\n"))
		}
		if err == io.EOF {
			return frames, nil
		}
		if err != nil {
			return frames, err
		}
	}
}

// BenchmarkEvents streams deltas to a reader that counts them, over both doors.
func BenchmarkEvents(b *testing.B) {
	for _, door := range []string{"in process", "loopback"} {
		b.Run(door, func(b *testing.B) {
			fake := hermesfake.New()
			defer fake.Close()
			client, base := fake.Client(), hermesfake.BaseURL
			if door == "loopback" {
				server := httptest.NewServer(fake.Handler())
				defer server.Close()
				client, base = server.Client(), server.URL
			}
			do(b, fake.Client(), "POST", hermesfake.BaseURL+"/v1/runs", "", `{"input": "x"}`)
			run := fake.Runs().Last()
			res := follow(b, client, base, run)
			defer res.Body.Close()
			counted := make(chan int)
			go func() {
				n, _ := countFrames(res.Body)
				counted <- n
			}()
			emitted := 0
			for b.Loop() {
				if err := run.Delta("a few words"); err != nil {
					b.Fatal(err)
				}
				emitted++
			}
			run.Complete("done")
			if n := <-counted; n != emitted+2 {
				b.Fatalf("read %d frames of %d", n, emitted+2)
			}
			b.ReportMetric(float64(emitted)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkIdleStreams opens streams in process and reports what each keeps.
func BenchmarkIdleStreams(b *testing.B) {
	const streams = 10_000
	for b.Loop() {
		fake := hermesfake.New(hermesfake.WithMaxConcurrentRuns(0), hermesfake.WithJournalSize(0))
		client := fake.Client()
		var runs []*hermesfake.Run
		for range streams {
			do(b, client, "POST", hermesfake.BaseURL+"/v1/runs", "", `{"input": "x"}`)
		}
		runs = fake.Runs()
		goroutines := runtime.NumGoroutine()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		ctx, cancel := context.WithCancel(context.Background())
		bodies := make([]io.Closer, streams)
		for i, run := range runs {
			r, err := http.NewRequestWithContext(ctx, "GET", hermesfake.BaseURL+"/v1/runs/"+run.ID()+"/events", nil)
			if err != nil {
				b.Fatal(err)
			}
			res, err := client.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			bodies[i] = res.Body
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/streams, "B/stream")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		cancel()
		for _, body := range bodies {
			body.Close()
		}
		fake.Close()
	}
}
