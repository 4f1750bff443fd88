package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener without sockets, whose connections live in the
// bubble's time.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes {
	return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.accept <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// served is a server in a bubble.
type served struct {
	t      *testing.T
	pipes  *pipes
	client *http.Client
	stop   context.CancelFunc
	done   chan struct{} // serve has returned err
	err    error
	stdout bytes.Buffer // to be read when done
	stderr bytes.Buffer
}

// inBubble plays a test against a server with the given flags. The bubble
// fails the test if serve leaves a goroutine.
func inBubble(t *testing.T, flags string, play func(s *served)) {
	synctest.Test(t, func(t *testing.T) {
		var set settings
		if err := parse(set.flagSet(), strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		s := &served{t: t, pipes: newPipes(), done: make(chan struct{})}
		var ctx context.Context
		ctx, s.stop = context.WithCancel(t.Context())
		transport := &http.Transport{DialContext: s.pipes.DialContext}
		s.client = &http.Client{Transport: transport}
		go func() {
			defer close(s.done)
			s.err = serve(ctx, s.pipes, &set, defaultLimits(), &s.stdout, &s.stderr)
		}()
		play(s)
		s.stop()
		<-s.done
		transport.CloseIdleConnections()
	})
}

// dial opens a connection and writes to it.
func (s *served) dial(text string) net.Conn {
	s.t.Helper()
	conn, err := s.pipes.DialContext(s.t.Context(), "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// reply is the status and body of a reply.
func (s *served) reply(method, path, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, "http://hermes.test"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	return s.read(s.client.Do(r))
}

func (s *served) read(res *http.Response, err error) (int, string) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// submit returns the id of a new run.
func (s *served) submit() string {
	s.t.Helper()
	status, body := s.reply("POST", "/v1/runs", `{"input": "hi"}`)
	var admission struct {
		ID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(body), &admission); err != nil || status != http.StatusAccepted {
		s.t.Fatalf("submission: %d %s", status, body)
	}
	return admission.ID
}

// endsAfter checks that the server closes conn in a certain time, and says
// nothing. After some replies net/http lingers for half a second.
func (s *served) endsAfter(conn net.Conn, want time.Duration) {
	s.t.Helper()
	began := time.Now()
	got, err := io.ReadAll(conn)
	if len(got) > 0 || err != nil {
		s.t.Errorf("got %q, error %v", got, err)
	}
	if after := time.Since(began); after < want || after > want+500*time.Millisecond {
		s.t.Errorf("the connection was closed after %v, want %v", after, want)
	}
}

// stopsAfter ends the server, which must take a certain time.
func (s *served) stopsAfter(atLeast, atMost time.Duration) {
	s.t.Helper()
	began := time.Now()
	s.stop()
	<-s.done
	if s.err != nil {
		s.t.Errorf("serve: %v", s.err)
	}
	if took := time.Since(began); took < atLeast || took > atMost {
		s.t.Errorf("the server took %v to end, want %v to %v", took, atLeast, atMost)
	}
}

const postHead = "POST /v1/runs HTTP/1.1\r\nHost: hermes.test\r\nContent-Length: 100\r\n\r\n"

func TestSlowHeader(t *testing.T) {
	inBubble(t, "", func(s *served) {
		s.endsAfter(s.dial("GET /health HTTP/1.1\r\nHost: her"), 10*time.Second)
	})
}

func TestSlowBody(t *testing.T) {
	inBubble(t, "", func(s *served) {
		s.endsAfter(s.dial(postHead+`{"input": `), 60*time.Second)
	})
}

// TestTricklingBody: the deadline is one for the request, not for each byte.
func TestTricklingBody(t *testing.T) {
	inBubble(t, "", func(s *served) {
		conn := s.dial(postHead)
		written := make(chan int)
		go func() {
			n := 0
			for range time.Tick(7 * time.Second) {
				if _, err := conn.Write([]byte("x")); err != nil {
					break
				}
				n++
			}
			written <- n
		}()
		s.endsAfter(conn, 60*time.Second)
		if n := <-written; n != 8 {
			t.Errorf("%d bytes were written", n)
		}
	})
}

// TestUnreadBody: a body that the handler does not read has a deadline too. The
// reply is there before.
func TestUnreadBody(t *testing.T) {
	inBubble(t, "", func(s *served) {
		conn := s.dial(strings.Replace(postHead, "/v1/runs", "/v1/none", 1))
		began := time.Now()
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if status, _ := s.read(res, err); status != http.StatusNotFound {
			t.Errorf("status %d", status)
		}
		s.endsAfter(conn, 0)
		if took := time.Since(began); took > 61*time.Second {
			t.Errorf("the connection was closed after %v", took)
		}
	})
}

// TestUnreadBodyOfStream: what is left after an event stream of a body that is too long to be
// skipped before it has a deadline as well.
func TestUnreadBodyOfStream(t *testing.T) {
	inBubble(t, "", func(s *served) {
		run := s.submit()
		s.reply("POST", "/__admin/hermes/runs/"+run+"/observe", `{"status": "completed"}`)
		conn := s.dial("GET /v1/runs/" + run + "/events HTTP/1.1\r\nHost: hermes.test\r\nTransfer-Encoding: chunked\r\n\r\n")
		began := time.Now()
		written := make(chan error)
		go func() {
			_, err := io.WriteString(conn, "80000\r\n"+strings.Repeat("x", 300<<10))
			written <- err
		}()
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if status, body := s.read(res, err); status != http.StatusOK || !strings.HasSuffix(body, ": stream closed\n\n") {
			t.Errorf("%d %q", status, body)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the stream took %v", took)
		}
		if err := <-written; err != nil {
			t.Errorf("the server did not read: %v", err)
		}
		s.endsAfter(conn, 60*time.Second)
	})
}

// TestBodyInTime: a slow body that meets its deadline is taken.
func TestBodyInTime(t *testing.T) {
	inBubble(t, "", func(s *served) {
		const body = `{"input": "hi"}`
		r, w := io.Pipe()
		go func() {
			<-time.After(59 * time.Second)
			io.WriteString(w, body)
			w.Close()
		}()
		status, _ := s.read(s.client.Post("http://hermes.test/v1/runs", "application/json", r))
		if status != http.StatusAccepted {
			t.Errorf("status %d", status)
		}
	})
}

func TestIdleConnection(t *testing.T) {
	inBubble(t, "", func(s *served) {
		conn := s.dial("GET /health HTTP/1.1\r\nHost: hermes.test\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if status, _ := s.read(res, err); status != http.StatusOK {
			t.Errorf("status %d", status)
		}
		s.endsAfter(conn, 120*time.Second)
	})
}

// TestStream: no deadline ends an event stream, be it of a request with a
// body, which nobody reads.
func TestStream(t *testing.T) {
	for name, body := range map[string]string{"no body": "", "body": "{}"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "--log-format off", func(s *served) {
				run := s.submit()
				r, err := http.NewRequest("GET", "http://hermes.test/v1/runs/"+run+"/events", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				res, err := s.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				began := time.Now()
				keepalives := make([]byte, 10*len(": keepalive\n\n"))
				if _, err := io.ReadFull(res.Body, keepalives); err != nil {
					t.Fatalf("after %v: %v", time.Since(began), err)
				}
				if took := time.Since(began); took != 300*time.Second {
					t.Errorf("10 keepalives took %v", took)
				}
				s.reply("POST", "/__admin/hermes/runs/"+run+"/observe", `{"status": "completed"}`)
				rest, err := io.ReadAll(res.Body)
				if err != nil || !strings.HasSuffix(string(rest), ": stream closed\n\n") {
					t.Errorf("the stream ended with %q, error %v", rest, err)
				}
			})
		})
	}
}

// TestStopWithStream: the end of the server is that of a gateway that is gone.
func TestStopWithStream(t *testing.T) {
	inBubble(t, "", func(s *served) {
		res, err := s.client.Get("http://hermes.test/v1/runs/" + s.submit() + "/events")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		ended := make(chan error)
		go func() {
			_, err := io.Copy(io.Discard, res.Body)
			ended <- err
		}()
		synctest.Wait()
		s.stopsAfter(0, time.Second)
		if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the stream ended with %v, want an unexpected EOF", err)
		}
	})
}

