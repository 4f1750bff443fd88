package hermesfake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
)

// client sends requests by one of the doors.
type client struct {
	*http.Client
	base string
}

// admission is the reply to a submission.
type admission struct {
	status   int
	RunID    string `json:"run_id"`
	Status   string
	Replayed bool
}

func (c client) submit(ctx context.Context, key, body string) (admission, error) {
	var a admission
	r, err := http.NewRequestWithContext(ctx, "POST", c.base+"/v1/runs", strings.NewReader(body))
	if err != nil {
		return a, err
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	res, err := c.Do(r)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	a.status = res.StatusCode
	return a, json.NewDecoder(res.Body).Decode(&a)
}

// fetch sends a request and reads the reply to its end.
func (c client) fetch(ctx context.Context, method, path, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	res, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// TestOneKeyAdmitsOneRun submits the same from 32 goroutines at once, over both doors.
func TestOneKeyAdmitsOneRun(t *testing.T) {
	const clients, keys = 32, 10
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			f := hermesfake.Start(t, hermesfake.WithMaxConcurrentRuns(0))
			d := door.open(t, f)
			c := client{&http.Client{Transport: d.Transport}, d.BaseURL}
			for k := range keys {
				admissions := make([]admission, clients)
				var wg sync.WaitGroup
				for i := range clients {
					wg.Go(func() {
						spelling := fmt.Sprintf(`{%*s"input": "x"}`, i, "")
						var err error
						if admissions[i], err = c.submit(t.Context(), fmt.Sprint("key", k), spelling); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				admitted := 0
				for _, a := range admissions {
					if a.status != http.StatusAccepted || a.RunID != admissions[0].RunID {
						t.Errorf("key %d: %+v and %+v", k, a, admissions[0])
					}
					if !a.Replayed {
						admitted++
					}
				}
				if admitted != 1 {
					t.Errorf("key %d admitted %d runs", k, admitted)
				}
			}
			if got := len(f.Runs()); got != keys {
				t.Errorf("%d runs", got)
			}
		})
	}
}

// user does something at random, as client, test or operator.
type user struct {
	client
	t    *testing.T
	fake *hermesfake.Fake
	rng  *rand.Rand
}

func (u *user) step(ctx context.Context) error {
	runs := u.fake.Runs()
	run := u.fake.Run("run_" + strings.Repeat("0", 32))
	if len(runs) > 0 {
		run = runs[u.rng.IntN(len(runs))]
	}
	path := "/v1/runs/" + run.ID()
	wantJSON := func(_ int, body string, err error) error {
		if err == nil && !json.Valid([]byte(body)) {
			return errors.New("no JSON: " + body)
		}
		return err
	}
	switch u.rng.IntN(22) {
	case 0, 1:
		_, err := u.submit(ctx, "", `{"input": "x"}`)
		return err
	case 2, 3, 4:
		_, err := u.submit(ctx, fmt.Sprint("key", u.rng.IntN(20)), fmt.Sprintf(`{"input": "%d"}`, u.rng.IntN(2)))
		return err
	case 5, 6:
		return wantJSON(u.fetch(ctx, "GET", path, ""))
	case 7:
		return wantJSON(u.fetch(ctx, "POST", path+"/stop", ""))
	case 8:
		return wantJSON(u.fetch(ctx, "POST", path+"/approval", `{"choice": "once", "all": true}`))
	case 9:
		return wantJSON(u.fetch(ctx, "POST", path+"/steer", `{"input": "left"}`))
	case 10, 11:
		return u.follow(ctx, path)
	case 12:
		run.Delta("text")
	case 13:
		run.Start()
	case 14:
		run.RequestApproval(hermesfake.Approval{Command: "rm"})
	case 15:
		run.Complete("done")
	case 16:
		run.Snapshot()
		u.fake.Dump()
		u.fake.Requests()
	case 17:
		u.fake.Sweep()
	case 18:
		u.fake.Advance(time.Duration(u.rng.IntN(int(10 * time.Minute))))
	case 19:
		u.fake.SetTime(start2023.Add(time.Duration(u.rng.IntN(int(time.Hour)))))
	case 20:
		u.fake.Restart(hermesfake.Owner(u.rng.IntN(2)))
	case 21:
		if u.rng.IntN(4) == 0 {
			u.fake.Reset()
		}
	}
	return nil
}

// follow opens an event stream, reads for a while, and goes.
func (u *user) follow(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, _, err := u.fetch(ctx, "GET", path+"/events", "")
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// agent is a script that takes its time.
func agent(ctx context.Context, run *hermesfake.Run) {
	run.Start()
	for i := range 3 {
		if run.Sleep(ctx, time.Minute) != nil {
			break
		}
		run.Delta(fmt.Sprint("step ", i))
	}
	wait, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	run.AskApproval(wait, hermesfake.Approval{Command: "rm"})
	run.Complete("done")
}

// TestEverythingAtOnce has many goroutines do everything at once, with and without scripts, and closes the fake in the
// middle of some rounds. The bubble fails if a goroutine is left.
func TestEverythingAtOnce(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			f := hermesfake.New(hermesfake.WithSeed(seed), hermesfake.WithMaxConcurrentRuns(15), hermesfake.WithFrozenClock(start2023))
			if seed%2 == 0 {
				f.Script(agent)
			}
			const users, steps = 8, 60
			var wg sync.WaitGroup
			for i := range uint64(users) {
				u := &user{client{f.Client(), hermesfake.BaseURL}, t, f, rand.New(rand.NewPCG(seed, i))}
				wg.Go(func() {
					for range steps {
						if err := u.step(t.Context()); err != nil {
							t.Errorf("seed %d: %v", seed, err)
						}
					}
				})
			}
			if seed%3 == 2 {
				time.Sleep(100 * time.Millisecond)
				f.Close()
			}
			wg.Wait()
			active := 0
			for _, run := range f.Runs() {
				in, err := run.Snapshot()
				if err != nil {
					t.Errorf("%s is listed, and not found: %v", run.ID(), err)
					continue
				}
				if in.Cached && in.Run.Active() {
					active++
				}
				if in.Run.Active() && in.Run.Status().Terminal() {
					t.Errorf("active and settled: %s", in.Run.AppendJSON(nil))
				}
			}
			if want := fmt.Sprintf("%d active of at most 15", active); !strings.Contains(f.Dump(), want) {
				t.Errorf("%d active runs, and the dump says\n%s", active, f.Dump())
			}
			f.Close()
		})
	}
}

