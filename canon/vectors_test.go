package canon

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// step is what of a step of a recorded scenario concerns this package.
type step struct {
	Do      string
	Method  string
	Path    string
	Headers map[string]string
	Body    string
	BodyHex string `json:"body_hex"`
	Expect  struct {
		Status  int
		Headers map[string]string
		Body    string
	}
	Receive map[string]string
}

func (s *step) request(t *testing.T) []byte {
	if s.BodyHex == "" {
		return []byte(s.Body)
	}
	raw, err := hex.DecodeString(s.BodyHex)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// eachStep calls f with every step of every recorded scenario.
func eachStep(t *testing.T, f func(scenario string, s *step)) {
	t.Helper()
	files, err := filepath.Glob("../testdata/vectors/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no vectors: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var vectors struct {
			Scenarios []struct {
				Name  string
				Steps []step
			}
		}
		if err := json.Unmarshal(text, &vectors); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, scenario := range vectors.Scenarios {
			for i := range scenario.Steps {
				f(filepath.Base(file)+" "+scenario.Name, &scenario.Steps[i])
			}
		}
	}
}

// Every request body that upstream answered with Invalid JSON is invalid, and
// every one that it admitted is JSON.
func TestVectorRequests(t *testing.T) {
	invalid, admitted := 0, 0
	eachStep(t, func(scenario string, s *step) {
		if s.Do != "request" || s.Method != "POST" {
			return
		}
		raw := s.request(t)
		v, err := Parse(raw)
		switch {
		case strings.Contains(s.Expect.Body, `"message": "Invalid JSON`):
			invalid++
			if err == nil {
				t.Errorf("%s: Parse accepts %q", scenario, raw)
			}
		case s.Path == "/v1/runs" && s.Expect.Status == 202:
			admitted++
			if err != nil {
				t.Errorf("%s: Parse(%q): %v", scenario, raw, err)
				return
			}
			checkDocument(t, raw, v)
		}
	})
	if invalid < 10 || admitted < 100 {
		t.Errorf("the vectors have only %d invalid and %d admitted bodies", invalid, admitted)
	}
}

// Every body that upstream sent, in replies and in event streams, prints as it
// was.
func TestVectorReplies(t *testing.T) {
	replies, events := 0, 0
	check := func(scenario, text string) {
		v, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: Parse(%s): %v", scenario, text, err)
		} else if got := string(AppendWire(nil, v)); got != text {
			t.Errorf("%s: %s prints as %s", scenario, text, got)
		}
	}
	eachStep(t, func(scenario string, s *step) {
		bodies := []string{s.Expect.Body}
		for _, received := range s.Receive {
			bodies = append(bodies, received)
		}
		for _, body := range bodies {
			if strings.HasPrefix(body, "{") {
				replies++
				check(scenario, body)
			}
			for line := range strings.Lines(body) {
				if event, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
					events++
					check(scenario, event)
				}
			}
		}
	})
	if replies < 500 || events < 100 {
		t.Errorf("the vectors have only %d replies and %d events", replies, events)
	}
}

// idempotency.json, fingerprint-forms-basic: of two bodies sent with one key
// the second was replayed when upstream's fingerprints were equal, and a
// conflict when they were not.
func TestVectorFingerprints(t *testing.T) {
	first := map[string][]byte{}
	same, different := 0, 0
	eachStep(t, func(scenario string, s *step) {
		if scenario != "idempotency.json fingerprint-forms-basic" || s.Do != "request" {
			return
		}
		key, raw := s.Headers["Idempotency-Key"], s.request(t)
		if first[key] == nil {
			first[key] = raw
			return
		}
		a, aErr := Fingerprint(first[key], "")
		b, bErr := Fingerprint(raw, "")
		if aErr != nil || bErr != nil {
			t.Errorf("Fingerprint(%s): %v; Fingerprint(%s): %v", first[key], aErr, raw, bErr)
		}
		replayed := s.Expect.Headers["Idempotency-Replayed"] == "true"
		if replayed {
			same++
		} else {
			different++
		}
		if (a == b) != replayed {
			t.Errorf("the fingerprints of %s and %s are equal: %t, upstream replayed: %t", first[key], raw, a == b, replayed)
		}
	})
	if same < 5 || different < 5 {
		t.Errorf("the scenario has only %d equal and %d different pairs", same, different)
	}
}