// TestStopWithSilentConnection: a connection that was opened ahead of need does not
// hold up the end.
func TestStopWithSilentConnection(t *testing.T) {
	inBubble(t, "", func(s *served) {
		s.dial("")
		synctest.Wait()
		s.stopsAfter(0, time.Second)
	})
}

func TestStopWithSlowBody(t *testing.T) {
	inBubble(t, "", func(s *served) {
		s.dial(postHead)
		synctest.Wait()
		s.stopsAfter(5*time.Second, 6*time.Second)
		if !strings.Contains(s.stderr.String(), "level=WARN") {
			t.Errorf("no warning:\n%s", &s.stderr)
		}
	})
}

// TestListenerFails: serve does not outlive its listener.
func TestListenerFails(t *testing.T) {
	inBubble(t, "", func(s *served) {
		s.pipes.Close()
		<-s.done
		if !errors.Is(s.err, net.ErrClosed) {
			t.Errorf("serve: %v", s.err)
		}
	})
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestStdoutFails: a server whose URL nobody can learn does not serve.
func TestStdoutFails(t *testing.T) {
	p := newPipes()
	err := serve(t.Context(), p, &settings{logFormat: logOff}, defaultLimits(), failing{}, io.Discard)
	if !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("serve: %v", err)
	}
	select {
	case <-p.closed:
	default:
		t.Error("the listener is open")
	}
}

