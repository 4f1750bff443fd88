package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is the command as others start it.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	stdout *bufio.Reader
	stderr bytes.Buffer // to be read when it has ended
}

// start starts hermesfake serve, and returns when it tells its URL.
func start(t *testing.T, binary string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, append([]string{"serve"}, args...)...)}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	p.stdout = bufio.NewReader(out)
	line, err := p.stdout.ReadString('\n')
	url, ok := strings.CutPrefix(line, "hermesfake listening on ")
	if !ok {
		p.cmd.Wait()
		t.Fatalf("the first line is %q, error %v; stderr:\n%s", line, err, &p.stderr)
	}
	p.url = strings.TrimSuffix(url, "\n")
	return p
}

// end sends a signal, after which the process must end soon with exit code 0,
// having written nothing more on stdout.
func (p *process) end(signal os.Signal) {
	p.t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
	rest, err := io.ReadAll(p.stdout)
	if len(rest) > 0 || err != nil {
		p.t.Errorf("more on stdout: %q, error %v", rest, err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the process ended with %v; stderr:\n%s", err, &p.stderr)
	}
	if took := time.Since(began); took > 4*time.Second {
		p.t.Errorf("it took %v to end", took)
	}
}

// do sends a request and reads the reply.
func (p *process) do(client *http.Client, method, path, body string) (int, string) {
	p.t.Helper()
	r, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(got)
}

func TestBinary(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "hermesfake.exe")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}

	t.Run("a run", func(t *testing.T) {
		p := start(t, binary, "--port", "0", "--seed", "7")
		if !strings.HasPrefix(p.url, "http://127.0.0.1:") {
			t.Errorf("URL %q", p.url)
		}
		client := &http.Client{Transport: &http.Transport{}}
		step := func(method, path, body string, status int, part string) string {
			t.Helper()
			got, reply := p.do(client, method, path, body)
			if got != status || !strings.Contains(reply, part) {
				t.Fatalf("%s %s: %d %s; want %d and %s", method, path, got, reply, status, part)
			}
			return reply
		}
		submit := func() string {
			t.Helper()
			var admission struct {
				ID string `json:"run_id"`
			}
			reply := step("POST", "/v1/runs", `{"input": "hi"}`, 202, `"status": "started"`)
			if err := json.Unmarshal([]byte(reply), &admission); err != nil {
				t.Fatal(err)
			}
			return admission.ID
		}
		one, two := submit(), submit()
		step("GET", "/v1/runs/"+one, "", 200, `"status": "queued"`)
		step("POST", "/__admin/hermes/runs/"+one+"/observe", `{"status": "completed", "output": "done"}`, 200, `"output": "done"`)
		step("GET", "/v1/runs/"+one, "", 200, `"status": "completed"`)
		step("POST", "/v1/runs/"+two+"/stop", "", 200, `"status": "stopping"`)
		step("GET", "/__admin/metrics?format=prometheus", "", 200, "# TYPE hermesfake_requests_total counter\n")

		res, err := client.Get(p.url + "/v1/runs/" + two + "/events")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		ended := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, res.Body)
			ended <- err
		}()
		p.end(syscall.SIGTERM)
		if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the stream ended with %v, want an unexpected EOF", err)
		}
		if n := strings.Count(p.stderr.String(), "msg=request"); n != 6 {
			t.Errorf("the log has %d requests, want 6, that of the stream too:\n%s", n, &p.stderr)
		}
	})

	t.Run("interrupt", func(t *testing.T) {
		start(t, binary, "--port", "0").end(os.Interrupt)
	})

	t.Run("second signal", func(t *testing.T) {
		p := start(t, binary, "--port", "0")
		// A body under way holds up the end for longer than the test waits.
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "POST /v1/runs HTTP/1.1\r\nHost: hermes.test\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
		if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, "100 Continue") {
			t.Fatalf("got %q, error %v", line, err)
		}
		ended := make(chan error)
		go func() { ended <- p.cmd.Wait() }()
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for running := true; running; {
			p.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-ended:
				running = false
			case <-again.C:
			}
		}
		if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Errorf("the process ended with %v, want its end by a signal", p.cmd.ProcessState)
		}
	})

	t.Run("port in use", func(t *testing.T) {
		p := start(t, binary, "--port", "0")
		_, port, _ := strings.Cut(strings.TrimPrefix(p.url, "http://"), ":")
		fails(t, binary, "--port 0 picks a free port", "--port", port)
		p.end(os.Interrupt)
	})

	t.Run("not loopback", func(t *testing.T) {
		fails(t, binary, "use --host 127.0.0.1", "--port", "0", "--host", "0.0.0.0")
	})

	t.Run("header too large", func(t *testing.T) {
		p := start(t, binary, "--port", "0")
		for size, want := range map[int]int{32 << 10: 200, 128 << 10: 431} {
			r, err := http.NewRequest("GET", p.url+"/health", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Large", strings.Repeat("x", size))
			res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("a header of %d bytes: %d, want %d", size, res.StatusCode, want)
			}
		}
		p.end(syscall.SIGTERM)
	})
}

// fails runs hermesfake serve, which must fail with exit code 1 and say so.
func fails(t *testing.T, binary, message string, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, append([]string{"serve"}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitFailure || stdout.Len() > 0 || !strings.Contains(stderr.String(), message) {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
}
