package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

// began is where the clocks of these tests stand at first.
var began = time.Unix(1_700_000_000, 123_456_789)

const seed = 7

// gateway is an engine over a store.
type gateway struct {
	*engine.Namespace
	t      *testing.T
	engine *engine.Engine
	store  *opened
}

// boot returns an engine whose clock stands at now.
func boot(t *testing.T, s *opened, now time.Time) *gateway {
	t.Helper()
	g := &gateway{t: t, store: s}
	g.start(now)
	t.Cleanup(func() { g.engine.Close() })
	return g
}

func (g *gateway) start(now time.Time) {
	g.t.Helper()
	g.engine = engine.New(engine.Config{Seed: seed, Store: g.store})
	freeze := true
	if _, err := g.engine.ChangeClock(engine.ClockChange{Set: now, Freeze: &freeze}); err != nil {
		g.t.Fatal(err)
	}
	g.Namespace = g.namespace("default")
}

func (g *gateway) namespace(name string) *engine.Namespace {
	g.t.Helper()
	n, err := g.engine.Namespace(name)
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}

// restart ends the engine, closes and opens the store again, and makes a new engine at the same time.
func (g *gateway) restart() {
	g.t.Helper()
	now := g.Now()
	g.engine.Close()
	g.store.reopen()
	g.start(now)
}

func (g *gateway) advance(d time.Duration) {
	g.t.Helper()
	if _, err := g.engine.ChangeClock(engine.ClockChange{Advance: d}); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gateway) submit(key string) (engine.RunID, bool) {
	g.t.Helper()
	return submit(g.t, g.Namespace, key)
}

