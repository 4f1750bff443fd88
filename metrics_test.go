package hermesfake_test

import (
	"encoding/json"
	"reflect"
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
