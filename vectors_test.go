package hermesfake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/internal/vector"
)

// doors are the ways to reach a fake.
var doors = []struct {
	name string
	open func(*testing.T, *hermesfake.Fake) *vector.Door
}{
	{"in process", func(t *testing.T, f *hermesfake.Fake) *vector.Door {
		return &vector.Door{Transport: f, BaseURL: hermesfake.BaseURL, Live: true}
	}},
	{"over a socket", func(t *testing.T, f *hermesfake.Fake) *vector.Door {
		server := httptest.NewServer(f.Handler())
		client := &http.Transport{}
		t.Cleanup(func() {
			client.CloseIdleConnections()
			server.Close()
		})
		return &vector.Door{Transport: client, BaseURL: server.URL, Live: true}
	}},
}

// TestVectors replays every recorded upstream scenario, byte for byte, over both doors.
func TestVectors(t *testing.T) {
	files, err := vector.Load("testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			for _, file := range files {
				t.Run(file.Name, func(t *testing.T) {
					fake := hermesfake.Start(t, hermesfake.WithUnmatchedAllowed())
					d := door.open(t, fake)
					for _, s := range file.Scenarios {
						t.Run(s.Name, func(t *testing.T) {
							d.Run(t, s, strings.ReplaceAll(s.Name, "/", "_"))
						})
					}
				})
			}
		})
	}
}
