package faults_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

func TestSubmitAcceptedDrop(t *testing.T) {
	eachDoor(t, func(d *door) {
		known := d.submit("known")
		d.inject(faults.SubmitAcceptedDrop())

		// Neither a replay nor a rejection uses the fault up.
		d.wantStatus(d.send("POST", "/v1/runs", "known", `{"input": "x"}`), 202, known.ID(), `"replayed": true`)
		d.wantJournal(hermesfake.RunCreate, 202, "", false)
		d.wantStatus(d.send("POST", "/v1/runs", "known", `{"input": "y"}`), 409)
		d.wantStatus(d.send("POST", "/v1/runs", "", `{}`), 400)
		d.wantUsed(0, 0, 1)

		d.wantReset(d.send("POST", "/v1/runs", "k", `{"input": "x"}`))
		d.wantJournal(hermesfake.RunCreate, 0, "fault-1", true)
		d.wantUsed(0, 1, 0)
		runs := d.fake.Runs()
		if len(runs) != 2 || runs.Last().Status() != hermesfake.Queued {
			d.Fatalf("runs: %v", runs)
		}
		if e := d.fake.Requests().Last(); e.RunID != runs.Last().ID() {
			d.Errorf("the journal names run %q, want %s", e.RunID, runs.Last().ID())
		}

		// The retry finds the run, and the next new one is told of.
		d.wantStatus(d.send("POST", "/v1/runs", "k", `{"input": "x"}`), 202, runs.Last().ID(), `"replayed": true`)
		d.wantJournal(hermesfake.RunCreate, 202, "", false)
		d.submit("next")
		if n := len(d.fake.Runs()); n != 3 {
			d.Errorf("%d runs, want 3", n)
		}
	})
}

func TestSubmitDrop(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.inject(faults.SubmitDrop())
		d.wantReset(d.send("POST", "/v1/runs", "k", `{"input": "x"}`))
		d.wantJournal(hermesfake.RunCreate, 0, "fault-1", false)
		d.wantUsed(0, 1, 0)
		if n := len(d.fake.Runs()); n != 0 {
			d.Errorf("%d runs were admitted", n)
		}
		d.wantStatus(d.send("POST", "/v1/runs", "k", `{"input": "x"}`), 202, `"replayed": false`)
	})
}

// A body that is still on its way when the connection drops is no other error.
func TestSubmitDropOfLargeBody(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.inject(faults.SubmitDrop())
		d.wantReset(d.send("POST", "/v1/runs", "", `{"input": "`+strings.Repeat("x", 9_000_000)+`"}`))
	})
}

func TestSubmitReplyTruncated(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.submit("known")
		d.inject(faults.SubmitReplyTruncated())
		d.wantStatus(d.send("POST", "/v1/runs", "known", `{"input": "x"}`), 202, `"replayed": true`)

		r := d.send("POST", "/v1/runs", "k", `{"input": "x"}`)
		whole := `{"run_id": "` + d.fake.Runs().Last().ID() + `", "status": "started", "replayed": false}`
		if r.status != 202 || !errors.Is(r.err, io.ErrUnexpectedEOF) || r.body != whole[:len(whole)/2] {
			d.Errorf("got %+v, want half of %s", r, whole)
		}
		d.wantJournal(hermesfake.RunCreate, 202, "fault-1", true)
		d.wantUsed(0, 1, 0)
		d.wantStatus(d.send("POST", "/v1/runs", "k", `{"input": "x"}`), 202, d.fake.Runs().Last().ID(), `"replayed": true`)
	})
}

func TestStopAcceptedDrop(t *testing.T) {
	eachDoor(t, func(d *door) {
		run, settled := d.submit(""), d.submit("")
		run.Start()
		settled.Complete("done")
		d.inject(faults.StopAcceptedDrop())
		d.wantStatus(d.send("POST", "/v1/runs/"+settled.ID()+"/stop", "", ""), 200, "completed")
		d.wantStatus(d.send("POST", "/v1/runs/run_00000000000000000000000000000000/stop", "", ""), 404)
		d.wantUsed(0, 0, 1)

		d.wantReset(d.send("POST", "/v1/runs/"+run.ID()+"/stop", "", ""))
		d.wantJournal(hermesfake.RunStop, 0, "fault-1", true)
		d.wantUsed(0, 1, 0)
		if s := run.Status(); s != hermesfake.Stopping {
			d.Errorf("the run is %s", s)
		}
		d.wantStatus(d.get("/v1/runs/"+run.ID()), 200, `"status": "stopping"`)
	})
}

