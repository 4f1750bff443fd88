package hermesfake_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
	"github.com/hermesfake/hermesfake/internal/vector"
)

// stores are the ways to keep rows. reopen closes a store and opens it as the next process would.
var stores = []struct {
	name   string
	open   func(t *testing.T, dir string) engine.Store
	reopen func(t *testing.T, s engine.Store, dir string) engine.Store
}{
	{
		"memory",
		func(*testing.T, string) engine.Store { return engine.NewMemoryStore() },
		func(_ *testing.T, s engine.Store, _ string) engine.Store { return s },
	},
	{
		"badger",
		func(t *testing.T, dir string) engine.Store { return openBadger(t, dir) },
		func(t *testing.T, s engine.Store, dir string) engine.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openBadger(t, dir)
		},
	},
}

func openBadger(t *testing.T, dir string) engine.Store {
	t.Helper()
	s, err := badgerstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// restarted is a fake over a store, which a restart replaces for real.
type restarted struct {
	fake atomic.Pointer[hermesfake.Fake]
}

func (r *restarted) RoundTrip(request *http.Request) (*http.Response, error) {
	return r.fake.Load().RoundTrip(request)
}

func (r *restarted) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.fake.Load().ServeHTTP(w, request)
}

// TestStoreVectors replays every recorded scenario with each store, where a restart ends the fake, closes the store, opens
// it again and makes a new fake. Its process is the same, and as an owner gone; that an owner lives elsewhere is said by the control
// afterwards.
func TestStoreVectors(t *testing.T) {
	files, err := vector.Load("testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range stores {
		for _, socket := range []bool{false, true} {
			name := store.name + " in process"
			if socket {
				name = store.name + " over a socket"
			}
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				s := store.open(t, dir)
				r := &restarted{}
				r.fake.Store(hermesfake.New(hermesfake.WithStore(s)))
				defer func() {
					r.fake.Load().Close()
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}()
				door := vector.Door{Transport: r, BaseURL: hermesfake.BaseURL, Live: true}
				if socket {
					server := httptest.NewServer(r)
					client := &http.Transport{}
					defer func() {
						client.CloseIdleConnections()
						server.Close()
					}()
					door.Transport, door.BaseURL = client, server.URL
				}
				for _, file := range files {
					for _, scenario := range file.Scenarios {
						t.Run(file.Name+"/"+scenario.Name, func(t *testing.T) {
							namespace := strings.ReplaceAll(scenario.Name, "/", "_")
							d := door
							d.Restart = func(owner string) error {
								r.fake.Load().Close()
								s = store.reopen(t, s, dir)
								next := hermesfake.New(hermesfake.WithStore(s))
								r.fake.Store(next)
								if owner == "stale" {
									return nil
								}
								view, err := next.Namespace(namespace)
								if err == nil {
									view.Restart(hermesfake.OwnerAlive)
								}
								return err
							}
							d.Run(t, scenario, namespace)
						})
					}
				}
			})
		}
	}
}

