package hermesfake_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// Every accepted mutation makes a checkpoint, to which the whole namespace can go back: here to before the stop.
func ExampleFake_Checkout() {
	hermes := hermesfake.New()
	client := hermes.Client()
	client.Post(hermesfake.BaseURL+"/v1/runs", "", strings.NewReader(`{"input": "hello"}`))
	run := hermes.Runs().Last()
	run.Start()
	before := hermes.Checkpoint()

	client.Post(hermesfake.BaseURL+"/v1/runs/"+run.ID()+"/stop", "", nil)
	run.Complete("won the race")
	fmt.Println(run.Status())

	hermes.Checkout(before)
	fmt.Println(run.Status())
	run.Cancel()
	fmt.Println(run.Status())
	// Output:
	// completed
	// running
	// cancelled
}

// Two branches go on from one checkpoint.
func ExampleFake_Fork() {
	hermes := hermesfake.New()
	hermes.Client().Post(hermesfake.BaseURL+"/v1/runs", "", strings.NewReader(`{"input": "hello"}`))
	run := hermes.Runs().Last()

	hermes.Fork("failing", hermes.Checkpoint())
	run.Complete("done")
	hermes.CheckoutBranch("failing")
	run.Fail("boom")

	fmt.Println(run.Status())
	hermes.CheckoutBranch(hermesfake.MainBranch)
	fmt.Println(run.Status())
	// Output:
	// failed
	// completed
}

// TestCheckoutFromJournal: the journal says where to go back to.
func TestCheckoutFromJournal(t *testing.T) {
	hermes := hermesfake.Start(t)
	body(t, hermes, "POST", "/v1/runs", "a", `{"input": "x"}`)
	body(t, hermes, "POST", "/v1/runs", "a", `{"input": "x"}`)
	body(t, hermes, "POST", "/v1/runs", "b", `{"input": "x"}`)
	requests := hermes.Requests()
	if requests[0].Checkpoint == "" || requests[1].Checkpoint != "" || requests[2].Checkpoint == "" {
		t.Fatalf("%+v", requests)
	}
	if err := hermes.Checkout(requests[0].Checkpoint); err != nil {
		t.Fatal(err)
	}
	if n := len(hermes.Runs()); n != 1 {
		t.Errorf("%d runs", n)
	}
	if at := hermes.Timeline(); at.Head != requests[0].Checkpoint || at.Branch != hermesfake.MainBranch || at.Checkpoints != 2 {
		t.Errorf("%+v", at)
	}
	if n := len(hermes.Requests()); n != 3 {
		t.Errorf("the journal has %d requests", n)
	}
	if err := hermes.Checkout(requests[2].Checkpoint); err != nil || len(hermes.Runs()) != 2 {
		t.Errorf("forward again: %d runs, %v", len(hermes.Runs()), err)
	}
}

// TestTimelineOfNamespaces: each has its own, and takes no checkpoint of another one.
func TestTimelineOfNamespaces(t *testing.T) {
	hermes := hermesfake.Start(t)
	other, err := hermes.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	mine := hermes.Checkpoint()
	body(t, hermes, "POST", "/v1/runs", "", `{"input": "x"}`)
	body(t, other, "POST", "/v1/runs", "", `{"input": "x"}`)
	if err := other.Checkout(mine); !errors.Is(err, hermesfake.ErrOtherNamespace) {
		t.Errorf("%v", err)
	}
	if err := hermes.Checkout(mine); err != nil {
		t.Fatal(err)
	}
	if a, b := len(hermes.Runs()), len(other.Runs()); a != 0 || b != 1 {
		t.Errorf("%d and %d runs", a, b)
	}
	if n := len(other.Checkpoints()); n != 1 {
		t.Errorf("%d checkpoints", n)
	}
}