func TestApprovalAcceptedDrop(t *testing.T) {
	eachDoor(t, func(d *door) {
		run := d.submit("")
		run.Start()
		run.RequestApproval(hermesfake.Approval{Command: "make"})
		d.inject(faults.ApprovalAcceptedDrop())
		path := "/v1/runs/" + run.ID() + "/approval"
		d.wantStatus(d.send("POST", path, "", `{"choice": "perhaps"}`), 400)
		d.wantUsed(0, 0, 1)

		d.wantReset(d.send("POST", path, "", `{"choice": "once"}`))
		d.wantJournal(hermesfake.RunApproval, 0, "fault-1", true)
		d.wantUsed(0, 1, 0)
		in, err := run.Snapshot()
		if err != nil || len(in.Pending) != 0 || len(in.Decisions) != 1 || in.Decisions[0].Choice != hermesfake.Once {
			d.Errorf("the answer did not take effect: %+v %v", in, err)
		}
		d.wantStatus(d.send("POST", path, "", `{"choice": "once"}`), 409)
	})
}

func TestSteerAcceptedDrop(t *testing.T) {
	eachDoor(t, func(d *door) {
		run := d.submit("")
		path := "/v1/runs/" + run.ID() + "/steer"
		d.inject(faults.SteerAcceptedDrop())
		d.wantStatus(d.send("POST", path, "", `{"input": "left"}`), 409)
		d.wantUsed(0, 0, 1)
		run.Start()

		d.wantReset(d.send("POST", path, "", `{"input": "left"}`))
		d.wantJournal(hermesfake.RunSteer, 0, "fault-1", true)
		d.wantUsed(0, 1, 0)
		in, err := run.Snapshot()
		if err != nil || len(in.Steers) != 1 || in.Steers[0] != "left" {
			d.Errorf("steers: %v %v", in.Steers, err)
		}
		d.wantStatus(d.send("POST", path, "", `{"input": "right"}`), 200)
	})
}

func TestPollTimeout(t *testing.T) {
	eachDoor(t, func(d *door) {
		run := d.submit("")
		d.inject(faults.PollTimeout())
		ctx, cancel := context.WithTimeout(d.Context(), 30*time.Millisecond)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, "GET", d.base+"/v1/runs/"+run.ID(), nil)
		got := d.do(r)
		if !errors.Is(got.err, context.DeadlineExceeded) {
			d.Errorf("got %+v, want the deadline", got)
		}
		d.wantUsed(0, 1, 0)
		d.wantStatus(d.get("/v1/runs/"+run.ID()), 200, "queued")
		d.settle()
		polls := d.fake.Requests().ByOperation(hermesfake.RunGet)
		if len(polls) != 2 {
			d.Fatalf("%d polls in the journal, want 2", len(polls))
		}
		// Over a socket the server notices that the client has gone at some time later.
		for _, e := range polls {
			if e.FaultID == "fault-1" && (e.Status != 0 || e.Duration > 900*time.Millisecond) {
				d.Errorf("the late poll got status %d after %s", e.Status, e.Duration)
			}
		}
	})
}

