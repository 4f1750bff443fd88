package faults_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// A rule that makes no sense is 400 over HTTP with a message that names what is wrong,
// and nothing is added.
func TestBadRulesOverHTTP(t *testing.T) {
	for _, c := range []struct{ body, message string }{
		{``, "not JSON"},
		{`[]`, "must be a JSON object"},
		{`{}`, "at least one of status, drop, delayMs and effect"},
		{`{"operationId": "RunGet"}`, "at least one of"},
		{`{"delayMs": 0}`, "at least one of"},
		{`{"drop": false}`, "at least one of"},
		{`{"drop": "yes"}`, "drop must be true or false"},
		{`{"drop": true, "status": 500}`, "status and drop exclude"},
		{`{"drop": true, "id": ""}`, "id must be a string that is not empty"},
		{`{"drop": true, "id": "a b"}`, "id must match"},
		{`{"drop": true, "operationId": "RunDelete"}`, "operationId must be one of RunCreate, "},
		{`{"drop": true, "method": "get"}`, "method must be a method in upper case"},
		{`{"drop": true, "pathPrefix": "v1"}`, "pathPrefix must begin with a slash"},
		{`{"drop": true, "namespace": "a/b"}`, "namespace must be"},
		{`{"drop": true, "count": 0}`, "count must be a whole number from 1 on"},
		{`{"drop": true, "count": 1.5}`, "count must be a whole number"},
		{`{"drop": true, "count": 99999999999}`, "count must be a whole number"},
		{`{"drop": true, "rate": 0}`, "rate must be above 0"},
		{`{"drop": true, "rate": 1.1}`, "rate must be above 0 and at most 1"},
		{`{"drop": true, "rate": NaN}`, "rate must be above 0"},
		{`{"drop": true, "rate": "1"}`, "rate must be a number"},
		{`{"delayMs": -1}`, "delayMs must be milliseconds"},
		{`{"delayMs": 1e10}`, "delayMs must be milliseconds"},
		{`{"delayMs": 1, "latencyMs": 2}`, "latencyMs contradicts delayMs"},
		{`{"status": 100}`, "status must be a whole number from 200"},
		{`{"status": 600}`, "status must be 200 to 599"},
		{`{"status": 204, "body": "x"}`, "status 204 has no body"},
		{`{"drop": true, "body": "x"}`, "headers and body need a status"},
		{`{"drop": true, "headers": {"A": "b"}}`, "headers and body need a status"},
		{`{"status": 500, "headers": []}`, "headers must be an object"},
		{`{"status": 500, "headers": {"A": 1}}`, "headers.A must be a string"},
		{`{"status": 500, "headers": {"A b": "c"}}`, "no valid field"},
		{`{"status": 500, "headers": {"A": "b\n"}}`, "no valid field"},
		{`{"status": 500, "headers": {"content-length": "7"}}`, "belongs to the connection"},
		{`{"effect": "explode"}`, "effect must be one of accepted_drop, "},
		{`{"effect": "accepted_drop", "drop": true}`, "leaves no place for status or drop"},
		{`{"effect": "events_stall", "status": 500}`, "leaves no place for status or drop"},
		{`{"effect": "events_stall", "operationId": "RunGet"}`, "is for the operation RunEvents"},
		{`{"effect": "accepted_drop", "operationId": "RunGet"}`, "is for the operations RunCreate, "},
		{`{"effect": "slow_body"}`, "params.bytesPerSecond must be above 0"},
		{`{"effect": "slow_body", "params": {"bytesPerSecond": 0}}`, "params.bytesPerSecond must be a whole number from 1"},
		{`{"effect": "slow_body", "params": {"bytesPerSecond": 9, "after": 1}}`, "params.after belongs to"},
		{`{"effect": "events_cut", "params": {"after": -1}}`, "params.after must be a whole number from 0"},
		{`{"effect": "events_cut", "params": {"bytesPerSecond": 1}}`, "params.bytesPerSecond belongs to"},
		{`{"effect": "events_cut", "params": {"before": 1}}`, `params: unknown member "before"`},
		{`{"effect": "events_cut", "params": 1}`, "params must be an object"},
		{`{"effect": "events_cut", "after": 1}`, `unknown member "after"`},
		{`{"drop": true, "colour": "red"}`, `unknown member "colour"`},
		{`{"preset": "hermes_nonsense"}`, "preset must be one of hermes_submit_accepted_drop, "},
		{`{"preset": 1}`, "preset must be "},
		{`{"preset": "hermes_throttled", "count": -1}`, "count must be a whole number"},
		{`{"preset": "hermes_throttled", "drop": true}`, "status and drop exclude"},
	} {
		fake := hermesfake.New()
		d := &door{T: t, fake: fake, client: fake.Client(), base: hermesfake.BaseURL}
		r := d.send("POST", "/__admin/faults", "", c.body)
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, `"type":"mockingbird_admin"`) ||
			!strings.Contains(r.body, strings.ReplaceAll(c.message, `"`, `\"`)) {
			t.Errorf("%s: got %d %s, want 400 and %s", c.body, r.status, r.body, c.message)
		}
		if n := len(fake.Faults()); n != 0 {
			t.Errorf("%s added %d rules", c.body, n)
		}
		var rule faults.Rule
		if err := rule.UnmarshalJSON([]byte(c.body)); !errors.Is(err, faults.ErrRule) || !reflect.DeepEqual(rule, faults.Rule{}) {
			t.Errorf("%s: read as %+v, %v", c.body, rule, err)
		}
	}
}

