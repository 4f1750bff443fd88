package badgerstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// rowsOf are the rows of so many runs, all with the output. Those of the same number have the same ids.
func rowsOf(count int, output func(i int) string) ([]engine.StoredRow, error) {
	m := engine.NewMemoryStore()
	e := engine.New(engine.Config{Seed: 1, Store: m})
	defer e.Close()
	n, err := e.Namespace(engine.DefaultNamespace)
	if err != nil {
		return nil, err
	}
	for i := range count {
		a, err := n.Submit(engine.Submission{Key: strconv.Itoa(i)})
		if err != nil {
			return nil, err
		}
		if _, err := n.Observe(a.Run.ID(), engine.Observation{Status: engine.Completed, Output: output(i)}); err != nil {
			return nil, err
		}
	}
	var rows []engine.StoredRow
	_, err = m.Load(engine.DefaultNamespace, func(id engine.RunID, record []byte) error {
		rows = append(rows, engine.StoredRow{Run: id, Record: bytes.Clone(record)})
		return nil
	})
	return rows, err
}

// replace gives a namespace the rows, and calls at before each of them and after the last.
func replace(s engine.Store, namespace string, rows []engine.StoredRow, at func(i int)) error {
	return s.Replace(namespace, len(rows), 0, func(put func(engine.StoredRow) error) error {
		for i, r := range rows {
			at(i)
			if err := put(r); err != nil {
				return err
			}
		}
		at(len(rows))
		return nil
	})
}

// difference tells how the rows of a namespace differ from these; "" if they do not.
func difference(s engine.Store, namespace string, rows []engine.StoredRow) string {
	return differenceOf(s, namespace, rows, bytes.Equal)
}

func differenceOf(s engine.Store, namespace string, rows []engine.StoredRow, equal func(want, got []byte) bool) string {
	want := map[engine.RunID][]byte{}
	for _, r := range rows {
		want[r.Run] = r.Record
	}
	same, others := 0, 0
	_, err := s.Load(namespace, func(id engine.RunID, record []byte) error {
		if want[id] != nil && equal(want[id], record) {
			same++
		} else {
			others++
		}
		return nil
	})
	if err == nil && same == len(rows) && others == 0 {
		return ""
	}
	return fmt.Sprintf("%d rows of %d, and %d others, %v", same, len(rows), others, err)
}

func outputOfSize(text string, size int) func(int) string {
	return func(i int) string {
		if i%400 == 7 {
			return strings.Repeat(text, 200_000)
		}
		return strings.Repeat(text, size)
	}
}

// TestReplaceKilled: a process that is killed while it replaces rows leaves the old ones, until it has replaced them; and
// nothing of the others once the store was opened.
func TestReplaceKilled(t *testing.T) {
	old, err := rowsOf(500, outputOfSize("o", 100))
	if err != nil {
		t.Fatal(err)
	}
	new, err := rowsOf(1200, outputOfSize("n", 300))
	if err != nil {
		t.Fatal(err)
	}
	other, err := rowsOf(3, outputOfSize("s", 100))
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, t.TempDir())
	defer s.Close()
	nothing := func(int) {}
	if err := replace(s, "default", old, nothing); err != nil {
		t.Fatal(err)
	}
	if err := replace(s, "other", other, nothing); err != nil {
		t.Fatal(err)
	}
	checkOne := func(dir string, want []engine.StoredRow, options ...badgerstore.Option) {
		t.Helper()
		s := openStore(t, dir, options...)
		defer s.Close()
		if d := difference(s, "default", want); d != "" {
			t.Error(d)
		}
		if d := difference(s, "other", other); d != "" {
			t.Error(d)
		}
		holds(t, s, "opened", len(want)+len(other), (len(want)+392)/400*4, 0)
		if r := s.Recovered(); (r != nil) != (options != nil) ||
			r != nil && (r.Kept != len(want)+len(other) || len(r.Dropped) > 0 || r.Lost > 0) {
			t.Errorf("recovered %+v", r)
		}
	}
	check := func(want []engine.StoredRow) {
		t.Helper()
		dir := killedNow(t, s)
		damaged := copied(t, dir)
		checkOne(dir, want)
		if err := os.Remove(first(t, damaged, "KEYREGISTRY")); err != nil {
			t.Fatal(err)
		}
		checkOne(damaged, want, badgerstore.WithRecover())
	}
	if err := replace(s, "default", new, func(i int) {
		if i%200 == 0 {
			check(old)
		}
	}); err != nil {
		t.Fatal(err)
	}
	check(new)

	// There is room for the last rows and for the step that counts, and none to delete the old ones.
	room := 2
	free := func(string) (uint64, error) {
		if room--; room < 0 {
			return 0, nil
		}
		return 1 << 40, nil
	}
	if err := replace(s, "default", old, func(i int) {
		if i == len(old) {
			s.SetFree(free)
		}
	}); err != nil {
		t.Fatal(err)
	}
	rows, _, dropped := s.Keys(t)
	if rows != len(old)+len(new)+len(other) || dropped != 1 {
		t.Fatalf("%d rows, %d generations to drop", rows, dropped)
	}
	if d := difference(s, "default", old); d != "" {
		t.Error(d)
	}
	check(old)
}

