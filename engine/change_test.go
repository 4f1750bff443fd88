package engine

import (
	"strings"
	"testing"
	"time"
)

// told reports whether something was sent on c, and takes it.
func told(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestOnChange proves that every operation tells, and that looking does not.
func TestOnChange(t *testing.T) {
	n := open(t, Config{})
	c := make(chan struct{}, 1)
	stop := n.OnChange(c)
	var id RunID
	var s *Subscription
	for _, step := range []struct {
		name string
		act  func()
	}{
		{"submit", func() { id = submit(t, n, "k") }},
		{"observe", func() { observe(t, n, id, Running) }},
		{"delta", func() { n.EmitDelta(id, "x") }},
		{"event", func() { n.Emit(id, Event{Name: "tool.started"}) }},
		{"ask", func() { n.Ask(id, nil) }},
		{"approve", func() { n.Approve(id, Answer{Choice: Deny}) }},
		{"steer", func() { n.Steer(id, "left") }},
		{"steering", func() { n.SetSteering(id, SteerPolicy{Refuse: true}) }},
		{"subscribe", func() { s, _ = n.Subscribe(id) }},
		{"leave", func() { s.Leave() }},
		{"stop", func() { n.Stop(id) }},
		{"advance", func() { advance(t, n, time.Second) }},
		{"gateway", func() { n.SetGateway(new(int), nil) }},
		{"scope", func() { n.SetScope(newScope("p", "i")) }},
		{"sweep", func() { n.Sweep() }},
		{"restart", func() { n.Restart(OwnerStale) }},
		{"reset", func() { n.Reset() }},
		{"close", func() { n.close() }},
	} {
		if told(c) {
			t.Fatalf("told before %s", step.name)
		}
		if step.act(); !told(c) {
			t.Errorf("%s tells nobody", step.name)
		}
		n.Runs()
		n.Recent(0, 10)
		n.Inspect(id)
		n.Trail(id)
		n.InScope(id)
		n.Counts()
		n.Clock()
		n.Gateway()
		n.Scope()
		if told(c) {
			t.Errorf("looking after %s told somebody", step.name)
		}
	}
	n = open(t, Config{})
	stop2 := n.OnChange(c)
	submit(t, n, "")
	submit(t, n, "") // does not wait for who does not listen
	stop2()
	told(c)
	if submit(t, n, ""); told(c) {
		t.Error("told after stop")
	}
	stop()
}

// texts returns the deltas of a trail.
func texts(t *testing.T, trail Trail) string {
	t.Helper()
	var b strings.Builder
	for _, f := range trail.Frames {
		_, after, _ := strings.Cut(string(f.Text), `"delta": "`)
		text, _, ok := strings.Cut(after, `"`)
		if !ok {
			t.Fatalf("no delta: %s", f.Text)
		}
		b.WriteString(text)
	}
	return b.String()
}

func trailOf(t *testing.T, n *Namespace, id RunID) Trail {
	t.Helper()
	trail, err := n.Trail(id)
	if err != nil {
		t.Fatal(err)
	}
	return trail
}

func emit(t *testing.T, n *Namespace, id RunID, deltas ...string) {
	t.Helper()
	for _, text := range deltas {
		if _, err := n.EmitDelta(id, text); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTrail proves that a trail has what subscribers took, and takes nothing from them.
func TestTrail(t *testing.T) {
	n := open(t, Config{})
	id := submit(t, n, "")
	emit(t, n, id, "a", "b")
	if got := texts(t, trailOf(t, n, id)); got != "ab" {
		t.Errorf("what waits is %q", got)
	}
	stop := n.OnChange(make(chan struct{}, 1))
	begun := trailOf(t, n, id)
	s, err := n.Subscribe(id)
	if err != nil {
		t.Fatal(err)
	}
	emit(t, n, id, "c", "d")
	trail := trailOf(t, n, id)
	if got := texts(t, trail); got != "abcd" || trail.Last != 4 || trail.Number != begun.Number {
		t.Errorf("%q, %d events, trail %d of %d", got, trail.Last, trail.Number, begun.Number)
	}
	given, err := s.Next(t.Context())
	if err != nil || strings.Count(string(given), "delta\":") != 4 {
		t.Errorf("the subscriber got %q, error %v", given, err)
	}
	stop()
	if trail := trailOf(t, n, id); len(trail.Frames) != 0 {
		t.Errorf("kept %d events without listeners", len(trail.Frames))
	}

	n = open(t, Config{KeepEvents: true})
	id = submit(t, n, "")
	if _, err = n.Subscribe(id); err != nil {
		t.Fatal(err)
	}
	emit(t, n, id, "e")
	if got := texts(t, trailOf(t, n, id)); got != "e" {
		t.Errorf("with KeepEvents: %q", got)
	}
	before := trailOf(t, n, id).Number
	if err := n.Reset(); err != nil {
		t.Fatal(err)
	}
	if id = submit(t, n, ""); trailOf(t, n, id).Number == before {
		t.Error("the trail outlived a reset")
	}
}

// TestTrailBounds proves the bounds: events of a run, runs, bytes of an event, bytes in all.
func TestTrailBounds(t *testing.T) {
	n := open(t, Config{KeepEvents: true, Gateway: Gateway{MaxConcurrentRuns: 0}})
	first := submit(t, n, "")
	for range maxTrail + 10 {
		emit(t, n, first, "x")
	}
	if trail := trailOf(t, n, first); len(trail.Frames) != maxTrail || trail.Last != maxTrail+10 {
		t.Errorf("%d events kept of %d", len(trail.Frames), trail.Last)
	}
	number := trailOf(t, n, first).Number
	for range maxTrails {
		emit(t, n, submit(t, n, ""), "x")
	}
	if len(n.trails.of) != maxTrails || len(n.trails.order) != maxTrails || n.trails.of[first] != nil {
		t.Errorf("%d trails, %d in order", len(n.trails.of), len(n.trails.order))
	}
	if trailOf(t, n, first).Number == number {
		t.Error("a trail that fell out has its old number")
	}
	long := submit(t, n, "")
	text := strings.Repeat("y", 128<<10)
	for range 2 * maxTrailBytes / maxTrailFrame {
		emit(t, n, long, text)
	}
	trail := trailOf(t, n, long)
	if f := trail.Frames[0]; len(f.Text) != maxTrailFrame || f.Size < 128<<10 {
		t.Errorf("an event of %d bytes, %d kept", f.Size, len(f.Text))
	}
	kept := 0
	for _, other := range n.trails.of {
		for _, f := range other.frames() {
			kept += len(f.Text)
		}
	}
	if kept != n.trails.bytes || kept > maxTrailBytes || len(trail.Frames) != maxTrailBytes/maxTrailFrame {
		t.Errorf("%d bytes kept, counted %d, %d events", kept, n.trails.bytes, len(trail.Frames))
	}
}

// TestRecent proves the order, the bound and the count, with forgotten runs and those of other scopes between.
func TestRecent(t *testing.T) {
	n := open(t, Config{})
	var ids []RunID
	for i := range 30 {
		if i == 10 {
			n.SetScope(newScope("other", "i"))
		}
		if i == 20 {
			n.SetScope(newScope(DefaultProfile, DefaultIdentity))
		}
		key := ""
		if i%2 == 0 {
			key = strings.Repeat("k", i+1)
		}
		ids = append(ids, submit(t, n, key))
	}
	check := func(before uint64, limit int, want ...int) {
		t.Helper()
		runs, known := n.Recent(before, limit)
		if len(runs) != len(want) {
			t.Fatalf("%d runs, want %d", len(runs), len(want))
		}
		for i, r := range runs {
			if r.Run.ID() != ids[want[i]] || r.Keyed != (want[i]%2 == 0) {
				t.Errorf("run %d is number %d", i, r.Run.Number())
			}
		}
		if known != n.world.records.Len() {
			t.Errorf("%d known", known)
		}
	}
	check(0, 3, 29, 28, 27)
	check(27, 3, 25, 24, 23)
	check(22, 4, 20, 9, 8, 7)
	check(21, 1, 9) // by looking at every run
	check(3, 5, 1, 0)
	check(1, 5)
	check(1<<40, 1, 29)
	if _, _, err := n.Restart(OwnerAlive); err != nil {
		t.Fatal(err)
	}
	check(0, 20, 28, 26, 24, 22, 20, 8, 6, 4, 2, 0)
	runs, _ := n.Recent(0, 1)
	if runs[0].Cached || runs[0].Run.Active() {
		t.Error("a run that is only a row is cached or active")
	}
}
