package vector

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// verdict records what Run says.
type verdict struct{ errors, fatals, logs []string }

func (v *verdict) Helper()                   {}
func (v *verdict) Errorf(f string, a ...any) { v.errors = append(v.errors, fmt.Sprintf(f, a...)) }
func (v *verdict) Fatalf(f string, a ...any) { v.fatals = append(v.fatals, fmt.Sprintf(f, a...)) }
func (v *verdict) Logf(f string, a ...any)   { v.logs = append(v.logs, fmt.Sprintf(f, a...)) }

// replayed runs the player's scenario in a synctest bubble, which also proves that no goroutine is left, and in which the
// runner's patience takes no time.
func replayed(t *testing.T, p *player, restart func(string) error) (v verdict) {
	t.Helper()
	door := &Door{Transport: p, BaseURL: "http://hermes.test", Restart: restart, Live: true}
	synctest.Test(t, func(*testing.T) { door.Run(&v, p.scenario, p.namespace) })
	return v
}

func scenarios(t *testing.T) []Scenario {
	t.Helper()
	var all []Scenario
	for _, file := range load(t) {
		all = append(all, file.Scenarios...)
	}
	return all
}

func named(t *testing.T, all []Scenario, name string) Scenario {
	t.Helper()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no scenario %s", name)
	}
	return all[i]
}

// TestRunAcceptsTheRecordings plays every recording to the runner as it stands.
func TestRunAcceptsTheRecordings(t *testing.T) {
	for _, s := range scenarios(t) {
		for _, orphans := range []bool{false, true} {
			p := newPlayer(s)
			p.orphans = orphans
			v := replayed(t, p, nil)
			if len(v.errors)+len(v.fatals)+len(v.logs) > 0 {
				t.Fatalf("%s: %+v", s.Name, v)
			}
			for p.next < len(s.Steps) && s.Steps[p.next].Do == "disconnect" {
				p.next++
			}
			if p.next < len(s.Steps) || len(p.setUp) > 0 {
				t.Fatalf("%s: only %d of %d steps were asked for", s.Name, p.next, len(s.Steps))
			}
			if !s.Streams() {
				break
			}
		}
	}
}

// TestRunOverASocket plays the live recordings through a listener. There a server sees a client's end some time after it; the player
// refuses a step that comes before that, so this proves that the runner waits for it.
func TestRunOverASocket(t *testing.T) {
	for _, s := range scenarios(t) {
		if !s.Streams() {
			continue
		}
		p := newPlayer(s)
		server := httptest.NewServer(p)
		transport := &http.Transport{DisableCompression: true}
		var v verdict
		(&Door{Transport: transport, BaseURL: server.URL, Live: true}).Run(&v, s, p.namespace)
		transport.CloseIdleConnections()
		server.Close()
		if len(v.errors)+len(v.fatals)+len(v.logs) > 0 || p.next < len(s.Steps) {
			t.Fatalf("%s: %+v after %d of %d steps", s.Name, v, p.next, len(s.Steps))
		}
	}
}

