package suppliedinput_test

import (
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
	"github.com/hermesfake/hermesfake/engine/suppliedinput/internal/inputtest"
)

// TestWalks judges random sequences of steps by a plain model. Each queue reads what the one before it has stored.
func TestWalks(t *testing.T) {
	walks := 60
	if testing.Short() {
		walks = 20
	}
	for seed := range walks {
		store := engine.NewMemoryStore()
		var last *suppliedinput.StoreQueue
		inputtest.Walk(t, uint64(seed), 300, func() suppliedinput.Queue {
			if last != nil {
				store.Detach()
			}
			q, err := suppliedinput.NewStoreQueue(store)
			if err != nil {
				t.Fatal(err)
			}
			last = q
			return q
		})
	}
}
