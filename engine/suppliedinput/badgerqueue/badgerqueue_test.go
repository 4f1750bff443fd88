package badgerqueue_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake/engine/badgerstore"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
	"github.com/hermesfake/hermesfake/engine/suppliedinput/badgerqueue"
	"github.com/hermesfake/hermesfake/engine/suppliedinput/internal/inputtest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("BADGERQUEUE_TEST_CRASH"); dir != "" {
		os.Exit(crashChild(dir, os.Getenv("BADGERQUEUE_TEST_MOMENT")))
	}
	os.Exit(m.Run())
}

func open(t testing.TB, dir string, options ...badgerstore.Option) *badgerqueue.Queue {
	t.Helper()
	q, err := badgerqueue.Open(dir, options...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestWalks judges random sequences of steps by a plain model, over queues that are really closed and opened.
func TestWalks(t *testing.T) {
	for seed := range 10 {
		dir := t.TempDir()
		var last *badgerqueue.Queue
		inputtest.Walk(t, uint64(seed), 200, func() suppliedinput.Queue {
			if last != nil {
				if err := last.Close(); err != nil {
					t.Fatal(err)
				}
			}
			last = open(t, dir)
			return last
		})
		if err := last.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The moments at which crashChild kills itself.
const (
	beforeTheWrite = "before"
	afterTheWrite  = "after"
	anyTime        = "any"
)

// lethalQueue kills its process at a moment of a write.
type lethalQueue struct {
	suppliedinput.Queue
	moment string
}

func (q lethalQueue) Put(namespace string, e suppliedinput.Envelope) error {
	if q.moment == beforeTheWrite {
		kill()
	}
	err := q.Queue.Put(namespace, e)
	if q.moment == afterTheWrite {
		fmt.Println("queued", e.TurnID)
		kill()
	}
	return err
}

// kill is kill -9 of this process. It does not return.
func kill() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
	select {}
}

// crashChild has tasks complete, one after another, and says so: "completed" when the run has, and "result turn" when the result
// is there.
func crashChild(dir, moment string) int {
	queue, err := badgerqueue.Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	g := inputtest.NewGateway()
	space := suppliedinput.New(suppliedinput.Config{Namespace: "default", Seed: rand.Uint64(), Gateway: g, Queue: lethalQueue{queue, moment}})
	for {
		source, err := space.Put(suppliedinput.Source{ID: "m", Text: planted})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		scope, err := space.Open(suppliedinput.Opening{ContactID: "anna", SessionID: "root",
			Inputs: []suppliedinput.InputParent{{SourceID: "m", InputMessageHash: source.InputMessageHash}}})
		run := g.Admit()
		if err == nil {
			err = space.Attach(scope, run, "root", planted)
		}
		if err == nil {
			err = space.Complete(context.Background(), suppliedinput.Actor{Run: run}, planted, func() error {
				fmt.Println("completed")
				return g.Settle(run)
			})
		}
		result, _ := space.Result(scope)
		if err != nil || result == nil {
			fmt.Fprintln(os.Stderr, "no result:", err, space.QueueFailures())
			return 1
		}
		fmt.Println("result", result.TurnID)
		space.Close(scope)
	}
}

// planted is a text that must be found nowhere.
const planted = "planted message text"

// crash runs a child until it is dead, and returns what it said. It kills it once it has said so much, 0 for never.
func crash(t *testing.T, dir, moment string, lines int) (said []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BADGERQUEUE_TEST_CRASH="+dir, "BADGERQUEUE_TEST_MOMENT="+moment)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			break // an unfinished line was not said
		}
		if err != nil {
			t.Fatal(err)
		}
		if said = append(said, strings.TrimSpace(line)); len(said) == lines {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if stderr.Len() > 0 {
		t.Fatalf("the process failed: %s", &stderr)
	}
	return said
}

func turns(t *testing.T, dir string) map[string]bool {
	t.Helper()
	q := open(t, dir)
	defer q.Close()
	list, err := q.Envelopes("default")
	if err != nil {
		t.Fatal(err)
	}
	queued := map[string]bool{}
	for _, e := range list {
		queued[e.TurnID] = true
		if e.SessionID != "root" || len(e.Inputs) != 1 || e.Inputs[0].InputMessageHash != suppliedinput.HashText(planted) {
			t.Errorf("torn: %+v", e)
		}
	}
	return queued
}

func TestKilledBeforeTheWrite(t *testing.T) {
	dir := t.TempDir()
	if said := crash(t, dir, beforeTheWrite, 0); strings.Join(said, ",") != "completed" {
		t.Errorf("it said %v", said)
	}
	if queued := turns(t, dir); len(queued) != 0 {
		t.Errorf("queued %v", queued)
	}
}

func TestKilledAfterTheWrite(t *testing.T) {
	dir := t.TempDir()
	said := crash(t, dir, afterTheWrite, 0)
	if len(said) != 2 || said[0] != "completed" {
		t.Fatalf("it said %v", said)
	}
	if queued := turns(t, dir); len(queued) != 1 || !queued[strings.TrimPrefix(said[1], "queued ")] {
		t.Errorf("queued %v, and it said %v", queued, said)
	}
}

// TestKilledAnyTime: every result that was there has its envelope after kill -9.
func TestKilledAnyTime(t *testing.T) {
	dir := t.TempDir()
	results := map[string]bool{}
	for range 5 {
		for _, line := range crash(t, dir, anyTime, 2+rand.IntN(100)) {
			if turn, ok := strings.CutPrefix(line, "result "); ok {
				if results[turn] {
					t.Errorf("turn %s comes twice", turn)
				}
				results[turn] = true
			}
		}
		queued := turns(t, dir)
		for turn := range results {
			if !queued[turn] {
				t.Errorf("turn %s is lost", turn)
			}
		}
	}
	if len(results) == 0 {
		t.Error("there was no result, so nothing was tested")
	}
	noneIn(t, dir)
}

// noneIn fails the test if a file shows the planted text.
func noneIn(t *testing.T, dir string) {
	t.Helper()
	files := 0
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), "planted") {
			t.Errorf("%s shows the text", path)
		}
		files++
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("there are no files")
	}
}