// TestRunNoticesReplies spoils, one at a time, every reply of the smaller files. There are many ways for a reply to be wrong; they
// take turns, and a reply that cannot be wrong in one way is spoilt in the next.
func TestRunNoticesReplies(t *testing.T) {
	unasked := func(name string) func(*answer) bool {
		return func(a *answer) bool {
			if a.reply.Header.Get(name) != "" {
				return false
			}
			a.reply.Header.Set(name, "1")
			return true
		}
	}
	turn := 0
	oneHeader := func(change func(h http.Header, name string)) func(*answer) bool {
		return func(a *answer) bool {
			names := slices.Sorted(maps.Keys(a.reply.Header))
			turn++
			change(a.reply.Header, names[turn%len(names)])
			return true
		}
	}
	ways := []struct {
		name  string
		spoil func(*answer) bool // reports whether it could
		times int
	}{
		{"status", func(a *answer) bool { a.reply.StatusCode++; return true }, 0},
		{"longer body", func(a *answer) bool { a.body += "\n"; return a.reply.Body == nil }, 0},
		{"shorter body", func(a *answer) bool { a.body = a.body[:max(len(a.body)-1, 0)]; return a.body != "" }, 0},
		{"other separator", func(a *answer) bool {
			found := strings.Contains(a.body, ": ")
			a.body = strings.Replace(a.body, ": ", ":", 1)
			return found
		}, 0},
		{"lost reply", func(a *answer) bool { a.err = errors.New("reset by peer"); return true }, 0},
		{"header lost", oneHeader(func(h http.Header, name string) { h.Del(name) }), 0},
		{"header twice", oneHeader(func(h http.Header, name string) { h.Add(name, "x") }), 0},
		{"header changed", oneHeader(func(h http.Header, name string) { h.Set(name, h.Get(name)+"x") }), 0},
		{"unasked Idempotency-Replayed", unasked("Idempotency-Replayed"), 0},
		{"unasked Retry-After", unasked("Retry-After"), 0},
		{"unasked X-Hermes-Session-Key", unasked("X-Hermes-Session-Key"), 0},
	}
	way := 0
	for _, s := range scenarios(t) {
		if s.File == "walks.json" || strings.HasPrefix(s.Name, "live-walk") {
			continue
		}
		for i, step := range s.Steps {
			if step.Request.Method == "" {
				continue
			}
			p := newPlayer(s)
			p.spoil = func(at int, a *answer) {
				for at == i {
					way = (way + 1) % len(ways)
					if ways[way].spoil(a) {
						ways[way].times++
						break
					}
				}
			}
			v := replayed(t, p, nil)
			want := fmt.Sprintf("%s: %s: step %d, ", s.File, s.Name, i)
			if len(v.errors) != 1 || !strings.HasPrefix(v.errors[0], want) {
				t.Errorf("%s in step %d of %s: the runner says %q", ways[way].name, i, s.Name, v.errors)
			}
		}
	}
	for _, way := range ways {
		if way.times < 10 {
			t.Errorf("%s: tried %d times only", way.name, way.times)
		}
	}
}

// TestRunNoticesStreams spoils what subscribers get.
func TestRunNoticesStreams(t *testing.T) {
	const last = -2 // after the last step
	all := scenarios(t)
	for _, tt := range []struct {
		name, scenario string
		step           int
		spoil          func(a *answer)
		want           string
	}{
		{"byte lost", "live-backlog-then-live", 5, func(a *answer) { a.bytes["A"] = a.bytes["A"][1:] }, "step 5, "},
		{"last byte late for ever", "live-backlog-then-live", 6, func(a *answer) { a.bytes["A"] = strings.TrimSuffix(a.bytes["A"], "\n") },
			"step 6, "},
		{"surplus before the end", "live-backlog-then-live", 7, func(a *answer) { a.bytes["A"] += "\n" }, "step 7, "},
		{"no end", "live-backlog-then-live", 7, func(a *answer) { a.ends = nil }, "no end within"},
		{"broken instead of ended", "live-backlog-then-live", 7, func(a *answer) { a.ends["A"] = io.ErrUnexpectedEOF }, "unexpected EOF"},
		{"early end", "live-keepalive", 5, func(a *answer) { a.ends["A"] = io.EOF }, "ended: EOF"},
		{"keepalive too early", "live-keepalive", 4, func(a *answer) { a.bytes["A"] = keepalive }, "stream of A"},
		{"given to the other one", "live-two-subscribers-share", 6, func(a *answer) { a.bytes = map[string]string{"A": a.bytes["B"]} },
			"step 6, "},
		{"given to both", "live-two-subscribers-share", 5, func(a *answer) { a.bytes["B"] = a.bytes["A"] }, "stream of B"},
		{"surplus of an orphan", "live-two-subscribers-share", 12, func(a *answer) { a.bytes["A"] += ": stream closed\n\n" }, "stream of A"},
		{"end of an orphan", "live-two-subscribers-share", 15, func(a *answer) { a.ends["A"] = io.EOF }, "stream of A"},
		{"surplus that nothing follows", "live-sweep-keeps-300-seconds", 5, func(a *answer) { a.bytes["A"] += a.bytes["A"] }, "stream of A"},
		{"end that nothing follows", "live-sweep-keeps-300-seconds", 5, func(a *answer) { a.ends["A"] = io.EOF }, "stream of A"},
		{"dead in the end", "live-sweep-keeps-300-seconds", last, func(a *answer) { a.bytes = nil }, "after the last step: stream of A"},
		{"head lost", "live-keepalive", 3, func(a *answer) { a.err = errors.New("reset by peer") }, "step 3, "},
	} {
		s := named(t, all, tt.scenario)
		if tt.step == last {
			tt.step = len(s.Steps)
		}
		p := newPlayer(s)
		p.spoil = func(i int, a *answer) {
			if i == tt.step {
				tt.spoil(a)
			}
		}
		v := replayed(t, p, nil)
		if len(v.errors) != 1 || !strings.Contains(v.errors[0], tt.want) {
			t.Errorf("%s: the runner says %q, want %q in it", tt.name, v.errors, tt.want)
		}
	}
}

