package openapitest

import (
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/internal/vector"
)

// TestVectors replays every recording, whose replies are compared byte for byte, and compares each exchange with the document.
func TestVectors(t *testing.T) {
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	files, err := vector.Load("../../testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	exchanges, streams := 0, 0
	for _, file := range files {
		fake := hermesfake.New()
		t.Cleanup(fake.Close)
		for _, s := range file.Scenarios {
			j := &judge{next: fake, document: d, report: func(e *exchange, err error) {
				t.Errorf("%s: %s %s %s: %d %s: %v", s.Name, e.request.Method, e.request.URL.Path, e.sent, e.response.StatusCode, e.received, err)
			}}
			door := &vector.Door{Transport: j, BaseURL: hermesfake.BaseURL, Live: true}
			door.Run(t, s, strings.ReplaceAll(s.Name, "/", "_"))
			exchanges += j.exchanges
			streams += j.streams
		}
	}
	t.Logf("%d exchanges, %d of them streams", exchanges, streams)
	if exchanges < 2540 || streams < 24 {
		t.Errorf("%d exchanges with %d streams were compared, the recordings have more", exchanges, streams)
	}
}
