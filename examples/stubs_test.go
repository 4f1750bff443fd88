package examples_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/jarcoal/httpmock"

	"github.com/hermesfake/hermesfake"
)

// One client talks to Hermes and to a billing service. The latter is a stub of package httpmock,
// as is one route of Hermes; everything else is the fake, or an error.
func TestStubsBesideHermes(t *testing.T) {
	hermes := hermesfake.Start(t,
		hermesfake.WithBaseURL("https://api.example.com/hermes"),
		hermesfake.WithUnmatchedAllowed()) // for the last request
	hermes.Mock().RegisterResponder("GET", "https://billing.example.com/plan",
		httpmock.NewStringResponder(200, `{"plan": "free"}`))
	hermes.Mock().RegisterResponder("GET", "https://api.example.com/hermes/v1/models",
		httpmock.NewStringResponder(500, "out of order"))
	client := hermes.Client()

	for url, want := range map[string]int{
		"https://billing.example.com/plan":         200,
		"https://api.example.com/hermes/v1/models": 500,
		"https://api.example.com/hermes/health":    200,
	} {
		res, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		if res.Body.Close(); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", url, res.StatusCode, want)
		}
	}

	// Nothing ever reaches the network, unless WithFallback lets it.
	if _, err := client.Get("https://elsewhere.example.com/"); !errors.Is(err, hermesfake.ErrUnknownHost) {
		t.Errorf("an unknown host: %v", err)
	}
}

// noNetwork is a transport that answers for the rest of the world.
type noNetwork struct{}

func (noNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, errors.New("no network in this test")
}

func TestFallback(t *testing.T) {
	hermes := hermesfake.Start(t, hermesfake.WithFallback(noNetwork{}))
	if _, err := hermes.Client().Get("https://elsewhere.example.com/"); err == nil || errors.Is(err, hermesfake.ErrUnknownHost) {
		t.Errorf("got %v", err)
	}
}
