package hermesfake_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermesfake/hermesfake"
)

// An upload that blocks ends with its deadline, as it does on a connection.
func TestBlockedUploadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := hermesfake.Start(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		body, writer := io.Pipe()
		defer writer.Close()
		r, err := http.NewRequestWithContext(ctx, "POST", hermesfake.BaseURL+"/v1/runs", body)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = f.Client().Do(r)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second || len(f.Runs()) > 0 {
			t.Errorf("%v after %s, %d runs", err, time.Since(began), len(f.Runs()))
		}
	})
}

// A path in URL.Opaque is what goes over the wire.
func TestOpaqueURL(t *testing.T) {
	f := hermesfake.Start(t)
	for _, opaque := range []string{"/v1/runs/a%2Fb%20c", "//hermes.test/v1/runs/a%2Fb%20c"} {
		r := &http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: "hermes.test", Opaque: opaque}}
		res, err := f.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if want := `"message": "Run not found: a/b c"`; res.StatusCode != 404 || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %s", opaque, res.Status, body)
		}
	}
}
