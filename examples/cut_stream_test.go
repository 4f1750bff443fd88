package examples_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// The event stream breaks after two events, without a terminal one. That is not the
// run's end: what became of it only a poll can tell.
func TestCutStreamIsRecoveredByPolling(t *testing.T) {
	hermes := hermesfake.Start(t)
	hermes.Inject(faults.EventsCut(2))
	client := hermes.Client()
	id := submit(t, client, `{"input": "work"}`)
	run := hermes.Run(id)
	run.Start()

	res := follow(t, client, id)
	defer res.Body.Close()
	for _, piece := range []string{"Hel", "lo, ", "world"} {
		run.Delta(piece)
	}
	body, err := io.ReadAll(res.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Count(string(body), "data: ") != 2 {
		t.Errorf("the stream ended with %v after\n%s", err, body)
	}

	run.Complete("Hello, world")
	var o observation
	if get(t, client, "/v1/runs/"+id, &o); o.Status != "completed" || o.Output != "Hello, world" {
		t.Errorf("the poll says %+v", o)
	}
}
