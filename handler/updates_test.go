package handler_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/faults"
	"github.com/hermesfake/hermesfake/handler"
)

// watching is an open stream of updates.
type watching struct {
	t    *testing.T
	body io.ReadCloser
	read *bufio.Reader
}

func (d *door) watch(t *testing.T, query string) *watching {
	t.Helper()
	res, err := d.client.RoundTrip(d.request("GET", "/__admin/ui/updates"+query, "", nil))
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("updates: %d %v", res.StatusCode, res.Header)
	}
	t.Cleanup(func() { res.Body.Close() })
	return &watching{t, res.Body, bufio.NewReaderSize(res.Body, 1<<20)}
}

// next reads a frame: its name and data. The name of a comment is ":".
func (w *watching) next() (name, data string) {
	w.t.Helper()
	line, err := w.read.ReadString('\n')
	if err != nil {
		w.t.Fatalf("the stream ended: %v", err)
	}
	if strings.HasPrefix(line, ":") {
		name = ":"
	} else {
		name = strings.TrimSpace(strings.TrimPrefix(line, "event: "))
		line, _ = w.read.ReadString('\n')
		data = strings.TrimSpace(strings.TrimPrefix(line, "data: "))
		if !json.Valid([]byte(data)) {
			w.t.Fatalf("%s: no JSON: %.200s", name, data)
		}
	}
	if line, err = w.read.ReadString('\n'); line != "\n" || err != nil {
		w.t.Fatalf("no blank line behind %s: %q, error %v", name, line, err)
	}
	return name, data
}

// piece reads what has come with one Next: the frames by their names.
func (w *watching) piece() map[string]string {
	w.t.Helper()
	got := map[string]string{}
	for {
		name, data := w.next()
		if _, twice := got[name]; twice {
			w.t.Fatalf("%s came twice at once", name)
		}
		got[name] = data
		if w.read.Buffered() == 0 {
			return got
		}
	}
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	return v
}

type runsPart struct {
	First   bool
	Known   int
	Changed []struct {
		ID, Status string
		Number     int
	}
	Gone []string
}

// names are those of the parts, in order.
func names(got map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(got)), " ")
}

// live is open, with faults and a clock that runs. It is closed by the test.
func live(t *testing.T) (*door, *engine.Engine) {
	set := faults.New(1)
	d := open(t, handler.Options{Middleware: set, Controls: set.Controls()})
	reset := engine.ClockChange{Reset: true}
	if _, err := d.engine.ChangeClock(reset); err != nil {
		t.Fatal(err)
	}
	return d, d.engine
}

// TestUpdates proves what is sent: all there is at first, then the parts that changed.
func TestUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := live(t)
		id := d.started("")
		w := d.watch(t, "?run="+id)
		all := w.piece()
		for _, name := range []string{"namespaces", "clock", "gateway", "runs", "run", "journal", "faults", "timeline"} {
			if all[name] == "" {
				t.Errorf("at first there is no %s", name)
			}
		}
		if runs := decode[runsPart](t, all["runs"]); !runs.First || runs.Known != 1 || runs.Changed[0].ID != id || runs.Changed[0].Status != "running" {
			t.Errorf("runs at first: %s", all["runs"])
		}
		for _, c := range []struct {
			act  func()
			want string // the parts, in order of the alphabet
		}{
			{func() { d.control("/hermes/runs/"+id+"/events", `{"event": "message.delta", "delta": "hi"}`) }, "events run timeline"},
			{func() { d.control("/faults", `{"preset": "hermes_throttled"}`) }, "faults"},
			{func() { d.control("/clock", `{"advance": "1s"}`) }, "clock"},
			{func() { d.control("/hermes/gateway", `{"draining": true}`) }, "gateway timeline"},
			{func() { d.control("/checkpoints", `{}`) }, "timeline"},
			{func() { d.get("/v1/runs/" + id) }, "journal"},
			{func() { d.do("DELETE", "/__admin/requests", "") }, "journal"},
			{func() { d.get("/__admin/ns/other/clock") }, "namespaces"},
			{func() { d.observe(id, `{"status": "completed", "output": "o"}`) }, "events gateway run runs timeline"},
			{func() { d.control("/reset", `{}`) }, "gateway run runs timeline"},
		} {
			c.act()
			if got := names(w.piece()); got != c.want {
				t.Errorf("%s came, want %s", got, c.want)
			}
		}
	})
}