// Throttled and Draining answer what the provider answers in such a state, to the byte.
func TestThrottledAndDraining(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   faults.Rule
		status int
		real   func(*door)
	}{
		{"throttled", faults.Throttled(), 429, func(d *door) {
			for range 10 {
				d.submit("")
			}
		}},
		{"draining", faults.Draining(), 503, func(d *door) { d.fake.SetDraining(true) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachDoor(t, func(d *door) {
				d.fake.Freeze()
				d.inject(c.rule)
				canned := d.send("POST", "/v1/runs", "k", `{"input": "x"}`)
				d.wantStatus(canned, c.status)
				d.wantJournal(hermesfake.RunCreate, c.status, "fault-1", false)
				d.wantUsed(0, 1, 0)
				if n := len(d.fake.Runs()); n != 0 {
					d.Errorf("%d runs were admitted", n)
				}
				d.submit("k")
				d.fake.Reset()

				c.real(d)
				real := d.send("POST", "/v1/runs", "k2", `{"input": "x"}`)
				if canned.body != real.body {
					d.Errorf("the fault says %s\nthe provider %s", canned.body, real.body)
				}
				for _, names := range []http.Header{canned.header, real.header} {
					for name := range names {
						if canned.header.Get(name) != real.header.Get(name) {
							d.Errorf("%s is %q, the provider's %q", name, canned.header.Get(name), real.header.Get(name))
						}
					}
				}
			})
		})
	}
}

func TestBadGateway(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.inject(faults.BadGateway())
		r := d.get("/v1/models")
		d.wantStatus(r, 502, "<h1>502 Bad Gateway</h1>")
		if typ := r.header.Get("Content-Type"); typ != "text/html" {
			d.Errorf("Content-Type %q", typ)
		}
		if r.header.Get("X-Frame-Options") != "" {
			d.Error("a proxy's reply has the provider's security headers")
		}
		d.wantJournal(hermesfake.Models, 502, "fault-1", false)
		d.wantUsed(0, 1, 0)
		d.wantStatus(d.get("/v1/models"), 200)
	})
}

func TestConnectionRefused(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.inject(faults.ConnectionRefused(2))
		want := syscall.ECONNREFUSED
		if d.socket {
			want = syscall.ECONNRESET // it was accepted already
		}
		for i, path := range []string{"/health", "/v1/models"} {
			if r := d.get(path); !errors.Is(r.err, want) {
				d.Errorf("got %+v, want %v", r, want)
			}
			d.wantUsed(0, i+1, 1-i)
		}
		d.wantJournal(hermesfake.Models, 0, "fault-1", false)
		d.wantStatus(d.get("/health"), 200)

		// The control plane stays in reach.
		d.inject(faults.ConnectionRefused(0))
		d.wantStatus(d.get("/__admin/health"), 200)
	})
}

func TestSlowBody(t *testing.T) {
	eachDoor(t, func(d *door) {
		whole := d.get("/health").body
		d.inject(faults.SlowBody(10 * len(whole)))
		began := time.Now()
		r := d.get("/health")
		if took := time.Since(began); took < 90*time.Millisecond {
			d.Errorf("took %s, want 100ms", took)
		}
		d.wantStatus(r, 200)
		if r.body != whole || r.length != int64(len(whole)) {
			d.Errorf("got %s of %d bytes", r.body, r.length)
		}
		d.wantJournal(hermesfake.Health, 200, "fault-1", false)
		d.wantUsed(0, 1, 0)
	})
}

func TestEventsCut(t *testing.T) {
	eachDoor(t, func(d *door) {
		run := d.submit("")
		run.Start()
		run.Delta("one")
		d.inject(faults.EventsCut(2))
		// What is no event stream does not use it up.
		d.wantStatus(d.get("/v1/runs/run_00000000000000000000000000000000/events"), 404)
		d.wantUsed(0, 0, 1)

		res := d.events(run)
		run.Delta("two")
		run.Delta("three")
		body, err := io.ReadAll(res.Body)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			d.Errorf("the stream ended with %v", err)
		}
		if n := strings.Count(string(body), "data: "); n != 2 || !strings.HasSuffix(string(body), "\n\n") ||
			!strings.Contains(string(body), `"delta": "two"`) {
			d.Errorf("got %d events: %s", n, body)
		}
		d.wantJournal(hermesfake.RunEvents, 200, "fault-1", false)
		d.wantUsed(0, 1, 0)

		// To the gateway the client has gone, and its place in line stays until
		// something is due there (vectors: live.json).
		in, _ := run.Snapshot()
		if len(in.Subscribers) != 1 || !in.Subscribers[0].Gone {
			d.Errorf("subscribers: %+v", in.Subscribers)
		}
		run.Complete("done")
		d.wantStatus(d.get("/v1/runs/"+run.ID()+"/events"), 404)
		d.wantStatus(d.get("/v1/runs/"+run.ID()), 200, `"status": "completed"`)
	})
}

