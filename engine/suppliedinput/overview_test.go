package suppliedinput_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hermesfake/hermesfake/engine/suppliedinput"
	"github.com/hermesfake/hermesfake/engine/suppliedinput/internal/inputtest"
)

// overview returns the Space's overview, which must be there.
func (w *world) overview() *suppliedinput.Overview {
	w.t.Helper()
	o, err := w.Overview()
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// TestOverview proves that it has the latest of each, counts all, and is made anew after each change, of which Changed tells.
func TestOverview(t *testing.T) {
	told := 0
	g := inputtest.NewGateway()
	w := &world{suppliedinput.New(suppliedinput.Config{Namespace: "default", Seed: 1, Gateway: g, Changed: func() { told++ }}), t, g}
	last := w.overview()
	changes := func(what string, act func()) {
		t.Helper()
		before := told
		act()
		if told == before {
			t.Errorf("%s: nobody was told", what)
		}
		now := w.overview()
		if now == last {
			t.Errorf("%s: the overview is the former one", what)
		}
		before = told
		if w.overview() != now || told != before {
			t.Errorf("%s: looking is a change", what)
		}
		last = now
	}
	var scope string
	var run suppliedinput.Actor
	changes("put", func() { w.put("m", "s") })
	changes("annotate", func() { w.Annotate("m", "mark") })
	changes("open", func() { scope = w.open(opening()) })
	changes("append", func() { w.Append(scope, "s", "text of s") })
	changes("admit", func() {
		end, err := w.Admit(scope)
		if err != nil {
			t.Fatal(err)
		}
		end()
	})
	changes("attach", func() { run = w.run(scope, "root") })
	changes("participant", func() { w.SetParticipant(run.Run, suppliedinput.Participant{ContactID: "anna"}) })
	changes("script", func() { w.SetVerification(suppliedinput.Verification{Failure: suppliedinput.HTTP503}) })
	changes("clear", func() { w.ClearVerifications("") })
	changes("check", func() { w.Tool(background, run) })
	changes("child", func() { w.Child(background, run, "child") })
	changes("rotate", func() { w.RotateSession(background, run, "rotated") })
	changes("complete", func() { w.complete(run) })
	if x, err := w.Execution(run.Run); err != nil || x.Session != "rotated" || !x.Bound || fmt.Sprint(x.Children) != "[child]" || x.Scope.ID != scope {
		t.Errorf("execution %+v, error %v", x, err)
	}
	changes("revalidate", func() { w.Revalidate(background, *w.result(scope)) })
	changes("revalidate parents", func() { w.RevalidateParents(background, scope) })
	if last.Waiting != 1 || len(last.Queued) != 1 || last.Queued[0].RunID != run.Run.String() {
		t.Errorf("queue %d, %v", last.Waiting, last.Queued)
	}
	changes("deliver", func() { w.Deliver() })
	changes("erase", func() { w.Erase("m") })
	changes("close", func() { w.Close(scope) })
	changes("misuse", func() { w.Result(scope) })
	changes("forget", func() { w.Forget() })
	if last.Known != 1 || last.Open != 0 || last.Recorded != 3 || last.Misused != 1 || last.Misuses[0].Kind != suppliedinput.ResultAfterClose {
		t.Errorf("%+v", last)
	}
	changes("more", func() {
		for i := range 60 {
			w.put(fmt.Sprint("source", i))
			w.open(opening())
			w.SetVerification(suppliedinput.Verification{Failure: suppliedinput.HTTP503, Times: i + 1})
		}
	})
	if len(last.Scopes) != 50 || len(last.Sources) != 50 || len(last.Verifications) != 50 {
		t.Errorf("%d scopes, %d sources, %d verifications", len(last.Scopes), len(last.Sources), len(last.Verifications))
	}
	if last.Known != 61 || last.Open != 60 || last.Recorded != 63 || last.Scripted != 60 {
		t.Errorf("%+v", last)
	}
	all := w.Scopes()
	if last.Scopes[0].ID != all[60].ID || last.Scopes[49].ID != all[11].ID || last.Sources[0].ID != "source59" || last.Sources[49].ID != "source10" ||
		last.Verifications[0].Times != 1 {
		t.Error("they are not the latest ones, the latest first")
	}
	changes("reset", func() { w.Reset() })
	if last.Known != 0 || last.Recorded != 0 || last.Misused != 1 {
		t.Errorf("after a reset: %+v", last)
	}
}

// TestOverviewOfBrokenQueue proves that a queue that fails is told, and not remembered.
func TestOverviewOfBrokenQueue(t *testing.T) {
	queue := suppliedinput.NewMemoryQueue()
	w := newWorld(t, queue)
	queue.Close()
	if _, err := w.Overview(); !errors.Is(err, suppliedinput.ErrQueueClosed) {
		t.Errorf("error %v", err)
	}
}
