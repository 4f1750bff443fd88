package handler_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/faults"
	"github.com/hermesfake/hermesfake/handler"
	"github.com/hermesfake/hermesfake/transport"
)

// pagePaths are the page and all of its files.
func pagePaths(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("ui/*")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files of the page, error %v", len(names), err)
	}
	paths := []string{"/__admin/ui", "/__admin/ns/other/ui"}
	for _, name := range names {
		paths = append(paths, "/__admin/"+name)
	}
	return paths
}

// TestPageFiles proves the headers of the page's files, and that they need no key.
func TestPageFiles(t *testing.T) {
	d := open(t, handler.Options{AdminKey: "k"})
	kinds := map[string]string{"": "text/html", ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
	for _, path := range pagePaths(t) {
		r := d.get(path)
		if r.status != http.StatusOK || r.body == "" {
			t.Errorf("%s: %d", path, r.status)
			continue
		}
		want := kinds[filepath.Ext(path)]
		if got := r.header.Get("Content-Type"); want == "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: type %q", path, got)
		}
		csp := r.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
			"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: no %s in %q", path, part, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") || strings.Contains(csp, "*") {
			t.Errorf("%s: %q", path, csp)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-cache", "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin"} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		tag := r.header.Get("ETag")
		again := d.send(d.request("GET", path, "", map[string]string{"If-None-Match": `"x", W/` + tag}))
		if tag == "" || again.status != http.StatusNotModified || again.body != "" || again.header.Get("ETag") != tag {
			t.Errorf("%s with its tag %s: %d, %d bytes", path, tag, again.status, len(again.body))
		}
		if other := d.send(d.request("GET", path, "", map[string]string{"If-None-Match": `"x"`})); other.body != r.body {
			t.Errorf("%s with another tag: %d", path, other.status)
		}
		if head := d.do("HEAD", path, ""); head.status != http.StatusOK || head.body != "" {
			t.Errorf("HEAD %s: %d, %q", path, head.status, head.body)
		}
		if post := d.post(path, ""); post.status != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, post.status)
		}
	}
	for _, query := range []string{"", "?namespace=other&run=run_x"} {
		if r := d.get("/__admin/ui/" + query); r.status != http.StatusPermanentRedirect || r.header.Get("Location") != "../ui"+query {
			t.Errorf("/ui/%s: %d %q", query, r.status, r.header.Get("Location"))
		}
	}
	for _, path := range []string{"/__admin/ui/none.js", "/__admin/ui/../admin.go", "/__admin/ui/%2e%2e/admin.go", "/__admin/uix",
		"/__admin/ui/updates", "/__admin/ui/runs?before=1", "/__admin/ui/runs/run_x/value?member=output"} {
		if r := d.get(path); r.status != http.StatusUnauthorized {
			t.Errorf("%s without the key: %d", path, r.status)
		}
	}
	if r := d.post("/__admin/ui/send", `{"method": "POST", "path": "/v1/runs"}`); r.status != http.StatusUnauthorized {
		t.Errorf("send without the key: %d", r.status)
	}
}

// TestPageBrowsers proves which browsers may see the page: one that comes by a link from elsewhere, but not one that was
// led here by a name that somebody else owns.
func TestPageBrowsers(t *testing.T) {
	e := engine.New(engine.Config{})
	t.Cleanup(e.Close)
	d := &door{t, e, transport.New(handler.New(e, handler.Options{}), "127.0.0.1", "evil.test")}
	ask := func(host, method, path, body string, header map[string]string) int {
		r := d.request(method, path, body, header)
		r.URL.Host, r.Host = host, host
		return d.send(r).status
	}
	linked := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
	own := map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1"}
	foreign := map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.test"}
	const send = `{"method": "POST", "path": "/v1/runs", "body": "{\"input\": \"x\"}"}`
	for _, c := range []struct {
		host, method, path string
		header             map[string]string
		want               int
	}{
		{"127.0.0.1", "GET", "/__admin/ui", linked, http.StatusOK},
		{"127.0.0.1", "GET", "/__admin/ui/app.js", own, http.StatusOK},
		{"127.0.0.1", "GET", "/__admin/ui/runs?before=9", own, http.StatusOK},
		{"127.0.0.1", "POST", "/__admin/ui/send", own, http.StatusOK},
		{"127.0.0.1", "POST", "/__admin/ui/send", foreign, http.StatusForbidden},
		{"127.0.0.1", "GET", "/__admin/ui/runs?before=9", foreign, http.StatusForbidden},
		{"evil.test", "GET", "/__admin/ui", linked, http.StatusForbidden},
		{"evil.test", "GET", "/__admin/ui/runs?before=9", map[string]string{"Sec-Fetch-Site": "same-origin"}, http.StatusForbidden},
	} {
		body := ""
		if c.method == "POST" {
			body = send
		}
		if got := ask(c.host, c.method, c.path, body, c.header); got != c.want {
			t.Errorf("%s http://%s%s %v: %d, want %d", c.method, c.host, c.path, c.header, got, c.want)
		}
	}
}

