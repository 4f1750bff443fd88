package hermesfake_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

func TestMetrics(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithUnmatchedAllowed())
	other, err := f.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	id := submit(t, f, `{"input": "x"}`)
	submit(t, other, `{"input": "x"}`)
	request(t, f, "POST", "/v1/runs", `{}`)
	request(t, f, "GET", "/v1/runs/"+id, "")
	request(t, f, "GET", "/v1/nope?secret=1", "")
	request(t, f, "GET", "/v1/nope", "")
	if err := f.Inject(faults.SubmitDrop()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Client().Post(hermesfake.BaseURL+"/v1/runs", "", nil); err == nil {
		t.Error("the fault did not happen")
	}
	type metrics struct {
		Requests    int
		ByOperation map[string]int
		Unmatched   []struct {
			Method, Path string
			Count        int
		}
		Faults          int
		TotalDurationMs float64
	}
	read := func() (m metrics) {
		_, body := request(t, f, "GET", "/__admin/metrics", "")
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return m
	}
	got := read()
	want := map[string]int{"RunCreate 202": 2, "RunCreate 400": 1, "RunCreate 0": 1, "RunGet 200": 1}
	if got.Requests != 7 || !reflect.DeepEqual(got.ByOperation, want) || got.Faults != 1 || got.TotalDurationMs <= 0 {
		t.Errorf("got %+v, want %v", got, want)
	}
	if len(got.Unmatched) != 1 || got.Unmatched[0].Path != "/v1/nope" || got.Unmatched[0].Count != 2 {
		t.Errorf("unmatched %+v", got.Unmatched)
	}
	request(t, f, "DELETE", "/__admin/metrics", "")
	if got := read(); got.Requests != 0 || len(got.ByOperation) > 0 || len(got.Unmatched) > 0 || got.Faults != 0 {
		t.Errorf("after clearing: %+v", got)
	}
}

// Lines of Prometheus's text format 0.0.4.
var (
	commentLine = regexp.MustCompile(`^# (?:HELP [a-zA-Z_:][a-zA-Z0-9_:]*(?: .*)?|TYPE [a-zA-Z_:][a-zA-Z0-9_:]* (?:counter|gauge|histogram|summary|untyped))$`)
	sampleLine  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\[\\"n])*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\[\\"n])*")*,?)?\})? (\S+)$`)
)

// readPrometheus reads a text by the format's grammar, and its rules: a line each, ended by a newline; the samples of a
// metric in one group; no series twice.
func readPrometheus(text string) (map[string]float64, error) {
	samples, seen, last := map[string]float64{}, map[string]bool{}, ""
	rest, ended := strings.CutSuffix(text, "\n")
	if !ended {
		return nil, errors.New("the last line does not end")
	}
	for line := range strings.SplitSeq(rest, "\n") {
		if commentLine.MatchString(line) {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("no line of the format: %q", line)
		}
		name, series := m[1], m[1]+m[2]
		if name != last && seen[name] {
			return nil, fmt.Errorf("%s comes in two groups", name)
		}
		seen[name], last = true, name
		if _, twice := samples[series]; twice {
			return nil, fmt.Errorf("%s comes twice", series)
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, err
		}
		samples[series] = v
	}
	return samples, nil
}

