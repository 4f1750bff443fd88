package examples_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/faults"
)

// A network that loses one in ten replies to submissions, over a thousand of them. The
// seed decides which, so a failure can be looked at again.
func TestFlakyNetworkRepeats(t *testing.T) {
	play := func() (tries []int) {
		hermes := hermesfake.Start(t, hermesfake.WithSeed(42), hermesfake.WithMaxConcurrentRuns(0))
		hermes.Inject(faults.Rule{Operation: hermesfake.RunCreate, Effect: faults.EffectAcceptedDrop, Rate: 0.1})
		client := hermes.Client()
		for i := range 1000 {
			n := 1
			res, err := submitKeyed(client, "order-"+strconv.Itoa(i))
			for err != nil {
				n++
				res, err = submitKeyed(client, "order-"+strconv.Itoa(i))
			}
			if status := decode(t, res, nil); status != http.StatusAccepted {
				t.Fatalf("submission %d: %d", i, status)
			}
			tries = append(tries, n)
		}
		if n := len(hermes.Runs()); n != 1000 {
			t.Errorf("%d runs, want 1000: a retry was admitted again", n)
		}
		lost := hermes.Faults()[0].Hits
		if lost < 70 || lost > 130 {
			t.Errorf("%d of 1000 replies were lost", lost)
		}
		return tries
	}
	if !slices.Equal(play(), play()) {
		t.Error("the same seed lost other replies")
	}
}