// TestUpdatesAreFew proves that changes are sent together, at most ten times a second, and that silence costs a comment each
// 15 s.
func TestUpdatesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := live(t)
		id := d.started("")
		w := d.watch(t, "?run="+id)
		w.piece()
		began := time.Now()
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for range 1000 {
				d.control("/hermes/runs/"+id+"/events", `{"event": "message.delta", "delta": "x"}`)
				<-time.After(time.Millisecond)
			}
		}()
		pieces, last := 0, 0
		for last < 1000 {
			got := w.piece()
			pieces++
			if text, ok := got["events"]; ok {
				e := decode[struct {
					Last   int
					Events []struct{ N int }
				}](t, text)
				if len(e.Events) == 0 || e.Events[0].N != last+1 {
					t.Fatalf("after event %d came %s", last, text)
				}
				last = e.Last
			}
		}
		<-stop
		if took := time.Since(began); pieces > 12 || took > 1500*time.Millisecond {
			t.Errorf("1000 events in a second came in %d pieces, in %v", pieces, took)
		}
		quiet := time.Now()
		for range 4 {
			if got := w.piece(); len(got) != 1 || got[":"] != "" {
				t.Errorf("in silence came %v", got)
			}
		}
		if took := time.Since(quiet); took < 59*time.Second || took > 61*time.Second {
			t.Errorf("4 comments took %v", took)
		}
	})
}

// TestUpdatesSeeTime proves that a page learns of what only falls due.
func TestUpdatesSeeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := live(t)
		id := d.started("")
		d.observe(id, `{"status": "completed"}`)
		w := d.watch(t, "")
		w.piece()
		began := time.Now()
		for {
			if got := w.piece(); got["runs"] != "" {
				if runs := decode[runsPart](t, got["runs"]); len(runs.Gone) != 1 || runs.Known != 0 {
					t.Errorf("%s", got["runs"])
				}
				break
			}
		}
		if took := time.Since(began); took < time.Hour || took > time.Hour+2*time.Minute {
			t.Errorf("the swept run was gone after %v", took)
		}
	})
}

// TestUpdatesEnd proves that streams end with the engine, the client and its context, and leave nothing behind.
func TestUpdatesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, e := live(t)
		w := d.watch(t, "")
		w.piece()
		ended := make(chan error)
		go func() {
			_, err := io.Copy(io.Discard, w.read)
			ended <- err
		}()
		synctest.Wait()
		w.body.Close()
		if err := <-ended; err == nil {
			t.Error("a closed body ended well")
		}

		ctx, cancel := context.WithCancel(t.Context())
		res, err := d.client.RoundTrip(d.request("GET", "/__admin/ui/updates", "", nil).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := io.Copy(io.Discard, res.Body)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled one ended with %v", err)
		}

		// Those that ended have made room for others.
		var open []*watching
		for range 64 {
			open = append(open, d.watch(t, ""))
		}
		if r := d.get("/__admin/ui/updates"); r.status != http.StatusServiceUnavailable {
			t.Errorf("one too many: %d", r.status)
		}
		if r := d.do("HEAD", "/__admin/ui/updates", ""); r.status != http.StatusOK {
			t.Errorf("HEAD: %d", r.status)
		}
		for _, w := range open[1:] {
			w.body.Close()
		}
		w = open[0]
		w.piece()
		go func() {
			_, err := io.Copy(io.Discard, w.read)
			ended <- err
		}()
		synctest.Wait()
		e.Close()
		if err := <-ended; err != nil {
			t.Errorf("the end of the fake is %v to a page", err)
		}
	})
}