func TestPrometheusGrammar(t *testing.T) {
	good := "# HELP a\n# TYPE a counter\na 1\nb{c=\"d\",e=\"f\\\"\\\\\\n\"} 2.5e-07\nb{c=\"g\"} +Inf\n"
	if got, err := readPrometheus(good); err != nil || len(got) != 3 || got["a"] != 1 {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", "a 1", "a\n", "a b\n", "1a 1\n", "a{b=c} 1\n", "a{b=\"c} 1\n", "a{b=\"c\"d=\"e\"} 1\n", "a{b=\"\\x\"} 1\n",
		"a 1\n\nb 1\n", "a 1\na 1\n", "a 1\nb 1\na{c=\"d\"} 1\n", "# TYPE a number\n"} {
		if got, err := readPrometheus(bad); err == nil {
			t.Errorf("%q was read: %v", bad, got)
		}
	}
}

func TestPrometheus(t *testing.T) {
	f := hermesfake.Start(t, hermesfake.WithUnmatchedAllowed(), hermesfake.WithJournalSize(3))
	other, err := f.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	key := func(body string) {
		c := client{f.Client(), hermesfake.BaseURL}
		if _, err := c.submit(t.Context(), "k", body); err != nil {
			t.Fatal(err)
		}
	}
	read := func() map[string]float64 {
		t.Helper()
		r, err := f.Client().Get(hermesfake.BaseURL + "/__admin/metrics?format=prometheus")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
			t.Fatalf("%d %v %v", r.StatusCode, r.Header, err)
		}
		samples, err := readPrometheus(string(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return samples
	}
	before := read()
	key(`{"input": "x"}`)
	id := submit(t, f, `{"input": "x"}`)
	submit(t, other, `{"input": "x"}`)
	res := follow(t, f.Client(), hermesfake.BaseURL, f.Run(id))
	defer res.Body.Close()
	f.Runs()[0].Complete("done")
	request(t, f, "GET", "/v1/runs/"+id, "")
	request(t, f, "GET", "/nope", "")
	f.Inject(faults.SubmitDrop())
	f.Client().Post(hermesfake.BaseURL+"/v1/runs", "", nil)
	got := read()
	for series, want := range map[string]float64{
		`hermesfake_requests_total{operation="RunCreate",status="202"}`:               3,
		`hermesfake_requests_total{operation="RunCreate",status="0"}`:                 1,
		`hermesfake_requests_total{operation="RunGet",status="200"}`:                  1,
		`hermesfake_requests_total{operation="RunEvents",status="200"}`:               1,
		`hermesfake_requests_total{operation="none",status="404"}`:                    1,
		`hermesfake_unmatched_requests_total`:                                         1,
		`hermesfake_faults_total`:                                                     1,
		`hermesfake_namespaces`:                                                       2,
		`hermesfake_runs_cached{namespace="default"}`:                                 2,
		`hermesfake_runs_active{namespace="default"}`:                                 1,
		`hermesfake_rows{namespace="default"}`:                                        1,
		`hermesfake_event_streams{namespace="default"}`:                               1,
		`hermesfake_journal_entries{namespace="default"}`:                             3,
		`hermesfake_journal_dropped{namespace="default"}`:                             3,
		`hermesfake_runs_active{namespace="other"}`:                                   1,
		`hermesfake_journal_dropped{namespace="other"}`:                               0,
		`hermesfake_build_info{version="` + hermesfake.Version + `",hermes="0.21.0"}`: 1,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s is %v (%t), want %v", series, v, ok, want)
		}
	}
	for _, operation := range []string{"RunCreate", "RunGet", "RunEvents", "none"} {
		if sum := got[`hermesfake_request_duration_seconds_total{operation="`+operation+`"}`]; sum <= 0 || sum > 60 {
			t.Errorf("%s took %v s", operation, sum)
		}
	}
	if before[`hermesfake_unmatched_requests_total`] != 0 || before[`hermesfake_namespaces`] != 2 {
		t.Errorf("before: %v", before)
	}
	for _, query := range []string{"text", "Prometheus", "openmetrics"} {
		if status, text := request(t, f, "GET", "/__admin/metrics?format="+query, ""); status != 400 || !strings.Contains(text, "format must be") {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	// Neither paths nor namespaces make series without bound.
	for i := range 300 {
		view, err := f.Namespace(fmt.Sprintf("n%d", i))
		if err != nil {
			t.Fatal(err)
		}
		request(t, view, "GET", fmt.Sprintf("/nope/%d", i), "")
		request(t, view, "PUT", "/v1/runs", "")
	}
	got = read()
	if len(got) > 640 || got[`hermesfake_journal_entries{namespace="(others)"}`] != 2*201+1 || got["hermesfake_namespaces"] != 302 {
		t.Errorf("%d series; %v", len(got), got[`hermesfake_journal_entries{namespace="(others)"}`])
	}
	if m := f.Metrics(); m.Requests != 7+600 || m.Faults != 1 || m.ByOperation["RunCreate 202"] != 3 || m.TotalDuration <= 0 || len(m.Unmatched) != 100 {
		t.Errorf("%d requests, %d faults, %v, %d unmatched", m.Requests, m.Faults, m.ByOperation, len(m.Unmatched))
	}
}
