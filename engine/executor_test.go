package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// play runs f as an executor of the run, on a goroutine that ends before the bubble does.
func play(n *Namespace, id RunID, f func(ctx context.Context, x *Executor)) {
	ctx, cancel := context.WithCancelCause(context.Background())
	x := n.Execute(id, cancel)
	go func() {
		defer cancel(nil)
		defer x.Done()
		f(ctx, x)
	}()
}

// atRest fails the test if the namespace still keeps a waiter or an executor.
func atRest(t *testing.T, n *Namespace) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy != 0 || len(n.executors) != 0 || len(n.sleepers) != 0 || len(n.clockMoves.waiters) != 0 || len(n.admissions.waiters) != 0 {
		t.Errorf("%d busy, %d executors, %d sleepers, %d and %d waiters",
			n.busy, len(n.executors), len(n.sleepers), len(n.clockMoves.waiters), len(n.admissions.waiters))
	}
	for id, b := range n.transitions {
		if len(b.waiters) != 0 {
			t.Errorf("%d wait for %v", len(b.waiters), id)
		}
	}
}

// TestExecutorsActAtTheirInstants proves that one advance of a frozen clock lets each sleeping executor act when its time has
// come, before the clock goes on, and returns when they have.
func TestExecutorsActAtTheirInstants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Config{})
		var acts []string // guarded by the clock's standing still: only one executor is awake at an instant, but at 30 s
		var mu sync.Mutex
		act := func(name string) {
			mu.Lock()
			defer mu.Unlock()
			acts = append(acts, fmt.Sprintf("%s at %v", name, time.Duration(n.Now().UnixNano()-start)))
		}
		every := func(name string, d time.Duration, times int) {
			play(n, submit(t, n, ""), func(ctx context.Context, x *Executor) {
				for range times {
					n.Sleep(ctx, x, d)
					act(name)
				}
			})
		}
		every("a", 10*time.Second, 3)
		every("b", 15*time.Second, 3)
		every("c", time.Nanosecond, 2)
		synctest.Wait()
		advance(t, n, 35*time.Second)
		slices.Sort(acts[5:7]) // both at 30 s
		want := []string{"c at 1ns", "c at 2ns", "a at 10s", "b at 15s", "a at 20s", "a at 30s", "b at 30s"}
		if !slices.Equal(acts, want) {
			t.Errorf("%v, want %v", acts, want)
		}
		advance(t, n, 10*time.Second)
		if len(acts) != 8 || acts[7] != "b at 45s" {
			t.Errorf("%v", acts)
		}
		synctest.Wait()
		atRest(t, n)
	})
}

// TestExecutorsEmitAtTheirInstants proves the same by the timestamps of a stream, keepalives among them.
func TestExecutorsEmitAtTheirInstants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Config{})
		id := submit(t, n, "")
		s := subscribe(t, n, id)
		play(n, id, func(ctx context.Context, x *Executor) {
			observe(t, n, id, Running)
			for _, d := range []time.Duration{20 * time.Second, 40 * time.Second} {
				n.Sleep(ctx, x, d)
				delta(t, n, id, "x")
			}
			n.Sleep(ctx, x, time.Hour)
			observe(t, n, id, Completed)
		})
		synctest.Wait()
		advance(t, n, 61*time.Minute)
		frame := func(at int) string {
			return fmt.Sprintf(`data: {"event": "message.delta", "run_id": "%v", "timestamp": %d.0, "delta": "x"}`, id, 1_700_000_000+at) + "\n\n"
		}
		want := frame(20) + keepAliveFrame + frame(60)
		for range 119 { // at 90 s and every 30 s on, up to 3630 s
			want += keepAliveFrame
		}
		got, err := given(s)
		if len(got) < len(want) || got[:len(want)] != want || err != nil && len(got) == len(want) {
			t.Fatalf("%d bytes, want %d: %.400q", len(got), len(want), got)
		}
		if in := inspect(t, n, id); in.Run.UpdatedAt().UnixNano() != start+int64(time.Hour+time.Minute) {
			t.Errorf("completed at %v", in.Run.UpdatedAt())
		}
	})
}

// TestSetBackAndForwardWithSleepers proves that a sleeper goes by its instant, whichever way the clock was moved.
func TestSetBackAndForwardWithSleepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Config{})
		woken := false
		play(n, submit(t, n, ""), func(ctx context.Context, x *Executor) {
			n.Sleep(ctx, x, time.Minute)
			woken = true
		})
		synctest.Wait()
		set(t, n, start-int64(time.Hour))
		advance(t, n, time.Hour+59*time.Second)
		synctest.Wait()
		if woken {
			t.Error("woken too early")
		}
		set(t, n, start+int64(time.Minute))
		synctest.Wait()
		if !woken {
			t.Error("not woken")
		}
	})
}

