// Package storetest has the tests that every engine.Store must pass.
package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
)

// Door opens stores for the tests.
type Door struct {
	// Open returns a new, empty store. The tests close it.
	Open func(t *testing.T) engine.Store
	// Reopen closes a store that Open returned, and returns one with the same rows, as another process would open it. It may be the same.
	Reopen func(t *testing.T, s engine.Store) engine.Store
}

// Run tests the stores of a door: as such, and under an engine.
func Run(t *testing.T, d Door) {
	for name, test := range map[string]func(*testing.T, Door){
		"Empty":          testEmpty,
		"Apply":          testApply,
		"Namespaces":     testNamespaces,
		"Reserved":       testReserved,
		"Many":           testMany,
		"Large":          testLarge,
		"Drop":           testDrop,
		"Replace":        testReplace,
		"ReplaceError":   testReplaceError,
		"Attach":         testAttach,
		"Closed":         testClosed,
		"Concurrent":     testConcurrent,
		"LoadError":      testLoadError,
		"Restart":        testRestart,
		"Observations":   testObservations,
		"Unfinished":     testUnfinished,
		"Ids":            testIDs,
		"Retention":      testRetention,
		"Prune":          testPrune,
		"Reset":          testReset,
		"DropNamespace":  testDropNamespace,
		"Scopes":         testScopes,
		"SecondEngine":   testSecondEngine,
		"NotTheText":     testNotTheText,
		"LargeRows":      testLargeRows,
		"ConcurrentRuns": testConcurrentRuns,
	} {
		t.Run(name, func(t *testing.T) { test(t, d) })
	}
}

// open returns a new store that the test closes; reopen replaces it.
func open(t *testing.T, d Door) *opened {
	t.Helper()
	o := &opened{t: t, door: d, Store: d.Open(t)}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

type opened struct {
	t    *testing.T
	door Door
	engine.Store
}

func (o *opened) reopen() {
	o.t.Helper()
	o.Store = o.door.Reopen(o.t, o.Store)
}

func run(n int) engine.RunID {
	return engine.RunID{0: byte(n >> 8), 1: byte(n), 15: 1}
}

func record(n, size int) []byte { return bytes.Repeat([]byte{byte(n), byte(n >> 8), 7}, size/3+1) }

func put(n, size int) engine.StoredRow { return engine.StoredRow{Run: run(n), Record: record(n, size)} }

func apply(t *testing.T, s engine.Store, namespace string, c engine.Changes) {
	t.Helper()
	if err := s.Apply(namespace, c); err != nil {
		t.Fatal(err)
	}
}

// load returns the records of a namespace.
func load(t *testing.T, s engine.Store, namespace string) (rows map[engine.RunID][]byte, reserved uint64) {
	t.Helper()
	rows = map[engine.RunID][]byte{}
	reserved, err := s.Load(namespace, func(id engine.RunID, record []byte) error {
		if rows[id] != nil {
			t.Errorf("row %v twice", id)
		}
		rows[id] = bytes.Clone(record)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, reserved
}

// holds fails unless the namespace has exactly these rows, each of the size.
func holds(t *testing.T, s engine.Store, namespace string, size int, numbers ...int) {
	t.Helper()
	rows, _ := load(t, s, namespace)
	if len(rows) != len(numbers) {
		t.Errorf("namespace %s has %d rows, want %d", namespace, len(rows), len(numbers))
	}
	for _, n := range numbers {
		if !bytes.Equal(rows[run(n)], record(n, size)) {
			t.Errorf("namespace %s: row %d has %d bytes that are not those that were put", namespace, n, len(rows[run(n)]))
		}
	}
}

func testEmpty(t *testing.T, d Door) {
	s := open(t, d)
	for range 2 {
		if names := s.Namespaces(); len(names) != 0 {
			t.Errorf("namespaces %q", names)
		}
		if rows, reserved := load(t, s, "default"); len(rows) != 0 || reserved != 0 {
			t.Errorf("rows %v, reserved %d", rows, reserved)
		}
		s.reopen()
	}
}

func testApply(t *testing.T, d Door) {
	s := open(t, d)
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(1, 300), put(2, 300)}, Rows: 2, Reserved: 9})
	holds(t, s, "default", 300, 1, 2)
	s.reopen()
	holds(t, s, "default", 300, 1, 2)
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(3, 300)}, Delete: []engine.RunID{run(1)}, Rows: 2, Reserved: 9})
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{{Run: run(2), Record: record(2, 600)}, {Run: run(3), Record: record(3, 600)}},
		Rows: 2, Reserved: 9})
	for range 2 {
		holds(t, s, "default", 600, 2, 3)
		s.reopen()
	}
	apply(t, s, "default", engine.Changes{Delete: []engine.RunID{run(2), run(3)}, Reserved: 9})
	for range 2 {
		holds(t, s, "default", 0)
		s.reopen()
	}
}

func testNamespaces(t *testing.T, d Door) {
	s := open(t, d)
	apply(t, s, "a", engine.Changes{Put: []engine.StoredRow{put(1, 100)}, Rows: 1})
	apply(t, s, "a.b", engine.Changes{Put: []engine.StoredRow{put(1, 200), put(2, 200)}, Rows: 2})
	apply(t, s, "keyless", engine.Changes{Reserved: 5})
	for range 2 {
		names := s.Namespaces()
		slices.Sort(names)
		if !slices.Equal(names, []string{"a", "a.b", "keyless"}) {
			t.Errorf("namespaces %q", names)
		}
		holds(t, s, "a", 100, 1)
		holds(t, s, "a.b", 200, 1, 2)
		s.reopen()
	}
}

