package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
	"github.com/hermesfake/hermesfake/transport"
)

// TestCancelledBefore proves that a request whose context has ended goes nowhere.
func TestCancelledBefore(t *testing.T) {
	w := open(t)
	why := errors.New("the test gave up")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	for ctx, want := range map[context.Context]error{cancelled: context.Canceled, late: context.DeadlineExceeded} {
		r, b := post(t, base+"/v1/runs")
		res, err := w.transport.RoundTrip(r.WithContext(ctx))
		if !errors.Is(err, want) || res != nil || b.closed != 1 {
			t.Errorf("%v %v, closed %d times", res, err, b.closed)
		}
	}
	if got := w.namespace().Counts().Admitted; got != 0 {
		t.Errorf("%d admitted", got)
	}
}

// endingBody ends the request's context while it is read.
type endingBody struct {
	body
	cancel context.CancelFunc
}

func (b *endingBody) Read(p []byte) (int, error) {
	b.cancel()
	return b.body.Read(p)
}

// TestCancelledDuring proves that there is no reply once the context has ended, be it while the body is read.
func TestCancelledDuring(t *testing.T) {
	w := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	b := &endingBody{body{Reader: strings.NewReader(submission)}, cancel}
	r := newRequest(t, "POST", base+"/v1/runs", b).WithContext(ctx)
	if res, err := w.transport.RoundTrip(r); err != context.Canceled || res != nil {
		t.Errorf("%v %v", res, err)
	}
	if b.closed != 1 {
		t.Errorf("closed %d times", b.closed)
	}
}

// cancelling answers by way of a handler, and ends a context before the reply is back.
type cancelling struct {
	*handler.Handler
	cancel context.CancelFunc
}

func (c cancelling) Respond(r *http.Request) (*handler.Reply, error) {
	defer c.cancel()
	return c.Handler.Respond(r)
}

// TestCancelledBeforeAStream proves that a stream that nobody gets is left: its client counts as gone.
func TestCancelledBeforeAStream(t *testing.T) {
	w := open(t)
	id := w.submit()
	ctx, cancel := context.WithCancel(t.Context())
	r := newRequest(t, "GET", base+"/v1/runs/"+id.String()+"/events", nil).WithContext(ctx)
	if res, err := transport.New(cancelling{w.handler, cancel}, "hermes.test").RoundTrip(r); err != context.Canceled || res != nil {
		t.Errorf("%v %v", res, err)
	}
	in, err := w.namespace().Inspect(id)
	if err != nil || len(in.Subscribers) != 1 || !in.Subscribers[0].Gone {
		t.Errorf("%+v %v", in.Subscribers, err)
	}
	if got := w.namespace().Counts().Streams; got != 0 {
		t.Errorf("%d streams are open", got)
	}
}

// TestCancelledAfter proves that what was not read of a reply cannot be read once the context has ended.
func TestCancelledAfter(t *testing.T) {
	w := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	res, err := w.transport.RoundTrip(newRequest(t, "GET", base+"/health", nil).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	one := make([]byte, 1)
	if n, err := res.Body.Read(one); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	cancel()
	if n, err := res.Body.Read(one); n != 0 || err != context.Canceled {
		t.Errorf("%d %v", n, err)
	}
	res.Body.Close()
}

// TestDeadlineOfAStream proves that a deadline ends a wait for an event at its very instant, on the bubble's time.
func TestDeadlineOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := live(t)
		id := w.submit()
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		res := w.events(ctx, id)
		began := time.Now()
		n, err := res.Body.Read(make([]byte, 100))
		if took := time.Since(began); n != 0 || err != context.DeadlineExceeded || took != 7*time.Second {
			t.Errorf("%d %v after %v", n, err, took)
		}
		res.Body.Close()
		synctest.Wait()
		if in, err := w.namespace().Inspect(id); err != nil || len(in.Subscribers) != 1 || !in.Subscribers[0].Gone {
			t.Errorf("%+v %v", in.Subscribers, err)
		}
	})
}

