package badgerstore_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// TestDiskUse: rows that expired leave the disk. The clock moves so that 2000 runs settle in 24 h, some of them with a
// large output, and the size must not depend on how
// many there were before. HERMESFAKE_DISK_RUNS=1000000 makes it a long test.
func TestDiskUse(t *testing.T) {
	const perDay = 2000
	runs := 6 * perDay
	if text := os.Getenv("HERMESFAKE_DISK_RUNS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		runs = n
	}
	dir := t.TempDir()
	s := openStore(t, dir)
	defer s.Close()
	e := engine.New(engine.Config{Store: s})
	defer e.Close()
	n := namespace(t, e)
	freeze := true
	n.ChangeClock(engine.ClockChange{Set: time.Unix(1_700_000_000, 0), Freeze: &freeze})
	largest, highest := int64(0), 0
	for i := range runs {
		a, err := n.Submit(engine.Submission{Key: strconv.Itoa(i)})
		if err != nil || a.Replayed {
			t.Fatalf("run %d: %+v %v", i, a, err)
		}
		output := "done"
		if i%100 == 0 {
			output = strings.Repeat(strconv.Itoa(i), 100_000/6)
		}
		if _, err := n.Observe(a.Run.ID(), engine.Observation{Status: engine.Completed, Output: output}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.ChangeClock(engine.ClockChange{Advance: 24 * time.Hour / perDay}); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 999 {
			largest = max(largest, used(t, dir))
			highest = max(highest, n.Counts().Durable)
		}
	}
	t.Logf("%d runs, at most %d rows at once: at most %.1f MB on disk, %.1f MB at last", runs, highest, float64(largest)/1e6, float64(used(t, dir))/1e6)
	if highest > perDay+1 {
		t.Errorf("%d rows at once, of %d that settle in 24 h", highest, perDay)
	}
	if largest > 64<<20 {
		t.Errorf("%d bytes on disk", largest)
	}
}

// used is what the files of a directory take of the disk.
func used(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil { // it may be gone already
				bytes += blocks(info)
			}
		}
		return nil
	})
	return bytes
}