// The terminal event never arrives, however many events may.
func TestEventsCutBeforeTerminalEvent(t *testing.T) {
	eachDoor(t, func(d *door) {
		for _, after := range []int{0, 5} {
			run := d.submit("")
			run.Delta("one")
			run.Complete("done")
			d.inject(faults.EventsCut(after))
			body, err := io.ReadAll(d.events(run).Body)
			if n := strings.Count(string(body), "data: "); n != min(after, 1) || !errors.Is(err, io.ErrUnexpectedEOF) {
				d.Errorf("after %d: got %q, %v", after, body, err)
			}
		}
	})
}

func TestEventsNoTerminal(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.inject(faults.EventsNoTerminal())
		run := d.submit("")
		run.Delta("one")
		run.Complete("done")
		body, err := io.ReadAll(d.events(run).Body)
		if err != nil {
			d.Error(err)
		}
		if got := string(body); strings.Count(got, "data: ") != 1 || strings.Contains(got, "run.completed") ||
			!strings.HasSuffix(got, ": stream closed\n\n") {
			d.Errorf("got %s", got)
		}
		d.wantJournal(hermesfake.RunEvents, 200, "fault-1", false)
		d.wantUsed(0, 1, 0)
		d.wantStatus(d.get("/v1/runs/"+run.ID()), 200, `"status": "completed"`)
	})
}

func TestEventsStall(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.fake.Freeze()
		d.inject(faults.EventsStall())
		run := d.submit("")
		run.Delta("before")
		res := d.events(run)
		run.Delta("lost")
		d.fake.Advance(30 * time.Second)
		got := make([]byte, len(": keepalive\n\n"))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != ": keepalive\n\n" {
			d.Errorf("got %q, %v", got, err)
		}
		d.wantJournal(hermesfake.RunEvents, 200, "fault-1", false)
		d.wantUsed(0, 1, 0)

		// The run goes on without its client.
		run.Complete("done")
		d.wantStatus(d.get("/v1/runs/"+run.ID()), 200, `"status": "completed"`)
	})
}

func TestEventsSplitFrames(t *testing.T) {
	eachDoor(t, func(d *door) {
		play := func() string {
			run := d.submit("")
			run.Delta("é\u2028")
			run.Complete("ü")
			body, err := io.ReadAll(d.events(run).Body)
			if err != nil {
				d.Error(err)
			}
			return strings.ReplaceAll(string(body), run.ID(), "ID")
		}
		d.fake.Freeze()
		whole := play()
		d.inject(faults.EventsSplitFrames())
		began := time.Now()
		if split := play(); split != whole {
			d.Errorf("got %q\nwant %q", split, whole)
		}
		// On a connection the fragments are a millisecond apart.
		if took := time.Since(began); d.socket && took < 8*time.Millisecond {
			d.Errorf("took %s", took)
		}
		d.wantJournal(hermesfake.RunEvents, 200, "fault-1", false)
		d.wantUsed(0, 1, 0)
	})
}

// Keepalives are no events.
func TestEventsCutCountsEvents(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.fake.Freeze()
		d.inject(faults.EventsCut(2))
		run := d.submit("")
		res := d.events(run)
		d.fake.Advance(30 * time.Second)
		run.Delta("one")
		run.Delta("two")
		body, err := io.ReadAll(res.Body)
		if got := string(body); !strings.HasPrefix(got, ": keepalive\n\n") || strings.Count(got, "data: ") != 2 || err == nil {
			d.Errorf("got %q, %v", got, err)
		}
	})
}

// A HEAD has no body to slow down.
func TestSlowBodyOfHEAD(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.inject(faults.SlowBody(1))
		if r := d.send("HEAD", "/health", "", ""); r.status != 200 || r.err != nil || r.body != "" || r.length <= 0 {
			d.Errorf("got %+v", r)
		}
	})
}