// TestEverythingAtOnceOverASocket does the same with clients of a listener.
func TestEverythingAtOnceOverASocket(t *testing.T) {
	before := runtime.NumGoroutine()
	f := hermesfake.New(hermesfake.WithMaxConcurrentRuns(15), hermesfake.WithFrozenClock(start2023))
	server := httptest.NewServer(f.Handler())
	transport := &http.Transport{}
	var wg sync.WaitGroup
	for i := range uint64(8) {
		u := &user{client{&http.Client{Transport: transport}, server.URL}, t, f, rand.New(rand.NewPCG(9, i))}
		wg.Go(func() {
			for range 30 {
				// A restart or a reset may break a reply on its way.
				if err := u.step(t.Context()); err != nil && !errors.Is(err, io.EOF) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	f.Close()
	transport.CloseIdleConnections()
	server.Close()
	// Goroutines that were told to end may need a moment.
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// TestCloseInTheMiddle closes a fake under clients that wait for events, sleepers and scripts: all end at once.
func TestCloseInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := hermesfake.New(hermesfake.WithFrozenClock(start2023))
		f.Script(agent)
		c := client{f.Client(), hermesfake.BaseURL}
		var wg sync.WaitGroup
		for range 5 {
			a, err := c.submit(t.Context(), "", `{"input": "x"}`)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				wg.Go(func() {
					if _, _, err := c.fetch(t.Context(), "GET", "/v1/runs/"+a.RunID+"/events", ""); !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Errorf("the stream: %v", err)
					}
				})
			}
			wg.Go(func() {
				if err := f.Run(a.RunID).WaitStop(t.Context()); !errors.Is(err, hermesfake.Closed) {
					t.Errorf("WaitStop: %v", err)
				}
			})
			wg.Go(func() {
				if err := f.Sleep(t.Context(), time.Hour); !errors.Is(err, hermesfake.Closed) {
					t.Errorf("Sleep: %v", err)
				}
			})
		}
		for range 5 {
			if _, err := f.WaitRun(t.Context()); err != nil {
				t.Error(err)
			}
		}
		wg.Go(func() {
			if _, err := f.WaitRun(t.Context()); !errors.Is(err, hermesfake.Closed) {
				t.Errorf("WaitRun: %v", err)
			}
		})
		synctest.Wait()
		began := time.Now()
		f.Close()
		wg.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
		f.Close()
	})
}
