package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake/canon"
)

func checkpoint(t testing.TB, n *Namespace) CheckpointID {
	t.Helper()
	c, err := n.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func checkout(t testing.TB, n *Namespace, branch string, id CheckpointID) {
	t.Helper()
	if _, err := n.Checkout(branch, id); err != nil {
		t.Fatal(err)
	}
}

func ids(n *Namespace) (list []CheckpointID) {
	for _, c := range n.Checkpoints() {
		list = append(list, c.ID)
	}
	return list
}

// TestAcceptedMutations: which operations make a checkpoint, and that a view tells it.
func TestAcceptedMutations(t *testing.T) {
	n := open(t, Config{})
	id := submit(t, n, "key")
	other := submit(t, n, "")
	limit, text := 5, "boom"
	for _, c := range []struct {
		name     string
		accepted bool
		do       func(n *Namespace) error
	}{
		{"an admission", true, func(n *Namespace) error { _, err := n.Submit(Submission{}); return err }},
		{"a replay", false, func(n *Namespace) error { _, err := n.Submit(Submission{Key: "key"}); return err }},
		{"a conflict", false, func(n *Namespace) error { n.Submit(Submission{Key: "key", Fingerprint: [32]byte{1}}); return nil }},
		{"a poll", false, func(n *Namespace) error { _, err := n.Run(id); return err }},
		{"an observation", true, func(n *Namespace) error { _, err := n.Observe(id, Observation{Status: Running}); return err }},
		{"a steer", true, func(n *Namespace) error { return n.Steer(id, "left") }},
		{"a steering policy", true, func(n *Namespace) error { return n.SetSteering(id, SteerPolicy{Broken: true, Err: text}) }},
		{"a failed steer", false, func(n *Namespace) error { n.Steer(id, "right"); return nil }},
		{"a question", true, func(n *Namespace) error { _, err := n.Ask(id, canon.Object{}); return err }},
		{"an answer", true, func(n *Namespace) error { _, err := n.Approve(id, Answer{Choice: Once}); return err }},
		{"an answer to nothing", false, func(n *Namespace) error { n.Approve(id, Answer{Choice: Once}); return nil }},
		{"a delta", true, func(n *Namespace) error { _, err := n.EmitDelta(id, "x"); return err }},
		{"an event", true, func(n *Namespace) error { _, err := n.Emit(id, Event{Name: "tool.started"}); return err }},
		{"an event that is dropped", false, func(n *Namespace) error { _, err := n.Emit(id, Event{Name: "nonsense"}); return err }},
		{"a subscription", false, func(n *Namespace) error { _, err := n.Subscribe(id); return err }},
		{"a stop", true, func(n *Namespace) error { _, _, err := n.Stop(id); return err }},
		{"a terminal observation", true, func(n *Namespace) error { _, err := n.Observe(id, Observation{Status: Completed}); return err }},
		{"an observation too late", false, func(n *Namespace) error { n.Observe(id, Observation{Status: Completed}); return nil }},
		{"a stop too late", false, func(n *Namespace) error { _, _, err := n.Stop(id); return err }},
		{"a stop of nothing", false, func(n *Namespace) error { n.Stop(RunID{}); return nil }},
		{"a clock move", false, func(n *Namespace) error { _, err := n.ChangeClock(ClockChange{Advance: time.Hour}); return err }},
		{"a sweep", true, func(n *Namespace) error { _, err := n.Sweep(); return err }},
		{"a scope", true, func(n *Namespace) error { return n.SetScope(nil) }},
		{"a gateway", true, func(n *Namespace) error { _, err := n.SetGateway(&limit, nil); return err }},
		{"a restart", true, func(n *Namespace) error { _, _, err := n.Restart(OwnerStale); return err }},
		{"a read-back", false, func(n *Namespace) error { _, err := n.Run(id); return err }},
		{"a look", false, func(n *Namespace) error { n.Inspect(other); n.Runs(); n.Counts(); return nil }},
		{"a checkpoint", true, func(n *Namespace) error { _, err := n.Checkpoint(); return err }},
	} {
		before := n.Timeline()
		view := n.Recording()
		if err := c.do(view); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		after := n.Timeline()
		if accepted := after.Checkpoints > before.Checkpoints; accepted != c.accepted || (view.Recorded() != "") != c.accepted {
			t.Errorf("%s: accepted %t, recorded %q", c.name, accepted, view.Recorded())
		}
		if c.accepted && (view.Recorded() != after.Head || after.Head == before.Head) {
			t.Errorf("%s: recorded %s, head %s, before %s", c.name, view.Recorded(), after.Head, before.Head)
		}
	}
}

// TestCheckoutRestores: all that belongs to a namespace goes back together.
func TestCheckoutRestores(t *testing.T) {
	n := open(t, Config{})
	keyed, asked := submit(t, n, "key"), submit(t, n, "")
	observe(t, n, keyed, Running)
	if err := n.Steer(keyed, "left"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Ask(asked, canon.Object{{Name: "command", Value: canon.String("rm")}}); err != nil {
		t.Fatal(err)
	}
	tell := func() string {
		var b strings.Builder
		for _, id := range []RunID{keyed, asked} {
			in, err := n.Inspect(id)
			if err != nil {
				fmt.Fprintln(&b, err)
				continue
			}
			fmt.Fprintf(&b, "%s %t %v %v %v %v %v %v\n", in.Run.AppendJSON(nil), in.Cached, in.Row, in.Queue, in.Pending, in.Decisions, in.Steers, in.Steering)
		}
		fmt.Fprintln(&b, n.Counts(), n.Gateway(), n.Scope().Profile(), n.Now(), n.world.nextSweep, n.world.owners)
		return b.String()
	}
	advance(t, n, 17*time.Second)
	before, cp := tell(), checkpoint(t, n)
	next := submit(t, n, "next")

	limit, draining := 1, true
	scope, err := NewScope("other", "someone")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		n.Steer(keyed, "right"), n.SetSteering(keyed, SteerPolicy{Refuse: true}),
		func() error { _, err := n.Approve(asked, Answer{Choice: Deny}); return err }(),
		func() error { _, err := n.EmitDelta(asked, "x"); return err }(),
		func() error { _, err := n.SetGateway(&limit, &draining); return err }(),
		func() error { _, _, err := n.Restart(OwnerAlive); return err }(),
		n.SetScope(scope),
		func() error { _, err := n.ChangeClock(ClockChange{Advance: 30 * time.Hour}); return err }(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if tell() == before {
		t.Fatal("nothing has changed, so nothing is tested")
	}
	checkout(t, n, "", cp)
	if after := tell(); after != before {
		t.Errorf("after the checkout:\n%s\nbefore:\n%s", after, before)
	}
	if again := submit(t, n, "other key"); again != next {
		t.Errorf("the next id is %s, and was %s", again, next)
	}
	if a, err := n.Submit(Submission{Key: "key"}); err != nil || !a.Replayed || a.Run.ID() != keyed {
		t.Errorf("the key: %+v %v", a, err)
	}
	if a, err := n.Submit(Submission{Key: "next"}); err != nil || a.Replayed {
		t.Errorf("a key that was not used yet: %+v %v", a, err)
	}
}

// TestCheckoutBreaksStreams: who is connected loses the stream, and the queue goes on without a subscriber: it keeps what is
// emitted, and expires.
func TestCheckoutBreaksStreams(t *testing.T) {
	n := open(t, Config{})
	id := submit(t, n, "")
	s := subscribe(t, n, id)
	cp := checkpoint(t, n)
	checkout(t, n, "", cp)
	if _, err := given(s); err != ErrStreamLost {
		t.Errorf("the stream: %v", err)
	}
	if _, err := n.EmitDelta(id, "kept"); err != nil {
		t.Fatal(err)
	}
	second := subscribe(t, n, id)
	if text, _ := given(second); !strings.Contains(text, "kept") {
		t.Errorf("the second subscriber got %q", text)
	}
	checkout(t, n, "", cp)
	advance(t, n, queueRetention+2*sweepInterval)
	if in := inspect(t, n, id); in.Queue != nil {
		t.Errorf("the queue is still there: %+v", in.Queue)
	}
}

// TestCheckoutClock: a frozen clock shows what it showed; one that runs, runs on from there.
func TestCheckoutClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{})
		defer e.Close()
		n, err := e.Namespace("n")
		if err != nil {
			t.Fatal(err)
		}
		began := n.Now()
		cp := checkpoint(t, n)
		time.Sleep(time.Hour)
		freeze := true
		n.ChangeClock(ClockChange{Freeze: &freeze})
		frozen := checkpoint(t, n)
		checkout(t, n, "", cp)
		if now := n.Now(); !now.Equal(began) {
			t.Errorf("it shows %v, not %v", now, began)
		}
		time.Sleep(time.Minute)
		if now := n.Now(); !now.Equal(began.Add(time.Minute)) {
			t.Errorf("a minute later it shows %v", now)
		}
		checkout(t, n, "", frozen)
		time.Sleep(time.Minute)
		if c := n.Clock(); !c.Frozen || !c.Now.Equal(began.Add(time.Hour)) {
			t.Errorf("the frozen clock: %+v", c)
		}
	})
}

