package hermesfake_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// logged is middleware that wraps the writer, as loggers do, and lets others reach the
// one inside.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&statusWriter{ResponseWriter: w}, r)
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// opaque is middleware whose writer can flush, but lets nobody through to the connection.
func opaque(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(struct {
			http.ResponseWriter
			http.Flusher
		}{w, w.(http.Flusher)}, r)
	})
}

// recovering is middleware that turns every panic into a 500, http.ErrAbortHandler included.
func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// The handler under a mux and behind middleware, in a real server: requests, event
// streams and faults work as without them.
func TestHandlerAsMiddleware(t *testing.T) {
	for _, c := range []struct {
		name   string
		prefix string
		mount  func(http.Handler) http.Handler
		reset  error // what a client gets for a dropped reply
	}{
		{"alone", "", func(h http.Handler) http.Handler { return h }, syscall.ECONNRESET},
		{"under a mux", "/hermes", func(h http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/hermes/", http.StripPrefix("/hermes", h))
			return mux
		}, syscall.ECONNRESET},
		{"behind middleware", "", func(h http.Handler) http.Handler { return logged(recovering(h)) }, syscall.ECONNRESET},
		{"behind middleware that hides the connection", "", opaque, io.EOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := hermesfake.Start(t)
			server := httptest.NewServer(c.mount(fake.Handler()))
			t.Cleanup(server.Close)
			base := server.URL + c.prefix
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			submit := func() (int, error) {
				res, err := client.Post(base+"/v1/runs", "", strings.NewReader(`{"input": "x"}`))
				if err != nil {
					return 0, err
				}
				return res.StatusCode, res.Body.Close()
			}
			follow := func(run *hermesfake.Run) (string, error) {
				res, err := client.Get(base + "/v1/runs/" + run.ID() + "/events")
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				body, err := io.ReadAll(res.Body)
				return string(body), err
			}

			if status, err := submit(); status != http.StatusAccepted || err != nil {
				t.Fatalf("got %d, %v", status, err)
			}
			run := fake.Runs().Last()
			run.Delta("one")
			run.Complete("done")
			if body, err := follow(run); err != nil || strings.Count(body, "data: ") != 2 {
				t.Errorf("got %s, %v", body, err)
			}
			// An escape in a run's id survives the mux.
			res, err := client.Get(base + "/v1/runs/a%2Fb")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if !strings.Contains(string(body), "Run not found: a/b") {
				t.Errorf("got %s", body)
			}

			if err := fake.Inject(faults.SubmitAcceptedDrop(), faults.EventsCut(1)); err != nil {
				t.Fatal(err)
			}
			if status, err := submit(); !errors.Is(err, c.reset) {
				t.Errorf("a dropped reply: %d, %v", status, err)
			}
			run = fake.Runs().Last()
			run.Delta("one")
			run.Complete("done")
			if body, err := follow(run); !errors.Is(err, io.ErrUnexpectedEOF) || strings.Count(body, "data: ") != 1 {
				t.Errorf("a cut stream: %s, %v", body, err)
			}
			if n := len(fake.Runs()); n != 2 {
				t.Errorf("%d runs, want 2", n)
			}
		})
	}
}

// Under TLS and HTTP/2 faults break what the client sees as well.
func TestFaultsUnderTLS(t *testing.T) {
	for _, c := range []struct {
		name  string
		http2 bool
	}{{"HTTP/1.1", false}, {"HTTP/2", true}} {
		t.Run(c.name, func(t *testing.T) {
			fake := hermesfake.Start(t)
			server := httptest.NewUnstartedServer(fake.Handler())
			server.EnableHTTP2 = c.http2
			server.StartTLS()
			t.Cleanup(server.Close)
			client := server.Client()
			if err := fake.Inject(faults.SubmitDrop(), faults.SubmitReplyTruncated()); err != nil {
				t.Fatal(err)
			}
			post := func() (*http.Response, error) {
				return client.Post(server.URL+"/v1/runs", "", strings.NewReader(`{"input": "x"}`))
			}
			res, err := post()
			if err == nil {
				t.Fatalf("got %d", res.StatusCode)
			}
			if !c.http2 && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %v", err)
			}
			if res, err = post(); err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.ProtoMajor == 2 != c.http2 {
				t.Errorf("%s", res.Proto)
			}
			if body, err := io.ReadAll(res.Body); err == nil || !strings.HasPrefix(string(body), `{"run_id"`) {
				t.Errorf("got %s, %v", body, err)
			}
		})
	}
}

// A recorder has no connection to break.
func TestDroppedReplyIntoRecorder(t *testing.T) {
	fake := hermesfake.Start(t)
	if err := fake.Inject(faults.SubmitDrop()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("panicked with %v", p)
		}
	}()
	fake.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/runs", strings.NewReader(`{"input": "x"}`)))
}