// TestCheckoutEndsScripts: what played an abandoned world plays no more, and WaitRun sees what is admitted again.
func TestCheckoutEndsScripts(t *testing.T) {
	hermes := hermesfake.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cause := make(chan error, 2)
	hermes.Script(func(ctx context.Context, run *hermesfake.Run) {
		run.Start()
		<-ctx.Done()
		cause <- context.Cause(ctx)
		if err := run.Complete("too late"); err == nil {
			t.Error("a script of an abandoned world has changed the run")
		}
	})
	start := hermes.Checkpoint()
	for range 2 {
		body(t, hermes, "POST", "/v1/runs", "", `{"input": "x"}`)
		run, err := hermes.WaitRun(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.WaitStatus(ctx, hermesfake.Running); err != nil {
			t.Fatal(err)
		}
		if err := hermes.Checkout(start); err != nil {
			t.Fatal(err)
		}
		if err := <-cause; !errors.Is(err, engine.ErrGatewayGone) {
			t.Errorf("the script's context ended with %v", err)
		}
		if n := len(hermes.Runs()); n != 0 {
			t.Errorf("%d runs", n)
		}
	}
}

// TestCheckoutBeforeScript: a submission that a checkout has taken back before its script began plays no run that has its id since.
func TestCheckoutBeforeScript(t *testing.T) {
	hermes := hermesfake.Start(t)
	start := hermes.Checkpoint()
	played, taken := make(chan error, 2), false
	hermes.Script(func(ctx context.Context, run *hermesfake.Run) {
		played <- run.Start()
		<-ctx.Done()
	}, func(hermesfake.Submission) bool {
		if !taken { // the namespace goes back and on while the first submission looks for its script
			taken = true
			if err := hermes.Checkout(start); err != nil {
				t.Error(err)
			}
			body(t, hermes, "POST", "/v1/runs", "", `{"input": "x"}`)
		}
		return true
	})
	body(t, hermes, "POST", "/v1/runs", "", `{"input": "x"}`)
	var failed int
	for range 2 {
		if err := <-played; errors.Is(err, engine.RunNotFound) {
			failed++
		} else if err != nil {
			t.Error(err)
		}
	}
	if failed != 1 {
		t.Errorf("%d of 2 scripts found no run", failed)
	}
}

// TestCheckoutDuringAdvance: a move of the clock that stops where scripts wake is one step for a checkout, which nothing is left of after it.
func TestCheckoutDuringAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hermes := hermesfake.Start(t, hermesfake.WithFrozenClock(start2023))
		start := hermes.Checkpoint()
		done := make(chan error, 1)
		hermes.Script(func(ctx context.Context, run *hermesfake.Run) {
			run.Sleep(ctx, time.Minute)
			go func() { done <- hermes.Checkout(start) }()
			<-ctx.Done()
		})
		body(t, hermes, "POST", "/v1/runs", "", `{"input": "x"}`)
		if err := hermes.Advance(time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if now := hermes.Now(); !now.Equal(start2023) {
			t.Errorf("the clock is at %v, not at that of the checkpoint", now)
		}
	})
}

