package hermesfake_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
)

// exchange sends one request through a door. header holds pairs.
func exchange(t *testing.T, rt http.RoundTripper, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

const unauthorized = `{"error": {"message": "Invalid gateway API key (API_SERVER_KEY)", "type": "gateway_auth_error", "code": "gateway_auth_failed"}}`

const capabilities = `{"object": "hermes.api_server.capabilities", "platform": "hermes-agent", "model": "hermes-agent", ` +
	`"auth": {"type": "bearer", "required": false}, ` +
	`"runtime": {"mode": "server_agent", "tool_execution": "server", "split_runtime": false, ` +
	`"description": "The API server creates a server-side Hermes AIAgent; tools execute on the API-server host unless a future explicit split-runtime mode is enabled."}, ` +
	`"features": {"chat_completions": false, "chat_completions_streaming": false, "responses_api": false, "responses_streaming": false, ` +
	`"run_submission": true, "runs_idempotency": {"supported": true, "durable": false, "retention_seconds": 86400}, ` +
	`"run_status": true, "run_events_sse": true, "run_stop": true, "run_steer": true, "run_approval_response": true, ` +
	`"tool_progress_events": true, "approval_events": true, "session_resources": false, "model_options": false, "session_chat": false, ` +
	`"session_chat_streaming": false, "session_fork": false, "session_model_lock": false, "admin_config_rw": false, "jobs_admin": false, ` +
	`"memory_write_api": false, "skills_api": false, "audio_api": false, "realtime_voice": false, ` +
	`"session_continuity_header": "X-Hermes-Session-Id", "session_key_header": "X-Hermes-Session-Key", "cors": false}, ` +
	`"endpoints": {"health": {"method": "GET", "path": "/health"}, "models": {"method": "GET", "path": "/v1/models"}, ` +
	`"runs": {"method": "POST", "path": "/v1/runs"}, "run_status": {"method": "GET", "path": "/v1/runs/{run_id}"}, ` +
	`"run_events": {"method": "GET", "path": "/v1/runs/{run_id}/events"}, "run_approval": {"method": "POST", "path": "/v1/runs/{run_id}/approval"}, ` +
	`"run_steer": {"method": "POST", "path": "/v1/runs/{run_id}/steer"}, "run_stop": {"method": "POST", "path": "/v1/runs/{run_id}/stop"}}}`

// eachDoor runs a test over both doors.
func eachDoor(t *testing.T, options []hermesfake.Option, test func(t *testing.T, f *hermesfake.Fake, rt http.RoundTripper, base string)) {
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			f := hermesfake.Start(t, append(options, hermesfake.WithUnmatchedAllowed(),
				hermesfake.WithFrozenClock(time.Unix(1_700_000_000, 500)))...)
			d := door.open(t, f)
			test(t, f, d.Transport, d.BaseURL)
		})
	}
}

func TestDiscovery(t *testing.T) {
	eachDoor(t, nil, func(t *testing.T, f *hermesfake.Fake, rt http.RoundTripper, base string) {
		health := `{"status": "ok", "platform": "hermes-agent", "version": "0.21.0"}`
		for path, want := range map[string]string{
			"/health":    health,
			"/v1/health": health,
			"/v1/models": `{"object": "list", "data": [{"id": "hermes-agent", "object": "model", "created": 1700000000, ` +
				`"owned_by": "hermes", "permission": [], "root": "hermes-agent", "parent": null}]}`,
			"/v1/capabilities": capabilities,
		} {
			res, body := exchange(t, rt, "GET", base+path, "")
			if res.StatusCode != 200 || body != want || res.Header.Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("%s: %s %s\n%s\nwant\n%s", path, res.Status, res.Header.Get("Content-Type"), body, want)
			}
			for name, value := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
				"Strict-Transport-Security": "max-age=31536000; includeSubDomains", "X-Content-Type-Options": "nosniff",
				"X-Frame-Options": "DENY", "X-XSS-Protection": "0", "Referrer-Policy": "no-referrer",
			} {
				if res.Header.Get(name) != value {
					t.Errorf("%s: %s is %q", path, name, res.Header.Get(name))
				}
			}
			head, none := exchange(t, rt, "HEAD", base+path, "")
			if head.StatusCode != 200 || none != "" || head.ContentLength != int64(len(want)) {
				t.Errorf("HEAD %s: %s %q, length %d", path, head.Status, none, head.ContentLength)
			}
		}
		for path, status := range map[string]int{"/health/detailed": 501, "/v1/chat/completions": 501, "/v1/responses/x": 501, "/api/x": 501, "/v1/nope": 404} {
			if res, body := exchange(t, rt, "POST", base+path, "{}"); res.StatusCode != status || status == 501 && !strings.Contains(body, path) {
				t.Errorf("%s: %s %s", path, res.Status, body)
			}
		}
		if res, body := exchange(t, rt, "POST", base+"/v1/runs", "{}"); res.StatusCode != 400 || len(f.Runs()) != 0 {
			t.Errorf("the probe of {}: %s %s", res.Status, body)
		}
		plain, _ := exchange(t, rt, "GET", base+"/nope", "")
		wrong, _ := exchange(t, rt, "PUT", base+"/v1/runs", "")
		large, body := exchange(t, rt, "POST", base+"/v1/runs", strings.Repeat("x", 10_000_001))
		if large.StatusCode != 413 || body != `{"error": {"message": "Request body too large.", "type": "invalid_request_error", "param": null, "code": "body_too_large"}}` {
			t.Errorf("413: %s %s", large.Status, body)
		}
		for _, res := range []*http.Response{plain, wrong, large} {
			if got := res.Header.Get("X-Frame-Options"); got != "" {
				t.Errorf("%s carries the security headers", res.Status)
			}
		}
	})
}

