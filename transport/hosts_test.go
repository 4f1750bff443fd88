package transport_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// fetch returns the status and body of a GET, and the client's error.
func fetch(rt http.RoundTripper, url string) (int, string, error) {
	res, err := (&http.Client{Transport: rt}).Get(url)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

func TestHostsAndBases(t *testing.T) {
	fake := hermesfake.New(
		hermesfake.WithHosts("gateway.example", "other.example:81"),
		hermesfake.WithBaseURL("https://api.example.com/hermes/"),
		hermesfake.WithBaseURL("http://plain.example:8080"),
		hermesfake.WithBaseURL("http://host.example/a%2Fb"),
		// These are no base URLs.
		hermesfake.WithBaseURL("ftp://ftp.example"),
		hermesfake.WithBaseURL("just text"),
		hermesfake.WithBaseURL("http://query.example/?key=1"),
		hermesfake.WithBaseURL("http://%zz"),
	)
	for _, c := range []struct {
		url   string
		known bool
	}{
		{"http://hermes.test/health", true},
		{"https://localhost:1234/health", true},
		{"http://[::1]:80/health", true},
		{"http://gateway.example/health", true},
		{"https://GATEWAY.example:99/health", true},
		{"http://other.example:81/health", true},
		{"http://other.example/health", false},
		{"https://api.example.com/hermes/health", true},
		{"https://API.example.com:443/hermes/health", true},
		{"https://api.example.com/hermes/ns/x/health", true},
		{"http://api.example.com/hermes/health", false}, // in plain text
		{"https://api.example.com:8443/hermes/health", false},
		{"https://api.example.com/health", false},
		{"https://api.example.com/hermesx/health", false},
		{"http://plain.example:8080/health", true},
		{"http://plain.example/health", false},
		{"http://host.example/a%2Fb/health", true},
		{"http://host.example/a/b/health", false},
		{"ftp://ftp.example/health", false},
		{"ftp://hermes.test/health", false},
		{"http://query.example/health", false},
	} {
		status, body, err := fetch(fake, c.url)
		switch {
		case c.known && (err != nil || status != 200 || !strings.Contains(body, "hermes-agent")):
			t.Errorf("%s: %d %s %v", c.url, status, body, err)
		case !c.known && !errors.Is(err, hermesfake.ErrUnknownHost):
			t.Errorf("%s: %d %v, want ErrUnknownHost", c.url, status, err)
		}
	}
}

// Below a base URL paths keep their escapes, and the request stays the client's.
func TestBaseKeepsPathAndRequest(t *testing.T) {
	fake := hermesfake.New(hermesfake.WithBaseURL("http://x.example/base"))
	for path, text := range map[string]string{
		"/base/v1/runs/a%2Fb":   `Run not found: a/b`,
		"/base/v1/runs/%E2%82":  `Run not found: `,
		"/base/v1/runs/a%20b?x": `Run not found: a b`,
	} {
		r, err := http.NewRequest("GET", "http://x.example"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := *r.URL
		res, err := fake.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		if !strings.Contains(string(body), text) {
			t.Errorf("%s: got %s, want %s", path, body, text)
		}
		if res.Request != r || *r.URL != before {
			t.Errorf("%s: the request was changed to %s", path, res.Request.URL)
		}
	}
	if status, body, _ := fetch(fake, "http://x.example/base"); status != 404 || body != "404: Not Found" {
		t.Errorf("the base itself: %d %s", status, body)
	}
}

func TestRequestWithoutMethodIsGET(t *testing.T) {
	r, err := http.NewRequest("GET", hermesfake.BaseURL+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Method = ""
	res, err := hermesfake.New().RoundTrip(r)
	if err != nil || res.StatusCode != 200 || r.Method != "" {
		t.Errorf("got %v, %v, and the method is %q", res, err, r.Method)
	}
}