// TestRunNoticesControls spoils the answers of the control plane.
func TestRunNoticesControls(t *testing.T) {
	all := scenarios(t)
	refuse := func(a *answer) { a.reply.StatusCode, a.body = 409, "not now" }
	for _, tt := range []struct {
		name, scenario string
		step           int
		spoil          func(a *answer)
		want           string
	}{
		{"executor", "live-keepalive", 1, refuse, "answered 409: not now"},
		{"event", "live-backlog-then-live", 3, refuse, "answered 409: not now"},
		{"clock", "live-keepalive", 2, refuse, "answered 409: not now"},
		{"redirect", "live-keepalive", 2, func(a *answer) { a.reply.StatusCode = 307 }, "answered 307"},
		{"look at a run", "live-disconnect-noticed-by-event", -1, refuse, "answered 409: not now"},
		{"no subscribers shown", "live-disconnect-noticed-by-event", -1, func(a *answer) { a.body = "{}" }, "without subscribers"},
		{"client never gone", "live-disconnect-noticed-by-event", -1,
			func(a *answer) { a.body = `{"subscribers": [{"waiting_ms": 1.5, "gone": false}]}` }, "has not seen"},
	} {
		p := newPlayer(named(t, all, tt.scenario))
		p.spoil = func(i int, a *answer) {
			if i == tt.step {
				tt.spoil(a)
			}
		}
		v := replayed(t, p, nil)
		if len(v.errors) != 1 || !strings.Contains(v.errors[0], tt.want) {
			t.Errorf("%s: the runner says %q, want %q in it", tt.name, v.errors, tt.want)
		}
	}
	// A world that cannot be set up is fatal, and no step is tried in it.
	p := newPlayer(named(t, all, "live-keepalive"))
	p.namespace = "n1"
	door := &Door{Transport: p, BaseURL: "http://hermes.test", Live: true}
	var v verdict
	door.Run(&v, p.scenario, "another")
	if len(v.fatals) != 1 || !strings.Contains(v.fatals[0], "setting up the world") || p.next != 0 {
		t.Errorf("without a world the runner says %+v after %d steps", v, p.next)
	}
}

// TestForgottenRunHasNoLine: the control plane may have forgotten a run by the time that its last orphan hangs up.
func TestForgottenRunHasNoLine(t *testing.T) {
	p := newPlayer(named(t, scenarios(t), "live-disconnect-noticed-by-event"))
	p.spoil = func(i int, a *answer) {
		if i == -1 {
			a.reply.StatusCode, a.body = 404, `{"error": {}}`
		}
	}
	if v := replayed(t, p, nil); len(v.errors) > 0 {
		t.Errorf("the runner says %q", v.errors)
	}
}

// TestBindIsAnAdmission: an id is a new one, in the server's own shape.
func TestBindIsAnAdmission(t *testing.T) {
	expect := Expect{Status: 202, Body: `{"run_id": "{{a}}"}`}
	s := Scenario{Steps: []Step{
		{Do: "request", Request: Request{Method: "POST", Path: "/v1/runs", Bind: "a", Expect: expect}},
		{Do: "request", Request: Request{Method: "POST", Path: "/v1/runs", Bind: "b", Expect: expect}},
	}}
	for _, tt := range []struct{ id, want string }{
		{"run_00000000000000000000000000000001", `run_id of "b" is that of "a"`},
		{"run_1", "hexadecimal"},
		{"run_0000000000000000000000000000000G", "hexadecimal"},
	} {
		p := newPlayer(s)
		p.spoil = func(_ int, a *answer) { a.body = `{"run_id": "` + tt.id + `"}` }
		if v := replayed(t, p, nil); len(v.errors) != 1 || !strings.Contains(v.errors[0], tt.want) {
			t.Errorf("%s: the runner says %q, want %q in it", tt.id, v.errors, tt.want)
		}
	}
}

