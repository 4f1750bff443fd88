package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
)

// loadTime is how long TestLoad lasts. The environment variable HERMESFAKE_LOAD changes it to a
// duration such as 1m.
func loadTime(t *testing.T) time.Duration {
	text := os.Getenv("HERMESFAKE_LOAD")
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("HERMESFAKE_LOAD: %v", err)
	}
	return d
}

// loadRounds is how many rounds each client has at least, however busy the machine, so that each rule is met.
const loadRounds = 8

// loadFaults are the rules that a load meets, as the control plane takes them.
var loadFaults = []string{
	`{"id": "late", "rate": 0.02, "delayMs": 5}`,
	`{"id": "late-polls", "operationId": "RunGet", "rate": 0.05, "delayMs": 20}`,
	`{"id": "unavailable", "rate": 0.03, "status": 503, "body": {"from": "rule"}}`,
	`{"id": "dropped", "rate": 0.03, "drop": true}`,
	`{"id": "submission-lost", "operationId": "RunCreate", "rate": 0.05, "effect": "accepted_drop"}`,
	`{"id": "stop-lost", "operationId": "RunStop", "rate": 0.05, "effect": "accepted_drop"}`,
	`{"id": "steer-lost", "operationId": "RunSteer", "rate": 0.05, "effect": "accepted_drop"}`,
	`{"id": "approval-lost", "operationId": "RunApproval", "rate": 0.05, "effect": "accepted_drop"}`,
	`{"id": "cut", "operationId": "RunEvents", "rate": 0.05, "effect": "events_cut", "params": {"after": 1}}`,
}

// seen is an operation and the status of its reply, 0 for a reset in place of one.
type seen struct {
	operation hermesfake.Operation
	status    int
}

// wire is a connection that sends each request once: http.Transport would send some again where the
// connection is reset, and nobody could count them. It opens another connection when it has to.
type wire struct {
	address string
	conn    net.Conn
	reader  *bufio.Reader
}

func (w *wire) close() {
	if w.conn != nil {
		w.conn.Close()
		w.conn = nil
	}
}

// do returns the status and body of the reply to a request. The error is that of the connection; where the status
// is not 0 it befell the body.
func (w *wire) do(r *http.Request) (int, string, error) {
	if w.conn == nil {
		conn, err := net.Dial("tcp", w.address)
		if err != nil {
			return 0, "", err
		}
		conn.SetDeadline(time.Now().Add(2 * time.Minute))
		w.conn, w.reader = conn, bufio.NewReader(conn)
	}
	if err := r.Write(w.conn); err != nil {
		w.close()
		return 0, "", err
	}
	res, err := http.ReadResponse(w.reader, r)
	if err != nil {
		w.close()
		return 0, "", err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || res.Close {
		w.close()
	}
	return res.StatusCode, string(body), err
}

// fresh is an http.Client that opens a connection for each request.
type fresh struct{ *http.Client }

func newFresh() fresh {
	return fresh{&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}}
}

func (fresh) close() {}