// TestPageSources proves that the files hold to their own policy: no inline script or style, no markup made of
// text, nothing from elsewhere.
func TestPageSources(t *testing.T) {
	banned := map[string]*regexp.Regexp{
		".html": regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|https?://|<script>|<base`),
		".js": regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|` +
			`setAttribute\("style|srcdoc|DOMParser|createContextualFragment|https?://[^w]`),
		".css": regexp.MustCompile(`(?i)@import|url\(|expression\(`),
	}
	for _, path := range pagePaths(t)[2:] {
		source, err := os.ReadFile(strings.TrimPrefix(path, "/__admin/"))
		if err != nil {
			t.Fatal(err)
		}
		if b := banned[filepath.Ext(path)]; b != nil {
			if found := b.Find(source); found != nil {
				t.Errorf("%s has %q", path, found)
			}
		}
	}
}

// TestPageSend proves that the page's requests are those of a client: journaled, checked, and met by faults.
func TestPageSend(t *testing.T) {
	set := faults.New(1)
	d := open(t, handler.Options{APIKey: "secret", Middleware: set, Controls: set.Controls()})
	send := func(body string) string {
		t.Helper()
		r := d.post("/__admin/ns/n1/ui/send", body)
		if r.status != http.StatusOK {
			t.Fatalf("%s: %d %s", body, r.status, r.body)
		}
		return r.body
	}
	const submit = `{"method": "POST", "path": "/v1/runs", "body": "{\"input\": \"x\"}", "idempotency_key": "k"}`
	first := send(submit)
	if !strings.Contains(first, `"status":202`) || !strings.Contains(first, "x-mockingbird-checkpoint") {
		t.Errorf("submission: %s", first)
	}
	if got := send(submit); !strings.Contains(got, `"idempotency-replayed":"true"`) {
		t.Errorf("replay: %s", got)
	}
	for _, c := range []struct{ fault, request, want string }{
		{"hermes_submit_drop", submit, "connection was reset"},
		{"hermes_connection_refused", submit, "refused"},
		{"hermes_submit_reply_truncated", strings.Replace(submit, `"k"`, `"k2"`, 1), "broke before"},
		{"hermes_bad_gateway", submit, `"status":502`},
		{"hermes_throttled", submit, `"retry-after":"1"`},
	} {
		d.control("/ns/n1/faults", `{"preset": "`+c.fault+`"}`)
		if got := send(c.request); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.fault, got)
		}
	}
	if r := d.get("/__admin/ns/n1/requests"); strings.Count(r.body, `"RunCreate"`) != 7 || strings.Count(r.body, `"status":0`) != 2 {
		t.Errorf("journal: %s", r.body)
	}
	for _, body := range []string{
		`{"method": "PUT", "path": "/v1/runs"}`,
		`{"method": "GET", "path": "/__admin/reset"}`,
		`{"method": "GET", "path": "http://elsewhere.test/v1/runs"}`,
		`{"method": "GET", "path": "/v1/runs/run_x/events"}`,
		`{"method": "GET", "path": "/v1/runs/run_x/%65vents"}`,
		`{"method": "POST", "path": "/v1/runs", "idempotency_key": "a\r\nb: c"}`,
		`{"method": "POST", "path": "/v1/runs", "other": 1}`,
		`{"method": "POST", "path": "/v1/runs/%zz"}`,
		`[]`,
	} {
		if r := d.post("/__admin/ui/send", body); r.status != http.StatusBadRequest && !strings.Contains(body, "%65") {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		} else if strings.Contains(body, "%65") && r.status == http.StatusOK && !strings.Contains(r.body, `"status":404`) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	if r := d.post("/v1/runs", `{"input": "x"}`); r.status != http.StatusUnauthorized {
		t.Errorf("a client without a key: %d", r.status)
	}
}

// TestPageValue proves that the whole of what is cut can be had.
func TestPageValue(t *testing.T) {
	d := open(t, handler.Options{})
	id := d.started("k")
	long := strings.Repeat("é", 50_000)
	get := func(query string) reply { return d.get("/__admin/ui/runs/" + id + "/value?member=" + query) }
	d.control("/hermes/runs/"+id+"/events", `{"event": "message.delta", "delta": "`+long+`"}`)
	d.observe(id, `{"status": "waiting_for_approval", "approval": {"command": "`+long+`"}}`)
	if r := get("approval&n=1"); !strings.Contains(r.body, strings.Repeat(`\u00e9`, 50_000)) {
		t.Errorf("approval: %d, %d bytes", r.status, len(r.body))
	}
	if r := get("event&n=1"); r.status != http.StatusOK || len(r.body) < 60_000 || strings.Contains(r.body, "data:") {
		t.Errorf("event: %d, %d bytes", r.status, len(r.body))
	}
	d.observe(id, `{"status": "completed", "output": "`+long+`"}`)
	if r := get("output"); r.body != long || r.header.Get("Content-Type") != "text/plain; charset=utf-8" || r.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("output: %d, %d bytes, %v", r.status, len(r.body), r.header)
	}
	if r := get("model"); r.body != "hermes-agent" {
		t.Errorf("model: %q", r.body)
	}
	for _, query := range []string{"approval&n=1", "event&n=0", "event&n=99", "event", "other", ""} {
		if r := get(query); r.status != http.StatusNotFound {
			t.Errorf("%s: %d %q", query, r.status, r.body)
		}
	}
}
