package storetest

import (
	"testing"

	"github.com/hermesfake/hermesfake/engine"
)

func TestMemoryStore(t *testing.T) {
	Run(t, Door{
		Open:   func(*testing.T) engine.Store { return engine.NewMemoryStore() },
		Reopen: func(_ *testing.T, s engine.Store) engine.Store { return s },
	})
}
