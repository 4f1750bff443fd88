package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

func single(t *testing.T, options ...hermesfake.Option) *door {
	t.Helper()
	fake := hermesfake.Start(t, options...)
	return &door{T: t, fake: fake, client: fake.Client(), base: hermesfake.BaseURL}
}

func TestRulesMatch(t *testing.T) {
	for _, c := range []struct {
		rule string // beside its status 418
		hit  []string
		miss []string
	}{
		{`"operationId": "Health"`, []string{"GET /health", "HEAD /health", "GET /v1/health", "GET /ns/default/health"}, []string{"GET /v1/models", "GET /nowhere", "POST /health", "GET /__admin/health"}},
		{`"method": "HEAD"`, []string{"HEAD /health", "HEAD /v1/models"}, []string{"GET /health"}},
		{`"pathPrefix": "/v1/"`, []string{"GET /v1/models", "GET /v1/nowhere", "GET /ns/default/v1/models", "PUT /v1/runs"}, []string{"GET /health", "GET /v1x"}},
		{`"pathPrefix": "/v1/runs/", "method": "POST"`, []string{"POST /v1/runs/x/stop"}, []string{"POST /v1/runs", "GET /v1/runs/x"}},
		{`"namespace": "*"`, []string{"GET /health", "GET /ns/other/health"}, nil},
		{`"namespace": "other"`, []string{"GET /ns/other/health"}, []string{"GET /health"}},
		{`"count": 100`, []string{"GET /health", "GET /nowhere"}, []string{"GET /ns/other/health"}},
	} {
		d := single(t, hermesfake.WithUnmatchedAllowed())
		d.wantStatus(d.send("POST", "/__admin/faults", "", `{"status": 418, `+c.rule+`}`), http.StatusCreated)
		for _, request := range append(c.hit, c.miss...) {
			method, path, _ := strings.Cut(request, " ")
			r := d.send(method, path, "", "")
			want := false
			for _, hit := range c.hit {
				want = want || hit == request
			}
			if r.err != nil || (r.status == 418) != want {
				t.Errorf("%s: %s got %d, %v", c.rule, request, r.status, r.err)
			}
		}
		d.wantUsed(0, len(c.hit), max(-1, d.fake.Faults()[0].Count-len(c.hit)))
	}
}

// Rules that only delay or have an effect let later ones match too; the first
// that answers or drops ends the search.
func TestRulesInOrder(t *testing.T) {
	d := single(t)
	d.inject(
		faults.Rule{ID: "accepting", Effect: faults.EffectAcceptedDrop, Count: 1},
		faults.Rule{ID: "slow", Effect: faults.EffectSlowBody, BytesPerSecond: 1 << 20, Count: 2},
		faults.Rule{ID: "answer", Operation: hermesfake.RunCreate, Status: 503, Count: 1},
		faults.Rule{ID: "drop", Operation: hermesfake.RunCreate, Drop: true, Count: 1},
		faults.Rule{ID: "last", Operation: hermesfake.RunCreate, Status: 500, Count: 1},
	)
	submit := func() reply { return d.send("POST", "/v1/runs", "", `{"input": "x"}`) }
	hits := func(want ...int) {
		t.Helper()
		for i, f := range d.fake.Faults() {
			if f.Hits != want[i] {
				t.Errorf("%s has %d hits, want %d", f.ID, f.Hits, want[i])
			}
		}
	}
	d.wantStatus(submit(), 503)
	d.wantJournal(hermesfake.RunCreate, 503, "answer", false)
	hits(0, 1, 1, 0, 0)
	d.wantReset(submit())
	d.wantJournal(hermesfake.RunCreate, 0, "drop", false)
	hits(0, 2, 1, 1, 0)
	d.wantStatus(submit(), 500)
	hits(0, 2, 1, 1, 1)
	d.wantReset(submit())
	d.wantJournal(hermesfake.RunCreate, 0, "accepting", true)
	hits(1, 2, 1, 1, 1)
	d.wantStatus(submit(), 202)
}

// One lost reply uses one rule up.
func TestAcceptingRulesFollowOneAnother(t *testing.T) {
	d := single(t)
	d.inject(faults.SubmitAcceptedDrop(), faults.SubmitReplyTruncated(), faults.SubmitAcceptedDrop())
	submit := func() reply { return d.send("POST", "/v1/runs", "", `{"input": "x"}`) }
	d.wantReset(submit())
	d.wantUsed(1, 0, 1)
	if r := submit(); r.status != 202 || r.err == nil {
		t.Errorf("got %+v, want a truncated body", r)
	}
	d.wantReset(submit())
	d.wantStatus(submit(), 202)
}