// TestStoreRestart: keyed runs outlive the fake and its store, in a bubble as anywhere.
func TestStoreRestart(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var run string
		for round := range 2 {
			store := openBadger(t, dir)
			hermes := hermesfake.New(hermesfake.WithStore(store), hermesfake.WithSeed(1))
			got := body(t, hermes, "POST", "/v1/runs", "key", `{"input": "hello"}`)
			if round == 0 {
				run = hermes.Runs().Last().ID()
			} else if want := `{"run_id": "` + run + `", "status": "interrupted", "replayed": true}`; got != want {
				t.Errorf("after the restart: %s, want %s", got, want)
			}
			if got := body(t, hermes, "GET", "/v1/capabilities", "", ""); !strings.Contains(got, `"runs_idempotency": {"supported": true, "durable": true, "retention_seconds": 86400}`) {
				t.Errorf("capabilities %s", got)
			}
			time.Sleep(time.Hour)
			hermes.Close()
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// body is the body of a reply.
func body(t *testing.T, hermes *hermesfake.Fake, method, path, key, content string) string {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(content))
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	hermes.ServeHTTP(w, r)
	return w.Body.String()
}

// full is a store that takes nothing while it is said to be full.
type full struct {
	engine.Store
	full bool
}

var errFull = errors.New("no room")

func (f *full) Apply(namespace string, c engine.Changes) error {
	if f.full {
		return errFull
	}
	return f.Store.Apply(namespace, c)
}

func (f *full) Replace(namespace string, count int, reserved uint64, each func(put func(engine.StoredRow) error) error) error {
	if f.full {
		return errFull
	}
	return f.Store.Replace(namespace, count, reserved, each)
}

func (f *full) Drop(namespace string) error {
	if f.full {
		return errFull
	}
	return f.Store.Drop(namespace)
}

// TestStoreFull: what cannot be stored is a 500, and does not happen.
func TestStoreFull(t *testing.T) {
	store := &full{Store: engine.NewMemoryStore()}
	hermes := hermesfake.Start(t, hermesfake.WithStore(store))
	body(t, hermes, "POST", "/v1/runs", "key", `{"input": "hello"}`)
	run := hermes.Runs().Last()
	store.full = true
	const want = `{"error": {"message": "Mockingbird: no room", "type": "mockingbird_storage", "param": null, "code": "storage_failed"}}`
	for _, request := range []struct{ method, path, key, body string }{
		{"POST", "/v1/runs", "other", `{"input": "hello"}`},
		{"POST", "/v1/runs/" + run.ID() + "/stop", "", ""},
		{"POST", "/__admin/hermes/runs/" + run.ID() + "/observe", "", `{"status": "completed"}`},
		{"POST", "/__admin/reset", "", ""},
	} {
		if got := body(t, hermes, request.method, request.path, request.key, request.body); got != want {
			t.Errorf("%s %s: %s, want %s", request.method, request.path, got, want)
		}
	}
	for what, err := range map[string]error{
		"Complete": run.Complete("done"),
		"Reset":    hermes.Reset(),
	} {
		if !errors.Is(err, hermesfake.StorageFailed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if runs := hermes.Runs(); len(runs) != 1 || run.Status() != hermesfake.Queued {
		t.Errorf("%d runs, the first is %v", len(runs), run.Status())
	}
	store.full = false
	if err := run.Complete("done"); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}

func TestDropNamespace(t *testing.T) {
	hermes := hermesfake.Start(t, hermesfake.WithStore(engine.NewMemoryStore()))
	other, err := hermes.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	body(t, other, "POST", "/v1/runs", "key", `{"input": "hello"}`)
	if err := hermes.DropNamespace("other"); err != nil {
		t.Fatal(err)
	}
	if err := hermes.DropNamespace("default"); !errors.Is(err, hermesfake.ErrNamespace) {
		t.Errorf("the fake's own namespace: %v", err)
	}
	if got := body(t, hermes, "GET", "/__admin/namespaces", "", ""); !strings.Contains(got, `["default"]`) {
		t.Errorf("namespaces %s", got)
	}
	// A request begins it anew, over whichever door.
	if got := body(t, hermes, "POST", "/ns/other/v1/runs", "key", `{"input": "hello"}`); !strings.Contains(got, `"replayed": false`) {
		t.Errorf("the key again: %s", got)
	}
	again, err := hermes.Namespace("other")
	if err != nil || len(again.Runs()) != 1 {
		t.Errorf("%v runs, %v", again, err)
	}
}

// TestStoreInUse: two fakes cannot share a store.
func TestStoreInUse(t *testing.T) {
	store := engine.NewMemoryStore()
	hermes := hermesfake.Start(t, hermesfake.WithStore(store))
	second := hermesfake.Start(t, hermesfake.WithStore(store))
	if got := body(t, second, "POST", "/v1/runs", "", `{"input": "hello"}`); !strings.Contains(got, `Mockingbird: the store is in use by another fake; close that one first`) {
		t.Errorf("the second fake: %s", got)
	}
	if got := body(t, hermes, "POST", "/v1/runs", "", `{"input": "hello"}`); !strings.Contains(got, `"started"`) {
		t.Errorf("the first fake: %s", got)
	}
}

// TestStoreWaitRun: the runs of an earlier fake are no news.
func TestStoreWaitRun(t *testing.T) {
	store := engine.NewMemoryStore()
	hermes := hermesfake.New(hermesfake.WithStore(store), hermesfake.WithSeed(1))
	body(t, hermes, "POST", "/v1/runs", "old", `{"input": "hello"}`)
	old := hermes.Runs().Last().ID()
	hermes.Close()
	hermes = hermesfake.Start(t, hermesfake.WithStore(store), hermesfake.WithSeed(1))
	body(t, hermes, "POST", "/v1/runs", "new", `{"input": "hello"}`)
	run, err := hermes.WaitRun(t.Context())
	if err != nil || run.ID() == old {
		t.Errorf("%v %v", run, err)
	}
}

// TestImports: who does not use the Badger store does not build it.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "hermesfake/engine\n") {
		t.Errorf("the list lacks the engine:\n%s", out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "badger") {
			t.Errorf("the root package needs %s", line)
		}
	}
}
