package hermesfake_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jarcoal/httpmock"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
	"github.com/hermesfake/hermesfake/faults"
)

// markers are texts that are unlike any other, by what they stand for.
type markers map[string]string

// of returns a new marker.
func (m markers) of(what string) string {
	text := fmt.Sprintf("marker-%d-%s-end", len(m), strings.ReplaceAll(what, " ", "-"))
	m[text] = what
	return text
}

// first returns a marker that there is.
func (m markers) first(what string) string {
	for marker, of := range m {
		if of == what {
			return marker
		}
	}
	return "no marker of " + what
}

// in returns what the markers stand for that a text has.
func (m markers) in(text string) []string {
	var found []string
	for marker, what := range m {
		if strings.Contains(text, marker) {
			found = append(found, what)
		}
	}
	slices.Sort(found)
	return found
}

// TestMarkersAreFound proves that the search of the tests below finds what is there.
func TestMarkersAreFound(t *testing.T) {
	m := markers{}
	one, two := m.of("one place"), m.of("another")
	for text, want := range map[string]string{
		"": "[]", "marker-": "[]", one: "[one place]", `{"a": "x` + two + `x"}`: "[another]",
		"x\n" + one + two: "[another one place]", one[1:]: "[]",
	} {
		if got := fmt.Sprint(m.in(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// privacy is a fake whose clients send markers wherever they can.
type privacy struct {
	t      *testing.T
	fake   *hermesfake.Fake
	client *http.Client
	base   string
	bearer string
	admin  string

	sent  markers // what clients send: secrets
	said  markers // what the test has the executor say
	paths markers // what may be seen, to prove that one would see
}

// send sends a request with markers in its query and its header, and returns its status, 0 for a lost reply.
func (p *privacy) send(method, path, body string, header ...string) int {
	p.t.Helper()
	r, err := http.NewRequest(method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.URL.RawQuery = "token=" + p.sent.of("query") + "&" + p.sent.of("query name") + "=1"
	if p.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+p.bearer)
	}
	r.Header.Set("Content-Type", "application/json; boundary="+p.sent.of("parameter of the content type"))
	for _, name := range []string{"Cookie", "X-Custom", "User-Agent", "Referer", "X-Forwarded-For", "Last-Event-Id", "Proxy-Authorization"} {
		r.Header.Set(name, p.sent.of("header "+name))
	}
	r.Header.Set(p.sent.of("header name"), "x")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return p.do(r)
}

func (p *privacy) do(r *http.Request) int {
	res, err := p.client.Do(r)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

func (p *privacy) want(status int, got int, what string) {
	p.t.Helper()
	if got != status {
		p.t.Errorf("%s: %d, want %d", what, got, status)
	}
}

// fill puts new markers for the verbs of a body.
func (p *privacy) fill(body string, what ...string) string {
	args := make([]any, len(what))
	for i := range what {
		args[i] = p.sent.of(what[i])
	}
	return fmt.Sprintf(body, args...)
}

// submissions sends all that can be submitted, and returns two admitted runs, of which the first is keyed.
func (p *privacy) submissions() (keyed, keyless *hermesfake.Run) {
	p.t.Helper()
	all := []string{"input", "instructions", "history", "member name", "unknown member"}
	key := p.sent.of("idempotency key")
	submit := func(status int, body string, header ...string) {
		p.t.Helper()
		p.want(status, p.send("POST", "/v1/runs", p.fill(body, all...), header...), body)
	}
	session := []string{"X-Hermes-Session-Key", p.sent.of("session key")}
	submit(202, `{"input": "%[1]s", "instructions": "%[2]s", "conversation_history": [{"role": "user", "content": "%[3]s"}], "%[4]s": "%[5]s"}`,
		append(session, "Idempotency-Key", key)...)
	keyed = p.fake.Runs().Last()
	submit(202, `{"input": [{"role": "user", "content": [{"type": "text", "text": "%[1]s"}]}], "instructions": "%[2]s", "metadata": {"%[4]s": ["%[3]s", "%[5]s"]}}`, session...)
	keyless = p.fake.Runs().Last()
	submit(409, `{"input": "%[1]s", "x": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`, "Idempotency-Key", key)
	submit(400, `{"input": "", "x": ["%[1]s", "%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`)
	submit(400, `{"input": "%[1]s", "conversation_history": "%[3]s", "x": ["%[2]s", "%[4]s", "%[5]s"]}`)
	submit(400, `{"input": "%[1]s", "conversation_history": [{"%[2]s": "%[3]s", "x": ["%[4]s", "%[5]s"]}]}`)
	submit(400, `{"input": "%[1]s", "instructions": "%[2]s", "x": ["%[3]s"], "%[4]s": "%[5]s"`)
	submit(400, `{"input": "%[1]s", "x": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`, "Idempotency-Key", strings.Repeat("k", 256)+p.sent.of("long key"))
	submit(400, `{"input": "%[1]s", "x": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`, "X-Hermes-Session-Key", strings.Repeat("k", 256)+p.sent.of("long session key"))
	submit(501, `["%[1]s", "%[2]s", "%[3]s", "%[4]s", "%[5]s"]`)
	submit(501, `{"input": "%[1]s\ud800", "x": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`, "Idempotency-Key", p.sent.of("key of a surrogate"))
	submit(501, `{"hosted_room_dispatch": "%[1]s", "input": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`)
	submit(501, `{"input": ["%[1]s", "%[2]s"], "x": ["%[3]s", "%[4]s", "%[5]s"]}`)
	// The server answers before it has read it all, so a client on a socket may only see that the connection ends.
	large := p.fill(`{"input": "%[1]s", "x": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`, all...) + strings.Repeat(" ", 10_000_000)
	if got := p.send("POST", "/v1/runs", large); got != 413 && (got != 0 || p.base == hermesfake.BaseURL) {
		p.t.Errorf("a large body: %d", got)
	}
	// A body of unknown length, and a trailer behind it.
	r, err := http.NewRequest("POST", p.base+"/v1/runs", io.MultiReader(strings.NewReader(p.fill(`{"input": ["%[1]s"`, "streamed body"))))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.bearer)
	r.Trailer = http.Header{"X-Trailer": {p.sent.of("trailer")}}
	p.want(400, p.do(r), "a streamed body")
	right := p.bearer
	p.bearer = p.sent.of("wrong key")
	submit(401, `{"input": "%[1]s", "x": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`)
	p.bearer = right
	submit(403, `{"input": "%[1]s", "x": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`, "Origin", "https://"+p.sent.of("origin"))
	for _, f := range []struct {
		rule   faults.Rule
		status int
	}{
		{faults.SubmitAcceptedDrop(), 0}, {faults.SubmitDrop(), 0}, {faults.ConnectionRefused(1), 0}, {faults.SubmitReplyTruncated(), 202},
		{faults.Throttled(), 429}, {faults.Draining(), 503}, {faults.BadGateway(), 502},
	} {
		if err := p.fake.Inject(f.rule); err != nil {
			p.t.Fatal(err)
		}
		submit(f.status, `{"input": "%[1]s", "x": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`, "Idempotency-Key", p.sent.of("key at a fault"))
	}
	return keyed, keyless
}

// play sends all that can be sent about the named run, which says all that an executor can say.
func (p *privacy) play(run *hermesfake.Run, name string) {
	p.t.Helper()
	t, path := p.t, "/v1/runs/"+run.ID()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(run.Start())
	must(run.Delta(p.said.of("delta")))
	must(run.ToolStarted(p.said.of("tool"), p.said.of("preview")))
	must(run.Reasoning(p.said.of("reasoning")))
	for body, status := range map[string]int{
		`{"input": "%[1]s", "x": "%[2]s"}`:   200,
		`{"text": [["%[1]s"]], "x": "%[2]s"`: 400,
		`["%[1]s", "%[2]s"]`:                 400,
		`{"x": ["%[1]s", "%[2]s"]}`:          400,
	} {
		p.want(status, p.send("POST", path+"/steer", p.fill(body, "steer text", "steer member")), "steer "+body)
	}
	must(run.AcceptSteer(false))
	p.want(409, p.send("POST", path+"/steer", p.fill(`{"input": "%s"}`, "refused steer text")), "a refused steer")
	must(run.BreakSteer(p.said.of("broken steer")))
	p.want(500, p.send("POST", path+"/steer", p.fill(`{"input": "%s"}`, "steer text that breaks")), "a steer that breaks")
	must(run.RequestApproval(hermesfake.Approval{Command: p.said.of("command"), Description: p.said.of("description"), RequestID: p.said.of("request_id")}))
	for _, a := range []struct {
		status int
		body   string
	}{
		{409, `{"choice": "once", "request_id": "%[1]s", "x": "%[2]s"}`},
		{400, `{"choice": "%[1]s", "reason": "%[2]s"}`},
		{400, `{"choice": "once", "request_id": ["%[1]s", "%[2]s"]}`},
		{501, `"%[1]s %[2]s"`},
		{400, `{"%[1]s %[2]s`},
		{200, `{"choice": "once", "reason": "%[1]s", "%[2]s": 1}`},
	} {
		p.want(a.status, p.send("POST", path+"/approval", p.fill(a.body, "approval member", "another approval member")), "approval "+a.body)
	}
	must(p.fake.Inject(faults.StopAcceptedDrop()))
	p.want(0, p.send("POST", path+"/stop", p.sent.of("stop body")), "a stop whose reply is lost")
	p.want(200, p.send("POST", path+"/stop", p.sent.of("stop body")), "a stop")
	p.want(200, p.send("GET", path, p.sent.of("body of a GET")), "a poll")
	must(run.Observe(hermesfake.Observation{Status: hermesfake.Completed, Output: p.said.of("output of the " + name + " run"), PendingSteer: p.said.of("pending steer")}))
	p.want(200, p.send("GET", path+"/events", ""), "events")
}

// controls sends markers to the control plane, and what no route takes.
func (p *privacy) controls(run *hermesfake.Run) {
	p.t.Helper()
	admin := func(status int, method, path, body string) {
		p.t.Helper()
		p.want(status, p.send(method, "/__admin"+path, body, "X-Mockingbird-Admin-Key", p.admin), method+" "+path)
	}
	p.want(401, p.send("GET", "/__admin/state", "", "X-Mockingbird-Admin-Key", p.sent.of("wrong admin key")), "a wrong admin key")
	p.want(403, p.send("GET", "/__admin/state", "", "X-Mockingbird-Admin-Key", p.admin, "Origin", "https://"+p.sent.of("origin of a page")), "another origin")
	for _, path := range []string{"/clock", "/faults", "/hermes/scope", "/hermes/gateway", "/hermes/script", "/hermes/runs/" + run.ID() + "/observe",
		"/hermes/runs/" + run.ID() + "/events", "/hermes/runs/" + run.ID() + "/steering"} {
		admin(400, "POST", path, p.fill(`{"%s": "%s"}`, "unknown member of a control", "its value"))
		admin(400, "POST", path, p.fill(`%s {`, "malformed body of a control"))
	}
	admin(404, "GET", "/nope", p.sent.of("body of no control"))
	admin(405, "DELETE", "/clock", p.sent.of("body of a wrong method"))
}

func (p *privacy) read(path string) string {
	p.t.Helper()
	r, err := http.NewRequest("GET", p.base+"/__admin"+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("X-Mockingbird-Admin-Key", p.admin)
	res, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		p.t.Fatalf("%s: %d %v", path, res.StatusCode, err)
	}
	return string(text)
}

// files are all files below a directory, and their names.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all.WriteString(path)
		all.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestNothingThatAClientSendsIsShown plants a marker wherever a client can write one, in requests that succeed, that
// are refused and whose replies are lost, and wherever an executor can, and looks for them everywhere.
func TestNothingThatAClientSendsIsShown(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *hermesfake.Fake) (http.RoundTripper, string){
		"in process": func(t *testing.T, f *hermesfake.Fake) (http.RoundTripper, string) { return f, hermesfake.BaseURL },
		"over a socket, under middleware": func(t *testing.T, f *hermesfake.Fake) (http.RoundTripper, string) {
			server := httptest.NewServer(logged(f.Handler()))
			t.Cleanup(server.Close)
			return &http.Transport{DisableKeepAlives: true}, server.URL
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store, err := badgerstore.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			log := &logLines{lines: make(chan string, 10_000)}
			var tester recorder
			p := &privacy{t: t, sent: markers{}, said: markers{}, paths: markers{}}
			p.bearer, p.admin = p.sent.of("API key"), p.sent.of("admin key")
			f := hermesfake.Start(&tester, hermesfake.WithStore(store), hermesfake.WithMaxConcurrentRuns(0),
				hermesfake.WithAPIKey(p.bearer), hermesfake.WithAdminKey(p.admin), hermesfake.WithProfile("work", p.sent.of("key of a profile")),
				hermesfake.WithLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			transport, base := open(t, f)
			p.fake, p.client, p.base = f, &http.Client{Transport: transport}, base

			keyed, keyless := p.submissions()
			p.play(keyed, "keyed")
			p.play(keyless, "keyless")
			p.controls(f.Runs().Last())
			if err := f.Runs().Last().Fail(p.said.of("error")); err != nil {
				t.Fatal(err)
			}
			p.want(404, p.send("GET", "/"+p.paths.of("path"), p.sent.of("body of no route")), "no route")
			p.want(405, p.send("PUT", "/v1/runs", p.sent.of("body of a wrong method")), "a wrong method")
			p.want(501, p.send("POST", "/v1/responses", p.sent.of("body of an unserved route")), "an unserved route")
			p.want(404, p.send("GET", "/p/nope/v1/models", ""), "an unknown profile")
			p.elsewhere()

			surfaces := []struct {
				where, text string
				saidToo     bool   // may have what the executor said
				has         string // is in it, so the search would find a marker, too
			}{
				{"the journal in Go", fmt.Sprintf("%+v", f.Requests()), false, p.paths.first("path")},
				{"the journal", p.read("/requests"), false, p.paths.first("path")},
				{"the journal of refusals", p.read("/requests?status=501&limit=3"), false, `"contentType":"application/json"`},
				{"the metrics in Go", fmt.Sprintf("%+v", f.Metrics()), false, p.paths.first("path")},
				{"the metrics", p.read("/metrics"), false, p.paths.first("path")},
				{"the metrics for Prometheus", p.read("/metrics?format=prometheus"), false, `hermesfake_requests_total{operation="RunCreate",status="202"}`},
				{"the state", p.read("/state"), true, p.said.first("output of the keyed run")},
				{"the dump", f.Dump(), true, p.said.first("output of the keyed run")},
				{"the index", p.read(""), false, "/__admin/state"},
				{"the other controls", p.read("/health") + p.read("/namespaces") + p.read("/clock") + p.read("/hermes/gateway"), false, "default"},
				{"the faults", p.read("/faults"), false, "accepted_drop"},
			}
			tester.Errorf("a test has failed") // so that the state is told too
			tester.end()
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			told := strings.Join(append(tester.errors, tester.logs...), "\n")
			surfaces = append(surfaces, []struct {
				where, text string
				saidToo     bool
				has         string
			}{
				{"the log", log.String(), false, p.paths.first("path")},
				{"the end of the test", told, true, p.paths.first("path elsewhere")},
				{"the state at the end of the test", told, true, p.said.first("output of the keyed run")},
				{"the store", files(t, dir), true, p.said.first("output of the keyed run")},
			}...)
			if len(p.sent) < 500 || len(p.said) < 15 {
				t.Errorf("%d secrets were sent, %d things said", len(p.sent), len(p.said))
			}
			for _, s := range surfaces {
				if found := p.sent.in(s.text); found != nil {
					t.Errorf("%s: has what clients sent: %q", s.where, found)
				}
				if found := p.said.in(s.text); found != nil && !s.saidToo {
					t.Errorf("%s: has what the executor said: %q", s.where, found)
				}
				if !strings.Contains(s.text, s.has) {
					t.Errorf("%s: lacks %s", s.where, s.has)
				}
			}
		})
	}
}

// elsewhere sends requests in process that are not for the provider.
func (p *privacy) elsewhere() {
	p.t.Helper()
	p.fake.Mock().RegisterResponder("POST", `=~^https://stub\.test/`, httpmock.NewStringResponder(200, "ok"))
	for url, ok := range map[string]bool{"https://stub.test/hook": true, "https://unknown.test/" + p.paths.of("path elsewhere"): false} {
		r, err := http.NewRequestWithContext(context.Background(), "POST", url+"?q="+p.sent.of("query elsewhere"), strings.NewReader(p.sent.of("body elsewhere")))
		if err != nil {
			p.t.Fatal(err)
		}
		r.SetBasicAuth("user", p.sent.of("password elsewhere"))
		r.Header.Set("X-Custom", p.sent.of("header elsewhere"))
		res, err := p.fake.RoundTrip(r)
		if ok != (err == nil) {
			p.t.Errorf("%s: %v", url, err)
		}
		if err != nil && p.sent.in(err.Error()) != nil {
			p.t.Errorf("the error tells %q: %v", p.sent.in(err.Error()), err)
		}
		if res != nil {
			res.Body.Close()
		}
	}
	r, err := http.NewRequest("GET", "https://user:"+p.sent.of("password of a URL")+"@unknown.test/", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.fake.RoundTrip(r); err == nil || p.sent.in(err.Error()) != nil {
		p.t.Errorf("a URL with a password: %v", err)
	}
}

// TestSessionAndModelAreShown proves that the members that the provider itself gives back are not taken for secrets.
func TestSessionAndModelAreShown(t *testing.T) {
	f := hermesfake.Start(t)
	submit(t, f, `{"input": "x", "session_id": "my session", "model": "my model"}`)
	for _, part := range []string{`session_id "my session"`, `model      "my model"`} {
		if !strings.Contains(f.Dump(), part) {
			t.Errorf("the dump lacks %s:\n%s", part, f.Dump())
		}
	}
	_, state := request(t, f, "GET", "/__admin/state", "")
	for _, part := range []string{`"session_id": "my session"`, `"model": "my model"`} {
		if !strings.Contains(state, part) {
			t.Errorf("the state lacks %s:\n%s", part, state)
		}
	}
}

// TestKeysAreNotShown proves the same of the keys that a fake was given, right and wrong ones that clients try, and
// the origins of pages.
func TestKeysAreNotShown(t *testing.T) {
	log := &logLines{lines: make(chan string, 1000)}
	planted := markers{}
	key, profileKey, adminKey := planted.of("API key"), planted.of("key of a profile"), planted.of("admin key")
	f := hermesfake.Start(t, hermesfake.WithAPIKey(key), hermesfake.WithProfile("work", profileKey), hermesfake.WithAdminKey(adminKey),
		hermesfake.WithUnmatchedAllowed(), hermesfake.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	send := func(method, path, bearer, admin string, want int) string {
		t.Helper()
		r, err := http.NewRequest(method, hermesfake.BaseURL+path, strings.NewReader(`{"input": "x"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+bearer)
		r.Header.Set("X-Mockingbird-Admin-Key", admin)
		res, err := f.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var text bytes.Buffer
		if _, err := text.ReadFrom(res.Body); err != nil || res.StatusCode != want {
			t.Errorf("%s %s: %d %s %v, want %d", method, path, res.StatusCode, text.String(), err, want)
		}
		return text.String()
	}
	wrong, wrongAdmin := planted.of("wrong key"), planted.of("wrong admin key")
	hidden := func(where, text string) {
		t.Helper()
		if found := planted.in(text); found != nil {
			t.Errorf("%s shows %q", where, found)
		}
	}
	refused := send("POST", "/v1/runs", wrong, "", 401) + send("GET", "/p/work/v1/models", key, "", 401) +
		send("GET", "/__admin/hermes/runs", key, wrongAdmin, 401) + send("GET", "/__admin", adminKey, "", 401)
	hidden("a refusal", refused)
	send("POST", "/v1/runs", key, "", 202)
	send("POST", "/p/work/v1/runs", profileKey, "", 202)
	for _, path := range []string{"", "/health", "/namespaces", "/clock", "/requests", "/hermes/runs", "/hermes/gateway", "/faults", "/metrics", "/metrics?format=prometheus", "/state"} {
		hidden("/__admin"+path, send("GET", "/__admin"+path, "", adminKey, 200))
	}
	for _, path := range []string{"/v1/capabilities", "/v1/models", "/health"} {
		hidden(path, send("GET", path, key, "", 200))
	}
	hidden("the log", log.String())
	hidden("the dump", f.Dump())
	hidden("Requests", fmt.Sprintf("%+v", f.Requests()))
}