func TestFaultsOverHTTP(t *testing.T) {
	eachDoor(t, func(d *door) {
		d.wantStatus(d.get("/__admin/faults"), 200, `{"faults":[]}`)
		r := d.send("POST", "/__admin/faults", "", `{"preset": "hermes_events_cut", "params": {"after": 3}, "count": 2}`)
		if want := `{"id":"fault-1","operationId":"RunEvents","namespace":"default","count":2,"effect":"events_cut","params":{"after":3},"remaining":2,"hits":0}`; r.status != 201 || r.body != want {
			d.Errorf("got %d %s\nwant %s", r.status, r.body, want)
		}
		d.wantStatus(d.send("POST", "/__admin/faults", "", `{"preset": "hermes_events_cut", "after": 4}`), 201, `"params":{"after":4}`)
		d.wantStatus(d.send("POST", "/__admin/ns/other/faults", "", `{"latencyMs": 0.5, "id": "mine"}`), 201,
			`"id":"mine"`, `"namespace":"other"`, `"delayMs":0.5`, `"remaining":null`)
		d.wantStatus(d.send("POST", "/__admin/faults?namespace=third", "", `{"drop": true, "namespace": "*"}`), 201, `"namespace":"*"`)
		d.wantStatus(d.send("POST", "/__admin/faults", "", `{"drop": true, "id": "mine"}`), 400, "mine", "another rule")

		// The list is that of the whole fake, in every namespace.
		var list struct {
			Faults []struct {
				ID        string
				Remaining *int
				Hits      *int
			}
		}
		if r := d.get("/__admin/ns/other/faults"); json.Unmarshal([]byte(r.body), &list) != nil || len(list.Faults) != 4 ||
			*list.Faults[0].Remaining != 2 || *list.Faults[0].Hits != 0 || list.Faults[2].Remaining != nil {
			d.Errorf("got %s", r.body)
		}
		d.wantStatus(d.send("DELETE", "/__admin/faults?id=mine", "", ""), 200, `"removed":1`)
		d.wantStatus(d.send("DELETE", "/__admin/faults?id=mine", "", ""), 404)
		d.wantStatus(d.send("DELETE", "/__admin/faults?id=", "", ""), 404)
		if n := len(d.fake.Faults()); n != 3 {
			d.Errorf("%d rules, want 3", n)
		}
		d.wantStatus(d.send("DELETE", "/__admin/faults", "", ""), 200, `"removed":3`)
		d.wantStatus(d.get("/health"), 200)
		d.wantStatus(d.send("PUT", "/__admin/faults", "", ""), 405)
		d.wantStatus(d.get("/__admin"), 200, `"POST /__admin/faults"`, `"GET /__admin/faults/presets"`)
		for _, e := range d.fake.Requests() {
			if strings.HasPrefix(e.Path, "/__admin") {
				d.Errorf("a control is in the journal: %+v", e)
			}
		}
	})
}

// Every preset of the control plane can be added by its name, and is the rule of its function.
func TestPresetsOverHTTP(t *testing.T) {
	d := single(t)
	var got struct {
		Presets []struct {
			Name        string
			Description string
			Rules       []faults.Rule
		}
	}
	if err := json.Unmarshal([]byte(d.get("/__admin/faults/presets").body), &got); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`hermes_submit_accepted_drop hermes_poll_timeout hermes_throttled hermes_draining
		hermes_submit_drop hermes_submit_reply_truncated hermes_stop_accepted_drop hermes_approval_accepted_drop
		hermes_steer_accepted_drop hermes_events_cut hermes_events_no_terminal hermes_events_stall
		hermes_events_split_frames hermes_connection_refused hermes_slow_body hermes_bad_gateway`)
	if len(got.Presets) != len(want) {
		t.Fatalf("%d presets, want %d", len(got.Presets), len(want))
	}
	for i, p := range got.Presets {
		if p.Name != want[i] || p.Description == "" || len(p.Rules) != 1 || p.Rules[0].Count != 1 {
			t.Errorf("preset %d is %+v, want %s", i, p, want[i])
		}
		d.wantStatus(d.send("POST", "/__admin/faults", "", `{"preset": "`+p.Name+`"}`), 201, `"remaining":1`)
		p.Rules[0].ID, p.Rules[0].Namespace = fmt.Sprintf("fault-%d", i+1), "default"
		kept, _ := json.Marshal(d.fake.Faults()[i].Rule)
		if rule, _ := json.Marshal(p.Rules[0]); string(kept) != string(rule) {
			t.Errorf("%s was added as %s, not %s", p.Name, kept, rule)
		}
	}
}

