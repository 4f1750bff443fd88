package hermesfake_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

func TestRequestHelpers(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithUnmatchedAllowed())
	id := submit(t, f, `{"input": "x"}`)
	other := submit(t, f, `{"input": "x"}`)
	f.Inject(faults.StopAcceptedDrop())
	if _, err := f.Client().Post(hermesfake.BaseURL+"/v1/runs/"+id+"/stop", "", nil); err == nil {
		t.Fatal("the reply was not lost")
	}
	request(t, f, "GET", "/v1/runs/"+id, "")
	request(t, f, "GET", "/v1/runs/"+other, "")
	f.Restart(hermesfake.OwnerStale)
	request(t, f, "GET", "/v1/runs/"+id, "")
	request(t, f, "GET", "/v1/runs/"+id+"0", "")
	request(t, f, "GET", "/v1/runs", "")
	all := f.Requests()
	paths := func(r hermesfake.Requests) string {
		var b strings.Builder
		for _, q := range r {
			fmt.Fprintf(&b, "%s %s %d, ", q.Method, strings.NewReplacer(id, "ID", other, "OTHER").Replace(q.Path), q.Status)
		}
		return b.String()
	}
	for _, c := range []struct{ name, got, want string }{
		{"ByRun", paths(all.ByRun(id)), "POST /v1/runs 202, POST /v1/runs/ID/stop 0, GET /v1/runs/ID 200, GET /v1/runs/ID 404, "},
		{"ByRun of another", paths(all.ByRun(other)), "POST /v1/runs 202, GET /v1/runs/OTHER 200, "},
		{"ByRun of none", paths(all.ByRun("run_0")), ""},
		{"ByStatus", paths(all.ByStatus(404)), "GET /v1/runs/ID 404, GET /v1/runs/ID0 404, "},
		{"ByStatus of lost replies", paths(all.ByStatus(0)), "POST /v1/runs/ID/stop 0, "},
		{"ByOperation", paths(all.ByOperation(hermesfake.RunStop)), "POST /v1/runs/ID/stop 0, "},
		{"ByOperation of none", paths(all.ByOperation("")), "GET /v1/runs 405, "},
		{"both", paths(all.ByRun(id).ByOperation(hermesfake.RunGet).ByStatus(200)), "GET /v1/runs/ID 200, "},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
	if n := all.CountByOperation(hermesfake.RunGet); n != 4 {
		t.Errorf("%d polls", n)
	}
	if last := all.Last(); last.Status != http.StatusMethodNotAllowed || !last.Unmatched {
		t.Errorf("the last one is %+v", last)
	}
	if (hermesfake.Requests{}).Last() != (hermesfake.Request{}) {
		t.Error("the last of none")
	}
}

// TestWaitRequests waits in a bubble, where a wait that misses its request would end the test as a deadlock.
func TestWaitRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := hermesfake.Start(t, hermesfake.WithJournalSize(2))
		id := submit(t, f, `{"input": "x"}`)
		began := time.Now()
		go func() {
			for range 10 {
				time.Sleep(time.Second)
				request(t, f, "GET", "/v1/runs/"+id, "")
				request(t, f, "GET", "/v1/models", "")
			}
		}()
		for n := range 11 {
			got, err := f.WaitRequests(t.Context(), hermesfake.RunGet, n)
			if took := time.Since(began); err != nil || took != time.Duration(n)*time.Second || len(got) > 1 || n > 0 && len(got) != 1 {
				t.Errorf("%d: after %v: %+v, %v", n, took, got, err)
			}
		}
		if _, err := f.WaitRequests(t.Context(), "", 21); err != nil {
			t.Error(err)
		}
		// Those that fell out count.
		if all := f.Requests(); len(all) != 2 || f.DroppedRequests() != 19 {
			t.Errorf("%d kept, %d dropped", len(all), f.DroppedRequests())
		}
		if got, err := f.WaitRequests(t.Context(), hermesfake.RunCreate, 1); err != nil || len(got) != 0 {
			t.Errorf("%v %v", got, err)
		}
		// A wait in vain says what came.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := f.WaitRequests(ctx, hermesfake.RunStop, 1)
		const want = "hermesfake: requests: waited for 1 RunStop, got 0 (so far: RunCreate 1, RunGet 10, Models 10): context deadline exceeded"
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		// Clearing begins anew.
		f.ClearRequests()
		if len(f.Requests()) != 0 || f.DroppedRequests() != 0 {
			t.Errorf("%d kept, %d dropped", len(f.Requests()), f.DroppedRequests())
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := f.WaitRequests(ctx, "", 1); err == nil || !strings.Contains(err.Error(), "waited for 1 requests, got 0 (so far: none at all)") {
			t.Error(err)
		}
		if _, err := f.WaitRequests(t.Context(), "RunGte", 1); !errors.Is(err, hermesfake.ErrOperation) {
			t.Error(err)
		}
		// Another namespace has its own.
		view, err := f.Namespace("view")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := view.WaitRequests(t.Context(), hermesfake.Health, 1)
			done <- err
		}()
		request(t, f, "GET", "/health", "")
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("another namespace's request ended the wait: %v", err)
		default:
		}
		request(t, view, "GET", "/health", "")
		if err := <-done; err != nil {
			t.Error(err)
		}
		// Close ends a wait, but what has come can still be looked at.
		go func() {
			_, err := f.WaitRequests(t.Context(), hermesfake.RunStop, 1)
			done <- err
		}()
		synctest.Wait()
		f.Close()
		if err := <-done; !errors.Is(err, hermesfake.Closed) {
			t.Error(err)
		}
		if got, err := f.WaitRequests(t.Context(), hermesfake.Health, 1); err != nil || len(got) != 1 {
			t.Errorf("%v %v", got, err)
		}
	})
}

