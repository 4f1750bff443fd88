package badgerstore_test

import (
	"errors"
	"os"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// holds fails unless the database has exactly these keys.
func holds(t *testing.T, s *badgerstore.Store, what string, rows, parts, dropped int) {
	t.Helper()
	r, p, d := s.Keys(t)
	if r != rows || p != parts || d != dropped {
		t.Errorf("%s: %d rows, %d parts, %d generations to drop; want %d, %d, %d", what, r, p, d, rows, parts, dropped)
	}
}

// TestNothingStays: what was dropped, or replaced, is not in the database, and what a killed process left there goes when it is
// opened.
func TestNothingStays(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	large := func(size int) engine.Changes {
		return engine.Changes{Put: []engine.StoredRow{{Run: engine.RunID{1}, Record: make([]byte, size)}}, Rows: 1}
	}
	for _, step := range []struct {
		size, parts int
	}{{200_000, 4}, {300_000, 5}, {10, 0}, {70_000, 2}} {
		if err := s.Apply("large", large(step.size)); err != nil {
			t.Fatal(err)
		}
		holds(t, s, "a large row", 1, step.parts, 0)
	}
	fill(t, s, 2500, 10)
	holds(t, s, "filled", 2501, 2, 0)
	if err := s.Drop("default"); err != nil {
		t.Fatal(err)
	}
	holds(t, s, "dropped", 1, 2, 0)

	// A drop that gets no further than its transaction.
	fill(t, s, 30, 100_000)
	room := true
	s.SetFree(func(string) (uint64, error) {
		if room {
			room = false
			return 1 << 40, nil
		}
		return 0, nil
	})
	if err := s.Drop("default"); err != nil {
		t.Fatal(err)
	}
	holds(t, s, "dropped without room to clear", 31, 2+24*2, 1)
	s.SetFree(badgerstore.FreeBytes)
	if err := s.LeavePart(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	defer s.Close()
	holds(t, s, "opened again", 1, 2, 0)
	if err := s.Drop("large"); err != nil {
		t.Fatal(err)
	}
	holds(t, s, "all dropped", 0, 0, 0)
}

// TestLostRow: rows are counted, since one that is not there has no checksum.
func TestLostRow(t *testing.T) {
	s := openStore(t, t.TempDir())
	fill(t, s, 1, 1)
	if err := s.LoseRow(); err != nil {
		t.Fatal(err)
	}
	fails(t, copied(t, s.Dir()), badgerstore.ErrDamaged, badgerstore.ErrMissing)
	dir := s.Dir()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir) // as it was closed
	defer s.Close()
	if _, err := s.Load("default", func(engine.RunID, []byte) error { return nil }); !errors.Is(err, badgerstore.ErrDamaged) {
		t.Errorf("error %v", err)
	}
}

// TestTableChecksums: no byte of a table can change unseen.
func TestTableChecksums(t *testing.T) {
	b, err := os.ReadFile(first(t, closed(t, 60, 100), ".sst"))
	if err != nil {
		t.Fatal(err)
	}
	if err := badgerstore.TableDamage(b); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] ^= 1
		if badgerstore.TableDamage(b) == nil {
			t.Errorf("byte %d of %d", i, len(b))
		}
		b[i] ^= 1
		if i%50 == 0 && badgerstore.TableDamage(b[:i]) == nil {
			t.Errorf("%d bytes of %d", i, len(b))
		}
	}
}
