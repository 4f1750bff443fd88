package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
)

// replace gives a namespace rows of the size.
func replace(s engine.Store, namespace string, size int, reserved uint64, numbers ...int) error {
	return s.Replace(namespace, len(numbers), reserved, func(add func(engine.StoredRow) error) error {
		for _, n := range numbers {
			row := put(n, size)
			if err := add(row); err != nil {
				return err
			}
			clear(row.Record) // which put must not keep
		}
		return nil
	})
}

// numbers are those from one to below another.
func numbers(from, to int) (all []int) {
	for n := from; n < to; n++ {
		all = append(all, n)
	}
	return all
}

// testReplace: rows of another number and size, large ones too, take the place of those that were there.
func testReplace(t *testing.T, d Door) {
	s := open(t, d)
	apply(t, s, "other", engine.Changes{Put: []engine.StoredRow{put(1, 20)}, Rows: 1})
	reserved := uint64(0)
	for _, step := range []struct{ from, to, size, reserved int }{
		{0, 0, 0, 0}, {0, 1, 100, 3}, {0, 10_000, 250, 90}, {9_990, 10_010, 300_000, 5}, {10_005, 10_012, 64 << 10, 91}, {0, 300, 30, 0}, {0, 0, 0, 0}, {7, 8, 10, 0},
	} {
		rows := numbers(step.from, step.to)
		if err := replace(s, "default", step.size, uint64(step.reserved), rows...); err != nil {
			t.Fatalf("%+v: %v", step, err)
		}
		reserved = max(reserved, uint64(step.reserved))
		for range 2 {
			holds(t, s, "default", step.size, rows...)
			holds(t, s, "other", 20, 1)
			if _, r := load(t, s, "default"); r != reserved {
				t.Errorf("%+v: reserved %d, want %d", step, r, reserved)
			}
			s.reopen()
		}
		// What comes after it builds on it.
		next := append(slices.Clone(rows), step.to+1)
		apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(step.to+1, step.size)}, Rows: len(next)})
		holds(t, s, "default", step.size, next...)
		apply(t, s, "default", engine.Changes{Delete: []engine.RunID{run(step.to + 1)}, Rows: len(rows)})
		holds(t, s, "default", step.size, rows...)
	}
	names := s.Namespaces()
	slices.Sort(names)
	if !slices.Equal(names, []string{"default", "other"}) {
		t.Errorf("namespaces %q", names)
	}
	if err := s.Drop("default"); err != nil {
		t.Fatal(err)
	}
	s.reopen()
	holds(t, s, "default", 0)
}

// testReplaceError: where the rows do not come as said, all is as it was.
func testReplaceError(t *testing.T, d Door) {
	s := open(t, d)
	old := []int{1, 2}
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(1, 200_000), put(2, 200_000)}, Rows: 2, Reserved: 7})
	wrong := errors.New("wrong")
	for name, c := range map[string]struct {
		given, count, size int
		err                error
		want               string
	}{
		"at once":              {0, 5, 10, wrong, "wrong"},
		"in the middle":        {3000, 5000, 100, wrong, "wrong"},
		"between large rows":   {7, 9, 300_000, wrong, "wrong"},
		"too few":              {3, 4, 10, nil, "3 rows were given of 4"},
		"too many":             {5, 4, 10, nil, "5 rows were given of 4"},
		"some instead of none": {1, 0, 10, nil, "1 rows were given of 0"},
	} {
		for _, namespace := range []string{"default", "unknown"} {
			err := s.Replace(namespace, c.count, 1<<40, func(add func(engine.StoredRow) error) error {
				for n := range c.given {
					if err := add(put(n, c.size)); err != nil {
						return err
					}
				}
				return c.err
			})
			if err == nil || !strings.HasSuffix(err.Error(), c.want) || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if names := s.Namespaces(); !slices.Equal(names, []string{"default"}) {
			t.Errorf("%s: namespaces %q", name, names)
		}
		holds(t, s, "default", 200_000, old...)
		if _, reserved := load(t, s, "default"); reserved != 7 {
			t.Errorf("%s: reserved %d", name, reserved)
		}
	}
	s.reopen()
	holds(t, s, "default", 200_000, old...)
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(3, 200_000)}, Delete: []engine.RunID{run(1)}, Rows: 2})
	s.reopen()
	holds(t, s, "default", 200_000, 2, 3)
}
