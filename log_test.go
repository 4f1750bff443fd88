package hermesfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// logLines is a log, a line at a time.
type logLines struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string
}

func (l *logLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	l.text.Write(line)
	l.mu.Unlock()
	l.lines <- string(line)
	return len(line), nil
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// next waits for a line and returns what it says, but for time and duration.
func (l *logLines) next(t *testing.T) string {
	t.Helper()
	var attrs map[string]any
	if err := json.Unmarshal([]byte(<-l.lines), &attrs); err != nil {
		t.Fatal(err)
	}
	if d, ok := attrs["duration"].(float64); !ok || d < 0 {
		t.Errorf("no duration: %v", attrs)
	}
	delete(attrs, "time")
	delete(attrs, "duration")
	delete(attrs, "namespace")
	var b strings.Builder
	for _, key := range []string{"level", "msg", "operation", "method", "path", "status", "run", "accepted", "fault", "lost", "end"} {
		if v, ok := attrs[key]; ok && v != "" {
			fmt.Fprintf(&b, "%v ", v)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestLog(t *testing.T) {
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			log := &logLines{lines: make(chan string, 100)}
			f := hermesfake.Start(t, hermesfake.WithUnmatchedAllowed(),
				hermesfake.WithLogger(slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			d := door.open(t, f)
			if transport, ok := d.Transport.(*http.Transport); ok {
				transport.DisableKeepAlives = true // so that nothing is sent twice
			}
			c := client{&http.Client{Transport: d.Transport}, d.BaseURL}
			id := ""
			want := func(line string) {
				t.Helper()
				if got := strings.ReplaceAll(log.next(t), id, "ID"); got != line {
					t.Errorf("logged %s, want %s", got, line)
				}
			}
			events := func() *http.Response {
				t.Helper()
				res := follow(t, c.Client, c.base, f.Run(id))
				t.Cleanup(func() { res.Body.Close() })
				return res
			}
			submission, err := c.submit(t.Context(), "", `{"input": "x"}`)
			if err != nil {
				t.Fatal(err)
			}
			id = submission.RunID
			want("INFO request RunCreate POST /v1/runs 202 ID true")
			c.fetch(t.Context(), "GET", "/nope?x=y", "")
			want("INFO request GET /nope 404")
			c.fetch(t.Context(), "GET", "/ns/a%20b/health", "")
			want("INFO request GET /ns/a%20b/health 400")
			c.fetch(t.Context(), "GET", "/__admin/state?limit=5", "")
			want("DEBUG control GET /__admin/state 200")
			c.fetch(t.Context(), "POST", "/__admin/hermes/runs/"+id+"/observe", `{`)
			want("DEBUG control POST /__admin/hermes/runs/ID/observe 400")
			f.Inject(faults.StopAcceptedDrop(), faults.ConnectionRefused(1), faults.EventsCut(1))
			c.fetch(t.Context(), "GET", "/health", "")
			want("INFO request Health GET /health 0 fault-2 refused")
			c.fetch(t.Context(), "POST", "/v1/runs/"+id+"/stop", "")
			want("INFO request RunStop POST /v1/runs/ID/stop 0 ID true fault-1 reset")

			f.Run(id).Delta("one")
			io.Copy(io.Discard, events().Body)
			want("INFO request RunEvents GET /v1/runs/ID/events 200 ID fault-3")
			want("INFO stream ID fault-3 connection lost")
			res := events()
			want("INFO request RunEvents GET /v1/runs/ID/events 200 ID")
			res.Body.Close()
			want("INFO stream ID client gone")
			res = events()
			want("INFO request RunEvents GET /v1/runs/ID/events 200 ID")
			go io.Copy(io.Discard, res.Body)
			f.Restart(hermesfake.OwnerStale)
			want("INFO stream ID connection lost")
			submission, err = c.submit(t.Context(), "", `{"input": "x"}`)
			if err != nil {
				t.Fatal(err)
			}
			id = submission.RunID
			want("INFO request RunCreate POST /v1/runs 202 ID true")
			f.Run(id).Complete("done")
			io.Copy(io.Discard, events().Body)
			want("INFO request RunEvents GET /v1/runs/ID/events 200 ID")
			want("INFO stream ID ended")
			select {
			case line := <-log.lines:
				t.Errorf("one more line: %s", line)
			default:
			}
		})
	}
}

// TestLogLevel proves that nothing is written that the logger does not want, and nothing at all by default.
func TestLogLevel(t *testing.T) {
	for level, want := range map[slog.Level]int{slog.LevelDebug: 2, slog.LevelInfo: 1, slog.LevelWarn: 0} {
		var log bytes.Buffer
		f := hermesfake.Start(t, hermesfake.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))))
		request(t, f, "GET", "/health", "")
		request(t, f, "GET", "/__admin/health", "")
		if got := strings.Count(log.String(), "\n"); got != want {
			t.Errorf("%v: %d lines, want %d:\n%s", level, got, want, &log)
		}
	}
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	request(t, hermesfake.Start(t), "GET", "/health", "")
	if log.Len() > 0 {
		t.Errorf("by default it logs %s", &log)
	}
}
