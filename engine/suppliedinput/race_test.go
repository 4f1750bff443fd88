package suppliedinput_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// TestCloseAmongChildren: children on many goroutines, and a close in the middle. What began after the close has not worked, and
// nothing is left behind.
func TestCloseAmongChildren(t *testing.T) {
	before := runtime.NumGoroutine()
	total := int64(0)
	for round := range 6 {
		w := newWorld(t, nil)
		w.put("m", "s")
		scope := w.open(opening())
		root := w.run(scope, "root")
		var closed atomic.Bool
		var worked, refused atomic.Int64
		var all, begun sync.WaitGroup
		for i := range 16 {
			begun.Add(1)
			all.Go(func() {
				session := fmt.Sprint("child ", i)
				child := suppliedinput.Actor{Run: root.Run, Child: session}
				err := w.Child(background, root, session)
				begun.Done()
				for n := 0; err == nil || errors.Is(err, suppliedinput.ErrScopeClosed); n++ {
					late := closed.Load()
					kind := n % 4
					if n > 200 {
						kind = n % 2 // children and sessions have bounds
					}
					switch kind {
					case 0:
						err = w.ModelRequest(background, child, "text")
					case 1:
						err = w.Tool(background, child)
					case 2:
						err = w.Child(background, child, fmt.Sprint(session, " ", n))
					case 3:
						next := fmt.Sprint(session, " rotated ", n)
						if err = w.RotateSession(background, child, next); err == nil {
							child.Child = next
						}
					}
					switch {
					case err == nil && late:
						t.Errorf("a child worked after the close")
					case err == nil:
						worked.Add(1)
					case late:
						refused.Add(1)
						return
					}
				}
				t.Errorf("a child failed: %v", err)
			})
		}
		begun.Wait()
		if round%2 == 0 {
			w.complete(root)
		}
		good(t, w.Close(scope))
		left, err := w.Scope(scope)
		good(t, err)
		closed.Store(true)
		all.Wait()
		s, err := w.Scope(scope)
		if err != nil || !s.Closed || refused.Load() != 16 {
			t.Errorf("closed %t, %v; %d refused", s.Closed, err, refused.Load())
		}
		if !slices.Equal(s.Sessions, left.Sessions) {
			t.Errorf("%d sessions when it was left, %d later", len(left.Sessions), len(s.Sessions))
		}
		total += worked.Load()
		if queued, err := w.Queued(); err != nil || len(queued) != 1-round%2 {
			t.Errorf("queued %v, %v", queued, err)
		}
	}
	if total == 0 {
		t.Error("no child ever worked")
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		runtime.Gosched() // one that has signalled its end may not have ended yet
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

// TestErasureAmongChecks: from the moment that an erasure has returned, no check succeeds.
func TestErasureAmongChecks(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	root := w.run(scope, "root")
	var erased atomic.Bool
	var all, begun sync.WaitGroup
	for range 8 {
		begun.Add(1)
		all.Go(func() {
			good(t, w.Tool(background, root))
			begun.Done()
			for {
				late := erased.Load()
				err := w.Tool(background, root)
				if err == nil && late {
					t.Error("a check succeeded after the erasure")
				}
				if err != nil {
					blocked(t, err, suppliedinput.Erased)
					return
				}
			}
		})
	}
	begun.Wait()
	w.erase("s")
	erased.Store(true)
	all.Wait()
	w.failed(scope, suppliedinput.Erased, true, false)
}

// TestRunsThatActBeforeTheyAreAttached: what a run does as soon as it is admitted waits for its scope.
func TestRunsThatActBeforeTheyAreAttached(t *testing.T) {
	for name, act := range map[string]func(w *world, run engine.RunID) error{
		"completion": func(w *world, run engine.RunID) error {
			return w.Complete(background, suppliedinput.Actor{Run: run}, "output", func() error { return w.gateway.Settle(run) })
		},
		"tool": func(w *world, run engine.RunID) error { return w.Tool(background, suppliedinput.Actor{Run: run}) },
		"participant": func(w *world, run engine.RunID) error {
			return w.SetParticipant(run, suppliedinput.Participant{ContactID: "anna"})
		},
		"scope": func(w *world, run engine.RunID) error {
			_, err := w.Execution(run)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.put("m", "s")
			scope := w.open(opening())
			run, end := w.submitting(scope)
			begun, done := make(chan struct{}), make(chan error)
			go func() {
				close(begun)
				done <- act(w, run)
			}()
			<-begun
			for range 100 {
				runtime.Gosched() // it would be done by now
			}
			select {
			case err := <-done:
				t.Fatalf("it did not wait: %v", err)
			default:
			}
			good(t, w.Attach(scope, run, "root"))
			end()
			good(t, <-done)
			if s, err := w.Scope(scope); err != nil || s.Failure != nil || (name == "completion") != (s.Result != nil) || (name == "tool") != (s.Admitted && s.Result == nil) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// TestForgetWaitsForSubmissions proves that a run which a checkout takes back while its submission is under way does not keep a
// scope, which a later run with the same id would have.
func TestForgetWaitsForSubmissions(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	run, end := w.submitting(scope)
	w.gateway.Forget(run)
	forgotten := make(chan struct{})
	go func() {
		defer close(forgotten)
		w.Forget()
	}()
	for range 1000 {
		runtime.Gosched() // so that it would be done if it did not wait
	}
	if err := w.Attach(scope, run, "root"); err != nil {
		t.Fatal(err)
	}
	end()
	<-forgotten
	if x, err := w.Execution(run); !errors.Is(err, suppliedinput.ErrNoScope) || w.Scopes()[0].Tasks != 0 {
		t.Errorf("the run that there is not has scope %q, error %v", x.Scope.ID, err)
	}
}
