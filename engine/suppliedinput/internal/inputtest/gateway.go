// Package inputtest has what tests of supplied input stand on: a gateway of which the test is in charge, and a plain
// model with random walks that judge a Space over any queue.
package inputtest

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// Gateway is a suppliedinput.Gateway whose runs the test admits and settles.
type Gateway struct {
	// Sleeping, if it is not nil, gets how long each sleeper is to sleep, and Wake what its Sleep returns. Without it
	// sleeping moves the clock, and takes no time.
	Sleeping chan time.Duration
	Wake     chan error

	mu     sync.Mutex
	now    time.Time
	runs   []engine.RunID
	active map[engine.RunID]bool
}

// NewGateway returns a gateway without runs.
func NewGateway() *Gateway {
	return &Gateway{now: time.Unix(1_700_000_000, 0).UTC(), active: map[engine.RunID]bool{}}
}

// Now implements suppliedinput.Gateway.
func (g *Gateway) Now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// Sleep implements suppliedinput.Gateway.
func (g *Gateway) Sleep(ctx context.Context, _ *engine.Executor, d time.Duration) error {
	if g.Sleeping != nil {
		g.Sleeping <- d
		select {
		case err := <-g.Wake:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = g.now.Add(d)
	return ctx.Err()
}

// WhileActive implements suppliedinput.Gateway: it is the test that wakes.
func (g *Gateway) WhileActive(ctx context.Context, _ engine.RunID) (context.Context, func()) {
	return ctx, func() {}
}

// Active implements suppliedinput.Gateway.
func (g *Gateway) Active(id engine.RunID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.active[id]
}

// Known implements suppliedinput.Gateway.
func (g *Gateway) Known(id engine.RunID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.active[id]
	return known
}

// ActiveRuns implements suppliedinput.Gateway.
func (g *Gateway) ActiveRuns() (runs []engine.RunID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range g.runs {
		if g.active[id] {
			runs = append(runs, id)
		}
	}
	return runs
}

// Admit begins a run.
func (g *Gateway) Admit() (id engine.RunID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	binary.BigEndian.PutUint64(id[:], uint64(len(g.runs)+1))
	g.runs = append(g.runs, id)
	g.active[id] = true
	return id
}

// Settle ends a run. It fails with engine.RunSettled if it has ended.
func (g *Gateway) Settle(id engine.RunID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.active[id] {
		return engine.RunSettled
	}
	g.active[id] = false
	return nil
}

// Forget makes a run unknown, as a checkout does.
func (g *Gateway) Forget(id engine.RunID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.active, id)
}
