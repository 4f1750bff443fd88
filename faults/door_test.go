package faults_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// door is a client of a fake and the way to it.
type door struct {
	*testing.T
	fake   *hermesfake.Fake
	client *http.Client
	base   string
	socket bool
	// settle waits until the server is done with every request.
	settle func()
}

// eachDoor runs a test with a client in process, and with one over a socket
// that never uses a connection twice, as Go would send some requests again otherwise.
func eachDoor(t *testing.T, test func(*door)) {
	t.Helper()
	t.Run("in process", func(t *testing.T) {
		fake := hermesfake.Start(t)
		test(&door{T: t, fake: fake, client: fake.Client(), base: hermesfake.BaseURL, settle: func() {}})
	})
	t.Run("over a socket", func(t *testing.T) {
		fake := hermesfake.Start(t)
		server := httptest.NewServer(fake.Handler())
		t.Cleanup(server.Close)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		test(&door{t, fake, client, server.URL, true, server.Close})
	})
}

// reply is what a client got: err is the client's, or that of reading the body.
type reply struct {
	status int
	header http.Header
	length int64
	body   string
	err    error
}

func (r reply) String() string {
	return fmt.Sprintf("%d %q, error %v", r.status, r.body, r.err)
}

func (d *door) send(method, path, key, body string) reply {
	d.Helper()
	r, err := http.NewRequest(method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return d.do(r)
}

func (d *door) do(r *http.Request) reply {
	res, err := d.client.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, res.ContentLength, string(body), err}
}

func (d *door) get(path string) reply {
	d.Helper()
	return d.send("GET", path, "", "")
}

// submit sends a submission that no fault may meet, and returns its run.
func (d *door) submit(key string) *hermesfake.Run {
	d.Helper()
	if r := d.send("POST", "/v1/runs", key, `{"input": "x"}`); r.err != nil || r.status != http.StatusAccepted {
		d.Fatalf("not admitted: %+v", r)
	}
	return d.fake.Runs().Last()
}

func (d *door) inject(rules ...faults.Rule) {
	d.Helper()
	if err := d.fake.Inject(rules...); err != nil {
		d.Fatal(err)
	}
}

// events opens a run's event stream.
func (d *door) events(run *hermesfake.Run) *http.Response {
	d.Helper()
	res, err := d.client.Get(d.base + "/v1/runs/" + run.ID() + "/events")
	if err != nil || res.StatusCode != http.StatusOK {
		d.Fatalf("subscribing: %v %v", res, err)
	}
	d.Cleanup(func() { res.Body.Close() })
	return res
}

// wantUsed checks that a rule that was injected was used, and how much of it is left.
func (d *door) wantUsed(i, hits, remaining int) {
	d.Helper()
	f := d.fake.Faults()[i]
	if f.Hits != hits || f.Remaining != remaining {
		d.Errorf("fault %s has %d hits and %d remaining, want %d and %d", f.ID, f.Hits, f.Remaining, hits, remaining)
	}
}

// wantJournal checks the latest entry of the journal.
func (d *door) wantJournal(operation hermesfake.Operation, status int, fault string, accepted bool) {
	d.Helper()
	e := d.fake.Requests().Last()
	if e.Operation != operation || e.Status != status || e.FaultID != fault || e.Accepted != accepted {
		d.Errorf("the journal has %s %d, fault %q, accepted %t; want %s %d, fault %q, accepted %t",
			e.Operation, e.Status, e.FaultID, e.Accepted, operation, status, fault, accepted)
	}
}

func (d *door) wantReset(r reply) {
	d.Helper()
	if !errors.Is(r.err, syscall.ECONNRESET) {
		d.Errorf("got %+v, want a reset connection", r)
	}
}

func (d *door) wantStatus(r reply, status int, texts ...string) {
	d.Helper()
	if r.err != nil || r.status != status {
		d.Errorf("got %d %s (%v), want %d", r.status, r.body, r.err, status)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			d.Errorf("the body %s lacks %s", r.body, text)
		}
	}
}