// TestReplaceFull: where the disk gets full on the way, the old rows stay, and what was written goes when the store is next opened.
func TestReplaceFull(t *testing.T) {
	rows, err := rowsOf(1000, outputOfSize("n", 300))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := openStore(t, dir)
	if err := replace(s, "default", rows[:400], func(int) {}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // before the rows, among them, and before the step that counts
		room := []int{1, 3, 1}[i]
		err := replace(s, "default", rows, func(at int) {
			if at == []int{0, 0, len(rows)}[i] {
				s.SetFree(func(string) (uint64, error) {
					if room--; room < 0 {
						return 0, nil
					}
					return 1 << 40, nil
				})
			}
		})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error %v", err)
		}
		s.SetFree(badgerstore.FreeBytes)
		if d := difference(s, "default", rows[:400]); d != "" {
			t.Error(d)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	defer s.Close()
	if d := difference(s, "default", rows[:400]); d != "" {
		t.Error(d)
	}
	if rows, _, dropped := s.Keys(t); rows != 400 || dropped != 0 {
		t.Errorf("%d rows, %d generations to drop", rows, dropped)
	}
}

// versions are what the rows are replaced by in turn, in a process that is killed meanwhile.
func versions() ([][]engine.StoredRow, error) {
	var all [][]engine.StoredRow
	for v, count := range []int{300, 1500, 0, 900} {
		rows, err := rowsOf(count, outputOfSize(strconv.Itoa(v), 100))
		if err != nil {
			return nil, err
		}
		all = append(all, rows)
	}
	return all, nil
}

// replaceChild is the process that is killed: it says "R n" once it has replaced the rows n times, also by its forerunners. Since it
// takes time to make the rows, it kills itself.
func replaceChild(dir string) int {
	err := func() error {
		all, err := versions()
		if err != nil {
			return err
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		time.AfterFunc(time.Duration(rand.IntN(200))*time.Millisecond, func() { self.Kill() })
		s, err := badgerstore.Open(dir)
		if err != nil {
			return err
		}
		n, err := s.Load("default", func(engine.RunID, []byte) error { return nil })
		if err != nil {
			return err
		}
		for {
			n++
			rows := all[n%uint64(len(all))]
			if err := s.Replace("default", len(rows), n, func(put func(engine.StoredRow) error) error {
				for _, r := range rows {
					if err := put(r); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
			fmt.Println("R", n)
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestCrashReplace kills a process that replaces rows, at random moments: what is there are the rows of the last step that was
// acknowledged, or those of the next one.
func TestCrashReplace(t *testing.T) {
	all, err := versions()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	last, first := uint64(0), uint64(0)
	next := 0
	for round := range roundsOfCrash(t) {
		if round%crashFresh == 0 {
			dir, first, last = t.TempDir(), first+last, 0
		}
		crash(t, "BADGERSTORE_TEST_REPLACE="+dir, time.Minute, 0, func(words []string) {
			if words[0] == "R" {
				last, _ = strconv.ParseUint(words[1], 10, 64)
			}
		})
		s := openStore(t, dir)
		n, err := s.Load("default", func(engine.RunID, []byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if n == last+1 {
			next++
			last = n
		}
		want := all[n%uint64(len(all))]
		if n == 0 {
			want = nil
		}
		// The records of two processes differ in their owners and times.
		sameOutput := func(want, got []byte) bool {
			return bytes.HasSuffix(got, want[len(want)-100:])
		}
		if d := differenceOf(s, "default", want, sameOutput); d != "" || n != last {
			t.Errorf("round %d: replaced %d times, %d were acknowledged: %s", round, n, last, d)
		}
		if rows, _, dropped := s.Keys(t); rows != len(want) || dropped != 0 {
			t.Errorf("round %d: %d rows of %d, %d generations to drop", round, rows, len(want), dropped)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("replaced %d times, of which %d were killed before they said so", first+last, next)
	if first+last == 0 {
		t.Error("nothing was replaced, so nothing was tested")
	}
}