// Inject adds all rules or none.
func TestBadRulesInGo(t *testing.T) {
	for _, bad := range []faults.Rule{
		{},
		faults.EventsCut(-1),
		faults.SlowBody(0),
		faults.ConnectionRefused(-1),
		faults.Throttled().Times(-1),
		{Drop: true, Rate: -0.1},
		{Delay: -time.Second},
		{Drop: true, Status: 500},
		{Status: 99},
		{Drop: true, ID: "good"}, // the id of the rule before it
	} {
		fake := hermesfake.New()
		err := fake.Inject(faults.Rule{ID: "good", Drop: true}, bad)
		if !errors.Is(err, hermesfake.ErrRule) {
			t.Errorf("%+v: %v", bad, err)
		}
		if n := len(fake.Faults()); n != 0 {
			t.Errorf("%+v: %d rules were added", bad, n)
		}
		if res, err := fake.Client().Get(hermesfake.BaseURL + "/health"); err != nil || res.StatusCode != 200 {
			t.Errorf("%+v: a request met the rule: %v", bad, err)
		}
	}
}

// What the control plane prints of a rule it also reads.
func TestRulesReadWhatTheyPrint(t *testing.T) {
	rules := []faults.Rule{{
		ID: "x", Operation: hermesfake.RunGet, Method: "HEAD", PathPrefix: "/v1", Namespace: "*", Count: 3, Rate: 0.25,
		Delay: 1500 * time.Microsecond, Status: 500, Header: http.Header{"A": {"b"}, "C": {"d", "e"}}, Body: "broken",
	}}
	for _, p := range faults.Presets() {
		rules = append(rules, p.Rule)
	}
	for _, r := range rules {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var read faults.Rule
		if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, r) {
			t.Errorf("%s\nread as %+v, %v", text, read, err)
		}
	}
}

// A substitute has the provider's dress if its body is JSON, and what its headers say.
func TestSubstitutes(t *testing.T) {
	for _, c := range []struct {
		rule, body, contentType string
		secured                 bool
	}{
		{`{"status": 500, "body": {"error": "x", "n": [1, null]}}`, `{"error": "x", "n": [1, null]}`, "application/json; charset=utf-8", true},
		{`{"status": 500, "body": "[1,2]"}`, `[1,2]`, "application/json; charset=utf-8", true},
		{`{"status": 500, "body": "[broken"}`, `[broken`, "text/plain; charset=utf-8", false},
		{`{"status": 500, "body": "oops"}`, `oops`, "text/plain; charset=utf-8", false},
		{`{"status": 500, "body": "oops", "headers": {"content-type": "text/odd"}}`, `oops`, "text/odd", false},
		{`{"status": 500}`, ``, "", false},
		{`{"status": 500, "body": null}`, ``, "", false},
		{`{"status": 599, "body": "x", "headers": {"set-cookie": ["a=1", "b=2"]}}`, `x`, "text/plain; charset=utf-8", false},
		{`{"status": 204}`, ``, "", false},
	} {
		eachDoor(t, func(d *door) {
			d.wantStatus(d.send("POST", "/__admin/faults", "", c.rule), http.StatusCreated)
			r := d.get("/health")
			if r.err != nil || r.body != c.body || r.header.Get("Content-Type") != c.contentType || (r.header.Get("X-Frame-Options") != "") != c.secured {
				d.Errorf("%s: got %+v", c.rule, r)
			}
			if _, has := r.header["Content-Length"]; has == (r.status == 204) {
				d.Errorf("%s: Content-Length %q", c.rule, r.header["Content-Length"])
			}
			if r.status == 599 && len(r.header["Set-Cookie"]) != 2 {
				d.Errorf("cookies: %q", r.header["Set-Cookie"])
			}
			if head := d.send("HEAD", "/health", "", ""); head.status != r.status || head.body != "" || head.header.Get("Content-Length") != r.header.Get("Content-Length") {
				d.Errorf("%s: HEAD got %+v", c.rule, head)
			}
		})
	}
}

func TestStatusTextAsOverASocket(t *testing.T) {
	var texts []string
	eachDoor(t, func(d *door) {
		d.inject(faults.Rule{Status: 599})
		res, err := d.client.Get(d.base + "/health")
		if err != nil {
			d.Fatal(err)
		}
		res.Body.Close()
		texts = append(texts, res.Status)
	})
	if texts[0] != texts[1] {
		t.Errorf("statuses %q", texts)
	}
}
