package badgerstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// TestFullDisk fills a real file system to its last byte.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=28m"); err != nil {
		t.Skipf("cannot mount a file system here: %v", err)
	}
	defer syscall.Unmount(disk, 0)
	dir := filepath.Join(disk, "store")
	s := openStore(t, dir)
	e := engine.New(engine.Config{Store: s})
	n := namespace(t, e)
	limit := 0
	n.SetGateway(&limit, nil)
	output := strings.Repeat("x", 50_000)
	submitted := 0
	write := func() error {
		a, err := n.Submit(engine.Submission{Key: strconv.Itoa(submitted)})
		if err == nil {
			submitted++
			_, err = n.Observe(a.Run.ID(), engine.Observation{Status: engine.Completed, Output: output})
		}
		return err
	}
	for err := error(nil); ; err = write() {
		if err != nil {
			if !errors.Is(err, engine.StorageFailed) {
				t.Fatal(err)
			}
			break
		}
	}
	if submitted < 20 {
		t.Errorf("full after %d runs", submitted)
	}
	for { // until what was written is in tables, and those were put together, which takes room too
		if logs, _ := filepath.Glob(filepath.Join(dir, "rows-1", "*.mem")); len(logs) == 1 && !s.Compacting() {
			break
		}
		runtime.Gosched()
	}
	// Others take the rest.
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 1<<20); err == nil && len(block) > 0; {
		if _, err = f.Write(block); err != nil && len(block) > 1 {
			block, err = block[:len(block)/2], nil
		}
	}
	f.Close()
	if free, err := badgerstore.FreeBytes(disk); err != nil || free > 0 {
		t.Fatalf("%d bytes are free, %v", free, err)
	}
	if err := write(); !errors.Is(err, engine.StorageFailed) {
		t.Errorf("on a full disk: %v", err)
	}
	e.Close()
	if err := s.Close(); err != nil {
		t.Errorf("closing on a full disk: %v", err)
	}
	if _, err := badgerstore.Open(dir); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("opening on a full disk: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	defer s.Close()
	e = engine.New(engine.Config{Store: s})
	defer e.Close()
	n = namespace(t, e)
	for i := range submitted - 1 { // the last one was refused its output, and is not read back without room
		a, err := n.Submit(engine.Submission{Key: strconv.Itoa(i)})
		if err != nil || !a.Replayed {
			t.Fatalf("key %d of %d: %+v %v", i, submitted, a, err)
		}
		if a.Run.Output() != output {
			t.Errorf("key %d of %d has an output of %d bytes", i, submitted, len(a.Run.Output()))
		}
	}
}

// TestUnwritable: a user who may not write there.
func TestUnwritable(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir string) string{
		"a new store":     func(t *testing.T, dir string) string { return dir },
		"below":           func(t *testing.T, dir string) string { return filepath.Join(dir, "below") },
		"an existing one": func(t *testing.T, dir string) string { fillDir(t, dir); return dir },
	} {
		t.Run(name, func(t *testing.T) {
			dir := prepare(t, t.TempDir())
			before := tree(t, filepath.Dir(dir))
			chmod := func(mode os.FileMode) {
				filepath.WalkDir(filepath.Dir(dir), func(path string, d os.DirEntry, err error) error {
					m := mode
					if d.IsDir() {
						m |= 0o111
					}
					return os.Chmod(path, m)
				})
			}
			chmod(0o444)
			defer chmod(0o600 | 0o100)
			err := openAsNobody(dir)
			if !errors.Is(err, badgerstore.ErrUnwritable) || !errors.Is(err, os.ErrPermission) {
				t.Errorf("error %v", err)
			}
			if len(tree(t, filepath.Dir(dir))) != len(before) {
				t.Error("the directory has changed")
			}
		})
	}
}

// openAsNobody opens a store as a user who may not write anywhere; root may.
func openAsNobody(dir string) error {
	if os.Getuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			return err
		}
		defer syscall.Setfsuid(0)
	}
	s, err := badgerstore.Open(dir)
	if err == nil {
		s.Close()
	}
	return err
}

func fillDir(t *testing.T, dir string) {
	t.Helper()
	s := openStore(t, dir)
	defer s.Close()
	fill(t, s, 3, 3)
}