// A rule that is injected into a view is for its namespace, one injected into the fake for all.
func TestFaultsOfViews(t *testing.T) {
	d := single(t)
	alice, err := d.fake.Namespace("alice")
	if err != nil {
		t.Fatal(err)
	}
	bob, err := d.fake.Namespace("bob")
	if err != nil {
		t.Fatal(err)
	}
	health := func(f *hermesfake.Fake) int {
		t.Helper()
		res, err := f.Client().Get(hermesfake.BaseURL + "/health")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if err := alice.Inject(faults.Rule{ID: "alice", Status: 500}); err != nil {
		t.Fatal(err)
	}
	if a, b, all := health(alice), health(bob), health(d.fake); a != 500 || b != 200 || all != 200 {
		t.Errorf("got %d, %d, %d", a, b, all)
	}
	d.inject(faults.Rule{ID: "all", Status: 501})
	if a, b, all := health(alice), health(bob), health(d.fake); a != 500 || b != 501 || all != 501 {
		t.Errorf("got %d, %d, %d", a, b, all)
	}
	if a, b, all := len(alice.Faults()), len(bob.Faults()), len(d.fake.Faults()); a != 2 || b != 1 || all != 2 {
		t.Errorf("%d, %d, %d rules", a, b, all)
	}
	alice.ClearFaults()
	if f := d.fake.Faults(); len(f) != 1 || f[0].ID != "all" {
		t.Errorf("left: %+v", f)
	}
	if !bob.RemoveFault("all") || bob.RemoveFault("all") || len(d.fake.Faults()) != 0 {
		t.Error("not removed")
	}
	d.inject(faults.Rule{Drop: true})
	d.fake.ClearFaults()
	d.wantStatus(d.get("/health"), 200)
}

// Rules outlive a reset and a restart.
func TestFaultsOutliveReset(t *testing.T) {
	d := single(t)
	d.inject(faults.Rule{Status: 500, Count: 2})
	d.fake.Reset()
	d.wantStatus(d.get("/health"), 500)
	d.fake.Restart(hermesfake.OwnerStale)
	d.wantStatus(d.get("/health"), 500)
	d.wantUsed(0, 2, 0)
}

// The id of a rule that is used up may be taken again, and used rules make room.
func TestUsedRulesMakeRoom(t *testing.T) {
	d := single(t)
	d.inject(faults.Rule{ID: "a", Status: 500, Count: 1})
	d.get("/health")
	d.inject(faults.Rule{ID: "a", Status: 501, Count: 1})
	d.wantStatus(d.get("/health"), 501)
	for range 999 {
		d.inject(faults.Rule{Operation: hermesfake.RunSteer, Drop: true})
	}
	d.inject(faults.Rule{Operation: hermesfake.RunSteer, Drop: true})
	if f := d.fake.Faults(); len(f) != 1000 || f[0].ID == "a" {
		t.Errorf("%d rules, the first is %s", len(f), f[0].ID)
	}
	if err := d.fake.Inject(faults.Rule{Drop: true}); !errors.Is(err, faults.ErrRule) {
		t.Errorf("one more: %v", err)
	}
}

// outcomes sends n polls and tells which of them were dropped.
func outcomes(d *door, f *hermesfake.Fake, n int) string {
	d.Helper()
	var b strings.Builder
	for range n {
		res, err := f.Client().Get(hermesfake.BaseURL + "/v1/models")
		switch {
		case err == nil:
			res.Body.Close()
			b.WriteByte('.')
		case errors.Is(err, syscall.ECONNRESET):
			b.WriteByte('x')
		default:
			d.Fatal(err)
		}
	}
	return b.String()
}

func TestRateRepeats(t *testing.T) {
	flaky := faults.Rule{Operation: hermesfake.Models, Drop: true, Rate: 0.1}
	play := func(seed uint64, prepare func(*door)) string {
		d := single(t, hermesfake.WithSeed(seed))
		prepare(d)
		return outcomes(d, d.fake, 1000)
	}
	once := play(1, func(d *door) { d.inject(flaky) })
	if n := strings.Count(once, "x"); n < 70 || n > 130 {
		t.Errorf("%d of 1000 were dropped", n)
	}
	if again := play(1, func(d *door) { d.inject(flaky) }); again != once {
		t.Error("the same seed dropped other requests")
	}
	if other := play(2, func(d *door) { d.inject(flaky) }); other == once {
		t.Error("another seed dropped the same requests")
	}
	// Neither another rule behind it nor requests of another namespace shift what it draws.
	if beside := play(1, func(d *door) {
		view, err := d.fake.Namespace("other")
		if err != nil {
			t.Fatal(err)
		}
		d.inject(flaky, faults.Rule{Operation: hermesfake.Models, Delay: 1, Rate: 0.5})
		if there := outcomes(d, view, 100); there == once[:100] {
			t.Error("both namespaces drew the same")
		}
	}); beside != once {
		t.Error("something beside the rule shifted what it draws")
	}
	certain := flaky
	certain.Rate = 1
	if all := play(1, func(d *door) { d.inject(certain) }); strings.Contains(all, ".") {
		t.Error("a rate of 1 let a request through")
	}
}

// Concurrent requests never use a count twice, while rules come, go and are looked at.
func TestCountsUnderConcurrency(t *testing.T) {
	const workers, each, count = 8, 50, 100
	d := single(t, hermesfake.WithMaxConcurrentRuns(0))
	d.inject(
		faults.SubmitAcceptedDrop().Times(count),
		faults.Rule{Operation: hermesfake.Models, Status: 500, Count: count},
	)
	var lost, failed atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				if r := d.send("POST", "/v1/runs", "", `{"input": "x"}`); r.err != nil {
					lost.Add(1)
				}
				if r := d.get("/v1/models"); r.status == 500 {
					failed.Add(1)
				}
				if w == 0 {
					id := fmt.Sprintf("passing-%d", i)
					d.fake.Inject(faults.Rule{ID: id, Operation: hermesfake.Health, Drop: true})
					d.fake.Faults()
					d.fake.RemoveFault(id)
				}
			}
		}()
	}
	wg.Wait()
	if lost.Load() != count || failed.Load() != count {
		t.Errorf("%d replies were lost and %d answered 500, want %d each", lost.Load(), failed.Load(), count)
	}
	d.wantUsed(0, count, 0)
	d.wantUsed(1, count, 0)
	if n := len(d.fake.Runs()); n != workers*each {
		t.Errorf("%d runs, want %d", n, workers*each)
	}
}