func TestAPIKey(t *testing.T) {
	options := []hermesfake.Option{hermesfake.WithAPIKey("s3cret"), hermesfake.WithProfile("work", "w0rk"), hermesfake.WithProfile("open", "")}
	eachDoor(t, options, func(t *testing.T, f *hermesfake.Fake, rt http.RoundTripper, base string) {
		for _, c := range []struct {
			path, authorization string
			status              int
		}{
			{"/v1/models", "Bearer s3cret", 200},
			{"/v1/models", "", 401},
			{"/v1/models", "Bearer wrong", 401},
			{"/v1/models", "bearer s3cret", 401},
			{"/v1/models", "BEARER s3cret", 401},
			{"/v1/models", "Bearer  s3cret", 401},
			{"/v1/models", "Bearer S3CRET", 401},
			{"/v1/models", "s3cret", 401},
			{"/v1/models", "Basic s3cret", 401},
			{"/v1/models", "Bearer " + strings.Repeat("s3cret", 5000), 401},
			{"/v1/models", "Bearer w0rk", 401},
			{"/v1/runs/x", "", 401},
			{"/v1/chat/completions", "", 401},
			{"/health", "", 200},
			{"/v1/health", "", 200},
			{"/nope", "", 404},
			{"/p/work/v1/models", "Bearer w0rk", 200},
			{"/p/work/v1/models", "Bearer s3cret", 401},
			{"/p/work/v1/models", "", 401},
			{"/p/work/health", "", 200},
			{"/p/open/v1/models", "", 200},
			{"/p/open/v1/models", "Bearer whatever", 200},
			{"/p/none/v1/models", "Bearer s3cret", 404},
			{"/p/work", "Bearer w0rk", 404},
			{"/p/", "", 404},
		} {
			header := []string{"Authorization", c.authorization}
			if c.authorization == "" {
				header = nil
			}
			res, body := exchange(t, rt, "GET", base+c.path, "", header...)
			if res.StatusCode != c.status {
				t.Errorf("%s with %.30q: %s %s, want %d", c.path, c.authorization, res.Status, body, c.status)
			}
			if c.status == 401 && (body != unauthorized || res.Header.Get("X-Frame-Options") != "DENY") {
				t.Errorf("%s with %.30q: %s %v", c.path, c.authorization, body, res.Header)
			}
			if strings.HasPrefix(c.path, "/p/none") && body != `{"error": "Unknown or unconfigured profile"}` {
				t.Errorf("unknown profile: %s", body)
			}
		}
		// The key comes before anything is read, and draining after it.
		f.SetDraining(true)
		if res, _ := exchange(t, rt, "POST", base+"/v1/runs", "{"); res.StatusCode != 401 {
			t.Errorf("draining without a key: %s", res.Status)
		}
		if res, body := exchange(t, rt, "POST", base+"/v1/runs", strings.Repeat("x", 10_000_001)); res.StatusCode != 413 {
			t.Errorf("too large without a key: %s %s", res.Status, body)
		}
		f.SetDraining(false)
		if _, body := exchange(t, rt, "GET", base+"/v1/capabilities", "", "Authorization", "Bearer s3cret"); !strings.Contains(body, `"required": true`) {
			t.Errorf("capabilities: %s", body)
		}
	})
}