// fill queues envelopes in a directory, and closes it.
func fill(t *testing.T, dir string, n int) {
	t.Helper()
	q := open(t, dir)
	for i := range n {
		e := suppliedinput.Envelope{Number: uint64(i + 1), TurnID: fmt.Sprint("turn_", i), SessionID: "root"}
		if err := q.Put("default", e); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBesideRows: one directory holds both, each with its own lock.
func TestBesideRows(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 2)
	for range 2 {
		rows, err := badgerstore.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		q := open(t, dir)
		if _, err := badgerqueue.Open(dir); !errors.Is(err, badgerstore.ErrLocked) {
			t.Errorf("a second queue: %v", err)
		}
		if list, err := q.Envelopes("default"); err != nil || len(list) != 2 {
			t.Errorf("%v, %v", list, err)
		}
		if err := errors.Join(rows.Close(), q.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestDamage: a flipped byte, a file that is cut and one that is missing are told apart; WithRecover goes on without them.
func TestDamage(t *testing.T) {
	table := func(dir string) string {
		tables, err := filepath.Glob(filepath.Join(dir, badgerqueue.Subdirectory, "rows-1", "*.sst"))
		if err != nil || len(tables) == 0 {
			t.Fatalf("tables %v, %v", tables, err)
		}
		return tables[0]
	}
	for name, c := range map[string]struct {
		damage func(path string) error
		want   error
	}{
		"flipped": {func(path string) error {
			content, err := os.ReadFile(path)
			content[len(content)/4] ^= 1
			return errors.Join(err, os.WriteFile(path, content, 0o600))
		}, badgerstore.ErrChecksum},
		"cut":     {func(path string) error { return os.Truncate(path, 100) }, badgerstore.ErrTruncated},
		"missing": {os.Remove, badgerstore.ErrMissing},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, 5)
			if err := c.damage(table(dir)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := badgerqueue.Open(dir); !errors.Is(err, c.want) || !errors.Is(err, badgerstore.ErrDamaged) {
					t.Errorf("error %v", err)
				}
			}
			q := open(t, dir, badgerstore.WithRecover())
			if r := q.Recovered(); r == nil || !errors.Is(r.Damage, c.want) {
				t.Errorf("recovered %+v", r)
			}
			if err := q.Put("default", suppliedinput.Envelope{Number: 9, TurnID: "turn_new"}); err != nil {
				t.Error(err)
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
			if q = open(t, dir); q.Recovered() != nil {
				t.Errorf("recovered again: %+v", q.Recovered())
			}
			q.Close()
		})
	}
}

// TestBubble: opened and closed in a bubble, it works and leaves no goroutine.
func TestBubble(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			fill(t, t.TempDir(), 1)
			q := open(t, dir)
			time.Sleep(time.Minute)
			if err := q.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
