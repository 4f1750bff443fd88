package examples_test

import (
	"bufio"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The server is killed, and another one is started on the same directory. A run that
// had settled is as it was; one that had not is interrupted.
func TestKilledServer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and kills the server")
	}
	binary := filepath.Join(t.TempDir(), "hermesfake.exe")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/hermesfake").CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	data := t.TempDir()
	serve := func() (kill func(), url string) {
		server := exec.Command(binary, "serve", "--port", "0", "--data", data)
		stdout, err := server.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		kill = func() {
			server.Process.Kill()
			server.Wait()
		}
		t.Cleanup(kill)
		return kill, strings.TrimSpace(strings.TrimPrefix(line, "hermesfake listening on "))
	}
	run := func(url, method, path, key, body string) (answer struct {
		RunID    string `json:"run_id"`
		Status   string
		Output   string
		Replayed bool
	}) {
		t.Helper()
		r, err := http.NewRequest(method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		decode(t, res, &answer)
		return answer
	}

	kill, url := serve()
	done := run(url, "POST", "/v1/runs", "done", `{"input": "work"}`)
	run(url, "POST", "/__admin/hermes/runs/"+done.RunID+"/observe", "", `{"status": "completed", "output": "Hello!"}`)
	open := run(url, "POST", "/v1/runs", "open", `{"input": "work"}`)
	kill()

	_, url = serve()
	if again := run(url, "POST", "/v1/runs", "done", `{"input": "work"}`); !again.Replayed || again.RunID != done.RunID || again.Status != "completed" {
		t.Errorf("the settled run: %+v, was %+v", again, done)
	}
	if poll := run(url, "GET", "/v1/runs/"+done.RunID, "", ""); poll.Output != "Hello!" {
		t.Errorf("the settled run: %+v", poll)
	}
	if poll := run(url, "GET", "/v1/runs/"+open.RunID, "", ""); poll.Status != "interrupted" {
		t.Errorf("the unfinished run: %+v", poll)
	}
}
