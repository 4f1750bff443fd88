package badgerstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// first is the first file of a store with the suffix.
func first(t *testing.T, dir, suffix string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "rows-1", "*"+suffix))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file ends in %s: %v", suffix, err)
	}
	return files[0]
}

// flipOutput damages the row of a run whose output is of the digit, in the file.
func flipOutput(t *testing.T, path, digit string, size int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(b), strings.Repeat(digit, size))
	if at < 0 {
		t.Fatal("no such output")
	}
	flip(t, path, at)
}

func TestRecover(t *testing.T) {
	const rows, size = 40, 300
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		killed  bool
		damage  func(t *testing.T, dir string)
		kind    error
		kept    int // of the rows; -1: some
		dropped int // -1: the others
	}{
		"a row in a table":    {false, func(t *testing.T, dir string) { flipOutput(t, first(t, dir, ".sst"), "2", size) }, badgerstore.ErrChecksum, -1, -1},
		"a row in a log":      {true, func(t *testing.T, dir string) { flipOutput(t, first(t, dir, ".mem"), "2", size) }, badgerstore.ErrChecksum, rows - 1, 1},
		"the manifest":        {false, func(t *testing.T, dir string) { flip(t, first(t, dir, "MANIFEST"), 20) }, badgerstore.ErrChecksum, rows, 0},
		"no manifest":         {false, func(t *testing.T, dir string) { remove(t, first(t, dir, "MANIFEST")) }, badgerstore.ErrMissing, rows, 0},
		"no manifest, killed": {true, func(t *testing.T, dir string) { remove(t, first(t, dir, "MANIFEST")) }, badgerstore.ErrMissing, rows, 0},
		"no table":            {false, func(t *testing.T, dir string) { remove(t, first(t, dir, ".sst")) }, badgerstore.ErrMissing, 0, 0},
		"no log":              {true, func(t *testing.T, dir string) { remove(t, first(t, dir, ".mem")) }, badgerstore.ErrMissing, 0, 0},
		"half a log": {true, func(t *testing.T, dir string) {
			path := first(t, dir, ".mem")
			os.Truncate(path, int64(written(t, path)/2))
		}, badgerstore.ErrTruncated, -1, 0},
		"half a table": {false, func(t *testing.T, dir string) {
			path := first(t, dir, ".sst")
			os.Truncate(path, int64(written(t, path)/2))
		}, badgerstore.ErrTruncated, 0, 0},
		"a table's index":           {false, func(t *testing.T, dir string) { path := first(t, dir, ".sst"); flip(t, path, written(t, path)-60) }, badgerstore.ErrChecksum, rows, 0},
		"half a manifest":           {false, func(t *testing.T, dir string) { os.Truncate(first(t, dir, "MANIFEST"), 16) }, badgerstore.ErrTruncated, rows, 0},
		"no sums":                   {false, func(t *testing.T, dir string) { remove(t, first(t, dir, "SUMS")) }, badgerstore.ErrMissing, rows, 0},
		"no registry":               {true, func(t *testing.T, dir string) { remove(t, first(t, dir, "KEYREGISTRY")) }, badgerstore.ErrMissing, rows, 0},
		"no head":                   {false, func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "HERMESFAKE")) }, badgerstore.ErrMissing, rows, 0},
		"the head":                  {true, func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "HERMESFAKE"), 30) }, badgerstore.ErrChecksum, rows, 0},
		"half a head":               {true, func(t *testing.T, dir string) { os.Truncate(filepath.Join(dir, "HERMESFAKE"), 20) }, badgerstore.ErrTruncated, rows, 0},
		"no directory":              {false, func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "rows-1")) }, badgerstore.ErrMissing, 0, 0},
		"nothing, which is no harm": {true, func(t *testing.T, dir string) {}, nil, rows, 0},
	} {
		t.Run(name, func(t *testing.T) {
			make := closed
			if c.killed {
				make = killed
			}
			dir := make(t, rows, size)
			c.damage(t, dir)
			if c.kind != nil {
				fails(t, dir, badgerstore.ErrDamaged, c.kind)
			}
			s := openStore(t, dir, badgerstore.WithRecover())
			r := s.Recovered()
			if c.kind == nil {
				if r != nil {
					t.Errorf("recovered %+v", r)
				}
				r = &badgerstore.Recovery{Kept: rows}
			} else if !errors.Is(r.Damage, c.kind) {
				t.Errorf("the damage is %v", r.Damage)
			}
			if c.dropped < 0 {
				c.dropped = rows - r.Kept
			}
			if c.kept >= 0 && r.Kept != c.kept || c.kept < 0 && (r.Kept == 0 || r.Kept == rows) || len(r.Dropped) != c.dropped {
				t.Errorf("recovered %+v", r)
			}
			for _, d := range r.Dropped {
				if d.Namespace != "default" || d.Run.String() == "" || d.Reason == "" {
					t.Errorf("dropped %+v", d)
				}
			}
			known(t, s, rows) // admits what is not
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := openStore(t, dir)
			defer again.Close()
			if again.Recovered() != nil {
				t.Errorf("recovered again: %+v", again.Recovered())
			}
		})
	}
}

