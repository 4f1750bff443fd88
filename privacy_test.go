package hermesfake_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// secrets are what a client sends, each in a place of its own.
type secrets map[string]string

// of returns the secret of a place, which is unlike any other.
func (s secrets) of(place string) string {
	s[place] = fmt.Sprintf("secret-%d-%s", len(s), strings.ReplaceAll(place, " ", "-"))
	return s[place]
}

// foundIn fails the test for each secret that a text shows.
func (s secrets) foundIn(t *testing.T, where, text string) {
	t.Helper()
	for place, secret := range s {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows the %s: %s", where, place, line(text, secret))
		}
	}
}

// line is the line of text that holds part.
func line(text, part string) string {
	at := strings.Index(text, part)
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	end := strings.IndexByte(text[at:], '\n')
	if end < 0 {
		return text[begin:]
	}
	return text[begin : at+end]
}

// TestNothingThatAClientSendsIsShown plants a secret wherever a client can write one, in requests that succeed and
// in such that are refused, and looks for them everywhere.
func TestNothingThatAClientSendsIsShown(t *testing.T) {
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			var log bytes.Buffer
			f := hermesfake.Start(t, hermesfake.WithFrozenClock(start2023), hermesfake.WithUnmatchedAllowed(),
				hermesfake.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			d := door.open(t, f)
			c := client{&http.Client{Transport: d.Transport}, d.BaseURL}
			planted := secrets{}
			send := func(method, path, body string) int {
				t.Helper()
				r, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.URL.RawQuery = "token=" + planted.of("query")
				r.Header.Set("Authorization", "Bearer "+planted.of("bearer"))
				r.Header.Set("Cookie", "session="+planted.of("cookie"))
				r.Header.Set("X-Custom", planted.of("header"))
				r.Header.Set("User-Agent", planted.of("user agent"))
				if path == "/v1/runs" {
					r.Header.Set("Idempotency-Key", planted.of("idempotency key"))
					r.Header.Set("X-Hermes-Session-Key", planted.of("session key"))
				}
				res, err := c.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				return res.StatusCode
			}
			run := ""
			for _, body := range []string{
				`{"input": "%[1]s", "instructions": "%[2]s", "conversation_history": [{"role": "user", "content": "%[3]s"}], "%[4]s": "%[5]s"}`,
				`{"input": [{"role": "user", "content": "%[1]s"}], "instructions": "%[2]s", "x": ["%[3]s", "%[4]s", "%[5]s"]}`,
				`{"input": "", "instructions": "%[2]s", "x": ["%[1]s", "%[3]s", "%[4]s", "%[5]s"]}`,
				`{"input": "%[1]s", "instructions": "%[2]s", "conversation_history": "%[3]s", "%[4]s": "%[5]s"`,
				`["%[1]s", "%[2]s", "%[3]s", "%[4]s", "%[5]s"]`,
				`{"input": "%[1]s\ud800", "x": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`,
				`{"hosted_room_dispatch": "%[1]s", "input": ["%[2]s", "%[3]s", "%[4]s", "%[5]s"]}`,
			} {
				status := send("POST", "/v1/runs", fmt.Sprintf(body, planted.of("input"), planted.of("instructions"), planted.of("history"),
					planted.of("member name"), planted.of("unknown member")))
				if status == http.StatusAccepted {
					run = "/v1/runs/" + f.Runs().Last().ID()
				}
			}
			last := f.Runs().Last()
			if last == nil || len(f.Runs()) != 2 {
				t.Fatalf("%d runs", len(f.Runs()))
			}
			if err := last.Start(); err != nil {
				t.Fatal(err)
			}
			for body, want := range map[string]int{
				`{"input": "%[1]s", "x": "%[2]s"}`:   200,
				`{"text": [["%[1]s"]], "x": "%[2]s"`: 400,
				`["%[1]s", "%[2]s"]`:                 400,
			} {
				if status := send("POST", run+"/steer", fmt.Sprintf(body, planted.of("steer text"), planted.of("steer member"))); status != want {
					t.Errorf("steer: %d, want %d", status, want)
				}
			}
			for _, policy := range []func() error{func() error { return last.AcceptSteer(false) }, func() error { return last.BreakSteer("broke") }} {
				if err := policy(); err != nil {
					t.Fatal(err)
				}
				send("POST", run+"/steer", `{"input": "`+planted.of("refused steer text")+`"}`)
			}
			if err := last.RequestApproval(hermesfake.Approval{Command: "c", RequestID: "q1"}); err != nil {
				t.Fatal(err)
			}
			for _, body := range []string{
				`{"choice": "once", "request_id": "%[1]s", "x": "%[2]s"}`,
				`{"choice": "%[1]s", "reason": "%[2]s"}`,
				`{"choice": "once", "request_id": ["%[1]s", "%[2]s"]}`,
				`"%[1]s %[2]s"`,
				`{"choice": "once", "reason": "%[1]s", "%[2]s": 1}`,
			} {
				send("POST", run+"/approval", fmt.Sprintf(body, planted.of("approval request_id"), planted.of("approval member")))
			}
			send("POST", run+"/stop", planted.of("stop body"))
			send("GET", run, "")
			send("GET", "/nope", planted.of("unmatched body"))
			send("PUT", "/v1/runs", planted.of("wrong method body"))
			send("POST", "/v1/responses", planted.of("unserved body"))
			if err := last.Complete("done"); err != nil {
				t.Fatal(err)
			}
			send("GET", run+"/events", "")
			f.Restart(hermesfake.OwnerStale)
			send("GET", run, "")

			if len(planted) < 20 || len(f.Requests()) < 20 || log.Len() == 0 {
				t.Fatalf("%d secrets, %d requests, %d bytes of log", len(planted), len(f.Requests()), log.Len())
			}
			planted.foundIn(t, "the log", log.String())
			planted.foundIn(t, "the dump", f.Dump())
			planted.foundIn(t, "Requests", fmt.Sprintf("%+v", f.Requests()))
			for _, path := range []string{"", "/health", "/namespaces", "/clock", "/requests", "/requests?status=501", "/hermes/runs",
				"/hermes/gateway", "/faults", "/metrics", "/state", "/checkpoints"} {
				_, text, err := c.fetch(t.Context(), "GET", "/__admin"+path, "")
				if err != nil {
					t.Fatal(err)
				}
				planted.foundIn(t, "/__admin"+path, text)
			}
			// What no route took is told when the test ends.
			var unmatched recorder
			other := hermesfake.Start(&unmatched)
			client{other.Client(), hermesfake.BaseURL}.fetch(t.Context(), "PUT", "/nope?q="+planted.of("query of none"), planted.of("body of none"))
			unmatched.Errorf("a test has failed") // so that the state is told too
			unmatched.end()
			told := strings.Join(append(unmatched.errors, unmatched.logs...), "\n")
			if !strings.Contains(told, "/nope") {
				t.Errorf("not told: %s", told)
			}
			planted.foundIn(t, "the end of a test", told)
		})
	}
}