// TestEndOfContextIsTheClientGoing proves that the gateway's side sees it although nobody reads or closes the body.
func TestEndOfContextIsTheClientGoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t)
		id := w.submit()
		ctx, cancel := context.WithCancel(t.Context())
		res := w.events(ctx, id)
		defer res.Body.Close()
		cancel()
		synctest.Wait()
		if in, err := w.namespace().Inspect(id); err != nil || len(in.Subscribers) != 1 || !in.Subscribers[0].Gone {
			t.Errorf("%+v %v", in.Subscribers, err)
		}
		if got := w.namespace().Counts().Streams; got != 0 {
			t.Errorf("%d streams are open", got)
		}
	})
}

// TestClientTimeoutEndsAStream proves that the Timeout of a client ends a stream at exactly that time, before the
// first keepalive or after one, with no option set.
func TestClientTimeoutEndsAStream(t *testing.T) {
	for timeout, keepalives := range map[time.Duration]int{25 * time.Second: 0, 65 * time.Second: 2} {
		synctest.Test(t, func(t *testing.T) {
			w := live(t)
			client := &http.Client{Transport: w.transport, Timeout: timeout}
			began := time.Now()
			res, err := client.Get(base + "/v1/runs/" + w.submit().String() + "/events")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			if took := time.Since(began); took != timeout {
				t.Errorf("took %v, want %v", took, timeout)
			}
			var late interface{ Timeout() bool }
			if !errors.As(err, &late) || !late.Timeout() || string(got) != strings.Repeat(": keepalive\n\n", keepalives) {
				t.Errorf("%q %v", got, err)
			}
			res.Body.Close()
		})
	}
}

// TestKeepaliveOnBubbleTime proves that 30 s of the bubble's time bring a keepalive, with no option set.
func TestKeepaliveOnBubbleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := live(t)
		res := w.events(t.Context(), w.submit())
		defer res.Body.Close()
		began := time.Now()
		for i := range 5 {
			p := make([]byte, 100)
			n, err := res.Body.Read(p)
			if took := time.Since(began); string(p[:n]) != ": keepalive\n\n" || err != nil || took != time.Duration(i+1)*30*time.Second {
				t.Errorf("%q %v after %v", p[:n], err, took)
			}
		}
	})
}

// TestClientTimeoutOfASettledRequest proves that a timeout after the reply does not reach back.
func TestClientTimeoutOfASettledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := live(t)
		client := &http.Client{Transport: w.transport, Timeout: time.Second}
		res, err := client.Post(base+"/v1/runs", "", strings.NewReader(submission))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(got), "started") {
			t.Errorf("%q %v", got, err)
		}
		time.Sleep(time.Minute)
		if n, err := res.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%d %v", n, err)
		}
	})
}