// TestUpdatesAreBounded proves that a page is not sent more than it shows.
func TestUpdatesAreBounded(t *testing.T) {
	d := open(t, handler.Options{})
	d.control("/hermes/gateway", `{"max_concurrent_runs": 0}`)
	for range 1000 {
		d.submit("")
	}
	w := d.watch(t, "")
	all := w.piece()
	runs := decode[runsPart](t, all["runs"])
	if len(runs.Changed) != 200 || runs.Known != 1000 || runs.Changed[0].Number != 1000 {
		t.Errorf("%d runs of %d, from %d on", len(runs.Changed), runs.Known, runs.Changed[0].Number)
	}
	if journal := decode[struct{ Entries []any }](t, all["journal"]); len(journal.Entries) != 200 {
		t.Errorf("%d requests", len(journal.Entries))
	}
	if timeline := decode[struct{ Checkpoints []any }](t, all["timeline"]); len(timeline.Checkpoints) != 200 {
		t.Errorf("%d checkpoints", len(timeline.Checkpoints))
	}
	before, seen := runs.Changed[199].Number, 200
	for {
		r := d.get(fmt.Sprintf("/__admin/ui/runs?before=%d", before))
		older := decode[struct {
			Runs []struct{ Number int }
		}](t, r.body).Runs
		if len(older) == 0 {
			break
		}
		if older[0].Number != before-1 {
			t.Fatalf("before %d came %d", before, older[0].Number)
		}
		before, seen = older[len(older)-1].Number, seen+len(older)
	}
	if seen != 1000 {
		t.Errorf("%d runs in all", seen)
	}
	if r := d.get("/__admin/ui/runs?before=x"); r.status != http.StatusBadRequest {
		t.Errorf("before x: %d", r.status)
	}
}

// TestUpdatesCut proves that long and torn texts are cut to valid ones, and nested values too.
func TestUpdatesCut(t *testing.T) {
	d := open(t, handler.Options{})
	huge := strings.Repeat(`\ud800é<script>\u202e`, 60_000)
	nested := strings.Repeat("[", 100) + `"` + huge + `"` + strings.Repeat("]", 100)
	r := d.post("/v1/runs", `{"input": "x", "model": `+nested+`, "session_id": {"a": "`+huge+`"}}`)
	id := decode[struct {
		ID string `json:"run_id"`
	}](t, r.body).ID
	d.control("/hermes/runs/"+id+"/events", `{"event": "tool.started", "tool": "`+huge+`"}`)
	for range 30 {
		d.observe(id, `{"status": "waiting_for_approval", "approval": {"command": "`+huge[:1000]+`", "request_id": 7}}`)
	}
	d.observe(id, `{"status": "failed", "error": "`+huge+`"}`)
	w := d.watch(t, "?run="+id)
	total := 0
	for name, text := range w.piece() {
		total += len(text)
		if strings.Contains(text, "<script>") {
			t.Errorf("%s has markup as it is", name)
		}
	}
	if total > 300_000 {
		t.Errorf("%d bytes", total)
	}
}

// TestUpdatesPrivacy proves that nothing that a client sent reaches the page but what is shown publicly.
func TestUpdatesPrivacy(t *testing.T) {
	const secret = "planted-7f3a"
	d := open(t, handler.Options{APIKey: secret + "-api", AdminKey: ""})
	r := d.send(d.request("POST", "/v1/runs?q="+secret, `{"input": "`+secret+`", "instructions": "`+secret+`",
		"conversation_history": [{"role": "user", "content": "`+secret+`"}]}`, map[string]string{
		"Idempotency-Key": secret, "X-Hermes-Session-Key": secret, "Authorization": "Bearer " + secret + "-api", "X-Other": secret}))
	id := decode[struct {
		ID string `json:"run_id"`
	}](t, r.body).ID
	d.observe(id, `{"status": "running"}`)
	steer := d.request("POST", "/v1/runs/"+id+"/steer", `{"input": "`+secret+`"}`, map[string]string{"Authorization": "Bearer " + secret + "-api"})
	if r := d.send(steer); r.status/100 != 2 {
		t.Fatalf("steer: %d %s", r.status, r.body)
	}
	for name, text := range d.watch(t, "?run="+id).piece() {
		if strings.Contains(text, secret) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestUpdatesOfNoRun proves that a run that is not known, and a text that is none, are told as missing.
func TestUpdatesOfNoRun(t *testing.T) {
	d := open(t, handler.Options{})
	for _, id := range []string{"run_00000000000000000000000000000000", "%3Cscript%3E", strings.Repeat("x", 10_000)} {
		got := d.watch(t, "?run="+id).piece()
		if !strings.Contains(got["run"], `"missing":true`) || len(got["run"]) > 500 {
			t.Errorf("%.40s: %s", id, got["run"])
		}
	}
}