// Each profile has runs of its own, and so has each identity that the scope control selects.
func TestProfilesKeepRunsApart(t *testing.T) {
	options := []hermesfake.Option{hermesfake.WithAPIKey("s3cret"), hermesfake.WithProfile("work", "w0rk"), hermesfake.WithProfile("open", "")}
	eachDoor(t, options, func(t *testing.T, f *hermesfake.Fake, rt http.RoundTripper, base string) {
		keys := map[string]string{"": "Bearer s3cret", "/p/work": "Bearer w0rk", "/p/open": ""}
		ids := map[string]string{}
		for profile, key := range keys {
			res, body := exchange(t, rt, "POST", base+profile+"/v1/runs", `{"input": "x"}`, "Idempotency-Key", "same", "Authorization", key)
			if res.StatusCode != 202 || !strings.Contains(body, `"replayed": false`) {
				t.Fatalf("%q: %s %s", profile, res.Status, body)
			}
			ids[profile] = body[len(`{"run_id": "`) : len(`{"run_id": "`)+36]
		}
		for profile, key := range keys {
			for owner, id := range ids {
				for _, action := range []string{"", "/events"} {
					res, _ := exchange(t, rt, "HEAD", base+profile+"/v1/runs/"+id+action, "", "Authorization", key)
					if (res.StatusCode == 200) != (owner == profile) {
						t.Errorf("%q sees the run of %q: %s", profile, owner, res.Status)
					}
				}
				if owner != profile {
					if res, _ := exchange(t, rt, "POST", base+profile+"/v1/runs/"+id+"/stop", "", "Authorization", key); res.StatusCode != 404 {
						t.Errorf("%q stops the run of %q: %s", profile, owner, res.Status)
					}
				}
			}
		}
		if runs := f.Runs(); len(runs) != 1 || runs.Last().ID() != ids[""] {
			t.Errorf("the default profile has %v", runs)
		}
		run := f.Run(ids["/p/work"])
		if err := run.Start(); err != nil || run.Status() != hermesfake.Running {
			t.Errorf("an executor is of another profile: %v, %s", err, run)
		}
		observe := "/__admin/hermes/runs/" + ids["/p/work"] + "/observe"
		if res, body := exchange(t, rt, "POST", base+observe, `{"status": "running"}`); res.StatusCode != 404 {
			t.Errorf("a control reaches another profile: %s %s", res.Status, body)
		}
		f.SetScope("work", "w0rk")
		if res, body := exchange(t, rt, "POST", base+observe, `{"status": "running"}`); res.StatusCode != 200 {
			t.Errorf("a control in its scope: %s %s", res.Status, body)
		}
		f.SetScope("default", "s3cret")
		if res, _ := exchange(t, rt, "GET", base+"/p/work/v1/runs/"+ids[""], "", "Authorization", "Bearer w0rk"); res.StatusCode != 200 {
			t.Errorf("the scope control does not override the profile's: %s", res.Status)
		}
		f.Reset()
		if n := len(f.Runs()); n != 0 {
			t.Errorf("%d runs after a reset", n)
		}
	})
}

func TestCORS(t *testing.T) {
	const page = "https://app.example.com"
	eachDoor(t, nil, func(t *testing.T, f *hermesfake.Fake, rt http.RoundTripper, base string) {
		for _, method := range []string{"GET", "OPTIONS"} {
			if res, body := exchange(t, rt, method, base+"/health", "", "Origin", page); res.StatusCode != 403 || body != "" {
				t.Errorf("%s without CORS: %s %q", method, res.Status, body)
			}
		}
	})
	eachDoor(t, []hermesfake.Option{hermesfake.WithCORSOrigins(page)}, func(t *testing.T, f *hermesfake.Fake, rt http.RoundTripper, base string) {
		for _, c := range []struct {
			method, path, origin string
			status               int
		}{
			{"GET", "/health", page, 200}, {"OPTIONS", "/v1/runs", page, 200}, {"GET", "/v1/runs/x", page, 404}, {"GET", "/nope", page, 404},
			{"GET", "/health", "https://evil.example.com", 403}, {"GET", "/health", page + ".evil.com", 403}, {"OPTIONS", "/v1/runs", "null", 403},
		} {
			res, _ := exchange(t, rt, c.method, base+c.path, "", "Origin", c.origin)
			want := map[string]string{"Access-Control-Allow-Origin": page, "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key",
				"Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS", "Access-Control-Max-Age": "600", "Vary": "Origin"}
			if res.StatusCode != c.status {
				t.Errorf("%+v: %s", c, res.Status)
			}
			for name, value := range want {
				if c.status == 403 {
					value = ""
				}
				if got := res.Header.Get(name); got != value {
					t.Errorf("%+v: %s is %q, want %q", c, name, got, value)
				}
			}
		}
		if _, body := exchange(t, rt, "GET", base+"/v1/capabilities", ""); !strings.Contains(body, `"cors": true`) {
			t.Errorf("capabilities: %s", body)
		}
		id := submit(t, f, `{"input": "x"}`)
		f.Run(id).Complete("done")
		if res, _ := exchange(t, rt, "GET", base+"/v1/runs/"+id+"/events", "", "Origin", page); res.Header.Get("Access-Control-Allow-Origin") != page {
			t.Errorf("a stream has %v", res.Header)
		}
	})
}