// TestRecoverKeepsTheNewest: rows that were changed come back as they were last, and dropped namespaces stay dropped.
func TestRecoverKeepsTheNewest(t *testing.T) {
	const rows = 60
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, rows, 200)
	if err := s.Drop("default"); err != nil {
		t.Fatal(err)
	}
	fill(t, s, rows/2, 200)
	dir = copied(t, s.Dir())
	s.Close()
	if err := os.Remove(first(t, dir, "KEYREGISTRY")); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir, badgerstore.WithRecover())
	defer s.Close()
	if r := s.Recovered(); r.Kept != rows/2 || len(r.Dropped) != 0 || r.Lost != 0 {
		t.Errorf("recovered %+v", r)
	}
	if n := known(t, s, rows); n != rows/2 {
		t.Errorf("%d keys are known, want %d", n, rows/2)
	}
}

// TestRecoverKilled: killed before its new files are all there, a recovery is done again, whatever was damaged.
func TestRecoverKilled(t *testing.T) {
	const rows = 20
	dir := closed(t, rows, 100)
	if err := os.Remove(filepath.Join(dir, "HERMESFAKE")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "rows-2.new"), os.DirFS(filepath.Join(closed(t, 1, 1), "rows-1"))); err != nil {
		t.Fatal(err)
	}
	fails(t, dir, badgerstore.ErrMissing)
	s := openStore(t, dir, badgerstore.WithRecover())
	defer s.Close()
	if r := s.Recovered(); r.Kept != rows || r.Old != "rows-1" {
		t.Errorf("recovered %+v", r)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "rows-*")); len(names) != 2 {
		t.Errorf("there are %q", names)
	}
}

// TestRecoverIDs: what a damaged namespace had reserved may be lost, or all that is known of it, and its ids do not come twice even so.
func TestRecoverIDs(t *testing.T) {
	t.Run("some is left", func(t *testing.T) { testRecoverIDs(t, 2) })
	t.Run("nothing is left", func(t *testing.T) { testRecoverIDs(t, 0) })
}

func testRecoverIDs(t *testing.T, thirds int) {
	dir := t.TempDir()
	s := openStore(t, dir)
	seen := map[engine.RunID]bool{}
	submit := func(s *badgerstore.Store) {
		e := engine.New(engine.Config{Seed: 1, Store: s})
		defer e.Close()
		n, limit := namespace(t, e), 0
		n.SetGateway(&limit, nil)
		for range 2500 {
			a, err := n.Submit(engine.Submission{})
			if err != nil {
				t.Fatal(err)
			}
			if seen[a.Run.ID()] {
				t.Fatalf("run %d has an id that was used", a.Run.Number())
			}
			seen[a.Run.ID()] = true
		}
	}
	submit(s)
	dir = killedNow(t, s)
	s.Close()
	path := first(t, dir, ".mem")
	if err := os.Truncate(path, int64(written(t, path)*thirds/3)); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir, badgerstore.WithRecover())
	if s.Recovered() == nil {
		t.Error("nothing was damaged")
	}
	if known := len(s.Namespaces()) > 0; known != (thirds > 0) {
		t.Errorf("the namespace is known: %t", known)
	}
	s.Close()
	s = openStore(t, dir)
	defer s.Close()
	submit(s)
}

// TestRecoverNoEarlierState: whatever is damaged of what a row has become, its earlier state is not what comes back.
func TestRecoverNoEarlierState(t *testing.T) {
	const rows, size = 12, 300
	for file, make := range map[string]func(t testing.TB, rows, size int) string{".mem": killed, ".sst": closed} {
		sound := make(t, rows, size)
		b, err := os.ReadFile(first(t, sound, file))
		if err != nil {
			t.Fatal(err)
		}
		end := strings.Index(string(b), strings.Repeat("2", size))
		recovered := 0
		for at := end - 250; at < end; at += 13 {
			dir := copied(t, sound)
			flip(t, first(t, dir, file), at)
			s := openStore(t, dir, badgerstore.WithRecover())
			if s.Recovered() != nil {
				recovered++
			}
			e := engine.New(engine.Config{Store: s})
			for _, run := range namespace(t, e).Runs() {
				if n := run.Number(); n%5 != 0 && run.Status() != engine.Completed {
					t.Errorf("%s, byte %d of %d: run %d is %s", file, at, end, n, run.Status())
				}
			}
			e.Close()
			s.Close()
		}
		if recovered == 0 {
			t.Errorf("%s: nothing was damaged", file)
		}
	}
}

// TestRecoverLarge: rows that have parts come back, or are dropped as a whole.
func TestRecoverLarge(t *testing.T) {
	const size = 200_000
	for _, damaged := range []bool{false, true} {
		dir := killed(t, 3, size)
		if damaged {
			flipOutput(t, first(t, dir, ".mem"), "1", 60_000)
		}
		if err := os.Remove(first(t, dir, "KEYREGISTRY")); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, dir, badgerstore.WithRecover())
		want := 3
		if damaged {
			want = 2
		}
		if r := s.Recovered(); r.Kept != want || len(r.Dropped) != 3-want {
			t.Errorf("recovered %+v, want %d", r, want)
		}
		if n := known(t, s, 3); n != want {
			t.Errorf("%d keys are known, want %d", n, want)
		}
		s.Close()
	}
}
