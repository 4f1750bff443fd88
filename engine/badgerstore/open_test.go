package badgerstore_test

import (
	"bufio"
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("BADGERSTORE_TEST_HOLD"); dir != "" {
		os.Exit(hold(dir))
	}
	if dir := os.Getenv("BADGERSTORE_TEST_CRASH"); dir != "" {
		os.Exit(crashChild(dir))
	}
	if dir := os.Getenv("BADGERSTORE_TEST_REPLACE"); dir != "" {
		os.Exit(replaceChild(dir))
	}
	os.Exit(m.Run())
}

// hold is another process that has the store open until its input ends.
func hold(dir string) int {
	s, err := badgerstore.Open(dir)
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	os.Stdout.WriteString("open\n")
	bufio.NewReader(os.Stdin).ReadString('\n')
	runtime.KeepAlive(s) // and with it the lock
	return 0             // without closing it
}

func TestSecondOpener(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, 5, 5)
	for _, options := range [][]badgerstore.Option{nil, {badgerstore.WithRecover()}} {
		if _, err := badgerstore.Open(dir, options...); !errors.Is(err, badgerstore.ErrLocked) ||
			!strings.Contains(err.Error(), "in use by another store") {
			t.Errorf("error %v", err)
		}
	}
	if n := known(t, s, 5); n != 5 {
		t.Errorf("%d keys are known to the first", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, dir, 5)
}

func TestSecondOpenerOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BADGERSTORE_TEST_HOLD="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("%q %v", line, err)
	}
	if _, err := badgerstore.Open(dir); !errors.Is(err, badgerstore.ErrLocked) {
		t.Errorf("error %v", err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	openStore(t, dir).Close() // the lock goes with its process
}

func TestNotADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{path, filepath.Join(path, "below")} {
		if _, err := badgerstore.Open(dir); !errors.Is(err, badgerstore.ErrUnwritable) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestNothingIsLeft: no goroutine, no lock, no open file, and no file but those of the store.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	openStore(t, dir).Close() // what the runtime opens once
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for range 10 {
		s := openStore(t, dir)
		fill(t, s, 3, 3)
		if err := s.Drop("default"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > goroutines && time.Now().Before(deadline) {
		runtime.Gosched() // a goroutine that has closed its channel may not have ended yet
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d open files, %d before", n, files)
	}
	for name := range tree(t, dir) {
		switch base := filepath.Base(name); {
		case base == "LOCK", base == "ROOM", strings.HasSuffix(base, ".mem"):
			t.Errorf("%s is left", name)
		}
	}
	fails := filepath.Join(dir, "rows-1", "SUMS")
	if err := os.Remove(fails); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := badgerstore.Open(dir); err == nil {
			t.Fatal("it opens")
		}
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d open files after failures, %d before", n, files)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("cannot count open files here")
	}
	return len(files)
}

// TestBubble: opened and closed in a bubble, hours pass at once.
func TestBubble(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		for round := range 3 {
			s := openStore(t, dir)
			e := engine.New(engine.Config{Store: s})
			n := namespace(t, e)
			a, err := n.Submit(engine.Submission{Key: "key"})
			if err != nil || a.Replayed != (round > 0) {
				t.Errorf("round %d: %+v %v", round, a, err)
			}
			time.Sleep(time.Hour)
			e.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestFull: where there is no room nothing is written, and all goes on once there is.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	room := uint64(1 << 40)
	s.SetFree(func(string) (uint64, error) { return room, nil })
	fill(t, s, 10, 10)
	e := engine.New(engine.Config{Store: s})
	n := namespace(t, e)
	room = 1 << 20
	_, err := n.Submit(engine.Submission{Key: "new"})
	if !errors.Is(err, engine.StorageFailed) || !strings.Contains(err.Error(), "Mockingbird: the disk is full: no space left") {
		t.Errorf("error %v", err)
	}
	if err := s.Apply("default", engine.Changes{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
	if a, err := n.Submit(engine.Submission{Key: "0"}); err != nil || !a.Replayed {
		t.Errorf("replay: %+v %v", a, err)
	}
	if err := n.Reset(); !errors.Is(err, engine.StorageFailed) {
		t.Errorf("reset: %v", err)
	}
	room = 1 << 40
	if _, err := n.Submit(engine.Submission{Key: "new"}); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	e.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, dir, 10)
}

// TestSync: every option opens what the others wrote.
func TestSync(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	s := openStore(t, dir, badgerstore.WithSync(), badgerstore.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	fill(t, s, 10, 10)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "level=INFO") {
		t.Errorf("the log is %q", log.String())
	}
	whole(t, dir, 10)
}

// TestInterruptedOpen: killed on its way to the first transaction, a store opens as a new one.
func TestInterruptedOpen(t *testing.T) {
	s := openStore(t, t.TempDir())
	sound := copied(t, s.Dir())
	s.Close()
	names := slices.Sorted(maps.Keys(tree(t, sound)))
	for i := range names {
		dir := copied(t, sound)
		for _, name := range names[i:] {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if i == 0 {
			if err := os.RemoveAll(filepath.Join(dir, "rows-1")); err != nil {
				t.Fatal(err)
			}
		}
		s := openStore(t, dir)
		fill(t, s, 3, 3)
		s.Close()
		whole(t, dir, 3)
	}
	for _, name := range names { // what it was killed in while writing it
		if filepath.Base(name) == "HERMESFAKE" {
			continue
		}
		dir := copied(t, sound)
		if err := os.WriteFile(filepath.Join(dir, name), []byte("?"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, dir)
		fill(t, s, 3, 3)
		s.Close()
		whole(t, dir, 3)
	}
}

// TestFilesOfOthers: what others put beside the store's files, and take away again, is none of its business.
func TestFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, 3, 3)
	var paths []string
	for _, name := range []string{".DS_Store", "a b", "rows-99999999999", "rows-1/.DS_Store", "rows-1/MANIFEST copy"} {
		paths = append(paths, filepath.Join(dir, filepath.FromSlash(name)))
		if err := os.WriteFile(paths[len(paths)-1], []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, dir, 3)
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	whole(t, dir, 3)
}

// TestRemovedUnderIt: a store whose directory is gone refuses to write, and closes.
func TestRemovedUnderIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := openStore(t, dir)
	fill(t, s, 3, 3)
	if err := os.RemoveAll(dir); err != nil {
		t.Skipf("this system does not remove open files: %v", err)
	}
	if err := s.Apply("default", engine.Changes{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if err := s.Close(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("closing it: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is back: %v", err)
	}

	s = openStore(t, dir)
	fill(t, s, 3, 3)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	next := openStore(t, dir)
	if err := s.Apply("default", engine.Changes{}); err == nil || !strings.Contains(err.Error(), "taken the place") {
		t.Errorf("error %v", err)
	}
	if err := s.Close(); err == nil {
		t.Error("it closes as if it were there")
	}
	fill(t, next, 5, 3)
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, dir, 5)
}

// TestClosedWhileUsed: whoever uses a store that another closes gets an error.
func TestClosedWhileUsed(t *testing.T) {
	s := openStore(t, t.TempDir())
	fill(t, s, 20, 3)
	rows, err := rowsOf(2000, outputOfSize("r", 100))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	started := make(chan struct{}, 4)
	for name, use := range map[string]func() error{
		"load":    func() error { _, err := s.Load("default", func(engine.RunID, []byte) error { return nil }); return err },
		"apply":   func() error { return s.Apply("other", engine.Changes{Put: rows[:1], Rows: 1, Reserved: 1}) },
		"drop":    func() error { return s.Drop("third") },
		"replace": func() error { return replace(s, "fourth", rows, func(int) {}) },
	} {
		wg.Go(func() {
			for i := 0; ; i++ {
				err := use()
				if errors.Is(err, badgerstore.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				if i == 0 {
					started <- struct{}{}
				}
			}
		})
	}
	for range cap(started) {
		<-started
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	whole(t, s.Dir(), 20)
}
