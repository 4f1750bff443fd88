package hermesfake_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// TestPageOverBothDoors follows the updates of the page, which tell of what the test does in Go, and end with the fake.
func TestPageOverBothDoors(t *testing.T) {
	for _, door := range []string{"in process", "socket"} {
		t.Run(door, func(t *testing.T) {
			fake := hermesfake.New(hermesfake.WithEventHistory())
			defer fake.Close()
			client, base := fake.Client(), hermesfake.BaseURL
			if door == "socket" {
				server := httptest.NewServer(fake.Handler())
				defer server.Close()
				client, base = server.Client(), server.URL
			}
			res, err := client.Post(base+"/v1/runs", "application/json", strings.NewReader(`{"input": "x"}`))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			run := fake.Runs().Last()
			stream := follow(t, client, base, run)
			defer stream.Body.Close()
			run.Delta("taken by the subscriber")

			if res, err = client.Get(base + "/__admin/ui"); err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("the page: %v, error %v", res, err)
			}
			if page, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(page), "<title>hermesfake</title>") {
				t.Errorf("the page: %d bytes, error %v", len(page), err)
			}
			res.Body.Close()

			if res, err = client.Get(base + "/__admin/ui/updates?run=" + run.ID()); err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			updates := bufio.NewReader(res.Body)
			until := func(part, text string) {
				t.Helper()
				for found := false; !found; {
					line, err := updates.ReadString('\n')
					if err != nil {
						t.Fatalf("before %s with %q: %v", part, text, err)
					}
					if strings.TrimSpace(line) != "event: "+part {
						continue
					}
					line, _ = updates.ReadString('\n')
					found = strings.Contains(line, text)
				}
			}
			until("events", "taken by the subscriber")
			if err := fake.Inject(faults.PollTimeout()); err != nil {
				t.Fatal(err)
			}
			until("faults", `"delayMs":1000`)
			fake.ClearFaults()
			until("faults", `"count":0`)
			run.Complete("done")
			until("run", `"status":"completed"`)
			fake.Close()
			if _, err := io.Copy(io.Discard, updates); err != nil {
				t.Errorf("the updates ended with %v", err)
			}
			events, err := io.ReadAll(stream.Body)
			if err != nil || strings.Count(string(events), "data: ") != 2 {
				t.Errorf("the subscriber got %q, error %v", events, err)
			}
		})
	}
}
