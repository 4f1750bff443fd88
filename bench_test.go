package hermesfake_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/jarcoal/httpmock"
)

// body200 is a submission of 200 bytes.
var body200 = `{"input": "` + strings.Repeat("x", 200-len(`{"input": ""}`)) + `"}`

// canned answers every request with the same reply and reads the request's
// body: the least that a RoundTripper can do. Like any, it gives each caller a header of its own.
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

// peers are clients of canned replies: one with all of the fake's header
// fields, one with no more than a Content-Type.
func peers(b *testing.B, client *http.Client, method, url, key, body string) (same, bare *http.Client) {
	status, header, read := do(b, client, method, url, key, body)
	same = &http.Client{Transport: &canned{status, header, read}}
	bare = &http.Client{Transport: &canned{status, http.Header{"Content-Type": header["Content-Type"]}, read}}
	return same, bare
}

func BenchmarkReplay(b *testing.B) {
	client := hermesfake.New().Client()
	url := hermesfake.BaseURL + "/v1/runs"
	do(b, client, "POST", url, "key", body200)
	same, bare := peers(b, client, "POST", url, "key", body200)
	send := func(c *http.Client) func(int) {
		return func(int) { do(b, c, "POST", url, "key", body200) }
	}
	compare(b, send(client), send(same), send(bare), send(byHand()))
}

func BenchmarkNewKeyedRun(b *testing.B) {
	client := hermesfake.New(hermesfake.WithMaxConcurrentRuns(0)).Client()
	url := hermesfake.BaseURL + "/v1/runs"
	same, bare := peers(b, client, "POST", url, "key", body200)
	hand := byHand()
	send := func(c *http.Client) func(int) {
		return func(i int) { do(b, c, "POST", url, "key"+strconv.Itoa(i), body200) }
	}
	compare(b, send(client), send(same), send(bare), send(hand))
}

func BenchmarkPoll(b *testing.B) {
	fake := hermesfake.New()
	client := fake.Client()
	do(b, client, "POST", hermesfake.BaseURL+"/v1/runs", "", body200)
	url := hermesfake.BaseURL + "/v1/runs/" + fake.Runs().Last().ID()
	same, bare := peers(b, client, "GET", url, "", "")
	send := func(c *http.Client) func(int) {
		return func(int) { do(b, c, "GET", url, "", "") }
	}
	compare(b, send(client), send(same), send(bare))
}

// compare times requests to the fake and to its peers in turn, so that all
// see the same machine, and reports the ratios.
func compare(b *testing.B, contestants ...func(int)) {
	const turn = 200
	totals := make([]time.Duration, len(contestants))
	n := 0
	for b.Loop() {
		for i, send := range contestants {
			began := time.Now()
			for k := range turn {
				send(n + k)
			}
			totals[i] += time.Since(began)
		}
		n += turn
	}
	b.ReportMetric(float64(totals[0])/float64(n), "ns/request")
	for i, name := range []string{"", "x-canned", "x-bare-canned", "x-httpmock-by-hand"} {
		if i > 0 && i < len(totals) {
			b.ReportMetric(float64(totals[0])/float64(totals[i]), name)
		}
	}
}

// byHand is the same state behind httpmock, as people write it: canonical
// payloads to compare, status objects, a lock, and the provider's replies.
func byHand() *http.Client {
	type run struct {
		ID        string  `json:"run_id"`
		Object    string  `json:"object"`
		Status    string  `json:"status"`
		UpdatedAt float64 `json:"updated_at"`
		CreatedAt float64 `json:"created_at"`
		SessionID any     `json:"session_id"`
		Model     any     `json:"model"`
	}
	type row struct {
		run         *run
		fingerprint [sha256.Size]byte
	}
	var mu sync.Mutex
	runs := map[string]*run{}
	rows := map[string]row{}
	reply := func(status int, v any) (*http.Response, error) {
		res, err := httpmock.NewJsonResponse(status, v)
		if err != nil {
			return nil, err
		}
		for name, value := range securityHeaders {
			res.Header.Set(name, value)
		}
		return res, nil
	}
	mock := httpmock.NewMockTransport()
	mock.RegisterResponder("POST", hermesfake.BaseURL+"/v1/runs", func(r *http.Request) (*http.Response, error) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil || body["input"] == nil {
			return reply(400, map[string]any{"error": map[string]any{"message": "Invalid JSON"}})
		}
		canonical, err := json.Marshal(map[string]any{"body": body, "gateway_session_key": r.Header.Get("X-Hermes-Session-Key")})
		if err != nil {
			return nil, err
		}
		fingerprint := sha256.Sum256(canonical)
		key := r.Header.Get("Idempotency-Key")
		mu.Lock()
		defer mu.Unlock()
		if old, ok := rows[key]; ok && key != "" {
			if old.fingerprint != fingerprint {
				return reply(409, map[string]any{"error": map[string]any{"code": "idempotency_key_conflict"}})
			}
			res, err := reply(202, map[string]any{"run_id": old.run.ID, "status": old.run.Status, "replayed": true})
			if err == nil {
				res.Header.Set("Idempotency-Replayed", "true")
			}
			return res, err
		}
		now := float64(time.Now().UnixNano()) / 1e9
		id := fmt.Sprintf("run_%032x", len(runs))
		admitted := &run{ID: id, Object: "hermes.run", Status: "queued", UpdatedAt: now, CreatedAt: now,
			SessionID: id, Model: "hermes-agent"}
		runs[id] = admitted
		rows[key] = row{admitted, fingerprint}
		return reply(202, map[string]any{"run_id": id, "status": "started", "replayed": false})
	})
	mock.RegisterRegexpResponder("GET", regexp.MustCompile(`/v1/runs/([^/?#]+)\z`), func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		found := runs[httpmock.MustGetSubmatch(r, 1)]
		if found == nil {
			return reply(404, map[string]any{"error": map[string]any{"code": "run_not_found"}})
		}
		return reply(200, found)
	})
	return &http.Client{Transport: mock}
}

var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
	"Strict-Transport-Security": "max-age=31536000; includeSubDomains", "X-Content-Type-Options": "nosniff",
	"X-Frame-Options": "DENY", "X-XSS-Protection": "0", "Referrer-Policy": "no-referrer",
}