// TestSleep proves when a sleep ends.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Config{})
		for _, d := range []time.Duration{0, -1, -1 << 63} {
			if err := n.Sleep(t.Context(), nil, d); err != nil {
				t.Errorf("%v: %v", d, err)
			}
		}
		// A frozen clock stands still, whatever the system's does.
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if err := n.Sleep(ctx, nil, time.Nanosecond); err != context.DeadlineExceeded {
			t.Errorf("%v", err)
		}
		atRest(t, n)
		// A live one runs, and may be moved meanwhile.
		no := false
		if _, err := n.ChangeClock(ClockChange{Freeze: &no}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ sleep, moved, want time.Duration }{
			{time.Minute, 0, time.Minute},
			{time.Minute, 50 * time.Second, 10 * time.Second},
			{time.Minute, time.Hour, 5 * time.Second},
			{time.Minute, -30 * time.Second, 90 * time.Second},
		} {
			began := time.Now()
			done := make(chan error)
			go func() { done <- n.Sleep(t.Context(), nil, c.sleep) }()
			time.Sleep(5 * time.Second)
			set(t, n, n.Now().UnixNano()+int64(c.moved))
			err := <-done
			if got := time.Since(began); err != nil || got != c.want {
				t.Errorf("%+v: %v %v", c, got, err)
			}
		}
		// Freezing in the middle stops it.
		yes := true
		done := make(chan error, 1)
		go func() { done <- n.Sleep(t.Context(), nil, time.Minute) }()
		time.Sleep(30 * time.Second)
		if _, err := n.ChangeClock(ClockChange{Freeze: &yes}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		select {
		case err := <-done:
			t.Errorf("a frozen clock let a sleeper go: %v", err)
		default:
		}
		advance(t, n, 30*time.Second)
		if err := <-done; err != nil {
			t.Error(err)
		}
		// Close ends it.
		go func() { done <- n.Sleep(t.Context(), nil, time.Minute) }()
		synctest.Wait()
		n.engine.Close()
		if err := <-done; !errors.Is(err, Closed) {
			t.Errorf("%v", err)
		}
		atRest(t, n)
	})
}

// TestAwaitRun proves what a transition is, by who is woken.
func TestAwaitRun(t *testing.T) {
	broken := errors.New("not what was looked for")
	for name, step := range map[string]func(t *testing.T, n *Namespace, id RunID){
		"observe":  func(t *testing.T, n *Namespace, id RunID) { observe(t, n, id, WaitingForApproval) },
		"complete": func(t *testing.T, n *Namespace, id RunID) { observe(t, n, id, Completed) },
		"stop":     func(t *testing.T, n *Namespace, id RunID) { n.Stop(id) },
		"approve":  func(t *testing.T, n *Namespace, id RunID) { n.Approve(id, Answer{Choice: Once}) },
		"steer":    func(t *testing.T, n *Namespace, id RunID) { n.Steer(id, "x") },
		"restart":  func(t *testing.T, n *Namespace, id RunID) { n.Restart(OwnerAlive) },
	} {
		synctest.Test(t, func(t *testing.T) {
			n := open(t, Config{})
			id := submit(t, n, "k")
			observe(t, n, id, Running)
			if _, err := n.Ask(id, object("command", "c")); err != nil {
				t.Fatal(err)
			}
			if name == "steer" {
				observe(t, n, id, Running)
			}
			looks := 0
			done := make(chan error, 1)
			go func() {
				done <- n.AwaitRun(t.Context(), nil, id, func(Inspection) (bool, error) {
					looks++
					return looks == 2, nil
				})
			}()
			synctest.Wait()
			n.Run(id)
			delta(t, n, id, "x")
			advance(t, n, time.Second)
			synctest.Wait()
			if looks != 1 {
				t.Errorf("%s: looked %d times at the beginning", name, looks)
			}
			step(t, n, id)
			synctest.Wait()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			default:
				t.Errorf("%s woke nobody", name)
				n.engine.Close()
				<-done
			}
			atRest(t, n)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Config{})
		id := submit(t, n, "")
		never := func(Inspection) (bool, error) { return false, nil }
		if err := n.AwaitRun(t.Context(), nil, id, func(Inspection) (bool, error) { return false, broken }); err != broken {
			t.Errorf("%v", err)
		}
		if err := n.AwaitRun(t.Context(), nil, RunID{}, never); !errors.Is(err, RunNotFound) {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.AwaitRun(ctx, nil, id, never); err != context.DeadlineExceeded {
			t.Errorf("%v", err)
		}
		done := make(chan error)
		for _, forget := range []func() error{
			n.Reset,
			func() error { _, _, err := n.Restart(OwnerStale); return err },
		} {
			id := submit(t, n, "")
			go func() { done <- n.AwaitRun(t.Context(), nil, id, never) }()
			synctest.Wait()
			if err := forget(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; !errors.Is(err, RunNotFound) {
				t.Errorf("%v", err)
			}
		}
		atRest(t, n)
	})
}

func TestAwaitAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Config{})
		done := make(chan error, 8)
		for i := range uint64(8) {
			go func() { done <- n.AwaitAdmission(t.Context(), func(a Admissions) bool { return a.Last >= i }) }()
		}
		synctest.Wait()
		for i := range 7 {
			if len(done) != i+1 {
				t.Errorf("%d done after %d admissions", len(done), i)
			}
			submit(t, n, "")
			synctest.Wait()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.AwaitAdmission(ctx, func(Admissions) bool { return false }); err != context.DeadlineExceeded {
			t.Errorf("%v", err)
		}
		atRest(t, n)
	})
}

