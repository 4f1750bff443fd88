package examples_test

import (
	"testing"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// The gateway ends in the middle of a run and comes back with what it had on disk. A
// client that tries again with its key learns that the run was interrupted, and must
// not wait for it any longer.
func TestRealRestart(t *testing.T) {
	dir := t.TempDir()
	store, err := badgerstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	hermes := hermesfake.New(hermesfake.WithStore(store))
	submitKeyed(hermes.Client(), "order-7")
	hermes.Close()
	store.Close()

	store, err = badgerstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	hermes = hermesfake.New(hermesfake.WithStore(store))
	defer hermes.Close()
	res, err := submitKeyed(hermes.Client(), "order-7")
	if err != nil {
		t.Fatal(err)
	}
	var admitted struct {
		Status   string
		Replayed bool
	}
	decode(t, res, &admitted)
	if !admitted.Replayed || admitted.Status != "interrupted" {
		t.Errorf("after the restart: %+v", admitted)
	}
}