// TestFlags: the flags reach the fake.
func TestFlags(t *testing.T) {
	const flags = "--seed 18446744073709551615 --model m1 --max-concurrent-runs 1 --journal-size 2 --log-format json"
	var first string
	inBubble(t, flags, func(s *served) {
		first = s.submit()
		if status, body := s.reply("POST", "/v1/runs", `{"input": "hi"}`); status != http.StatusTooManyRequests {
			t.Errorf("second submission: %d %s", status, body)
		}
		if _, body := s.reply("GET", "/v1/runs/"+first, ""); !strings.Contains(body, `"model": "m1"`) {
			t.Errorf("poll: %s", body)
		}
		_, body := s.reply("GET", "/__admin/requests", "")
		if n := strings.Count(body, `"path"`); n != 2 {
			t.Errorf("the journal has %d entries: %s", n, body)
		}
		s.stopsAfter(0, time.Second)

		const line = "hermesfake listening on http://127.0.0.1:1\n"
		if s.stdout.String() != line {
			t.Errorf("stdout %q", &s.stdout)
		}
		log := json.NewDecoder(&s.stderr)
		var started struct{ Msg, Version, Seed, URL string }
		if err := log.Decode(&started); err != nil {
			t.Fatal(err)
		}
		if started.Msg != "started" || started.Seed != "18446744073709551615" || started.URL != "http://127.0.0.1:1" || started.Version == "" {
			t.Errorf("first line: %+v", started)
		}
		var request struct {
			Msg, Method string
			Status      int
		}
		if err := log.Decode(&request); err != nil || request.Msg != "request" || request.Method != "POST" || request.Status != http.StatusAccepted {
			t.Errorf("second line: %+v, error %v", request, err)
		}
	})
	inBubble(t, flags, func(s *served) {
		if again := s.submit(); again != first {
			t.Errorf("with the same seed, ids %s and %s", first, again)
		}
	})
}

func TestLogOff(t *testing.T) {
	inBubble(t, "--log-format off", func(s *served) {
		s.submit()
		s.stopsAfter(0, time.Second)
		if s.stderr.Len() > 0 {
			t.Errorf("stderr %q", &s.stderr)
		}
	})
}

// TestOptions: OPTIONS * is answered as the provider does.
func TestOptions(t *testing.T) {
	inBubble(t, "", func(s *served) {
		conn := s.dial("OPTIONS * HTTP/1.1\r\nHost: hermes.test\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if status, body := s.read(res, err); status != http.StatusNotFound {
			t.Errorf("%d %q", status, body)
		}
	})
}

// TestSocketDeadlines: the deadlines hold over TCP.
func TestSocketDeadlines(t *testing.T) {
	listener, err := listen(t.Context(), "localhost", 0, false)
	if err != nil {
		t.Fatal(err)
	}
	within := defaultLimits()
	within.headerTime, within.requestTime = 20*time.Millisecond, 20*time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- serve(ctx, listener, &settings{logFormat: logOff}, within, io.Discard, io.Discard) }()
	for name, text := range map[string]string{
		"slow header": "GET /health HTTP/1.1\r\nHost: her",
		"slow body":   postHead + `{"input": `,
	} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(conn); len(got) > 0 {
			t.Errorf("%s: got %q", name, got)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
}
