package transport_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jarcoal/httpmock"

	"github.com/hermesfake/hermesfake"
)

// recorder is a test that Start reports to.
type recorder struct {
	cleanup []func()
	errors  []string
}

func (r *recorder) Helper()             {}
func (r *recorder) Cleanup(f func())    { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Failed() bool        { return len(r.errors) > 0 }
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) end() {
	for _, f := range r.cleanup {
		f()
	}
}

// The error for an unknown host names method, URL and the nearest route, and no secret.
func TestUnknownHost(t *testing.T) {
	for _, c := range []struct {
		method, url string
		want        []string
	}{
		{"POST", "http://prod.example/v1/runs", []string{"POST http://prod.example/v1/runs:", "its nearest route is POST /v1/runs;"}},
		{"GET", "http://prod.example/v1/runs", []string{"POST /v1/runs (the request has another method)"}},
		{"GET", "http://prod.example/v1/runs/run_1/", []string{"GET /v1/runs/{run_id} (the request has a trailing slash)"}},
		{"POST", "http://prod.example/runs/x/stop", []string{"POST /v1/runs/{run_id}/stop (the request has no /v1)"}},
		{"GET", "http://prod.example/api/v1/models", []string{"GET /v1/models (the request has another prefix)"}},
		{"GET", "http://prod.example//v1//models", []string{"GET /v1/models (the request has a double slash)"}},
		{"GET", "https://base.example/v1/models", []string{"answers for hermes.test, localhost, 127.0.0.1, ::1, https://base.example/hermes only",
			"GET https://base.example/hermes/v1/models;"}},
		{"GET", "http://prod.example/entirely/else", []string{"WithHosts or WithBaseURL", "Mock", "WithFallback"}},
		{"GET", "http://user:hunter2@prod.example/v1/models?key=hunter2#hunter2", []string{"GET http://prod.example/v1/models:"}},
	} {
		var r recorder
		fake := hermesfake.Start(&r, hermesfake.WithBaseURL("https://base.example/hermes"))
		request, err := http.NewRequest(c.method, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fake.RoundTrip(request)
		if !errors.Is(err, hermesfake.ErrUnknownHost) {
			t.Errorf("%s %s: %v", c.method, c.url, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v\nlacks %s", c.method, c.url, err, want)
			}
		}
		if strings.Contains(c.url, "entirely") && strings.Contains(err.Error(), "nearest") {
			t.Errorf("%s: %v", c.url, err)
		}
		r.end()
		if len(r.errors) != 1 || !strings.Contains(r.errors[0], request.URL.Host) || strings.Contains(r.errors[0]+err.Error(), "hunter2") {
			t.Errorf("%s %s: Start said %q", c.method, c.url, r.errors)
		}
	}
}

// What Start reports of requests that no route takes.
func TestStartReportsUnmatched(t *testing.T) {
	for _, c := range []struct{ method, path, want string }{
		{"PUT", "/v1/runs", "PUT /v1/runs matched no route; the nearest is POST /v1/runs (the request has another method)"},
		{"GET", "/v1/models/", "GET /v1/models/ matched no route; the nearest is GET /v1/models (the request has a trailing slash)"},
		{"POST", "/runs", "POST /runs matched no route; the nearest is POST /v1/runs (the request has no /v1)"},
		{"GET", "/else", "GET /else matched no route"},
	} {
		var r recorder
		fake := hermesfake.Start(&r)
		request, _ := http.NewRequest(c.method, hermesfake.BaseURL+c.path, nil)
		if res, err := fake.RoundTrip(request); err != nil || res.StatusCode/100 != 4 {
			t.Errorf("%s %s: %v %v", c.method, c.path, res, err)
		}
		r.end()
		if len(r.errors) != 1 || r.errors[0] != "hermesfake: "+c.want {
			t.Errorf("Start said %q, want %q", r.errors, c.want)
		}
	}
}

func TestUnmatchedAllowed(t *testing.T) {
	var r recorder
	fake := hermesfake.Start(&r, hermesfake.WithUnmatchedAllowed())
	fetch(fake, "http://prod.example/")
	fetch(fake, hermesfake.BaseURL+"/nowhere")
	r.end()
	if len(r.errors) != 0 {
		t.Errorf("Start said %q", r.errors)
	}
}

// An error lists the stubs that there are, so that a typing mistake shows.
func TestUnknownHostListsStubs(t *testing.T) {
	fake := hermesfake.New()
	for i := range 7 {
		fake.Mock().RegisterResponder("POST", fmt.Sprintf("http://stub.example/%d", i), httpmock.NewStringResponder(200, ""))
	}
	_, _, err := fetch(fake, "http://stub.example/0")
	if !errors.Is(err, hermesfake.ErrUnknownHost) || !strings.Contains(err.Error(), "none of the stubs fits: POST http://stub.example/0, ") ||
		!strings.Contains(err.Error(), "example/4, ...;") {
		t.Errorf("got %v", err)
	}
}

// Wherever a request ends, its body is closed.
func TestBodyIsClosed(t *testing.T) {
	for _, c := range []struct {
		name, url string
		stubs     bool
		fallback  http.RoundTripper
	}{
		{"provider", hermesfake.BaseURL + "/v1/runs", false, nil},
		{"provider beside stubs", hermesfake.BaseURL + "/v1/runs", true, nil},
		{"stub", "http://stub.example/", true, nil},
		{"refused", "http://prod.example/", false, nil},
		{"refused beside stubs", "http://prod.example/", true, nil},
		{"fallback beside stubs", "http://prod.example/", true, answering{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := hermesfake.New(hermesfake.WithFallback(c.fallback))
			if c.stubs {
				fake.Mock().RegisterResponder("POST", "http://stub.example/", httpmock.NewStringResponder(200, ""))
			}
			body := &watched{Reader: strings.NewReader(`{"input": "x"}`)}
			r, _ := http.NewRequest("POST", c.url, body)
			fake.RoundTrip(r)
			if !body.closed.Load() {
				t.Error("the body is open")
			}
		})
	}
}