// TestExecutorsAreTold proves why an executor's context ends, and that one which comes too late is told at once.
func TestExecutorsAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(n *Namespace, id RunID)
		want error
	}{
		"stop":      {func(n *Namespace, id RunID) { n.Stop(id) }, ErrStopRequested},
		"completed": {func(n *Namespace, id RunID) { n.Observe(id, Observation{Status: Completed}) }, ErrSettled},
		"restart":   {func(n *Namespace, id RunID) { n.Restart(OwnerAlive) }, ErrGatewayGone},
		"reset":     {func(n *Namespace, id RunID) { n.Reset() }, ErrGatewayGone},
		"close":     {func(n *Namespace, id RunID) { n.engine.Close() }, Closed},
	} {
		n := open(t, Config{})
		id, other := submit(t, n, "k"), submit(t, n, "")
		told := func(id RunID) (context.Context, *Executor) {
			ctx, cancel := context.WithCancelCause(t.Context())
			return ctx, n.Execute(id, cancel)
		}
		first, x := told(id)
		second, y := told(id)
		spared, z := told(other)
		if first.Err() != nil || second.Err() != nil {
			t.Fatalf("%s: told before", name)
		}
		y.Done()
		y.Done()
		c.do(n, id)
		if cause := context.Cause(first); !errors.Is(cause, c.want) {
			t.Errorf("%s: %v", name, cause)
		}
		if second.Err() != nil {
			t.Errorf("%s: one that had ended was told", name)
		}
		if one := name == "stop" || name == "completed"; (spared.Err() == nil) != one {
			t.Errorf("%s: of the other run: %v", name, context.Cause(spared))
		}
		late, w := told(id)
		if cause := context.Cause(late); name != "stop" && !errors.Is(cause, c.want) {
			t.Errorf("%s: a late one: %v", name, cause)
		}
		for _, x := range []*Executor{x, z, w} {
			x.Done()
		}
		atRest(t, n)
	}
}

// TestExecutorThatNeverRests proves that who does not come to rest delays a moved clock by no more than the patience for each
// wait, of which there is one before an advance and one after each instant that an executor sleeps for.
func TestExecutorThatNeverRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Config{})
		stuck := make(chan struct{})
		play(n, submit(t, n, ""), func(context.Context, *Executor) { <-stuck })
		for _, by := range []ClockChange{{Advance: time.Hour}, {Set: time.Unix(0, start)}, {Reset: true}} {
			began := time.Now()
			if _, err := n.ChangeClock(by); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 2*patience {
				t.Errorf("%+v took %v", by, took)
			}
		}
		close(stuck)
		synctest.Wait()
		began := time.Now()
		advance(t, n, time.Hour)
		if took := time.Since(began); took != 0 {
			t.Errorf("with nobody there it took %v", took)
		}
		atRest(t, n)
	})
}

// TestExecutorMovesTheClock proves that an executor that moves the clock itself, be it while another moves it, delays the
// two but stops neither.
func TestExecutorMovesTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Config{})
		began := time.Now()
		play(n, submit(t, n, ""), func(ctx context.Context, x *Executor) {
			n.Sleep(ctx, x, time.Minute)
			n.ChangeClock(ClockChange{Advance: time.Minute})
		})
		synctest.Wait()
		advance(t, n, time.Minute)
		synctest.Wait()
		for n.Now().UnixNano() != start+int64(2*time.Minute) {
			if time.Since(began) > 10*patience {
				t.Fatalf("the clock is at %v", n.Now())
			}
			time.Sleep(patience / 10)
		}
	})
}

// TestClockMovedByMany proves that each of many moves counts, with executors of several namespaces at work.
func TestClockMovedByMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, Config{})
		e := n.engine
		other, err := e.Namespace("other")
		if err != nil {
			t.Fatal(err)
		}
		const steps = 100
		late := 0
		var mu sync.Mutex
		for _, n := range []*Namespace{n, other} {
			play(n, submit(t, n, ""), func(ctx context.Context, x *Executor) {
				for i := range int64(steps) {
					n.Sleep(ctx, x, time.Second)
					if n.Now().UnixNano() != start+(i+1)*1e9 {
						mu.Lock()
						late++
						mu.Unlock()
					}
				}
			})
		}
		synctest.Wait()
		var movers sync.WaitGroup
		for range 10 {
			movers.Go(func() {
				for range steps / 10 {
					if _, err := e.ChangeClock(ClockChange{Advance: 500 * time.Millisecond}); err != nil {
						t.Error(err)
					}
					for _, n := range []*Namespace{n, other} {
						advance(t, n, 500*time.Millisecond)
					}
				}
			})
		}
		movers.Wait()
		synctest.Wait()
		for _, n := range []*Namespace{n, other} {
			if got := n.Now().UnixNano() - start; got != int64(steps*time.Second) {
				t.Errorf("%s moved by %v", n.Name(), time.Duration(got))
			}
			atRest(t, n)
		}
		if late > 0 {
			t.Errorf("%d acts came late", late)
		}
	})
}
