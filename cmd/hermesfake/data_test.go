package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine/badgerstore"
	"github.com/hermesfake/hermesfake/internal/vector"
)

// build compiles the command.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "hermesfake.exe")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// kill ends the process at once, as kill -9 does.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// succession is a server that is killed and followed by another one.
type succession struct {
	t       *testing.T
	binary  string
	dir     string
	args    []string
	current *process
	living  []*process // earlier ones that were not killed
}

func (s *succession) start() {
	s.current = start(s.t, s.binary, append([]string{"--port", "0", "--log-format", "off", "--data", s.dir}, s.args...)...)
}

// RoundTrip sends the request to the current server, on a connection of its own.
func (s *succession) RoundTrip(r *http.Request) (*http.Response, error) {
	to := r.Clone(r.Context())
	to.URL.Host = strings.TrimPrefix(s.current.url, "http://")
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(to)
}

// restart kills the server, and every earlier one; or, where the owner is to live on, leaves it and starts another one on a
// copy of its files.
func (s *succession) restart(owner string) error {
	if owner == "alive" {
		copied := s.t.TempDir()
		goOn, err := pause(s.current.cmd.Process)
		if err != nil {
			return err
		}
		if err := errors.Join(os.CopyFS(copied, os.DirFS(s.dir)), goOn()); err != nil {
			return err
		}
		s.dir = copied
		s.living = append(s.living, s.current)
		s.start()
		return nil
	}
	for _, p := range append(s.living, s.current) {
		p.kill()
	}
	s.living = nil
	s.start()
	return nil
}

// TestDataVectors replays the recorded restarts and retention times against servers that are killed, or live on beside the next.
func TestDataVectors(t *testing.T) {
	binary := build(t)
	files, err := vector.Load("../../testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	restarts := 0
	for _, file := range files {
		for _, scenario := range file.Scenarios {
			restarted := false
			for _, step := range scenario.Steps {
				restarted = restarted || step.Do == "restart"
			}
			if !restarted && file.Name != "retention.json" && file.Name != "retention" {
				continue
			}
			t.Run(file.Name+"/"+scenario.Name, func(t *testing.T) {
				s := &succession{t: t, binary: binary, dir: t.TempDir()}
				s.start()
				door := vector.Door{Transport: s, BaseURL: "http://hermes.test", Live: true, Restart: func(owner string) error {
					restarts++
					return s.restart(owner)
				}}
				door.Run(t, scenario, "default")
				s.restart("stale")
				s.current.kill()
			})
		}
	}
	if restarts < 60 {
		t.Errorf("%d restarts", restarts)
	}
}

// TestDataKilled kills a server under load from several clients, again and again, and looks for what it had acknowledged. There is a
// longer test below package engine/badgerstore. HERMESFAKE_CRASH_ROUNDS sets the number of rounds.
func TestDataKilled(t *testing.T) {
	rounds := 4
	if n, err := strconv.Atoi(os.Getenv("HERMESFAKE_CRASH_ROUNDS")); err == nil {
		rounds = n
	}
	s := &succession{t: t, binary: build(t), dir: t.TempDir(), args: []string{"--max-concurrent-runs", "0"}}
	s.start()
	admitted := map[string]string{}
	completed := map[string]bool{}
	for round := range rounds {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				client := &http.Client{Transport: &http.Transport{}}
				defer client.CloseIdleConnections()
				for i := 0; ; i++ {
					key := fmt.Sprintf("%d-%d-%d", round, w, i)
					if i%3 == 0 {
						key = fmt.Sprint("all-", i%30)
					}
					status, id, err := submitKeyed(client, s.current.url, key)
					if err != nil {
						return // killed
					}
					if status != 202 {
						t.Errorf("key %s: status %d", key, status)
						return
					}
					mu.Lock()
					if known, ok := admitted[key]; ok && known != id {
						t.Errorf("key %s has runs %s and %s", key, known, id)
					}
					admitted[key] = id
					mu.Unlock()
					if i%2 == 0 {
						continue
					}
					res, err := client.Post(s.current.url+"/__admin/hermes/runs/"+id+"/observe", "application/json",
						strings.NewReader(`{"status": "completed", "output": "`+key+`"}`))
					if err != nil {
						return
					}
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
					if res.StatusCode == 200 {
						mu.Lock()
						completed[key] = true
						mu.Unlock()
					}
				}
			})
		}
		timer := time.AfterFunc(time.Duration(20+rand.IntN(80))*time.Millisecond, func() { s.current.cmd.Process.Kill() })
		wg.Wait()
		timer.Stop()
		if err := s.restart("stale"); err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{}}
		for key, id := range admitted {
			status, got, err := submitKeyed(client, s.current.url, key)
			if err != nil || status != 202 || got != id {
				t.Fatalf("round %d: key %s: status %d, run %s, error %v; it was %s", round, key, status, got, err, id)
			}
			if !completed[key] {
				continue
			}
			code, body := s.current.do(client, "GET", "/v1/runs/"+id, "")
			if code != 200 || !strings.Contains(body, `"output": "`+key+`"`) || !strings.Contains(body, `"status": "completed"`) {
				t.Fatalf("round %d: key %s: %d %s", round, key, code, body)
			}
		}
		client.CloseIdleConnections()
	}
	t.Logf("%d admissions, %d completions", len(admitted), len(completed))
	if len(admitted) == 0 || len(completed) == 0 {
		t.Error("nothing was acknowledged, so nothing was tested")
	}
	s.current.kill()
}