// TestBodyIsClosedOnce proves that the request's body is closed exactly once, whatever becomes of the request.
func TestBodyIsClosedOnce(t *testing.T) {
	w := open(t)
	id := w.submit().String()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		change func(r *http.Request)
		fails  bool
	}{
		"success":               {func(r *http.Request) {}, false},
		"refused":               {func(r *http.Request) { r.Header.Set("Idempotency-Key", "bad key") }, false},
		"not read":              {func(r *http.Request) { r.URL.Path = "/v1/runs/" + id + "/stop" }, false},
		"not found":             {func(r *http.Request) { r.URL.Path = "/nope" }, false},
		"wrong method":          {func(r *http.Request) { r.Method = "PUT" }, false},
		"declared too large":    {func(r *http.Request) { r.ContentLength = 10_000_001 }, false},
		"control":               {func(r *http.Request) { r.URL.Path = "/__admin/hermes/sweep" }, false},
		"bad namespace":         {func(r *http.Request) { r.URL.Path = "/ns/a b/health" }, false},
		"stream":                {func(r *http.Request) { r.Method, r.URL.Path = "GET", "/v1/runs/"+id+"/events" }, false},
		"unknown host":          {func(r *http.Request) { r.URL.Host = "elsewhere.test" }, true},
		"unknown scheme":        {func(r *http.Request) { r.URL.Scheme = "ftp" }, true},
		"no URL":                {func(r *http.Request) { r.URL = nil }, true},
		"invalid method":        {func(r *http.Request) { r.Method = "a b" }, true},
		"invalid field name":    {func(r *http.Request) { r.Header["a b"] = []string{"x"} }, true},
		"invalid field value":   {func(r *http.Request) { r.Header.Set("X-A", "a\nb") }, true},
		"cancelled":             {func(r *http.Request) { *r = *r.WithContext(cancelled) }, true},
		"a body that breaks":    {func(r *http.Request) { r.Body.(*body).Reader = failing{} }, true},
		"a body that is broken": {func(r *http.Request) { r.Body.(*body).Reader = io.MultiReader(strings.NewReader("{"), failing{}) }, true},
	} {
		r, b := post(t, base+"/v1/runs")
		c.change(r)
		res, err := w.transport.RoundTrip(r)
		if (err != nil) != c.fails || (res == nil) != c.fails {
			t.Errorf("%s: %v %v", name, res, err)
		}
		if b.closed != 1 {
			t.Errorf("%s: closed %d times", name, b.closed)
		}
		if res != nil {
			res.Body.Close()
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken") }

// TestRequestIsLeftAlone proves that a request is not modified.
func TestRequestIsLeftAlone(t *testing.T) {
	w := open(t)
	w.submit()
	for _, path := range []string{"/v1/runs", "/nope", "/ns/x/v1/runs", "/__admin/reset", "/v1/runs/%2F"} {
		r, b := post(t, base+path+"?q=1#f")
		r.Header["idempotency-key"] = []string{" k ", "other"}
		r.Header["Empty"] = nil
		r.Trailer = http.Header{"T": nil}
		before, header, url, body := *r, r.Header.Clone(), *r.URL, r.Body
		res, err := w.transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if fmt.Sprint(before) != fmt.Sprint(*r) || fmt.Sprint(header) != fmt.Sprint(r.Header) || url != *r.URL || body != r.Body || b != r.Body {
			t.Errorf("%s: %+v\nbecame %+v", path, before, *r)
		}
		if res.Request != r {
			t.Errorf("%s: the response tells of another request", path)
		}
	}
}

// TestReadAfterClose proves that a closed body gives nothing any more, in net/http's words.
func TestReadAfterClose(t *testing.T) {
	w := open(t)
	id := w.submit()
	w.delta(id, "x")
	for _, path := range []string{"/health", "/v1/runs/" + id.String() + "/events"} {
		res, err := w.transport.RoundTrip(newRequest(t, "GET", base+path, nil))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := res.Body.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("%s: %d %v", path, n, err)
		}
		for range 2 {
			if err := res.Body.Close(); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			for _, size := range []int{0, 1, 100} {
				if n, err := res.Body.Read(make([]byte, size)); n != 0 || err == nil || err.Error() != "http: read on closed response body" {
					t.Errorf("%s: %d %v", path, n, err)
				}
			}
		}
	}
}

// TestClosedEngineOverTransport proves that a closed fake still answers, and what.
func TestClosedEngineOverTransport(t *testing.T) {
	w := open(t)
	id := w.submit()
	res := w.events(t.Context(), id)
	w.engine.Close()
	if got, err := io.ReadAll(res.Body); err != io.ErrUnexpectedEOF || len(got) != 0 {
		t.Errorf("%q %v", got, err)
	}
	res.Body.Close()
	r, _ := post(t, base+"/v1/runs")
	res, err := w.transport.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("%v %v", res, err)
	}
	got, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(got), engine.Closed.Error()) {
		t.Errorf("%s %v", got, err)
	}
}
