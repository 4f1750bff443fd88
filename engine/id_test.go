package engine

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestIDsRepeat(t *testing.T) {
	ids := func(seed uint64, name string) (ids []RunID) {
		e := New(Config{Seed: seed})
		defer e.Close()
		n, err := e.Namespace(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			key := ""
			if i%3 == 0 {
				key = strings.Repeat("k", i+1)
			}
			ids = append(ids, submit(t, n, key))
		}
		return ids
	}
	same, again := ids(1, "a"), ids(1, "a")
	for i := range same {
		if same[i] != again[i] {
			t.Errorf("id %d: %v, then %v", i, same[i], again[i])
		}
	}
	seen := map[RunID]string{}
	for _, from := range []struct {
		seed uint64
		name string
	}{{1, "a"}, {2, "a"}, {1, "b"}, {1, "aa"}, {1, "A"}, {0, "a"}, {1 << 63, "a"}, {1, strings.Repeat("a", 64)}} {
		for _, id := range ids(from.seed, from.name) {
			if other := seen[id]; other != "" {
				t.Errorf("%v comes from %s and %v", id, other, from)
			}
			seen[id] = from.name
		}
	}
}

// TestRejectedRequestsUseNoID proves that only an admission moves the sequence, and a reset begins it anew.
func TestRejectedRequestsUseNoID(t *testing.T) {
	plain := open(t, Config{Seed: 9})
	want := []RunID{submit(t, plain, ""), submit(t, plain, ""), submit(t, plain, "")}

	n := open(t, Config{Seed: 9, Gateway: Gateway{MaxConcurrentRuns: 1}})
	for round := range 2 {
		for i := range want {
			id := submit(t, n, "")
			if id != want[i] {
				t.Errorf("round %d, admission %d: %v, want %v", round, i, id, want[i])
			}
			if _, err := n.Submit(Submission{}); !errors.Is(err, AtCapacity) {
				t.Errorf("%v", err)
			}
			if _, err := n.Submit(Submission{Key: "k"}); !errors.Is(err, AtCapacity) {
				t.Errorf("%v", err)
			}
			observe(t, n, id, Completed)
			n.Run(RunID{})
			n.Stop(RunID{1})
			n.Restart(OwnerAlive)
		}
		if err := n.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplaysUseNoID(t *testing.T) {
	n := open(t, Config{Seed: 9})
	first := submit(t, n, "k")
	for range 3 {
		if a, err := n.Submit(Submission{Key: "k"}); err != nil || !a.Replayed || a.Run.ID() != first {
			t.Errorf("%+v %v", a, err)
		}
		if _, err := n.Submit(Submission{Key: "k", Fingerprint: [32]byte{1}}); !errors.Is(err, KeyConflict) {
			t.Errorf("%v", err)
		}
	}
	plain := open(t, Config{Seed: 9})
	submit(t, plain, "")
	if got, want := submit(t, n, ""), submit(t, plain, ""); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestIDFormat(t *testing.T) {
	format := regexp.MustCompile(`^run_[0-9a-f]{32}$`)
	seen := map[RunID]bool{}
	for number := range uint64(100_000) {
		id := mint(1, "default", number)
		if seen[id] {
			t.Fatalf("%v twice", id)
		}
		seen[id] = true
		if [8]byte(id[:8]) == [8]byte(id[8:]) {
			t.Fatalf("%v is one half twice", id)
		}
	}
	for id := range seen {
		text := id.String()
		if !format.MatchString(text) {
			t.Fatalf("%s", text)
		}
		if back, ok := ParseRunID(text); !ok || back != id || string(id.Append([]byte("x"))) != "x"+text {
			t.Fatalf("%s reads as %v, %t", text, back, ok)
		}
	}
	good := mint(1, "x", 1).String()
	for _, bad := range []string{"", "run_", good[:35], good + "0", " " + good[1:], strings.ToUpper(good), "RUN_" + good[4:],
		good[:35] + "g", good[:35] + "A", good[:10] + "\x00" + good[11:], good[:34] + "é", "run-" + good[4:]} {
		if id, ok := ParseRunID(bad); ok || id != (RunID{}) {
			t.Errorf("%q reads as %v", bad, id)
		}
	}
}