// submitKeyed submits a run; an error means that there was no whole reply.
func submitKeyed(client *http.Client, url, key string) (status int, id string, err error) {
	r, err := http.NewRequest("POST", url+"/v1/runs", strings.NewReader(`{"input": "hello"}`))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Idempotency-Key", key)
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, "", err
	}
	var admission struct {
		RunID string `json:"run_id"`
	}
	json.Unmarshal(body, &admission)
	return res.StatusCode, admission.RunID, nil
}

// TestData: a server that ends leaves the store closed, and its failures say what to do.
func TestData(t *testing.T) {
	binary := build(t)
	dir := t.TempDir()
	p := start(t, binary, "--port", "0", "--data", dir, "--sync")
	client := &http.Client{Transport: &http.Transport{}}
	if status, _, err := submitKeyed(client, p.url, "key"); status != 202 || err != nil {
		t.Fatalf("%d %v", status, err)
	}
	if _, body := p.do(client, "GET", "/v1/capabilities", ""); !strings.Contains(body, `"durable": true`) {
		t.Errorf("capabilities %s", body)
	}
	fails(t, binary, "in use by another store", "--port", "0", "--data", dir)
	p.end(os.Interrupt)
	s, err := badgerstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	fails(t, binary, "--sync and --recover need --data", "--port", "0", "--sync")
	head := filepath.Join(dir, "HERMESFAKE")
	if err := os.Truncate(head, 9); err != nil {
		t.Fatal(err)
	}
	fails(t, binary, "--recover", "--port", "0", "--data", dir)
	p = start(t, binary, "--port", "0", "--data", dir, "--recover")
	if _, body := p.do(client, "GET", "/__admin/hermes/runs", ""); !strings.Contains(body, `"run_id"`) {
		t.Errorf("runs %s", body)
	}
	p.end(os.Interrupt)
	if !strings.Contains(p.stderr.String(), "msg=recovered") || !strings.Contains(p.stderr.String(), "kept=1 dropped=0 lost=0") {
		t.Errorf("the log:\n%s", &p.stderr)
	}
}

// TestOpenData: what is refused before the server listens.
func TestOpenData(t *testing.T) {
	var s settings
	if err := parse(s.flagSet(), []string{"--recover"}); err != nil {
		t.Fatal(err)
	}
	if err := s.openData(new(bytes.Buffer)); err == nil {
		t.Error("--recover alone is no error")
	}
	if err := parse(s.flagSet(), []string{"--data", filepath.Join(os.Args[0], "below")}); err != nil {
		t.Fatal(err)
	}
	if err := s.openData(new(bytes.Buffer)); !errors.Is(err, badgerstore.ErrUnwritable) {
		t.Errorf("below a file: %v", err)
	}
}