// TestWaitRequestsMissesNone has clients on both doors and a waiter for each number.
func TestWaitRequestsMissesNone(t *testing.T) {
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			const clients, each = 4, 25
			f := hermesfake.Start(t, hermesfake.WithJournalSize(10))
			d := door.open(t, f)
			c := client{&http.Client{Transport: d.Transport}, d.BaseURL}
			var wg sync.WaitGroup
			for n := range clients*each + 1 {
				wg.Go(func() {
					if _, err := f.WaitRequests(t.Context(), hermesfake.Models, n); err != nil {
						t.Error(err)
					}
				})
			}
			for range clients {
				wg.Go(func() {
					for range each {
						if status, _, err := c.fetch(t.Context(), "GET", "/v1/models", ""); status != 200 || err != nil {
							t.Error(status, err)
						}
					}
				})
			}
			wg.Wait()
			if f.DroppedRequests() != clients*each-10 {
				t.Errorf("%d dropped", f.DroppedRequests())
			}
		})
	}
}

// TestRequestsControlWaits proves the same for other languages.
func TestRequestsControlWaits(t *testing.T) {
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			f := hermesfake.Start(t)
			d := door.open(t, f)
			c := client{&http.Client{Transport: d.Transport}, d.BaseURL}
			type answer struct {
				status int
				text   string
				err    error
			}
			wait := func(query string) answer {
				status, text, err := c.fetch(t.Context(), "GET", "/__admin/requests?"+query, "")
				return answer{status, text, err}
			}
			got := make(chan answer, 1)
			go func() { got <- wait("operationId=Models&wait=3&limit=1") }()
			for range 3 {
				select {
				case a := <-got:
					t.Fatalf("too early: %+v", a)
				default:
				}
				c.fetch(t.Context(), "GET", "/v1/models", "")
			}
			if a := <-got; a.err != nil || a.status != 200 || strings.Count(a.text, `"path":"/v1/models"`) != 1 {
				t.Errorf("%+v", a)
			}
			if a := wait("operationId=RunGet&wait=1&timeoutMs=1"); a.status != 504 ||
				!strings.Contains(a.text, "waited for 1 RunGet, got 0 (so far: Models 3)") {
				t.Errorf("%+v", a)
			}
			if a := wait("wait=0&timeoutMs=0"); a.status != 200 || strings.Count(a.text, `"path"`) != 3 {
				t.Errorf("%+v", a)
			}
			for _, bad := range []string{"wait=x", "wait=-1", "wait=1&status=200", "wait=1&since=0", "timeoutMs=5", "wait=1&timeoutMs=-1",
				"wait=1&timeoutMs=600001", "wait=99999999999", "operationId=Nope&wait=1"} {
				if a := wait(bad); a.status != 400 || !strings.Contains(a.text, "requests: ") {
					t.Errorf("%s: %+v", bad, a)
				}
			}
			go func() { got <- wait("wait=100") }()
			f.Close()
			if a := <-got; a.status != 503 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestOwnRejectionsTellTheBody proves that the emulator's own refusals, and no others, say what was sent.
func TestOwnRejectionsTellTheBody(t *testing.T) {
	f := hermesfake.Start(t)
	told := func() string {
		_, text := request(t, f, "GET", "/__admin/requests?limit=1", "")
		_, text, _ = strings.Cut(text, `"contentType"`)
		return text
	}
	if err := f.Inject(faults.Rule{Operation: hermesfake.RunCreate, Status: 501, Count: 1}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1/runs", `[]`, 501, ""}, // by the fault
		{"POST", "/v1/runs", `[]`, 501, `:"","bodyBytes":2}`},
		{"POST", "/v1/responses", `{}x`, 501, `:"","bodyBytes":3}`},
		{"POST", "/v1/runs", `{}`, 400, ""},
	} {
		if status, _ := request(t, f, c.method, c.path, c.body); status != c.status {
			t.Errorf("%s %s %s: %d", c.method, c.path, c.body, status)
		}
		if got := told(); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s %s: %q, want %q", c.path, c.body, got, c.want)
		}
	}
	f.Close()
	if status, _ := request(t, f, "POST", "/v1/runs", `{"input": "x"}`); status != 503 || !strings.HasPrefix(told(), `:"","bodyBytes":14}`) {
		t.Errorf("of a closed fake: %d, %s", status, told())
	}
}