// TestRealRestart: a restart that is the door's own is told the owner, and gets its clock and settings back.
func TestRealRestart(t *testing.T) {
	parse := func(text string) Step {
		step, err := parseStep([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return step
	}
	one := 1
	s := Scenario{MaxConcurrentRuns: &one, Steps: []Step{
		parse(`{"do": "advance", "seconds": 0.5}`),
		parse(`{"do": "advance", "seconds": 1e-06}`),
		parse(`{"do": "scope", "profile": "p", "identity": "i"}`),
		parse(`{"do": "draining", "on": true}`),
		parse(`{"do": "restart", "owner": "stale"}`),
		parse(`{"do": "sweep"}`),
	}}
	p := newPlayer(s)
	var owners []string
	v := replayed(t, p, func(owner string) error {
		owners = append(owners, owner)
		p.next++
		p.setUp = []string{
			`POST /__admin/clock {"set":1700000000500.001,"freeze":true}`,
			`POST /__admin/hermes/gateway {"max_concurrent_runs":1}`,
			`POST /__admin/hermes/gateway {"draining":true}`,
			`POST /__admin/hermes/scope {"profile":"p","identity":"i"}`,
		}
		return nil
	})
	if len(v.errors) > 0 || len(p.setUp) > 0 || !slices.Equal(owners, []string{"stale"}) {
		t.Errorf("owners %q, still to restore %q, the runner says %q", owners, p.setUp, v.errors)
	}
	if v := replayed(t, newPlayer(s), func(string) error { return errors.New("locked") }); len(v.errors) != 1 ||
		!strings.Contains(v.errors[0], "locked") {
		t.Errorf("the runner says %q", v.errors)
	}
}

// TestDeadDoorLeavesStreamsOut: that it left something out is said.
func TestDeadDoorLeavesStreamsOut(t *testing.T) {
	var v verdict
	(&Door{BaseURL: "http://hermes.test"}).Run(&v, named(t, scenarios(t), "live-keepalive"), "n1")
	if len(v.logs) != 1 || len(v.errors)+len(v.fatals) > 0 {
		t.Errorf("the runner says %+v", v)
	}
}

// TestAllowIsASet: the order and the spacing of methods mean nothing, a method more or less does.
func TestAllowIsASet(t *testing.T) {
	want := Expect{Status: 405, Header: map[string]string{"Allow": "GET,HEAD"}}
	for allow, same := range map[string]bool{"GET,HEAD": true, "HEAD, GET": true, "GET": false, "GET,HEAD,POST": false, "": false} {
		err := checkHead(want, &http.Response{StatusCode: 405, Header: http.Header{"Allow": {allow}}})
		if (err == nil) != same {
			t.Errorf("Allow %q: %v", allow, err)
		}
	}
}

// TestSentVerbatim looks at what arrives at a server: the path with its escapes, the exact bytes of header values, and no
// Content-Type of the runner's own.
func TestSentVerbatim(t *testing.T) {
	type arrived struct{ target, key, contentType, body string }
	arrivals := make(chan arrived, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		arrivals <- arrived{q.RequestURI, q.Header.Get("Idempotency-Key"), q.Header.Get("Content-Type"), string(body)}
	}))
	defer server.Close()
	r := &replay{door: &Door{Transport: server.Client().Transport, BaseURL: server.URL}, namespace: "n1"}
	_, _, err := r.exchange("POST", "/v1/runs/a%2Fb%20c", map[string]string{"Idempotency-Key": "k\x85\xc2\x85"}, []byte("{\xff}"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := <-arrivals, (arrived{"/v1/runs/a%2Fb%20c", "k\x85\xc2\x85", "", "{\xff}"}); got != want {
		t.Errorf("arrived %q, want %q", got, want)
	}
	if _, _, err := r.exchange("GET", "/a b", nil, nil); err == nil {
		t.Error("a path that cannot be sent as it is was sent otherwise")
	}
}
