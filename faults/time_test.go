package faults_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// inBubble runs a test with a door in process inside a synctest bubble, where time passes
// only while everything waits.
func inBubble(t *testing.T, test func(*door)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := hermesfake.Start(t)
		test(&door{T: t, fake: fake, client: fake.Client(), base: hermesfake.BaseURL})
	})
}

// took fails the test unless a call takes exactly so long.
func (d *door) took(want time.Duration, call func()) {
	d.Helper()
	began := time.Now()
	call()
	if got := time.Since(began); got != want {
		d.Errorf("took %s, want %s", got, want)
	}
}

func TestDelayAgainstDeadline(t *testing.T) {
	inBubble(t, func(d *door) {
		run := d.submit("")
		d.inject(faults.PollTimeout().Times(3))
		d.client.Timeout = 30 * time.Millisecond
		d.took(30*time.Millisecond, func() {
			if r := d.get("/v1/runs/" + run.ID()); !errors.Is(r.err, context.DeadlineExceeded) {
				d.Errorf("got %+v, want the deadline", r)
			}
		})
		d.wantJournal(hermesfake.RunGet, 0, "fault-1", false)
		if e := d.fake.Requests().Last(); e.Duration != 30*time.Millisecond {
			d.Errorf("the journal has a duration of %s", e.Duration)
		}

		d.client.Timeout = 0
		d.took(time.Second, func() { d.wantStatus(d.get("/v1/runs/"+run.ID()), 200) })
		d.wantJournal(hermesfake.RunGet, 200, "fault-1", false)

		ctx, cancel := context.WithCancel(d.Context())
		time.AfterFunc(7*time.Millisecond, cancel)
		r, _ := http.NewRequestWithContext(ctx, "GET", d.base+"/v1/runs/"+run.ID(), nil)
		d.took(7*time.Millisecond, func() {
			if r := d.do(r); !errors.Is(r.err, context.Canceled) {
				d.Errorf("got %+v, want the cancellation", r)
			}
		})
		d.wantUsed(0, 3, 0)
	})
}

// A submission whose client goes during the delay is never admitted.
func TestDelayedSubmissionOfClientThatWent(t *testing.T) {
	inBubble(t, func(d *door) {
		d.inject(faults.Rule{Operation: hermesfake.RunCreate, Delay: time.Minute})
		d.client.Timeout = time.Second
		if r := d.send("POST", "/v1/runs", "", `{"input": "x"}`); r.err == nil {
			d.Errorf("got %+v", r)
		}
		if n := len(d.fake.Runs()); n != 0 {
			d.Errorf("%d runs", n)
		}
	})
}

