package badgerstore_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// fill admits keyed runs 0 to rows-1, and completes all but every fifth. The outputs make the rows as large as said.
func fill(t testing.TB, s engine.Store, rows, size int) {
	t.Helper()
	e := engine.New(engine.Config{Seed: 1, Store: s})
	defer e.Close()
	n := namespace(t, e)
	for i := range rows {
		a, err := n.Submit(engine.Submission{Key: strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		if i%5 == 4 {
			continue
		}
		o := engine.Observation{Status: engine.Completed, Output: strings.Repeat(strconv.Itoa(i%10), size)}
		if _, err := n.Observe(a.Run.ID(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func namespace(t testing.TB, e *engine.Engine) *engine.Namespace {
	t.Helper()
	n, err := e.Namespace(engine.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// closed returns the directory of a store of so many rows that was closed.
func closed(t testing.TB, rows, size int) string {
	t.Helper()
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, rows, size)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// killed is closed for a store whose process was killed: a copy of the files while it is open.
func killed(t testing.TB, rows, size int) string {
	t.Helper()
	s := openStore(t, t.TempDir())
	fill(t, s, rows, size)
	defer s.Close()
	return killedNow(t, s)
}

// killedNow is what the store leaves if its process is killed now.
func killedNow(t testing.TB, s *badgerstore.Store) string {
	t.Helper()
	for { // until no full memtable is on its way to a table: a copy is not of one moment
		if logs, _ := filepath.Glob(filepath.Join(s.Dir(), "rows-*", "*.mem")); len(logs) == 1 {
			dir := copied(t, s.Dir())
			os.Remove(filepath.Join(dir, "ROOM")) // takes time to copy, and its absence is no harm
			return dir
		}
		runtime.Gosched()
	}
}

// copied returns a copy of a directory.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// tree is every file of a directory.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// fails opens a store, which must fail with the errors and change nothing.
func fails(t testing.TB, dir string, wants ...error) {
	t.Helper()
	before := tree(t, dir)
	s, err := badgerstore.Open(dir)
	if err == nil {
		s.Close()
		t.Errorf("it opens")
		return
	}
	for _, want := range wants {
		if !errors.Is(err, want) {
			t.Errorf("error %q, want one that wraps %q", err, want)
		}
	}
	if after := tree(t, dir); !maps.Equal(before, after) {
		t.Errorf("%v: the directory has changed: %v, was %v", err, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}

// known counts the keys 0 to rows-1 that the store has with the state of fill.
func known(t testing.TB, s engine.Store, rows int) (n int) {
	t.Helper()
	e := engine.New(engine.Config{Store: s})
	defer e.Close()
	space := namespace(t, e)
	limit := 0
	space.SetGateway(&limit, nil)
	for i := range rows {
		a, err := space.Submit(engine.Submission{Key: strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		want := engine.Completed
		if i%5 == 4 {
			want = engine.Interrupted
		}
		if a.Replayed && a.Run.Status() == want {
			n++
		}
	}
	return n
}

// whole fails unless the store opens with all its rows.
func whole(t testing.TB, dir string, rows int) {
	t.Helper()
	s := openStore(t, dir)
	defer s.Close()
	if n := known(t, s, rows); n != rows {
		t.Errorf("%d rows of %d are there", n, rows)
	}
}

// flip changes a bit of a file.
func flip(t testing.TB, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 0x10
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// written is how much of a file is not the zeros at its end.
func written(t testing.TB, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return len(strings.TrimRight(string(b), "\x00"))
}
