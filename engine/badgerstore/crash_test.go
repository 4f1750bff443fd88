package badgerstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// How the crash test runs: the number of rounds, of which HERMESFAKE_CRASH_ROUNDS sets another, and after how many the store begins anew.
const (
	crashRounds = 10
	crashFresh  = 12
)

// The keys that every round submits, and how many writers there are.
const (
	hotKeys      = 40
	crashWriters = 8
)

// outputOf is what a run of a key completes with: now and then one that has parts.
func outputOf(key string) string {
	n := xxhash.Sum64String(key)
	size := n % 2000
	if n%50 == 0 {
		size = 150_000
	}
	return strings.Repeat(key+" ", int(size)/len(key))
}

// crashChild is the process that is killed. It submits and observes as fast as it can, and says what was acknowledged:
// "A namespace key id" for an admission or a replay, "T namespace key" for a completion. When its input ends it closes the store.
func crashChild(dir string) int {
	s, err := badgerstore.Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	e := engine.New(engine.Config{Seed: 1, Store: s})
	var mu sync.Mutex
	say := func(format string, a ...any) {
		line := fmt.Sprintf(format+"\n", a...)
		mu.Lock()
		defer mu.Unlock()
		os.Stdout.WriteString(line)
	}
	round := strconv.FormatInt(time.Now().UnixNano(), 36)
	asked := make(chan struct{})
	go func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		close(asked)
	}()
	over := func() bool {
		select {
		case <-asked:
			return true
		default:
			return false
		}
	}
	var wg sync.WaitGroup
	passing, err := e.Namespace("passing")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	wg.Go(func() { // rows that are pruned, or dropped with their namespace
		for i := 0; !over(); i++ {
			a, err := passing.Submit(engine.Submission{Key: strconv.Itoa(i)})
			if err == nil {
				_, err = passing.Observe(a.Run.ID(), engine.Observation{Status: engine.Completed})
			}
			if err == nil && i%20 == 19 {
				_, err = passing.ChangeClock(engine.ClockChange{Advance: 25 * time.Hour})
			}
			if err == nil && i%90 == 89 {
				err = passing.Reset()
			}
			if err != nil && !errors.Is(err, engine.RunSettled) {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	})
	for w := range crashWriters {
		name := "even"
		if w%2 == 1 {
			name = "odd"
		}
		n, err := e.Namespace(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		limit := 0
		n.SetGateway(&limit, nil)
		wg.Go(func() {
			for i := 0; !over(); i++ {
				key := fmt.Sprintf("%s-%d-%d", round, w, i)
				if i%3 == 0 {
					key = fmt.Sprint("hot-", i/3%hotKeys)
				}
				a, err := n.Submit(engine.Submission{Key: key})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				say("A %s %s %s", name, key, a.Run.ID())
				if i%7 == 6 {
					n.Submit(engine.Submission{})
				}
				if i%4 == 3 {
					continue
				}
				if _, err := n.Observe(a.Run.ID(), engine.Observation{Status: engine.Running}); err != nil {
					continue // settled by another writer
				}
				if _, err := n.Observe(a.Run.ID(), engine.Observation{Status: engine.Completed, Output: outputOf(key)}); err == nil {
					say("T %s %s", name, key)
				}
			}
		})
	}
	wg.Wait()
	e.Close()
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// acknowledged is what a test was told about the keys of a store.
type acknowledged struct {
	ids       map[string]string // by namespace and key
	completed map[string]bool
}

// TestCrash kills a process that writes, at a random moment, opens the store that it leaves and compares it with what the
// process was told: nothing acknowledged is lost, no key has two runs, no record is torn. HERMESFAKE_CRASH_ROUNDS=250 makes it a long test.
func TestCrash(t *testing.T) {
	rounds := roundsOfCrash(t)
	var dir string
	var told acknowledged
	admissions, completions, killedEarly := 0, 0, 0
	for round := range rounds {
		if round%crashFresh == 0 {
			if dir != "" {
				os.RemoveAll(dir)
			}
			dir = t.TempDir()
			told = acknowledged{map[string]string{}, map[string]bool{}}
		}
		before := len(told.ids)
		end, closing := time.Duration(rand.IntN(150))*time.Millisecond, time.Duration(0)
		if round%3 == 2 {
			closing = time.Duration(1+rand.IntN(40)) * time.Millisecond
		}
		crash(t, "BADGERSTORE_TEST_CRASH="+dir, end, closing, func(words []string) { told.hear(t, words) })
		if len(told.ids) == before {
			killedEarly++
		}
		admissions += len(told.ids) - before
		if round == rounds-1 || round%crashFresh == crashFresh-1 || rand.IntN(3) > 0 {
			told.check(t, dir) // else the next process is the one that finds it so
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
		completions = max(completions, len(told.completed))
	}
	t.Logf("%d rounds, of which %d killed before the first write; %d admissions", rounds, killedEarly, admissions)
	if admissions == 0 || completions == 0 {
		t.Error("nothing was acknowledged, so nothing was tested")
	}
}

func roundsOfCrash(t *testing.T) int {
	t.Helper()
	text := os.Getenv("HERMESFAKE_CRASH_ROUNDS")
	if text == "" {
		return crashRounds
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// crash runs a process that writes, and kills it: at the given moment or, if it is given time to close the store, that much later.
// line is given each whole line that the process said.
func crash(t *testing.T, env string, after, closing time.Duration, line func(words []string)) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(after+closing, func() { cmd.Process.Kill() })
	defer kill.Stop()
	if closing > 0 {
		ask := time.AfterFunc(after, func() { stdin.Close() })
		defer ask.Stop()
	}
	in := bufio.NewReader(out)
	for {
		text, err := in.ReadString('\n')
		if err == io.EOF {
			break // an unfinished line was not acknowledged
		}
		if err != nil {
			t.Fatal(err)
		}
		line(strings.Fields(text))
	}
	cmd.Wait()
	if stderr.Len() > 0 {
		t.Fatalf("the process failed: %s", &stderr)
	}
}

// hear takes a line of the process.
func (told *acknowledged) hear(t *testing.T, words []string) {
	t.Helper()
	key := words[1] + " " + words[2]
	switch words[0] {
	case "A":
		if known, ok := told.ids[key]; ok && known != words[3] {
			t.Errorf("key %s has runs %s and %s", key, known, words[3])
		}
		told.ids[key] = words[3]
	case "T":
		told.completed[key] = true
	}
}

// check opens the store as the next process does.
func (told *acknowledged) check(t *testing.T, dir string) {
	t.Helper()
	s, err := badgerstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e := engine.New(engine.Config{Seed: 1, Store: s})
	defer e.Close()
	runs := map[engine.RunID]string{}
	for key, id := range told.ids {
		name, text, _ := strings.Cut(key, " ")
		n, err := e.Namespace(name)
		if err != nil {
			t.Fatal(err)
		}
		a, err := n.Submit(engine.Submission{Key: text})
		switch {
		case err != nil:
			t.Errorf("key %s: %v", key, err)
		case !a.Replayed:
			t.Errorf("the admission of key %s is lost", key)
		case a.Run.ID().String() != id:
			t.Errorf("key %s has run %s, and had %s", key, a.Run.ID(), id)
		case told.completed[key] && (a.Run.Status() != engine.Completed || a.Run.Output() != outputOf(text)):
			t.Errorf("the completion of key %s is lost: it is %v", key, a.Run.Status())
		case a.Run.Status() == engine.Completed:
			told.completed[key] = true // it may have been written and not acknowledged, and must stay
		case a.Run.Status() != engine.Interrupted:
			t.Errorf("key %s is %v", key, a.Run.Status())
		}
		if other, ok := runs[a.Run.ID()]; ok {
			t.Errorf("keys %s and %s have the same run", key, other)
		}
		runs[a.Run.ID()] = key
	}
}