// TestSessionAndModelAreShown proves that the members that the provider itself gives back are not taken for secrets.
func TestSessionAndModelAreShown(t *testing.T) {
	f := hermesfake.Start(t)
	submit(t, f, `{"input": "x", "session_id": "my session", "model": "my model"}`)
	for _, part := range []string{`"session_id": "my session"`, `"model": "my model"`} {
		if !strings.Contains(f.Dump(), part) {
			t.Errorf("the dump lacks %s:\n%s", part, f.Dump())
		}
	}
}

// TestKeysAreNotShown proves the same of the keys that a fake was given, right and wrong ones that clients try, and
// the origins of pages.
func TestKeysAreNotShown(t *testing.T) {
	var log bytes.Buffer
	planted := secrets{}
	key, profileKey, adminKey := planted.of("API key"), planted.of("key of a profile"), planted.of("admin key")
	f := hermesfake.Start(t, hermesfake.WithAPIKey(key), hermesfake.WithProfile("work", profileKey), hermesfake.WithAdminKey(adminKey),
		hermesfake.WithUnmatchedAllowed(), hermesfake.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
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
	refused := send("POST", "/v1/runs", wrong, "", 401) + send("GET", "/p/work/v1/models", key, "", 401) +
		send("GET", "/__admin/hermes/runs", key, wrongAdmin, 401) + send("GET", "/__admin", adminKey, "", 401)
	planted.foundIn(t, "a refusal", refused)
	send("POST", "/v1/runs", key, "", 202)
	send("POST", "/p/work/v1/runs", profileKey, "", 202)
	for _, path := range []string{"", "/health", "/namespaces", "/clock", "/requests", "/hermes/runs", "/hermes/gateway", "/faults", "/metrics"} {
		planted.foundIn(t, "/__admin"+path, send("GET", "/__admin"+path, "", adminKey, 200))
	}
	for _, path := range []string{"/v1/capabilities", "/v1/models", "/health"} {
		planted.foundIn(t, path, send("GET", path, key, "", 200))
	}
	planted.foundIn(t, "the log", log.String())
	planted.foundIn(t, "the dump", f.Dump())
	planted.foundIn(t, "Requests", fmt.Sprintf("%+v", f.Requests()))
}
