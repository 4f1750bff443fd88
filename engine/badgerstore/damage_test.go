package badgerstore_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// positions are some of 0 to n-1, the first and the last among them.
func positions(n, count int) []int {
	var at []int
	if n <= 0 {
		return nil
	}
	for i := range count {
		at = append(at, i*(n-1)/max(1, count-1))
	}
	return slices.Compact(at)
}

// TestDamageOfClosed: whatever happens to a file of a store that was closed, Open says so, says what, and touches nothing.
func TestDamageOfClosed(t *testing.T) {
	const rows = 40
	sound := closed(t, rows, 300)
	files := tree(t, sound)
	if len(files) < 6 {
		t.Fatalf("files %v", slices.Sorted(maps.Keys(files)))
	}
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			for _, at := range positions(len(content), 12) {
				dir := copied(t, sound)
				flip(t, filepath.Join(dir, name), at)
				fails(t, dir, badgerstore.ErrDamaged, badgerstore.ErrChecksum)
			}
			for _, size := range positions(len(content), 6) {
				if size >= len(content) {
					continue
				}
				dir := copied(t, sound)
				if err := os.Truncate(filepath.Join(dir, name), int64(size)); err != nil {
					t.Fatal(err)
				}
				fails(t, dir, badgerstore.ErrDamaged)
				if !strings.HasSuffix(name, "SUMS") { // whose end may seem flipped
					fails(t, dir, badgerstore.ErrTruncated)
				}
			}
			dir := copied(t, sound)
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			fails(t, dir, badgerstore.ErrDamaged, badgerstore.ErrMissing)
		})
	}
	whole(t, sound, rows)
}

// TestDamageOfKilled is the same of a store that was not closed. Its logs end in zeros, which say nothing; what is
// damaged and not missed does no harm.
func TestDamageOfKilled(t *testing.T) {
	for name, c := range map[string]struct{ rows, size int }{
		"log alone":      {40, 300},
		"tables and log": {500, 6000},
	} {
		t.Run(name, func(t *testing.T) {
			sound := killed(t, c.rows, c.size)
			tables, logs := 0, 0
			files := tree(t, sound)
			for file := range files {
				base := filepath.Base(file)
				path := filepath.Join(sound, file)
				expect := func(what string, damage func(path string), want error) {
					t.Helper()
					dir := copied(t, sound)
					damage(filepath.Join(dir, file))
					before := tree(t, dir)
					s, err := badgerstore.Open(dir)
					if err == nil {
						defer s.Close()
						if want != nil {
							t.Errorf("%s %s: it opens", file, what)
						} else if n := known(t, s, c.rows); n != c.rows {
							t.Errorf("%s %s: it opens with %d rows of %d", file, what, n, c.rows)
						}
						return
					}
					if !errors.Is(err, badgerstore.ErrDamaged) || want != nil && !errors.Is(err, want) {
						t.Errorf("%s %s: %v, want %v", file, what, err, want)
					}
					if !maps.Equal(before, tree(t, dir)) {
						t.Errorf("%s %s: the directory has changed", file, what)
					}
				}
				flipped, cut, gone := badgerstore.ErrChecksum, badgerstore.ErrTruncated, badgerstore.ErrMissing
				count := 4
				switch {
				case strings.HasSuffix(base, ".sst"):
					if tables++; tables > 2 {
						continue
					}
				case strings.HasSuffix(base, ".mem"):
					logs++
					count = 16
				case base == "LOCK":
					continue
				case base == "MANIFEST":
					flipped, cut = nil, nil // the kind depends on where
				case base != "HERMESFAKE": // what Badger needs to be there, and the rows do not
					flipped, cut = nil, nil
				}
				size := written(t, path)
				for _, at := range positions(size, count) {
					want := flipped
					if strings.HasSuffix(base, ".mem") && at < 20 {
						want = nil // a number that only encryption needs
					}
					if strings.HasSuffix(base, ".sst") && at > size-10 {
						want = nil // lengths: the table ends elsewhere then
					}
					if strings.HasSuffix(base, ".mem") {
						want = nil // lengths again: see below
					}
					expect("flipped", func(path string) { flip(t, path, at) }, want)
				}
				for _, to := range positions(size, count) {
					want := cut
					if to == 0 || strings.HasSuffix(base, ".mem") {
						want = nil
					}
					expect("cut", func(path string) {
						if err := os.Truncate(path, int64(to)); err != nil {
							t.Fatal(err)
						}
					}, want)
				}
				expect("removed", func(path string) {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}, gone)
			}
			if logs == 0 || name != "log alone" && tables == 0 {
				t.Errorf("files %v", slices.Sorted(maps.Keys(files)))
			}
			whole(t, sound, c.rows)
		})
	}
}

// TestDamageOfLog: a log that Badger itself would take for one that ends early.
func TestDamageOfLog(t *testing.T) {
	const rows = 40
	sound := killed(t, rows, 300)
	logs, err := filepath.Glob(filepath.Join(sound, "rows-1", "*.mem"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %v %v", logs, err)
	}
	name := filepath.Join("rows-1", filepath.Base(logs[0]))
	text := tree(t, sound)[name]
	at := strings.Index(text, strings.Repeat("2", 300))
	if at < 0 {
		t.Fatal("no output in the log")
	}
	t.Run("flipped", func(t *testing.T) {
		dir := copied(t, sound)
		flip(t, filepath.Join(dir, name), at)
		fails(t, dir, badgerstore.ErrDamaged, badgerstore.ErrChecksum)
	})
	t.Run("cut", func(t *testing.T) {
		dir := copied(t, sound)
		if err := os.Truncate(filepath.Join(dir, name), int64(at)); err != nil {
			t.Fatal(err)
		}
		fails(t, dir, badgerstore.ErrDamaged, badgerstore.ErrTruncated)
	})
	t.Run("ends early", func(t *testing.T) {
		dir := copied(t, sound)
		b := []byte(text)
		clear(b[at:])
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		fails(t, dir, badgerstore.ErrDamaged)
	})
	t.Run("the zeros behind it cut", func(t *testing.T) {
		dir := copied(t, sound)
		if err := os.Truncate(filepath.Join(dir, name), int64(written(t, filepath.Join(dir, name)))); err != nil {
			t.Fatal(err)
		}
		whole(t, dir, rows)
	})
}

func TestNewerFormat(t *testing.T) {
	dir := closed(t, 1, 1)
	if err := os.WriteFile(filepath.Join(dir, "HERMESFAKE"), badgerstore.NewerHead(), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, dir, badgerstore.ErrNewer)
	if _, err := badgerstore.Open(dir, badgerstore.WithRecover()); !errors.Is(err, badgerstore.ErrNewer) {
		t.Errorf("to recover it: %v", err)
	}
}

// FuzzRead: no bytes make the reading of files panic.
func FuzzRead(f *testing.F) {
	dir := closed(f, 20, 10)
	for name, content := range tree(f, dir) {
		if strings.HasSuffix(name, ".sst") {
			f.Add([]byte(content))
		}
	}
	for name, content := range tree(f, killed(f, 5, 10)) {
		if strings.HasSuffix(name, ".mem") {
			f.Add([]byte(strings.TrimRight(content, "\x00")))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { badgerstore.Read(b) })
}
