package faults_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// listener accepts connections and serves each with a function, until the test ends.
func listener(t *testing.T, serve func(net.Conn, *http.Request)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				io.Copy(io.Discard, r.Body)
				serve(conn, r)
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

// closedPort is an address that nothing listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return "http://" + l.Addr().String()
}

// nature is what a client can tell of an error.
func nature(err error) string {
	var b strings.Builder
	for _, known := range []struct {
		name string
		err  error
	}{
		{"ECONNRESET", syscall.ECONNRESET}, {"ECONNREFUSED", syscall.ECONNREFUSED}, {"EOF", io.EOF},
		{"unexpected EOF", io.ErrUnexpectedEOF}, {"deadline", context.DeadlineExceeded}, {"canceled", context.Canceled},
	} {
		fmt.Fprintf(&b, "%s %t, ", known.name, errors.Is(err, known.err))
	}
	var (
		asURL *url.Error
		op    *net.OpError
		net   net.Error
	)
	if errors.As(err, &asURL) {
		fmt.Fprintf(&b, "url.Error of %s, timeout %t, ", asURL.Op, asURL.Timeout())
	}
	if errors.As(err, &op) {
		fmt.Fprintf(&b, "net.OpError of %s %s, ", op.Op, op.Net)
	}
	if errors.As(err, &net) {
		fmt.Fprintf(&b, "net.Error with timeout %t", net.Timeout())
	}
	return b.String()
}

// TestErrorsOfRealConnections compares what a client learns of each fault with what
// it learns where the same really happens, on a fresh connection.
func TestErrorsOfRealConnections(t *testing.T) {
	reset := func(conn net.Conn, _ *http.Request) { conn.(*net.TCPConn).SetLinger(0) }
	half := func(conn net.Conn, _ *http.Request) {
		io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nhalf")
	}
	cut := func(conn net.Conn, _ *http.Request) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nevent\r\n")
	}
	// late answers, or begins to, and lets the client wait for the rest until it goes.
	late := func(begin string) func(net.Conn, *http.Request) {
		return func(conn net.Conn, _ *http.Request) {
			io.WriteString(conn, begin)
			io.Copy(io.Discard, conn)
		}
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"

	submit := func(d *door, ctx context.Context) error {
		r, _ := http.NewRequestWithContext(ctx, "POST", d.base+"/v1/runs", strings.NewReader(`{"input": "x"}`))
		return d.do(r).err
	}
	poll := func(d *door, ctx context.Context) error {
		r, _ := http.NewRequestWithContext(ctx, "GET", d.base+"/v1/runs/"+d.submit("").ID(), nil)
		return d.do(r).err
	}
	events := func(d *door, ctx context.Context) error {
		run := d.submit("")
		run.Delta("one")
		r, _ := http.NewRequestWithContext(ctx, "GET", d.base+"/v1/runs/"+run.ID()+"/events", nil)
		return d.do(r).err
	}
	for _, c := range []struct {
		name     string
		rule     faults.Rule
		request  func(*door, context.Context) error
		real     func(net.Conn, *http.Request) // nil: nothing listens
		deadline bool
		onSocket func(net.Conn, *http.Request) // where a socket cannot do the same
	}{
		{"a reply dropped", faults.SubmitAcceptedDrop(), submit, reset, false, nil},
		{"a request dropped", faults.SubmitDrop(), submit, reset, false, nil},
		{"a poll dropped", faults.Rule{Operation: hermesfake.RunGet, Drop: true}, poll, reset, false, nil},
		{"refused", faults.ConnectionRefused(1), submit, nil, false, reset},
		{"a body truncated", faults.SubmitReplyTruncated(), submit, half, false, nil},
		{"a stream cut", faults.EventsCut(1), events, cut, false, nil},
		{"a deadline before the reply", faults.PollTimeout(), poll, late(""), true, nil},
		{"a deadline in the body", faults.Rule{Operation: hermesfake.RunGet, Effect: faults.EffectSlowBody, BytesPerSecond: 100}, poll, late(head), true, nil},
		{"a deadline in a stalled stream", faults.EventsStall(), events, late(head), true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachDoor(t, func(d *door) {
				ctx := func() context.Context {
					if !c.deadline {
						return d.Context()
					}
					ctx, cancel := context.WithTimeout(d.Context(), 20*time.Millisecond)
					d.Cleanup(cancel)
					return ctx
				}
				real := c.real
				if d.socket && c.onSocket != nil {
					real = c.onSocket
				}
				address := closedPort(d.T)
				if real != nil {
					address = listener(d.T, real)
				}
				r, _ := http.NewRequestWithContext(ctx(), "POST", address+"/v1/runs", strings.NewReader(`{"input": "x"}`))
				if c.real != nil && c.rule.Operation != hermesfake.RunCreate {
					r, _ = http.NewRequestWithContext(ctx(), "GET", address+"/v1/runs/x", nil)
				}
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
				want := (&door{T: d.T, client: client}).do(r).err
				if want == nil {
					t.Fatal("the real connection gave no error")
				}

				d.inject(c.rule)
				got := c.request(d, ctx())
				if nature(got) != nature(want) {
					t.Errorf("the fake:  %v\n  %s\nreal:      %v\n  %s", got, nature(got), want, nature(want))
				}
			})
		})
	}
}

// TestSilentRetry shows why tests over a socket need fresh connections: Go's transport
// sends a GET, or a POST with an Idempotency-Key, again by itself when a connection that it
// has used before is reset, and the caller sees nothing of the fault.
func TestSilentRetry(t *testing.T) {
	for _, c := range []struct {
		name      string
		rule      faults.Rule
		request   func(*door) reply
		operation hermesfake.Operation
		silent    bool
	}{
		{"keyed POST", faults.SubmitAcceptedDrop(), func(d *door) reply {
			return d.send("POST", "/v1/runs", "k", `{"input": "x"}`)
		}, hermesfake.RunCreate, true},
		{"GET", faults.Rule{Operation: hermesfake.Models, Drop: true, Count: 1}, func(d *door) reply {
			return d.get("/v1/models")
		}, hermesfake.Models, true},
		{"POST without a key", faults.SubmitAcceptedDrop(), func(d *door) reply {
			return d.send("POST", "/v1/runs", "", `{"input": "x"}`)
		}, hermesfake.RunCreate, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachDoor(t, func(d *door) {
				silent := c.silent && d.socket
				if d.socket {
					d.client.Transport.(*http.Transport).DisableKeepAlives = false
				}
				d.wantStatus(d.get("/health"), 200) // a connection to be used again
				d.inject(c.rule)
				r := c.request(d)
				sent := d.fake.Requests().ByOperation(c.operation)
				switch {
				case !silent:
					d.wantReset(r)
					if len(sent) != 1 {
						d.Errorf("%d requests were sent, want 1", len(sent))
					}
				case r.err != nil || len(sent) != 2 || sent[0].Status != 0 || sent[1].Status != r.status:
					d.Errorf("got %+v by %d requests, want a reply by the second one", r, len(sent))
				case c.operation == hermesfake.RunCreate && !strings.Contains(r.body, `"replayed": true`):
					d.Errorf("the second POST was no replay: %s", r.body)
				}
				d.client.CloseIdleConnections()
			})
		})
	}
}