// TestCheckoutStored: a checkout holds for the next process too, forth and back.
func TestCheckoutStored(t *testing.T) {
	for _, kind := range stores {
		t.Run(kind.name, func(t *testing.T) {
			dir := t.TempDir()
			store := kind.open(t, dir)
			hermes := hermesfake.New(hermesfake.WithStore(store), hermesfake.WithSeed(1))
			body(t, hermes, "POST", "/v1/runs", "kept", `{"input": "x"}`)
			hermes.Runs().Last().Complete("done")
			early := hermes.Checkpoint()
			body(t, hermes, "POST", "/v1/runs", "later", `{"input": "x"}`)
			late := hermes.Checkpoint()
			if err := hermes.Checkout(early); err != nil {
				t.Fatal(err)
			}
			reopen := func() {
				hermes.Close()
				store = kind.reopen(t, store, dir)
				hermes = hermesfake.New(hermesfake.WithStore(store), hermesfake.WithSeed(1))
			}
			reopen()
			if n := len(hermes.Runs()); n != 1 {
				t.Errorf("%d runs", n)
			}
			if got := body(t, hermes, "POST", "/v1/runs", "later", `{"input": "x"}`); !strings.Contains(got, `"replayed": false`) {
				t.Errorf("the later key: %s", got)
			}
			if got := body(t, hermes, "POST", "/v1/runs", "kept", `{"input": "x"}`); !strings.Contains(got, `"completed", "replayed": true`) {
				t.Errorf("the kept key: %s", got)
			}
			if err := hermes.Checkout(late); !errors.Is(err, hermesfake.ErrNoCheckpoint) {
				t.Errorf("a checkpoint of the process before: %v", err)
			}
			hermes.Close()
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCheckoutStoreFails: what the store does not take does not happen.
func TestCheckoutStoreFails(t *testing.T) {
	store := &full{Store: engine.NewMemoryStore()}
	hermes := hermesfake.Start(t, hermesfake.WithStore(store))
	start := hermes.Checkpoint()
	body(t, hermes, "POST", "/v1/runs", "key", `{"input": "x"}`)
	store.full = true
	if err := hermes.Checkout(start); !errors.Is(err, hermesfake.StorageFailed) {
		t.Errorf("%v", err)
	}
	got := body(t, hermes, "POST", "/__admin/branches/main/checkout", "", fmt.Sprintf(`{"checkpoint": %q}`, start))
	if !strings.Contains(got, `"storage_failed"`) {
		t.Errorf("%s", got)
	}
	if n := len(hermes.Runs()); n != 1 {
		t.Errorf("%d runs", n)
	}
	store.full = false
	if err := hermes.Checkout(start); err != nil || len(hermes.Runs()) != 0 {
		t.Errorf("%d runs, %v", len(hermes.Runs()), err)
	}
}

// TestCheckoutUnderLoad: checkouts beside submissions, polls and streams leave the namespace whole.
func TestCheckoutUnderLoad(t *testing.T) {
	store, err := badgerstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	hermes := hermesfake.New(hermesfake.WithStore(store), hermesfake.WithMaxConcurrentRuns(0))
	start := hermes.Checkpoint()
	done := make(chan struct{})
	for w := range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			client := hermes.Client()
			for i := range 100 {
				r, _ := http.NewRequest("POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(`{"input": "x"}`))
				r.Header.Set("Idempotency-Key", fmt.Sprint(w, "-", i%10))
				res, err := client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
				if res.StatusCode != http.StatusAccepted {
					t.Errorf("status %d", res.StatusCode)
				}
				for _, run := range hermes.Runs() {
					run.Delta("x")
					run.Complete("done")
				}
				if i%5 == w {
					if err := hermes.Checkout(start); err != nil {
						t.Error(err)
					}
				}
			}
		}()
	}
	for range 4 {
		<-done
	}
	rows := 0
	for _, run := range hermes.Runs() {
		if in, err := run.Snapshot(); err == nil && in.Row != nil {
			rows++
		}
	}
	hermes.Close()
	again := hermesfake.New(hermesfake.WithStore(store))
	if n := len(again.Runs()); n != rows {
		t.Errorf("the store has %d rows of %d", n, rows)
	}
	again.Close()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// A replay has no checkpoint, and going to it says so.
func TestCheckoutOfNothing(t *testing.T) {
	hermes := hermesfake.Start(t)
	for range 2 {
		keyed := httptest.NewRequest("POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(`{"input": "x"}`))
		keyed.RequestURI = ""
		keyed.Header.Set("Idempotency-Key", "k")
		res, err := hermes.Client().Do(keyed)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	err := hermes.Checkout(hermes.Requests().Last().Checkpoint)
	if !errors.Is(err, hermesfake.ErrNoCheckpoint) || !strings.Contains(err.Error(), "a request changed nothing") {
		t.Errorf("got %v", err)
	}
	if err := hermes.CheckoutBranch(""); !errors.Is(err, hermesfake.ErrNoBranch) {
		t.Errorf("got %v", err)
	}
}