// A rule that was removed while a request that had met it was under way is not used.
func TestRemovedUnderWay(t *testing.T) {
	d := single(t)
	d.inject(faults.SubmitAcceptedDrop())
	body, writer := newPipe()
	done := make(chan reply)
	go func() {
		r, _ := http.NewRequest("POST", d.base+"/v1/runs", body)
		done <- d.do(r)
	}()
	<-body.read // the operation reads the body, so the rule has been met
	d.fake.ClearFaults()
	writer(`{"input": "x"}`)
	d.wantStatus(<-done, 202)
}

// Once no rule is left the middleware is out of the way, which is what makes it free.
func TestIdle(t *testing.T) {
	s := faults.New(1)
	want := func(idle bool) {
		t.Helper()
		if s.Idle() != idle {
			t.Errorf("idle: %t", !idle)
		}
	}
	want(true)
	if _, err := s.Add("*", faults.Rule{ID: "a", Drop: true}, faults.Rule{Namespace: "b", Drop: true}); err != nil {
		t.Fatal(err)
	}
	want(false)
	s.Clear("b")
	want(false)
	s.Remove("a")
	want(true)
}

// Each rule draws for itself, so that two of the same rate meet different requests.
func TestRulesDrawForThemselves(t *testing.T) {
	d := single(t, hermesfake.WithSeed(1))
	d.inject(faults.Rule{Delay: 1, Rate: 0.5}, faults.Rule{Status: 500, Rate: 0.5})
	same := 0
	for range 100 {
		before := d.fake.Faults()[0].Hits
		failed := d.get("/v1/models").status == 500
		if delayed := d.fake.Faults()[0].Hits > before; delayed == failed {
			same++
		}
	}
	if same < 25 || same > 75 {
		t.Errorf("of 100 requests %d met both rules or neither, want about 50", same)
	}
}

// A rule is kept as it was when it was added.
func TestRuleIsCopied(t *testing.T) {
	d := single(t)
	header := http.Header{"X-One": {"2"}, strings.ToLower("X-One"): {"1"}}
	d.inject(faults.Rule{Status: 500, Header: header})
	header["X-One"][0] = "changed"
	d.fake.Faults()[0].Header["X-One"][0] = "changed"
	r := d.get("/health")
	if got := r.header["X-One"]; len(got) != 2 || got[0]+got[1] != "12" && got[0]+got[1] != "21" {
		t.Errorf("X-One: %q", got)
	}
	for name := range r.header {
		if name != http.CanonicalHeaderKey(name) {
			t.Errorf("%s is not in canonical form", name)
		}
	}
}