// TestBranches: where mutations go, and what moves.
func TestBranches(t *testing.T) {
	n := open(t, Config{})
	if _, err := n.Checkout("", ""); !errors.Is(err, ErrNoBranch) {
		t.Errorf("a checkout of nothing: %v", err)
	}
	submit(t, n, "a")
	base := n.Timeline().Head
	submit(t, n, "b")
	main := n.Timeline().Head
	if b, err := n.Fork("other", base); err != nil || b != (Branch{"other", base, false}) {
		t.Errorf("%+v %v", b, err)
	}
	if n.Timeline().Head != main || n.Counts().Admitted != 2 {
		t.Error("a fork has moved something")
	}
	checkout(t, n, "other", "")
	if n.Counts().Admitted != 1 {
		t.Errorf("%+v", n.Counts())
	}
	submit(t, n, "c")
	other := n.Timeline().Head
	want := []Branch{{"main", main, false}, {"other", other, true}}
	if got := n.Branches(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	list := n.Checkpoints()
	if last := list[len(list)-1]; last.Parent != base || last.Branch != "other" || last.Namespace != n.Name() {
		t.Errorf("%+v", last)
	}
	checkout(t, n, "main", "")
	if n.Counts().Admitted != 2 {
		t.Errorf("%+v", n.Counts())
	}
	checkout(t, n, "new", other)
	if got := n.Branches(); len(got) != 3 || got[1] != (Branch{"new", other, true}) {
		t.Errorf("%+v", got)
	}
	if b, err := n.Fork("now", ""); err != nil || b.Head != n.Timeline().Head || !n.Checkpoints()[len(n.Checkpoints())-1].Pinned {
		t.Errorf("%+v %v", b, err)
	}
	if err := n.DeleteBranch("now"); err != nil {
		t.Error(err)
	}
	elsewhere, err := n.engine.Namespace("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	foreign := checkpoint(t, elsewhere)
	for _, c := range []struct {
		name      string
		got, want error
	}{
		{"fork to a taken name", second(n.Fork("other", base)), ErrBranchTaken},
		{"fork to no name", second(n.Fork("a/b", base)), ErrBranchName},
		{"fork from nowhere", second(n.Fork("x", "cp_")), ErrNoCheckpoint},
		{"fork from elsewhere", second(n.Fork("x", foreign)), ErrOtherNamespace},
		{"checkout of no branch", second(n.Checkout("x", "")), ErrNoBranch},
		{"checkout of no checkpoint", second(n.Checkout("", CheckpointID(strings.ToUpper(string(base))))), ErrNoCheckpoint},
		{"checkout to a bad name", second(n.Checkout("a b", base)), ErrBranchName},
		{"checkout of another's", second(n.Checkout("", foreign)), ErrOtherNamespace},
		{"delete of main", n.DeleteBranch(MainBranch), ErrBranchInUse},
		{"delete of the current", n.DeleteBranch("new"), ErrBranchInUse},
		{"delete of no branch", n.DeleteBranch("x"), ErrNoBranch},
		{"delete of a head", n.DeleteCheckpoint(main), ErrCheckpointInUse},
		{"delete of no checkpoint", n.DeleteCheckpoint("x"), ErrNoCheckpoint},
		{"delete of another's", n.DeleteCheckpoint(foreign), ErrOtherNamespace},
		{"delete of a checkpoint", n.DeleteCheckpoint(base), nil},
		{"checkout of a deleted one", second(n.Checkout("", base)), ErrNoCheckpoint},
		{"delete of a branch", n.DeleteBranch("other"), nil},
		{"checkout where it was", second(n.Checkout("", other)), nil},
		{"fork from one that is there", second(n.Fork("x", other)), nil},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestRetention: the latest checkpoints of mutations are kept, as many that were asked for, and what a branch is at.
func TestRetention(t *testing.T) {
	n := open(t, Config{Checkpoints: 3})
	delta := func() CheckpointID {
		t.Helper()
		if _, err := n.SetGateway(nil, nil); err != nil {
			t.Fatal(err)
		}
		return n.Timeline().Head
	}
	want := func(what string, dropped int, want ...CheckpointID) {
		t.Helper()
		got := n.Timeline()
		if !slices.Equal(ids(n), want) || got.Dropped != dropped || got.Checkpoints != len(want) {
			t.Errorf("%s: %v, dropped %d, want %v, dropped %d", what, ids(n), got.Dropped, want, dropped)
		}
	}
	a := delta()
	if _, err := n.Fork("stays", a); err != nil {
		t.Fatal(err)
	}
	b, c, d := delta(), delta(), delta()
	want("a head stays", 0, a, b, c, d)
	pin := checkpoint(t, n)
	e := delta()
	want("the ring is full", 1, a, c, d, pin, e)
	checkout(t, n, "", c)
	f, g := delta(), delta()
	want("and goes on after a checkout", 3, a, pin, e, f, g)
	if err := n.DeleteCheckpoint(e); err != nil {
		t.Fatal(err)
	}
	want("one is deleted", 3, a, pin, f, g)
	h := delta()
	want("the deleted one's place is taken", 3, a, pin, f, g, h)
	if err := n.DeleteBranch("stays"); err != nil {
		t.Fatal(err)
	}
	want("a head that nothing keeps any more", 4, pin, f, g, h)
	checkout(t, n, "", pin)
	i, j, k := delta(), delta(), delta()
	want("all of another line", 7, pin, i, j, k)
	for range 3 {
		pin = checkpoint(t, n)
	}
	if got := n.Checkpoints(); len(got) != 6 || got[5].ID != pin || !got[3].Pinned {
		t.Errorf("%+v", got)
	}
	if err := n.DeleteCheckpoint(pin); !errors.Is(err, ErrCheckpointInUse) {
		t.Errorf("%v", err)
	}
	for _, c := range n.Checkpoints() {
		checkout(t, n, "", c.ID)
	}
}

// TestNoCheckpoints: where mutations make none, those asked for still work.
func TestNoCheckpoints(t *testing.T) {
	n := open(t, Config{Checkpoints: -1})
	view := n.Recording()
	submit(t, view, "")
	if got := n.Timeline(); got.Checkpoints != 0 || view.Recorded() != "" {
		t.Errorf("%+v, recorded %q", got, view.Recorded())
	}
	cp := checkpoint(t, n)
	submit(t, n, "")
	checkout(t, n, "", cp)
	if got := n.Counts().Admitted; got != 1 {
		t.Errorf("%d admitted", got)
	}
}

// TestTooManyBranches: their number is bounded.
func TestTooManyBranches(t *testing.T) {
	n := open(t, Config{})
	cp := checkpoint(t, n)
	for i := range maxBranches - 1 {
		if _, err := n.Fork(fmt.Sprint("b", i), cp); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Fork("more", cp); !errors.Is(err, ErrTooManyBranches) {
		t.Errorf("%v", err)
	}
	if _, err := n.Checkout("more", cp); !errors.Is(err, ErrTooManyBranches) {
		t.Errorf("%v", err)
	}
	if got := len(n.Branches()); got != maxBranches {
		t.Errorf("%d branches", got)
	}
}

// TestCheckpointIDs: equal seeds give equal ids, names and seeds part them, and a reset begins anew.
func TestCheckpointIDs(t *testing.T) {
	first := func(seed uint64, name string) CheckpointID {
		e := New(Config{Seed: seed})
		defer e.Close()
		n, err := e.Namespace(name)
		if err != nil {
			t.Fatal(err)
		}
		id := checkpoint(t, n)
		if second := checkpoint(t, n); second <= id {
			t.Errorf("%s does not come after %s", second, id)
		}
		if err := n.Reset(); err != nil {
			t.Fatal(err)
		}
		if got := n.Checkpoints(); len(got) != 0 {
			t.Errorf("after a reset: %+v", got)
		}
		if again := checkpoint(t, n); again != id {
			t.Errorf("after a reset %s, not %s", again, id)
		}
		return id
	}
	a := first(1, "n")
	if len(a) != len("cp_")+32 || !strings.HasPrefix(string(a), "cp_") {
		t.Errorf("%q", a)
	}
	if first(1, "n") != a || first(2, "n") == a || first(1, "m") == a {
		t.Error("the ids do not follow from seed and name")
	}
	n := open(t, Config{Seed: 1})
	for _, id := range []CheckpointID{"", "cp_", a[:34], a + "0", "CP_" + a[3:], "cp_" + CheckpointID(strings.Repeat("g", 32)), a} {
		if _, err := n.Checkout("x", id); id != "" && !errors.Is(err, ErrNoCheckpoint) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestTimelineClosed: nothing of it panics after Close, and nothing moves.
func TestTimelineClosed(t *testing.T) {
	n := open(t, Config{})
	cp := checkpoint(t, n)
	n.engine.Close()
	for what, err := range map[string]error{
		"Checkpoint":       second(n.Checkpoint()),
		"Checkout":         second(n.Checkout("", cp)),
		"Fork":             second(n.Fork("x", cp)),
		"DeleteBranch":     n.DeleteBranch("x"),
		"DeleteCheckpoint": n.DeleteCheckpoint(cp),
	} {
		if !errors.Is(err, Closed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(n.Checkpoints()) != 1 || len(n.Branches()) != 1 {
		t.Error("what was known is gone")
	}
}

// TestAwaitAdmissionAfterCheckout: the count of admissions goes back, in a new era.
func TestAwaitAdmissionAfterCheckout(t *testing.T) {
	n := open(t, Config{})
	submit(t, n, "")
	cp := checkpoint(t, n)
	submit(t, n, "")
	var seen []Admissions
	look := func() {
		n.AwaitAdmission(t.Context(), func(a Admissions) bool { seen = append(seen, a); return true })
	}
	look()
	checkout(t, n, "", cp)
	look()
	submit(t, n, "")
	look()
	if want := []Admissions{{2, 0, 0}, {1, 1, 1}, {2, 1, 1}}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
}

// TestPinsAreBounded: one more than may be pinned lets the first one go, even where a branch has held it.
func TestPinsAreBounded(t *testing.T) {
	n := open(t, Config{Checkpoints: 1})
	first := checkpoint(t, n)
	if _, err := n.Fork("holds", first); err != nil {
		t.Fatal(err)
	}
	second := checkpoint(t, n)
	if got := n.Checkpoints(); len(got) != 2 || got[0].ID != first || got[0].Pinned || !got[1].Pinned {
		t.Errorf("%+v", got)
	}
	if err := n.DeleteBranch("holds"); err != nil {
		t.Fatal(err)
	}
	if got := ids(n); !slices.Equal(got, []CheckpointID{second}) {
		t.Errorf("%v, want %v", got, second)
	}
}
