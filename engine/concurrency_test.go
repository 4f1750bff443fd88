package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestOneKeyAdmitsOneRun submits the same from many goroutines at once.
func TestOneKeyAdmitsOneRun(t *testing.T) {
	const clients, keys = 32, 50
	n := open(t, Config{})
	for k := range keys {
		var wg sync.WaitGroup
		admissions := make([]Admission, clients)
		for i := range clients {
			wg.Go(func() {
				var err error
				if admissions[i], err = n.Submit(Submission{Key: fmt.Sprint("k", k)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		admitted := 0
		for _, a := range admissions {
			if a.Run.ID() != admissions[0].Run.ID() {
				t.Errorf("key %d: %v and %v", k, a.Run.ID(), admissions[0].Run.ID())
			}
			if !a.Replayed {
				admitted++
			}
		}
		if admitted != 1 {
			t.Errorf("key %d admitted %d runs", k, admitted)
		}
	}
	if got := n.Counts(); got.Admitted != keys || got.Active != keys || got.Durable != keys {
		t.Errorf("%+v", got)
	}
	consistent(t, n)
}

// TestCapacityHolds submits more than fits from many goroutines at once.
func TestCapacityHolds(t *testing.T) {
	const limit = 7
	n := open(t, Config{Gateway: Gateway{MaxConcurrentRuns: limit}})
	for round := range 50 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var admitted []RunID
		for i := range 32 {
			wg.Go(func() {
				key := ""
				if i%2 == 0 {
					key = fmt.Sprint(round, i)
				}
				a, err := n.Submit(Submission{Key: key})
				if err != nil {
					if !errors.Is(err, AtCapacity) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				defer mu.Unlock()
				admitted = append(admitted, a.Run.ID())
			})
		}
		wg.Wait()
		if got := n.Counts(); len(admitted) != limit || got.Active != limit {
			t.Fatalf("%d admitted, %+v", len(admitted), got)
		}
		for _, id := range admitted {
			wg.Go(func() { n.Observe(id, Observation{Status: Completed}) })
		}
		wg.Wait()
	}
	consistent(t, n)
}

// consistent fails the test where the namespace's parts do not agree. Nothing may run meanwhile.
func consistent(t *testing.T, n *Namespace) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.world
	type entry struct {
		at int64
		id RunID
	}
	contents := func(s *schedule) map[entry]bool {
		all := map[entry]bool{}
		for ; s != nil; s = s.take() {
			all[entry{s.at, s.id}] = true
		}
		return all
	}
	settled, rows, queues := contents(w.settled), contents(w.rows), contents(w.queues)
	cached, durable, active := 0, 0, 0
	for it := w.records.Iterator(); !it.Done(); {
		id, rec, _ := it.Next()
		if rec.run == nil && rec.row == nil {
			t.Errorf("%v: a record of nothing", id)
		}
		if rec.run != nil {
			cached++
			if rec.run.active {
				active++
			}
			if rec.run.active && rec.run.status.Terminal() {
				t.Errorf("%v is active and %v", id, rec.run.status)
			}
			if sweepable(rec.run.status) && !settled[entry{rec.run.updated, id}] {
				t.Errorf("%v will never be swept", id)
			}
		}
		if rec.row != nil {
			durable++
			if owner, ok := n.keys[rec.row.key]; !ok || owner != id {
				t.Errorf("%v has a row, and its key is that of %v", id, owner)
			}
			if rec.row.run.status.Terminal() && !rows[entry{rec.row.updated, id}] {
				t.Errorf("the row of %v will never be pruned", id)
			}
		}
		if rec.queue != nil {
			if n.lines[id] == nil && !n.closed && !queues[entry{rec.observation().created, id}] {
				t.Errorf("the queue of %v will never be swept", id)
			}
			if n.lines[id] != nil && rec.queue.length > 0 {
				t.Errorf("%v has a line and a backlog", id)
			}
		}
	}
	if cached != w.cached || durable != w.durable || active != w.active || len(n.keys) != durable {
		t.Errorf("counted %d cached, %d durable, %d active, %d keys; kept %d, %d, %d",
			cached, durable, active, len(n.keys), w.cached, w.durable, w.active)
	}
	inLine := map[*Subscription]bool{}
	for id, l := range n.lines {
		if rec := w.record(id); rec == nil || rec.queue == nil || len(l.waiting) == 0 {
			t.Errorf("%v has a line of %d and no queue", id, len(l.waiting))
		}
		for _, s := range l.waiting {
			inLine[s] = true
			if !s.queued || s.err != nil || s.run != id {
				t.Errorf("%v: %+v is in line", id, s)
			}
		}
	}
	for s := range n.streams {
		if s.gone || s.err != nil || s.alarm.place == 0 || s.queued != inLine[s] {
			t.Errorf("%+v is an open stream", s)
		}
	}
	for i, s := range n.alarms {
		if _, open := n.streams[s]; s.alarm.place != i+1 || !open && !inLine[s] {
			t.Errorf("alarm %d: %+v", i, s)
		}
		if parent := (i - 1) / 2; i > 0 && n.alarms.Less(i, parent) {
			t.Errorf("alarm %d is before %d", i, parent)
		}
	}
}

// chaos does something at random to a namespace.
type chaos struct {
	t   *testing.T
	n   *Namespace
	rng *rand.Rand
}

func (c *chaos) any() RunID {
	runs := c.n.Counts().Admitted
	if runs == 0 {
		return RunID{}
	}
	return mint(c.n.engine.config.Seed, c.n.name, uint64(1+c.rng.IntN(runs)))
}

// tolerable fails the test on errors that no race explains.
func (c *chaos) tolerable(err error) {
	var reason Reason
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, ErrStreamLost), errors.Is(err, context.Canceled):
	case !errors.As(err, &reason):
		c.t.Errorf("%v", err)
	}
}

func (c *chaos) step() {
	n, id := c.n, c.any()
	var err error
	switch c.rng.IntN(24) {
	case 0, 1, 2:
		_, err = n.Submit(Submission{})
	case 3, 4, 5:
		_, err = n.Submit(Submission{Key: fmt.Sprint(c.rng.IntN(40)), Fingerprint: [32]byte{byte(c.rng.IntN(2))}})
	case 6:
		_, err = n.Run(id)
	case 7:
		_, _, err = n.Stop(id)
	case 8, 9:
		_, err = n.Observe(id, Observation{Status: Status(c.rng.IntN(8))})
	case 10:
		_, err = n.Ask(id, object("request_id", fmt.Sprint(c.rng.IntN(3))))
	case 11:
		_, err = n.Approve(id, Answer{Choice: Once, All: c.rng.IntN(2) == 0})
	case 12:
		err = n.Steer(id, "x")
	case 13, 14, 15:
		_, err = n.EmitDelta(id, "text")
	case 16:
		_, err = n.Emit(id, Event{Name: "tool.started"})
	case 17, 18, 19:
		var s *Subscription
		if s, err = n.Subscribe(id); err == nil {
			defer s.Leave()
			_, err = given(s)
			c.tolerable(err)
			if c.rng.IntN(2) == 0 {
				return
			}
			ctx, cancel := context.WithTimeout(c.t.Context(), time.Duration(c.rng.IntN(int(time.Minute))))
			defer cancel()
			if _, err = s.Next(ctx); errors.Is(err, context.DeadlineExceeded) {
				err = nil
			}
		}
	case 20:
		_, err = n.Sweep()
	case 21:
		_, err = n.Inspect(id)
		n.Runs()
	case 22:
		moves := []ClockChange{{Advance: time.Duration(c.rng.IntN(int(10 * time.Minute)))}, {Set: time.Unix(0, start)}, {Advance: 2 * time.Hour}}
		_, err = n.ChangeClock(moves[c.rng.IntN(len(moves))])
	case 23:
		switch c.rng.IntN(8) {
		case 0:
			err = n.Reset()
		case 1, 2:
			_, _, err = n.Restart(Owner(c.rng.IntN(2)))
		}
	}
	c.tolerable(err)
}

// TestChaos has many goroutines do everything at once, and Close in the middle of some rounds. Afterwards the parts
// of the namespace agree, and no goroutine is left, which the bubble sees to.
func TestChaos(t *testing.T) {
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			frozen := seed%2 == 0
			n := open(t, Config{Seed: seed, QueueBytes: 5000, Gateway: Gateway{MaxConcurrentRuns: 20}})
			if _, err := n.ChangeClock(ClockChange{Freeze: &frozen}); err != nil {
				t.Fatal(err)
			}
			const goroutines, steps = 12, 150
			var wg sync.WaitGroup
			for i := range uint64(goroutines) {
				c := &chaos{t, n, rand.New(rand.NewPCG(seed, i))}
				wg.Go(func() {
					for range steps {
						c.step()
					}
				})
			}
			for i := range uint64(4) { // executors of whatever is admitted
				rng := rand.New(rand.NewPCG(seed, 100+i))
				wg.Go(func() {
					for number := uint64(1); number < 100; number++ {
						wait, cancel := context.WithTimeout(t.Context(), time.Hour)
						err := n.AwaitAdmission(wait, func(a Admissions) bool { return a.Last >= number })
						cancel()
						if err != nil {
							return
						}
						id := mint(seed, n.name, number)
						ctx, tell := context.WithCancelCause(t.Context())
						x := n.Execute(id, tell)
						n.Observe(id, Observation{Status: Running})
						limit, cancel := context.WithTimeout(ctx, time.Hour)
						n.Sleep(limit, x, time.Duration(rng.IntN(int(time.Minute))))
						if rng.IntN(2) == 0 {
							n.AwaitRun(limit, x, id, func(in Inspection) (bool, error) { return in.Run.Status() != Running, nil })
						}
						n.Observe(id, Observation{Status: Completed})
						cancel()
						x.Done()
						tell(nil)
					}
				})
			}
			if seed%3 == 2 {
				time.Sleep(5 * time.Second)
				n.engine.Close()
			}
			wg.Wait()
			consistent(t, n)
			atRest(t, n)
			n.engine.Close()
			if got := n.Counts(); got.Streams != 0 || len(n.alarms) != 0 || len(n.lines) != 0 {
				t.Errorf("after Close: %+v, %d alarms, %d lines", got, len(n.alarms), len(n.lines))
			}
		})
	}
}