func (f fresh) do(r *http.Request) (int, string, error) {
	res, err := f.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// loader is one client of a load, who knows what has to become of its runs.
type loader struct {
	t        *testing.T
	address  string
	controls *http.Client
	sends    interface {
		do(*http.Request) (int, string, error)
		close()
	}
	rng    *rand.Rand
	name   string
	counts map[seen]int
	cuts   int
}

func (l *loader) request(method, path, body string) *http.Request {
	r, err := http.NewRequest(method, "http://"+l.address+path, strings.NewReader(body))
	if err != nil {
		l.t.Error(err)
	}
	return r
}

// ask sends a request and counts the reply. Its status must be one of those wanted, 0, or 503 as the rules have it; ask
// returns the body and true if it is one of those wanted.
func (l *loader) ask(operation hermesfake.Operation, r *http.Request, want ...int) (string, bool) {
	status, body, err := l.sends.do(r)
	l.counts[seen{operation, status}]++
	switch {
	case status == 0 && errors.Is(err, syscall.ECONNRESET):
		return "", false
	case operation == hermesfake.RunEvents && status == http.StatusOK && errors.Is(err, io.ErrUnexpectedEOF):
		l.cuts++
		return "", false
	case status == http.StatusServiceUnavailable && err == nil && body == `{"from": "rule"}`:
		return "", false
	case slices.Contains(want, status) && err == nil:
		return body, true
	}
	l.t.Errorf("%s: %s %s: %d %.300s, error %v, want %d", l.name, r.Method, r.URL.Path, status, body, err, want)
	return "", false
}

// observe moves a run by the control plane, which no rule and no journal knows.
func (l *loader) observe(run, observation string) {
	res, err := l.controls.Do(l.request("POST", "/__admin/hermes/runs/"+run+"/observe", observation))
	if err != nil {
		l.t.Errorf("%s: %v", l.name, err)
		return
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		l.t.Errorf("%s: observe %s: %d %s, error %v", l.name, observation, res.StatusCode, body, err)
	}
}

// submit submits with a key until a reply arrives, as decent clients do. Whether it is a replay
// cannot be foretold where an earlier reply was lost, unless one had come already, which known says.
func (l *loader) submit(key, known string) string {
	var admission struct {
		Run      string `json:"run_id"`
		Replayed bool
	}
	for lost := false; ; {
		r := l.request("POST", "/v1/runs", `{"input": "hi"}`)
		r.Header.Set("Idempotency-Key", key)
		before := l.counts[seen{hermesfake.RunCreate, 0}]
		body, ok := l.ask(hermesfake.RunCreate, r, http.StatusAccepted)
		if !ok {
			if l.t.Failed() {
				return known
			}
			lost = lost || l.counts[seen{hermesfake.RunCreate, 0}] > before
			continue
		}
		if err := json.Unmarshal([]byte(body), &admission); err != nil {
			l.t.Errorf("%s: %s: %v", l.name, body, err)
		}
		if known != "" && (admission.Run != known || !admission.Replayed) || known == "" && admission.Replayed && !lost {
			l.t.Errorf("%s: key %s is that of %q, and got %+v", l.name, key, known, admission)
		}
		return admission.Run
	}
}

// approve answers the one approval that is pending until a reply arrives. If one was lost, the next may
// say that nothing is pending any more.
func (l *loader) approve(path string) {
	want := []int{http.StatusOK}
	for !l.t.Failed() {
		before := l.counts[seen{hermesfake.RunApproval, 0}]
		if _, ok := l.ask(hermesfake.RunApproval, l.request("POST", path+"/approval", `{"choice": "once"}`), want...); ok {
			return
		}
		if l.counts[seen{hermesfake.RunApproval, 0}] > before {
			want = []int{http.StatusOK, http.StatusConflict}
		}
	}
}

// round submits a run, does to it what clients do in an order of its own, and settles it.
func (l *loader) round(n int) {
	key := fmt.Sprint(l.name, "-", n)
	run := l.submit(key, "")
	if run == "" {
		return
	}
	path := "/v1/runs/" + run
	l.observe(run, `{"status": "running"}`)
	steps := []func(){
		func() {
			l.ask(hermesfake.RunCreate, l.request("POST", "/v1/runs", `{"input": "hi"}`), http.StatusAccepted)
		},
		func() { l.submit(key, run) },
		func() {
			r := l.request("POST", "/v1/runs", `{"input": "other"}`)
			r.Header.Set("Idempotency-Key", key)
			l.ask(hermesfake.RunCreate, r, http.StatusConflict)
		},
		func() {
			if body, ok := l.ask(hermesfake.RunGet, l.request("GET", path, ""), http.StatusOK); ok && !strings.Contains(body, run) {
				l.t.Errorf("%s: polled %s, and got %s", l.name, run, body)
			}
		},
		func() {
			l.ask(hermesfake.RunSteer, l.request("POST", path+"/steer", `{"input": "left"}`), http.StatusOK)
		},
		func() {
			l.ask(hermesfake.RunApproval, l.request("POST", path+"/approval", `{"choice": "once"}`), http.StatusConflict)
		},
		func() {
			l.observe(run, `{"status": "waiting_for_approval", "approval": {"command": "rm"}}`)
			l.ask(hermesfake.RunSteer, l.request("POST", path+"/steer", `{"input": "left"}`), http.StatusConflict)
			l.approve(path)
		},
		func() { l.ask("", l.request("GET", "/v1/none", ""), http.StatusNotFound) },
		func() { l.ask("", l.request("PUT", path, "{}"), http.StatusMethodNotAllowed) },
		func() { l.ask(hermesfake.RunGet, l.request("GET", "/v1/runs/none", ""), http.StatusNotFound) },
		func() { l.ask(hermesfake.Health, l.request("GET", "/health", ""), http.StatusOK) },
		func() { l.ask(hermesfake.Models, l.request("GET", "/v1/models", ""), http.StatusOK) },
	}
	l.rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, step := range steps[:len(steps)*2/3] {
		step()
	}
	l.ask(hermesfake.RunStop, l.request("POST", path+"/stop", ""), http.StatusOK)
	l.observe(run, `{"status": "completed", "output": "done"}`)
	l.ask(hermesfake.RunStop, l.request("POST", path+"/stop", ""), http.StatusOK)
	if body, ok := l.ask(hermesfake.RunEvents, l.request("GET", path+"/events", ""), http.StatusOK); ok &&
		!strings.HasSuffix(body, ": stream closed\n\n") {
		l.t.Errorf("%s: events %q", l.name, body)
	}
	l.ask(hermesfake.RunSteer, l.request("POST", path+"/steer", `{"input": "left"}`), http.StatusConflict)
}

// TestLoad has 64 clients do everything at once while rules make a part of it fail. What the clients have seen is what the
// journal, the metrics and the rules say.
func TestLoad(t *testing.T) {
	const clients, journalSize = 64, 10_000_000
	before := runtime.NumGoroutine()
	s := onSocket(t, fmt.Sprint("--seed 7 --max-concurrent-runs 0 --log-format off --journal-size ", journalSize), defaultLimits())
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	controls := &http.Client{Transport: transport}
	for _, rule := range loadFaults {
		res, err := controls.Post("http://"+s.address+"/__admin/faults", "application/json", strings.NewReader(rule))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusCreated {
			t.Fatalf("%s: status %d", rule, res.StatusCode)
		}
	}

	loaders := make([]*loader, clients)
	end := time.Now().Add(loadTime(t))
	var wg sync.WaitGroup
	for i := range loaders {
		l := &loader{t: t, address: s.address, controls: controls, name: fmt.Sprint("client", i),
			rng: rand.New(rand.NewPCG(7, uint64(i))), counts: map[seen]int{}, sends: &wire{address: s.address}}
		// Programs that are to see each loss have clients such as this.
		if i%4 == 0 {
			l.sends = newFresh()
		}
		loaders[i] = l
		wg.Go(func() {
			for n := 0; (n < loadRounds || time.Now().Before(end)) && !t.Failed(); n++ {
				l.round(n)
			}
			l.sends.close()
		})
	}
	wg.Wait()

	counts, cuts, total := map[seen]int{}, 0, 0
	for _, l := range loaders {
		cuts += l.cuts
		for k, n := range l.counts {
			counts[k] += n
			total += n
		}
	}
	t.Logf("%d requests: %v", total, counts)
	checkLoad(t, controls, s.address, counts, cuts, total)
	transport.CloseIdleConnections()
	s.stop()
	noMoreThan(t, before)
}

// checkLoad compares what the clients saw with what the fake says of it.
func checkLoad(t *testing.T, controls *http.Client, address string, counts map[seen]int, cuts, total int) {
	read := func(path string, v any) {
		t.Helper()
		res, err := controls.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(v); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, error %v", path, res.StatusCode, err)
		}
	}
	var journal struct {
		Requests []struct {
			OperationID hermesfake.Operation
			Status      int
			FaultID     string
		}
	}
	read("/__admin/requests", &journal)
	journaled, met := map[seen]int{}, map[string]int{}
	lost := 0
	for _, e := range journal.Requests {
		journaled[seen{e.OperationID, e.Status}]++
		met[e.FaultID]++
		if e.Status == 0 {
			lost++
		}
	}
	if len(journal.Requests) != total || !maps.Equal(journaled, counts) {
		t.Errorf("the clients saw %d replies, %v;\nthe journal has %d, %v", total, counts, len(journal.Requests), journaled)
	}

	var metrics struct {
		Requests    int
		ByOperation map[string]int
	}
	read("/__admin/metrics", &metrics)
	counted := map[string]int{}
	for k, n := range counts {
		if k.operation != "" {
			counted[fmt.Sprint(k.operation, " ", k.status)] = n
		}
	}
	if metrics.Requests != total || !maps.Equal(metrics.ByOperation, counted) {
		t.Errorf("the clients saw %d replies, %v;\nthe metrics have %+v", total, counted, metrics)
	}

	var rules struct {
		Faults []struct {
			ID   string
			Hits int
		}
	}
	read("/__admin/faults", &rules)
	resets, unavailable := 0, 0
	for k, n := range counts {
		switch k.status {
		case 0:
			resets += n
		case http.StatusServiceUnavailable:
			unavailable += n
		}
	}
	hits := map[string]int{}
	for _, r := range rules.Faults {
		hits[r.ID] = r.Hits
		if r.Hits == 0 {
			t.Errorf("no request met rule %s", r.ID)
		}
	}
	losing := []string{"dropped", "submission-lost", "stop-lost", "steer-lost", "approval-lost"}
	sum := 0
	for _, id := range losing {
		sum += hits[id]
	}
	if resets != sum || resets != lost || unavailable != hits["unavailable"] || cuts != hits["cut"] {
		t.Errorf("%d resets, %d times 503, %d cuts; the rules did %v", resets, unavailable, cuts, hits)
	}
	// A rule that ends the matter is the last that its request met.
	for _, id := range slices.Concat(losing, []string{"unavailable", "cut"}) {
		if met[id] != hits[id] {
			t.Errorf("rule %s has %d hits, and %d requests in the journal", id, hits[id], met[id])
		}
	}
}
