package openapitest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/internal/vector"
)

// TestRecorded compares the recordings themselves with the document, as upstream answered.
func TestRecorded(t *testing.T) {
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	files, err := vector.Load("../../testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	replies, frames := 0, 0
	for _, file := range files {
		for _, s := range file.Scenarios {
			for i, step := range s.Steps {
				for _, stream := range step.Receive {
					frames++
					if err := d.checkStream([]byte(fill(stream))); err != nil {
						t.Errorf("%s, step %d: %v", s.Name, i, err)
					}
				}
				if step.Request.Method == "" {
					continue
				}
				replies++
				e, err := recorded(step.Request)
				if err != nil {
					t.Fatal(err)
				}
				if err := d.checkResponse(e); err != nil {
					t.Errorf("%s, step %d: %s %s: %s: %v", s.Name, i, step.Request.Method, step.Request.Path, e.received, err)
				}
			}
		}
	}
	if replies < 2540 || frames < 100 {
		t.Errorf("%d replies and %d pieces of streams were compared, the recordings have more", replies, frames)
	}
}

var placeholder = regexp.MustCompile(`\{\{\w+\}\}`)

// fill writes an id in place of each placeholder of a recording.
func fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		id := fmt.Sprintf("%x", name)
		return "run_" + id + strings.Repeat("0", 32-len(id))
	})
}

// recorded is the exchange of a recording, with the header that only the emulator has.
func recorded(q vector.Request) (*exchange, error) {
	request, err := http.NewRequest(q.Method, hermesfake.BaseURL+fill(q.Path), nil)
	response := &http.Response{StatusCode: q.Expect.Status, Header: http.Header{"X-Mockingbird": {"hermes@0.0.0"}}}
	for name, value := range q.Expect.Header {
		response.Header.Set(name, value)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		// Recordings do not list what every stream has.
		response.Header.Set("Cache-Control", "no-cache")
		response.Header.Set("X-Accel-Buffering", "no")
	}
	return &exchange{request: request, sent: q.Body, response: response, received: []byte(fill(q.Expect.Body))}, err
}
