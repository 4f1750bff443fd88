package openapitest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
)

// desk sends requests to a fake, and every exchange is compared with the document.
type desk struct {
	t     *testing.T
	fake  *hermesfake.Fake
	judge *judge
}

func open(t *testing.T, seen map[string]bool, options ...hermesfake.Option) *desk {
	t.Helper()
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	fake := hermesfake.New(append([]hermesfake.Option{hermesfake.WithFrozenClock(time.Unix(1700000000, 0))}, options...)...)
	t.Cleanup(fake.Close)
	return &desk{t, fake, &judge{next: fake, document: d, seen: seen, report: func(e *exchange, err error) {
		t.Errorf("%s %s %.200s: %d %s: %v", e.request.Method, e.request.URL, e.sent, e.response.StatusCode, e.received, err)
	}}}
}

func (d *desk) request(method, path, body string, header ...string) *http.Request {
	d.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, hermesfake.BaseURL+path, content)
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// do makes a request that must be answered with the status, and returns the body.
func (d *desk) do(status int, method, path, body string, header ...string) string {
	d.t.Helper()
	res, err := d.judge.RoundTrip(d.request(method, path, body, header...))
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	if res.StatusCode != status {
		d.t.Errorf("%s %s %.200s: %d, want %d: %s", method, path, body, res.StatusCode, status, text)
	}
	return string(text)
}

// submit admits a run and returns its id.
func (d *desk) submit(header ...string) string {
	d.t.Helper()
	var told struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(d.do(202, "POST", "/v1/runs", `{"input": "x"}`, header...)), &told); err != nil {
		d.t.Fatal(err)
	}
	return told.RunID
}

// started is submit, and the executor begins.
func (d *desk) started(header ...string) string {
	d.t.Helper()
	id := d.submit(header...)
	d.observe(id, `{"status": "running"}`)
	return id
}

func (d *desk) observe(id, body string) {
	d.t.Helper()
	d.do(200, "POST", "/__admin/hermes/runs/"+id+"/observe", body)
}
