package hermesfake_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
)

// state is what GET /__admin/state answers.
type state struct {
	Service, Namespace string
	Clock              struct{ Now float64 }
	NextSweep          float64
	Scope              struct {
		Profile  string
		Identity *string
	}
	Capacity struct {
		Active   int
		Max      int `json:"max_concurrent_runs"`
		Draining bool
	}
	Counts map[string]int
	Owners *string
	Runs   []struct {
		ID     string `json:"run_id"`
		Status string
	}
	Rows []struct {
		ID     string `json:"run_id"`
		Status string
		Cached bool
	}
	Omitted int
}

func readState(t *testing.T, f *hermesfake.Fake, query string) (s state) {
	t.Helper()
	status, text := request(t, f, "GET", "/__admin/state"+query, "")
	if err := json.Unmarshal([]byte(text), &s); err != nil || status != 200 {
		t.Fatalf("%d %v: %s", status, err, text)
	}
	return s
}

func TestState(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithFrozenClock(start2023), hermesfake.WithMaxConcurrentRuns(7))
	c := client{f.Client(), hermesfake.BaseURL}
	if _, err := c.submit(t.Context(), "k", `{"input": "x"}`); err != nil {
		t.Fatal(err)
	}
	keyless := submit(t, f, `{"input": "x"}`)
	keyed := f.Runs()[0].ID()
	f.SetDraining(true)
	s := readState(t, f, "")
	if s.Service != "hermes" || s.Namespace != "default" || s.Clock.Now != float64(start2023.UnixMilli()) || s.NextSweep != s.Clock.Now+60_000 ||
		s.Scope.Profile != "default" || s.Scope.Identity == nil || *s.Scope.Identity != "unauthenticated-test-listener" ||
		s.Capacity.Active != 2 || s.Capacity.Max != 7 || !s.Capacity.Draining || s.Owners != nil {
		t.Errorf("%+v", s)
	}
	if got := fmt.Sprint(s.Counts); got != "map[active:2 admitted:2 cached:2 rows:1 streams:0]" {
		t.Error(got)
	}
	if len(s.Runs) != 2 || s.Runs[0].ID != keyed || s.Runs[1].ID != keyless || s.Runs[0].Status != "queued" ||
		len(s.Rows) != 1 || s.Rows[0].ID != keyed || !s.Rows[0].Cached || s.Omitted != 0 {
		t.Errorf("%+v", s)
	}
	if got := f.Counts(); got != (hermesfake.Counts{Cached: 2, Durable: 1, Active: 2, Admitted: 2}) {
		t.Errorf("%+v", got)
	}
	// Every scope's runs are there, whose requests it is that follow.
	if err := f.SetScope("p", "i"); err != nil {
		t.Fatal(err)
	}
	f.SetDraining(false)
	third := submit(t, f, `{"input": "x"}`)
	s = readState(t, f, "")
	if len(s.Runs) != 3 || s.Runs[2].ID != third || s.Scope.Profile != "p" || *s.Scope.Identity != "i" {
		t.Errorf("%+v", s)
	}
	f.Restart(hermesfake.OwnerAlive)
	s = readState(t, f, "")
	if s.Owners == nil || *s.Owners != "alive" || len(s.Runs) != 1 || s.Rows[0].Cached || s.Capacity.Active != 0 {
		t.Errorf("%+v", s)
	}
	f.Close()
	if s := readState(t, f, ""); len(s.Runs) != 1 {
		t.Errorf("after Close: %+v", s)
	}
}

func TestStateIsBounded(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithMaxConcurrentRuns(0))
	var ids []string
	for range 250 {
		ids = append(ids, submit(t, f, `{"input": "x"}`))
	}
	for query, want := range map[string]int{"": 100, "?limit=0": 0, "?limit=1": 1, "?limit=7": 7, "?limit=250": 250, "?limit=1000": 250} {
		s := readState(t, f, query)
		if len(s.Runs) != want || s.Omitted != 250-want {
			t.Errorf("%s: %d runs, %d omitted", query, len(s.Runs), s.Omitted)
		}
		for i, run := range s.Runs {
			if run.ID != ids[250-want+i] {
				t.Fatalf("%s: run %d is %s, want %s", query, i, run.ID, ids[250-want+i])
			}
		}
	}
	for _, bad := range []string{"-1", "1001", "x", "1.5", "99999999999999999999"} {
		if status, text := request(t, f, "GET", "/__admin/state?limit="+bad, ""); status != 400 || !strings.Contains(text, "state: limit") {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
	for _, id := range ids[240:] {
		if err := f.Run(id).Complete(strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	_, text := request(t, f, "GET", "/__admin/state", "")
	if s := readState(t, f, ""); len(s.Runs) != 3 || s.Omitted != 247 || len(text) > 4<<20 {
		t.Errorf("%d runs in %d bytes, %d omitted", len(s.Runs), len(text), s.Omitted)
	}
	f.Advance(2 * time.Hour) // the sweep drops what has settled
	if s := readState(t, f, ""); len(s.Runs) != 100 || s.Omitted != 140 {
		t.Errorf("%d runs, %d omitted", len(s.Runs), s.Omitted)
	}
}