// The same over a socket, where the server has to notice that the client has gone.
func TestDelayedSubmissionOfClientThatWentOverSocket(t *testing.T) {
	fake := hermesfake.Start(t)
	server := httptest.NewServer(fake.Handler())
	defer server.Close()
	if err := fake.Inject(faults.Rule{Operation: hermesfake.RunCreate, Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "POST", server.URL+"/v1/runs", strings.NewReader(`{"input": "x"}`))
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	server.Close() // returns when the request is over
	if e := fake.Requests().Last(); e.Status != 0 || e.Accepted || len(fake.Runs()) != 0 {
		t.Errorf("the journal has %+v, and there are %d runs", e, len(fake.Runs()))
	}
}

// Delays take real time, whatever the fake's clock does, and add up.
func TestDelaysAddUp(t *testing.T) {
	inBubble(t, func(d *door) {
		d.fake.Freeze()
		d.inject(
			faults.Rule{ID: "a", Delay: time.Second},
			faults.Rule{ID: "b", Delay: 2 * time.Second, Status: 418},
			faults.Rule{ID: "c", Delay: 4 * time.Second},
		)
		d.took(3*time.Second, func() { d.wantStatus(d.get("/health"), 418) })
		d.wantJournal(hermesfake.Health, 418, "b", false)
		d.wantUsed(0, 1, -1)
		d.wantUsed(2, 0, -1)
	})
}

// A delay with an effect that waits for the operation's reply delays that reply, and no other.
func TestDelayWithAcceptingEffect(t *testing.T) {
	inBubble(t, func(d *door) {
		r := faults.SubmitAcceptedDrop()
		r.Delay = time.Second
		d.inject(r)
		d.took(0, func() { d.wantStatus(d.send("POST", "/v1/runs", "", `{}`), 400) })
		d.took(time.Second, func() { d.wantReset(d.send("POST", "/v1/runs", "", `{"input": "x"}`)) })
		if n := len(d.fake.Runs()); n != 1 {
			d.Errorf("%d runs", n)
		}
	})
}

func TestCloseEndsDelay(t *testing.T) {
	inBubble(t, func(d *door) {
		d.inject(faults.Rule{Delay: time.Hour})
		time.AfterFunc(time.Second, d.fake.Close)
		d.took(time.Second, func() {
			d.wantStatus(d.send("POST", "/v1/runs", "", `{"input": "x"}`), 503)
		})
		d.took(0, func() { d.wantStatus(d.get("/health"), 200) })
	})
}

// A fake from outside of the bubble delays in the bubble's time all the same.
func TestDelayOfFakeFromOutside(t *testing.T) {
	fake := hermesfake.Start(t)
	if err := fake.Inject(faults.Rule{Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		d := &door{T: t, fake: fake, client: fake.Client(), base: hermesfake.BaseURL}
		d.took(time.Hour, func() { d.wantStatus(d.get("/health"), 200) })
	})
}

func TestSlowBodyPace(t *testing.T) {
	inBubble(t, func(d *door) {
		whole := d.get("/v1/capabilities").body
		for _, pace := range []int{1, 7, 100, 1 << 30} {
			d.inject(faults.SlowBody(pace))
			want := time.Duration(0)
			piece := min(len(whole), max(1, pace/20))
			for left := len(whole); left > 0; left -= piece {
				want += time.Duration(min(left, piece)) * time.Second / time.Duration(pace)
			}
			d.took(want, func() {
				if r := d.get("/v1/capabilities"); r.err != nil || r.body != whole {
					d.Errorf("at %d bytes a second: %+v", pace, r)
				}
			})
			if ideal := time.Duration(len(whole)) * time.Second / time.Duration(pace); ideal-want > time.Duration(len(whole)) || want > ideal {
				d.Errorf("%d bytes at %d a second take %s, want %s", len(whole), pace, want, ideal)
			}
		}
	})
}

func TestSlowBodyEnds(t *testing.T) {
	inBubble(t, func(d *door) {
		d.inject(faults.SlowBody(1).Times(0))
		d.client.Timeout = 3500 * time.Millisecond
		d.took(3500*time.Millisecond, func() {
			r := d.get("/health")
			if r.status != 200 || len(r.body) != 3 || !errors.Is(r.err, context.DeadlineExceeded) {
				d.Errorf("got %+v, want 3 bytes and the deadline", r)
			}
		})
		d.client.Timeout = 0
		time.AfterFunc(2500*time.Millisecond, d.fake.Close)
		d.took(2500*time.Millisecond, func() { d.wantStatus(d.get("/health"), 200, "}") })
	})
}

// An event stream trickles as well, and closing its body early ends that.
func TestSlowEvents(t *testing.T) {
	inBubble(t, func(d *door) {
		run := d.submit("")
		run.Delta("one")
		d.inject(faults.SlowBody(10))
		res := d.events(run)
		first := make([]byte, 20)
		d.took(2*time.Second, func() { io.ReadFull(res.Body, first) })
		read := make(chan error)
		go func() {
			_, err := io.ReadAll(res.Body)
			read <- err
		}()
		synctest.Wait()
		d.took(0, func() {
			res.Body.Close()
			if err := <-read; err == nil {
				d.Error("a read of a closed body got to its end")
			}
		})
		if in, _ := run.Snapshot(); len(in.Subscribers) != 1 || !in.Subscribers[0].Gone {
			d.Errorf("subscribers: %+v", in.Subscribers)
		}
	})
}

// A stalled stream stays silent past the end of its run, but for keepalives on the fake's
// clock. It ends with its client, or with the fake.
func TestStallOutlastsRun(t *testing.T) {
	for _, end := range []string{"deadline", "close"} {
		t.Run(end, func(t *testing.T) {
			inBubble(t, func(d *door) {
				d.inject(faults.EventsStall())
				run := d.submit("")
				want := io.ErrUnexpectedEOF
				if end == "deadline" {
					want = context.DeadlineExceeded
					d.client.Timeout = 100 * time.Second
				} else {
					time.AfterFunc(100*time.Second, d.fake.Close)
				}
				res := d.events(run)
				run.Delta("lost")
				run.Complete("done")
				d.took(100*time.Second, func() {
					body, err := io.ReadAll(res.Body)
					if got := string(body); got != strings.Repeat(": keepalive\n\n", 3) || !errors.Is(err, want) {
						d.Errorf("got %q, %v", got, err)
					}
				})
			})
		})
	}
}

// In process each Read returns one fragment.
func TestFragments(t *testing.T) {
	inBubble(t, func(d *door) {
		d.fake.Freeze()
		d.inject(faults.EventsSplitFrames())
		run := d.submit("")
		run.Delta("é\u2028")
		run.Complete("")
		var pieces []string
		piece := make([]byte, 4096)
		res := d.events(run)
		for {
			n, err := res.Body.Read(piece)
			if n > 0 {
				pieces = append(pieces, string(piece[:n]))
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				d.Fatal(err)
			}
		}
		for _, p := range pieces {
			if strings.Contains(p, "\n\n") || strings.Contains(p, "data:") || strings.Contains(p, `\u00e9`) || strings.Contains(p, `\u2028`) {
				d.Errorf("%q is in one piece", p)
			}
		}
		if n := len(pieces); n != 8 {
			d.Errorf("%d pieces: %q", n, pieces)
		}
	})
}

// A client that goes while the head of its event stream is delayed leaves the stream.
func TestDelayedStreamOfClientThatWent(t *testing.T) {
	inBubble(t, func(d *door) {
		r := faults.EventsNoTerminal()
		r.Delay = time.Minute
		d.inject(r)
		run := d.submit("")
		d.client.Timeout = time.Second
		d.took(time.Second, func() {
			if r := d.get("/v1/runs/" + run.ID() + "/events"); !errors.Is(r.err, context.DeadlineExceeded) {
				d.Errorf("got %+v", r)
			}
		})
		d.wantJournal(hermesfake.RunEvents, 0, "fault-1", false)
		if in, _ := run.Snapshot(); len(in.Subscribers) != 1 || !in.Subscribers[0].Gone {
			d.Errorf("subscribers: %+v", in.Subscribers)
		}
	})
}

// failing is a body that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestDelayOfBodyThatFails(t *testing.T) {
	inBubble(t, func(d *door) {
		d.inject(faults.Rule{Delay: time.Second})
		broken := errors.New("broken")
		r, _ := http.NewRequest("POST", d.base+"/v1/runs", failing{broken})
		if r := d.do(r); !errors.Is(r.err, broken) {
			d.Errorf("got %+v", r)
		}
	})
}

// A body that is too large is refused after a delay as without one.
func TestDelayOfBodyThatIsTooLarge(t *testing.T) {
	inBubble(t, func(d *door) {
		d.inject(faults.Rule{Delay: time.Second})
		for _, size := range []int64{-1, 10_000_001} {
			r, _ := http.NewRequest("POST", d.base+"/v1/runs", io.LimitReader(endless{}, 10_000_001))
			r.ContentLength = size
			d.took(time.Second, func() { d.wantStatus(d.do(r), 413) })
		}
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