func testReserved(t *testing.T, d Door) {
	s := open(t, d)
	apply(t, s, "default", engine.Changes{Reserved: 7})
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(1, 10)}, Rows: 1, Reserved: 1 << 60})
	apply(t, s, "default", engine.Changes{Delete: []engine.RunID{run(1)}, Reserved: 1 << 60})
	for range 2 {
		if _, reserved := load(t, s, "default"); reserved != 1<<60 {
			t.Errorf("reserved %d", reserved)
		}
		s.reopen()
	}
}

func testMany(t *testing.T, d Door) {
	s := open(t, d)
	const rows = 3000
	var numbers, odd []int
	var even []engine.RunID
	for n := range rows {
		apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(n, 900)}, Rows: n + 1})
		numbers = append(numbers, n)
		if n%2 == 1 {
			odd = append(odd, n)
		} else {
			even = append(even, run(n))
		}
	}
	holds(t, s, "default", 900, numbers...)
	for i, some := range slices.Collect(slices.Chunk(even, 500)) {
		apply(t, s, "default", engine.Changes{Delete: some, Rows: rows - 500*(i+1)})
	}
	for range 2 {
		holds(t, s, "default", 900, odd...)
		s.reopen()
	}
}

func testLarge(t *testing.T, d Door) {
	s := open(t, d)
	const size = 3 << 20
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(1, size), put(2, size)}, Rows: 2})
	for range 2 {
		holds(t, s, "default", size, 1, 2)
		s.reopen()
	}
	load(t, s, "default")
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(1, size/2)}, Delete: []engine.RunID{run(2)}, Rows: 1})
	for range 2 {
		holds(t, s, "default", size/2, 1)
		s.reopen()
	}
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(1, 10)}, Rows: 1})
	holds(t, s, "default", 10, 1)
}

func testDrop(t *testing.T, d Door) {
	s := open(t, d)
	apply(t, s, "kept", engine.Changes{Put: []engine.StoredRow{put(1, 50)}, Rows: 1})
	for n := range 2500 {
		apply(t, s, "dropped", engine.Changes{Put: []engine.StoredRow{put(n, 200)}, Rows: n + 1, Reserved: 77})
	}
	for range 2 { // the second time there is nothing to drop
		if err := s.Drop("dropped"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if names := s.Namespaces(); !slices.Equal(names, []string{"kept"}) {
			t.Errorf("namespaces %q", names)
		}
		if rows, reserved := load(t, s, "dropped"); len(rows) != 0 || reserved != 0 {
			t.Errorf("%d rows, reserved %d", len(rows), reserved)
		}
		s.reopen()
	}
	apply(t, s, "dropped", engine.Changes{Put: []engine.StoredRow{put(3, 20)}, Rows: 1})
	s.reopen()
	holds(t, s, "dropped", 20, 3)
	holds(t, s, "kept", 50, 1)
}

func testAttach(t *testing.T, d Door) {
	s := open(t, d)
	for range 2 {
		if err := s.Attach(); err != nil {
			t.Fatal(err)
		}
		if err := s.Attach(); !errors.Is(err, engine.ErrStoreInUse) {
			t.Errorf("attached twice: %v", err)
		}
		s.Detach()
	}
}

func testClosed(t *testing.T, d Door) {
	s := d.Open(t)
	for range 2 { // the second time does nothing
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Load("default", func(engine.RunID, []byte) error { return nil })
	for name, err := range map[string]error{
		"Attach":  s.Attach(),
		"Load":    err,
		"Apply":   s.Apply("default", engine.Changes{Reserved: 1}),
		"Replace": replace(s, "default", 10, 0, 1),
		"Drop":    s.Drop("default"),
	} {
		if err == nil {
			t.Errorf("%s of a closed store has no error", name)
		}
	}
	s.Detach()
}

func testConcurrent(t *testing.T, d Door) {
	s := open(t, d)
	const writers, writes = 8, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			namespace := fmt.Sprint("ns", w)
			for n := range writes {
				if err := s.Apply(namespace, engine.Changes{Put: []engine.StoredRow{put(n, 100+w)}, Rows: n + 1}); err != nil {
					t.Error(err)
				}
				s.Namespaces()
			}
		})
	}
	wg.Wait()
	s.reopen()
	var all []int
	for n := range writes {
		all = append(all, n)
	}
	for w := range writers {
		holds(t, s, fmt.Sprint("ns", w), 100+w, all...)
	}
}

func testLoadError(t *testing.T, d Door) {
	s := open(t, d)
	apply(t, s, "default", engine.Changes{Put: []engine.StoredRow{put(1, 10), put(2, 10)}, Rows: 2})
	wrong := errors.New("wrong")
	calls := 0
	if _, err := s.Load("default", func(engine.RunID, []byte) error { calls++; return wrong }); !errors.Is(err, wrong) || calls != 1 {
		t.Errorf("error %v after %d rows", err, calls)
	}
}