func TestGuardedControlPlane(t *testing.T) {
	eachDoor(t, []hermesfake.Option{hermesfake.WithAdminKey("adm1n")}, func(t *testing.T, f *hermesfake.Fake, rt http.RoundTripper, base string) {
		for _, c := range []struct {
			key    string
			status int
		}{{"adm1n", 200}, {"", 401}, {"ADM1N", 401}, {"adm1n1", 401}, {strings.Repeat("a", 9000), 401}} {
			header := []string{"x-mockingbird-admin-key", c.key}
			if c.key == "" {
				header = nil
			}
			for _, path := range []string{"/__admin", "/__admin/clock", "/__admin/ns/x/hermes/runs", "/__admin/nope"} {
				want := c.status
				if want == 200 && strings.HasSuffix(path, "nope") {
					want = 404
				}
				if res, body := exchange(t, rt, "GET", base+path, "", header...); res.StatusCode != want || !strings.Contains(body, `"mockingbird_admin"`) && want == 401 {
					t.Errorf("%s with %.10q: %s %s, want %d", path, c.key, res.Status, body, want)
				}
			}
		}
		if res, _ := exchange(t, rt, "GET", base+"/health", ""); res.StatusCode != 200 {
			t.Errorf("the provider's routes need the admin key: %s", res.Status)
		}
	})
	eachDoor(t, nil, func(t *testing.T, f *hermesfake.Fake, rt http.RoundTripper, base string) {
		for origin, status := range map[string]int{
			"": 200, "https://evil.example.com": 403, "null": 403, base + ".evil.com": 403, "http://localhost:1": 403,
		} {
			header := []string{"Origin", origin}
			if origin == "" {
				header = nil
			}
			if res, body := exchange(t, rt, "POST", base+"/__admin/hermes/sweep", "", header...); res.StatusCode != status {
				t.Errorf("a page of %q: %s %s, want %d", origin, res.Status, body, status)
			}
		}
		// A page under a name that somebody has pointed at the server. Over plain HTTP a browser tells such a host no more
		// than its languages, which the page may have chosen, but not left out.
		for _, field := range [][2]string{{"Sec-Fetch-Site", "same-origin"}, {"Accept-Language", "en"}, {"Accept-Language", ""}} {
			for name, status := range map[string]int{"evil.example.com": 403, "127.0.0.1.example.com:8827": 403, "localhost:8827": 200, "[::1]:8827": 200} {
				r, err := http.NewRequest("GET", base+"/__admin/hermes/runs", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Host = name
				r.Header.Set(field[0], field[1])
				res, err := rt.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != status {
					t.Errorf("a page of %s with %q: %s, want %d", name, field, res.Status, status)
				}
			}
		}
		// The fetch of Node under such a name, as in a network of containers.
		r, err := http.NewRequest("GET", base+"/__admin/hermes/runs", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "hermesfake:8827"
		r.Header = http.Header{"Accept-Language": {"*"}, "Sec-Fetch-Mode": {"cors"}, "User-Agent": {"node"}}
		res, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("Node: %s", res.Status)
		}
		if strings.Contains(base, "127.0.0.1") {
			if res, body := exchange(t, rt, "POST", base+"/__admin/hermes/sweep", "", "Origin", base); res.StatusCode != 200 {
				t.Errorf("its own page: %s %s", res.Status, body)
			}
		}
	})
}
