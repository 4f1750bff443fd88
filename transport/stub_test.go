package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/hermesfake/hermesfake"
)

// watched is a body that tells whether it was closed.
type watched struct {
	io.Reader
	closed atomic.Bool
}

func (w *watched) Close() error {
	w.closed.Store(true)
	return nil
}

// answering answers with what it was sent.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		read, _ := io.ReadAll(r.Body)
		r.Body.Close()
		body = string(read)
	}
	return &http.Response{StatusCode: 299, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(r.URL.String() + " " + body)), Request: r}, nil
}

func TestStubs(t *testing.T) {
	fake := hermesfake.Start(t)
	mock := fake.Mock()
	if mock != fake.Mock() {
		t.Fatal("Mock makes a new one each time")
	}
	view, err := fake.Namespace("view")
	if err != nil {
		t.Fatal(err)
	}
	mock.RegisterResponder("GET", "https://billing.example/plan", httpmock.NewStringResponder(200, "free"))
	mock.RegisterResponder("GET", "/v1/models", httpmock.NewStringResponder(500, "overridden"))
	for _, f := range []*hermesfake.Fake{fake, view} {
		if status, body, err := fetch(f, "https://billing.example/plan?x=1"); status != 200 || body != "free" || err != nil {
			t.Errorf("the stub: %d %s %v", status, body, err)
		}
		if status, body, err := fetch(f, hermesfake.BaseURL+"/v1/models"); status != 500 || body != "overridden" || err != nil {
			t.Errorf("the overridden route: %d %s %v", status, body, err)
		}
		if status, _, err := fetch(f, hermesfake.BaseURL+"/health"); status != 200 || err != nil {
			t.Errorf("the provider: %d %v", status, err)
		}
	}
	mock.Reset()
	if status, _, err := fetch(fake, hermesfake.BaseURL+"/v1/models"); status != 200 || err != nil {
		t.Errorf("the provider again: %d %v", status, err)
	}
}

// A stub's response is complete, and the one that it registered stays as it is.
func TestStubResponse(t *testing.T) {
	fake := hermesfake.New()
	registered := httpmock.NewStringResponse(202, "12345")
	registered.Status = ""
	fake.Mock().RegisterResponder("GET", "http://stub.example/", func(*http.Request) (*http.Response, error) { return registered, nil })
	fake.Mock().RegisterResponder("HEAD", "http://stub.example/", httpmock.NewStringResponder(200, "12345"))
	r, _ := http.NewRequest("GET", "http://stub.example/", nil)
	res, err := fake.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if res.Request != r || res.Proto != "HTTP/1.1" || res.ProtoMajor != 1 || res.ProtoMinor != 1 || res.ContentLength != 5 || res.Status != "202 Accepted" {
		t.Errorf("got %+v", res)
	}
	if registered.Request != nil || registered.Proto != "" {
		t.Error("the registered response was changed")
	}
	res.Body.Close()
	if _, err := res.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("a read after Close got %v", err)
	}
	head, err := http.NewRequest("HEAD", "http://stub.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := fake.RoundTrip(head); err != nil || res.Body != http.NoBody || res.ContentLength != 5 {
		t.Errorf("HEAD got %+v, %v", res, err)
	}
}

func TestStubHonoursContext(t *testing.T) {
	fake := hermesfake.New()
	asked, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	fake.Mock().RegisterResponder("GET", "http://stub.example/slow", func(*http.Request) (*http.Response, error) {
		close(asked)
		<-release
		return httpmock.NewStringResponse(200, ""), nil
	})
	fake.Mock().RegisterResponder("GET", "http://stub.example/", httpmock.NewStringResponder(200, "text"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://stub.example/slow", nil)
	if _, err := fake.RoundTrip(r); !errors.Is(err, context.Canceled) {
		t.Errorf("while the stub works: %v", err)
	}
	// A request that is cancelled already asks nobody.
	if _, err := fake.RoundTrip(r); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}

	ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
	r, _ = http.NewRequestWithContext(ctx, "GET", "http://stub.example/", nil)
	res, err := fake.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(res.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("reading the body: %v", err)
	}
}

// A matcher that has read the body, and did not fit, leaves all of it to the provider.
func TestMatcherLeavesBody(t *testing.T) {
	fake := hermesfake.New()
	fake.Mock().RegisterMatcherResponder("POST", hermesfake.BaseURL+"/v1/runs",
		httpmock.BodyContainsString("overridden"), httpmock.NewStringResponder(418, ""))
	for body, want := range map[string]int{`{"input": "overridden"}`: 418, `{"input": "kept"}`: 202} {
		r, _ := http.NewRequest("POST", hermesfake.BaseURL+"/v1/runs", strings.NewReader(body))
		sent := r.Body
		res, err := fake.RoundTrip(r)
		if err != nil || res.StatusCode != want {
			t.Errorf("%s: %v %v", body, res, err)
			continue
		}
		if res.Request != r || r.Body != sent {
			t.Errorf("%s: the request was changed", body)
		}
	}
	if n := len(fake.Runs()); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
}

// Requests that no stub answers leave nothing in httpmock's counters.
func TestProviderIsNotCounted(t *testing.T) {
	fake := hermesfake.New()
	fake.Mock().RegisterResponder("GET", "=~^http://stub.example/.*", httpmock.NewStringResponder(200, ""))
	before := len(fake.Mock().GetCallCountInfo())
	for range 3 {
		fetch(fake, hermesfake.BaseURL+"/v1/runs/x")
		fetch(fake, "http://prod.example/")
	}
	if after := len(fake.Mock().GetCallCountInfo()); after != before || fake.Mock().GetTotalCallCount() != 0 {
		t.Errorf("%d counters grew to %d, %d calls", before, after, fake.Mock().GetTotalCallCount())
	}
}

func TestStubErrors(t *testing.T) {
	fake := hermesfake.New()
	broken := errors.New("broken")
	fake.Mock().RegisterResponder("GET", "http://stub.example/broken", httpmock.NewErrorResponder(broken))
	fake.Mock().RegisterResponder("GET", "http://stub.example/nothing", func(*http.Request) (*http.Response, error) { return nil, nil })
	if _, _, err := fetch(fake, "http://stub.example/broken"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, _, err := fetch(fake, "http://stub.example/nothing"); err == nil || !strings.Contains(err.Error(), "neither a response nor an error") {
		t.Errorf("got %v", err)
	}
}

func TestFallback(t *testing.T) {
	fake := hermesfake.Start(t, hermesfake.WithFallback(answering{}))
	send := func(url, want string) {
		t.Helper()
		res, err := fake.Client().Post(url, "", strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, _ := io.ReadAll(res.Body); res.StatusCode != 299 || string(body) != want {
			t.Errorf("got %d %s, want %s", res.StatusCode, body, want)
		}
	}
	send("http://real.example/a?b=c", "http://real.example/a?b=c content")
	fake.Mock().RegisterResponder("POST", "http://stub.example/", httpmock.NewStringResponder(200, "stub"))
	send("http://real.example/a", "http://real.example/a content")
	if status, _, _ := fetch(fake, hermesfake.BaseURL+"/health"); status != 200 {
		t.Errorf("the provider: %d", status)
	}
}
