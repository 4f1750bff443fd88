package hermesfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/jarcoal/httpmock"
)

// body200 is a submission of 200 bytes.
var body200 = `{"input": "` + strings.Repeat("x", 200-len(`{"input": ""}`)) + `"}`

// canned answers every request with the same reply, in headers of its own,
// and reads the request's body: the least that a RoundTripper can do.
type canned struct {
	status int
	header http.Header
	body   []byte
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	return &http.Response{
		Status: "202 Accepted", StatusCode: c.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header.Clone(), ContentLength: int64(len(c.body)),
		Body: io.NopCloser(bytes.NewReader(c.body)), Request: r,
	}, nil
}

// do sends one request and reads the reply to its end.
func do(b *testing.B, client *http.Client, method, url, key, body string) (int, http.Header, []byte) {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, url, content)
	if err != nil {
		b.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	res, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return res.StatusCode, res.Header, read
}

// peer runs the requests of one benchmark against a canned copy of the fake's reply.
func cannedOf(b *testing.B, client *http.Client, method, url, key, body string) *http.Client {
	status, header, read := do(b, client, method, url, key, body)
	return &http.Client{Transport: &canned{status, header, read}}
}

func BenchmarkReplay(b *testing.B) {
	fake := hermesfake.New()
	client := fake.Client()
	url := hermesfake.BaseURL + "/v1/runs"
	do(b, client, "POST", url, "key", body200)
	peer := cannedOf(b, client, "POST", url, "key", body200)
	compare(b, func(i int) { do(b, client, "POST", url, "key", body200) },
		func(i int) { do(b, peer, "POST", url, "key", body200) })
}

func BenchmarkNewKeyedRun(b *testing.B) {
	fake := hermesfake.New(hermesfake.WithMaxConcurrentRuns(0))
	client := fake.Client()
	url := hermesfake.BaseURL + "/v1/runs"
	peer := cannedOf(b, client, "POST", url, "key", body200)
	compare(b, func(i int) { do(b, client, "POST", url, fmt.Sprint("key", i), body200) },
		func(i int) { do(b, peer, "POST", url, fmt.Sprint("key", i), body200) })
}

func BenchmarkPoll(b *testing.B) {
	fake := hermesfake.New()
	client := fake.Client()
	do(b, client, "POST", hermesfake.BaseURL+"/v1/runs", "", body200)
	url := hermesfake.BaseURL + "/v1/runs/" + fake.Runs().Last().ID()
	peer := cannedOf(b, client, "GET", url, "", "")
	compare(b, func(i int) { do(b, client, "GET", url, "", "") },
		func(i int) { do(b, peer, "GET", url, "", "") })
}

// compare times both in turn in one benchmark and reports their ratio.
func compare(b *testing.B, ours, theirs func(int)) {
	const turn = 200
	b.ReportAllocs()
	var fake, peer stopwatch
	n := 0
	for b.Loop() {
		fake.time(func() {
			for i := range turn {
				ours(n + i)
			}
		})
		peer.time(func() {
			for i := range turn {
				theirs(n + i)
			}
		})
		n += turn
	}
	b.ReportMetric(float64(fake.total)/float64(n), "ns/request")
	b.ReportMetric(float64(peer.total)/float64(n), "ns/canned")
	b.ReportMetric(float64(fake.total)/float64(peer.total), "x-canned")
}

// byHand is the same state behind httpmock, as people write it.
func byHand() *http.Client {
	var mu sync.Mutex
	runs := map[string]map[string]any{}
	keys := map[string]string{}
	bodies := map[string]string{}
	mock := httpmock.NewMockTransport()
	mock.RegisterResponder("POST", "http://hermes.test/v1/runs", func(r *http.Request) (*http.Response, error) {
		raw, _ := io.ReadAll(r.Body)
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil {
			return httpmock.NewStringResponse(400, "bad"), nil
		}
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		if id, ok := keys[key]; ok && key != "" {
			if bodies[key] != string(raw) {
				return httpmock.NewStringResponse(409, "conflict"), nil
			}
			return httpmock.NewJsonResponse(202, map[string]any{"run_id": id, "status": runs[id]["status"], "replayed": true})
		}
		id := fmt.Sprintf("run_%032x", len(runs))
		keys[key], bodies[key] = id, string(raw)
		runs[id] = map[string]any{"object": "hermes.run", "run_id": id, "status": "queued"}
		return httpmock.NewJsonResponse(202, map[string]any{"run_id": id, "status": "started", "replayed": false})
	})
	return &http.Client{Transport: mock}
}

type stopwatch struct{ total time.Duration }

func (s *stopwatch) time(f func()) {
	began := time.Now()
	f()
	s.total += time.Since(began)
}