func submit(t *testing.T, n *engine.Namespace, key string) (id engine.RunID, replayed bool) {
	t.Helper()
	a, err := n.Submit(engine.Submission{Key: key, Fingerprint: [32]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	return a.Run.ID(), a.Replayed
}

func (g *gateway) observe(id engine.RunID, o engine.Observation) *engine.Run {
	g.t.Helper()
	run, err := g.Observe(id, o)
	if err != nil {
		g.t.Fatal(err)
	}
	return run
}

func (g *gateway) poll(id engine.RunID) string {
	g.t.Helper()
	run, err := g.Run(id)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(run.AppendJSON(nil))
}

// sorted is a status object as a row that is read back prints.
func sorted(t *testing.T, object string) string {
	t.Helper()
	v, err := canon.Parse([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return string(canon.AppendWire(nil, canon.Sorted(v)))
}

func testRestart(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	keyed, _ := g.submit("key")
	keyless, _ := g.submit("")
	g.observe(keyed, engine.Observation{Status: engine.Completed, Output: "done"})
	before := g.poll(keyed)
	for range 2 {
		g.restart()
		if got, replayed := g.submit("key"); got != keyed || !replayed {
			t.Errorf("the key admitted %s, want %s again", got, keyed)
		}
		if _, err := g.Submit(engine.Submission{Key: "key", Fingerprint: [32]byte{2}}); !errors.Is(err, engine.KeyConflict) {
			t.Errorf("another payload: %v", err)
		}
		if got, want := g.poll(keyed), sorted(t, before); got != want {
			t.Errorf("polled\n%s, want\n%s", got, want)
		}
		if _, err := g.Run(keyless); !errors.Is(err, engine.RunNotFound) {
			t.Errorf("the keyless run: %v", err)
		}
		if c := g.Counts(); c.Durable != 1 || c.Admitted != 0 {
			t.Errorf("counts %+v", c)
		}
	}
}

// testObservations: what a row is read back with is what was last written, whatever its members.
func testObservations(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	steer := "more \U0001F600"
	reason := "boom\x00\xff"
	approval := canon.Object{{Name: "z", Value: canon.Array{canon.Float(1e22), canon.Null{}, canon.Int("123456789012345678901234567890")}},
		{Name: "command", Value: canon.String("rm \xed\xa0\x80")}, {Name: "b", Value: canon.Object{{Name: "y", Value: canon.Bool(true)}, {Name: "x", Value: canon.String("")}}}}
	ends := map[string]engine.Observation{
		"completed":   {Status: engine.Completed, Output: "out é\n", PendingSteer: &steer, Usage: engine.Usage{InputTokens: 1, OutputTokens: -2, TotalTokens: 1 << 62}},
		"empty":       {Status: engine.Completed},
		"failed":      {Status: engine.Failed, Err: &reason},
		"cancelled":   {Status: engine.Cancelled, LastEvent: "own.word"},
		"interrupted": {Status: engine.Interrupted},
	}
	before := map[engine.RunID]string{}
	for name, o := range ends {
		model, session := canon.Value(canon.Null{}), canon.Value(nil)
		if name == "failed" {
			model, session = canon.Object{{Name: "b", Value: canon.Int("0")}, {Name: "a", Value: canon.Float(-0.5)}}, canon.Array{canon.Int("1")}
		}
		a, err := g.Submit(engine.Submission{Key: name, Model: model, SessionID: session})
		if err != nil {
			t.Fatal(err)
		}
		id := a.Run.ID()
		g.advance(1)
		g.observe(id, engine.Observation{Status: engine.Running})
		g.observe(id, engine.Observation{Status: engine.WaitingForApproval, Approval: approval})
		if name != "interrupted" {
			if _, err := g.Approve(id, engine.Answer{Choice: engine.Once}); err != nil {
				t.Fatal(err)
			}
		}
		g.observe(id, o)
		before[id] = g.poll(id)
	}
	order := g.Runs()
	for range 2 {
		g.restart()
		for i, run := range g.Runs() {
			if run.ID() != order[i].ID() {
				t.Errorf("run %d is %s, want %s", i, run.ID(), order[i].ID())
			}
		}
		for id, text := range before {
			if got, want := g.poll(id), sorted(t, text); got != want {
				t.Errorf("polled\n%s, want\n%s", got, want)
			}
		}
	}
}

// testUnfinished: the same process, once its engine is closed, is gone as an owner.
func testUnfinished(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	ids := map[engine.Status]engine.RunID{}
	for _, status := range []engine.Status{engine.Queued, engine.Running, engine.WaitingForApproval, engine.Stopping} {
		ids[status], _ = g.submit(status.String())
		if status != engine.Queued {
			g.observe(ids[status], engine.Observation{Status: status, Approval: canon.Object{{Name: "command", Value: canon.String("ls")}}})
		}
	}
	g.advance(5 * time.Second)
	g.restart()
	for status, id := range ids {
		in, err := g.Inspect(id)
		if err != nil || in.Run.Status() != status || in.Cached {
			t.Errorf("%v before its first access: %+v %v", status, in, err)
		}
		text := g.poll(id)
		if !strings.Contains(text, `"status": "interrupted"`) || !strings.Contains(text, `"error": "The gateway restarted`) ||
			!strings.Contains(text, `"last_event": "run.interrupted"`) || !strings.Contains(text, `"updated_at": 1700000005.123`) ||
			strings.Contains(text, `"approval": {`) != (status == engine.WaitingForApproval) {
			t.Errorf("%v is read back as %s", status, text)
		}
		if _, _, err := g.Stop(id); err != nil {
			t.Errorf("stop of %v: %v", status, err)
		}
	}
	// What was written back is what is there from then on.
	g.advance(time.Hour)
	g.restart()
	for status, id := range ids {
		if text := g.poll(id); !strings.Contains(text, `"updated_at": 1700000005.123`) {
			t.Errorf("%v is interrupted again: %s", status, text)
		}
	}
}

// testIDs: with the same seed no id comes twice, whether its run had a key or not.
func testIDs(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	seen := map[engine.RunID]bool{}
	for round := range 6 {
		for i := range 3 {
			for _, key := range []string{"", fmt.Sprint(round, "-", i)} {
				if round%2 == 1 && key != "" {
					continue // rounds of keyless runs alone
				}
				id, _ := g.submit(key)
				if seen[id] {
					t.Errorf("round %d: %s again", round, id)
				}
				seen[id] = true
			}
		}
		if round == 2 {
			more := engine.Gateway{}
			g.SetGateway(&more.MaxConcurrentRuns, nil)
			for range 3000 {
				id, _ := g.submit("")
				if seen[id] {
					t.Fatalf("%s again", id)
				}
				seen[id] = true
			}
		}
		if run, last, ok := g.Admitted(1); !ok || last == 0 || !seen[run.ID()] {
			t.Errorf("the first admission of this process: %v of %d, %v", run, last, ok)
		}
		g.restart()
		if _, last, ok := g.Admitted(1); ok || last != 0 {
			t.Errorf("%d admissions before the first", last)
		}
	}
}

// testRetention: 24 h count to the nanosecond from the row's own update time, over a reopen.
func testRetention(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	id, _ := g.submit("key")
	other, _ := g.submit("unfinished")
	g.advance(time.Second + 1)
	g.observe(id, engine.Observation{Status: engine.Completed})
	g.advance(24 * time.Hour)
	g.restart()
	if got, replayed := g.submit("key"); got != id || !replayed {
		t.Error("pruned at 24 h")
	}
	g.advance(1)
	g.restart()
	if text := g.poll(id); !strings.Contains(text, "completed") {
		t.Errorf("a poll prunes: %s", text)
	}
	again, replayed := g.submit("key")
	if again == id || replayed {
		t.Errorf("not pruned after 24 h: %s", again)
	}
	g.restart()
	if _, err := g.Run(id); !errors.Is(err, engine.RunNotFound) {
		t.Errorf("the pruned row is back: %v", err)
	}
	if in, err := g.Inspect(other); err != nil || in.Row == nil {
		t.Errorf("the unfinished run: %v", err)
	}
}

func testPrune(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	limit := 0
	g.SetGateway(&limit, nil)
	const rows = 1200 // more than a transition drops
	for i := range rows {
		id, _ := g.submit(strconv.Itoa(i))
		g.observe(id, engine.Observation{Status: engine.Completed})
	}
	g.advance(24*time.Hour + 1)
	g.restart()
	if c := g.Counts(); c.Durable != rows {
		t.Errorf("%d rows before a keyed submission", c.Durable)
	}
	g.submit("new")
	for range 2 {
		if c := g.Counts(); c.Durable != 1 {
			t.Errorf("%d rows after it", c.Durable)
		}
		g.restart()
	}
}

func testReset(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	first, _ := g.submit("key")
	kept, _ := submit(t, g.namespace("other"), "key")
	if err := g.Reset(); err != nil {
		t.Fatal(err)
	}
	g.restart()
	if c := g.Counts(); c.Durable != 0 {
		t.Errorf("%d rows after a reset", c.Durable)
	}
	// As without a store, ids begin anew.
	if id, replayed := g.submit("key"); id != first || replayed {
		t.Errorf("%s after a reset, want %s", id, first)
	}
	if id, replayed := submit(t, g.namespace("other"), "key"); id != kept || !replayed {
		t.Errorf("the other namespace: %s, want %s", id, kept)
	}
}

func testDropNamespace(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	old := g.namespace("other")
	submit(t, old, "key")
	submit(t, g.namespace("unused"), "key")
	g.submit("key")
	g.restart()
	if names := g.engine.Namespaces(); !slices.Equal(names, []string{"default", "other", "unused"}) {
		t.Errorf("namespaces %q", names)
	}
	old = g.namespace("other")
	for _, name := range []string{"other", "unused", "unknown"} {
		if err := g.engine.DropNamespace(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := old.Submit(engine.Submission{Key: "key"}); !errors.Is(err, engine.Closed) {
		t.Errorf("a view of a dropped namespace: %v", err)
	}
	for range 2 {
		if names := g.engine.Namespaces(); !slices.Equal(names, []string{"default"}) {
			t.Errorf("namespaces %q", names)
		}
		g.restart()
	}
	if c := g.namespace("other").Counts(); c.Durable != 0 {
		t.Errorf("%d rows", c.Durable)
	}
	if _, replayed := submit(t, g.namespace("other"), "key"); replayed {
		t.Error("a dropped key is known")
	}
}

func testScopes(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	other, err := engine.NewScope("profile", "identity")
	if err != nil {
		t.Fatal(err)
	}
	mine, _ := g.submit("key")
	theirs, _ := submit(t, g.As(other), "key")
	g.restart()
	if got, replayed := submit(t, g.As(other), "key"); got != theirs || !replayed {
		t.Errorf("their key: %s, want %s", got, theirs)
	}
	if got, replayed := g.submit("key"); got != mine || !replayed {
		t.Errorf("my key: %s, want %s", got, mine)
	}
	if _, err := g.As(other).Run(mine); !errors.Is(err, engine.RunNotFound) {
		t.Errorf("my run for them: %v", err)
	}
	if _, err := g.Run(theirs); !errors.Is(err, engine.RunNotFound) {
		t.Errorf("their run for me: %v", err)
	}
	if runs := g.Runs(); len(runs) != 1 || runs[0].Scope().Hash() != g.Scope().Hash() {
		t.Errorf("my runs: %v", runs)
	}
}

func testSecondEngine(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	second := engine.New(engine.Config{Store: g.store})
	n, err := second.Namespace("default")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Submit(engine.Submission{}); !errors.Is(err, engine.StorageFailed) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second engine: %v", err)
	}
	second.Close() // must not give back what it never had
	if err := g.store.Attach(); !errors.Is(err, engine.ErrStoreInUse) {
		t.Errorf("attached while the first engine lives: %v", err)
	}
	g.submit("key")
	g.engine.Close()
	third := boot(t, g.store, began)
	if _, replayed := third.submit("key"); !replayed {
		t.Error("the key is unknown to the next engine")
	}
}

// testNotTheText: no row holds a key, a profile or an identity.
func testNotTheText(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	secret, err := engine.NewScope("Secret-profile", "Secret-identity")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := submit(t, g.As(secret), "Secret-key")
	if err := g.As(secret).SetSteering(id, engine.SteerPolicy{}); err != nil {
		t.Fatal(err)
	}
	g.observe(id, engine.Observation{Status: engine.Running})
	if err := g.As(secret).Steer(id, "Secret-steer"); err != nil {
		t.Fatal(err)
	}
	rows, _ := load(t, g.store, "default")
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, record := range rows {
		if bytes.Contains(bytes.ToLower(record), []byte("secret")) {
			t.Errorf("the record has it: %q", record)
		}
	}
}

func testLargeRows(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	id, _ := g.submit("key")
	output := strings.Repeat("output ", 300_000)
	g.observe(id, engine.Observation{Status: engine.Completed, Output: output})
	for range 2 {
		g.restart()
		if run, err := g.Run(id); err != nil || run.Output() != output {
			t.Errorf("the output has %d bytes, error %v", len(run.Output()), err)
		}
	}
}

func testConcurrentRuns(t *testing.T, d Door) {
	g := boot(t, open(t, d), began)
	limit := 0
	g.SetGateway(&limit, nil)
	const keys = 60
	var mu sync.Mutex
	admitted := map[string]engine.RunID{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for k := range keys {
				key := strconv.Itoa(k)
				a, err := g.Submit(engine.Submission{Key: key})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if id, ok := admitted[key]; ok && id != a.Run.ID() {
					t.Errorf("key %s has runs %s and %s", key, id, a.Run.ID())
				}
				admitted[key] = a.Run.ID()
				mu.Unlock()
				g.Observe(a.Run.ID(), engine.Observation{Status: engine.Completed})
			}
		})
	}
	wg.Wait()
	g.restart()
	for key, id := range admitted {
		a, err := g.Submit(engine.Submission{Key: key})
		if err != nil || !a.Replayed || a.Run.ID() != id || a.Run.Status() != engine.Completed {
			t.Errorf("key %s: %+v %v, want %s completed", key, a, err, id)
		}
	}
}
