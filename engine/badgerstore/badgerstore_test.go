package badgerstore_test

import (
	"path/filepath"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
	"github.com/hermesfake/hermesfake/engine/storetest"
)

// openStore opens a store, which the test closes itself.
func openStore(t testing.TB, dir string, options ...badgerstore.Option) *badgerstore.Store {
	t.Helper()
	s, err := badgerstore.Open(dir, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	dirs := map[engine.Store]string{}
	storetest.Run(t, storetest.Door{
		Open: func(t *testing.T) engine.Store {
			dir := filepath.Join(t.TempDir(), "made", "by it")
			s := openStore(t, dir)
			dirs[s] = dir
			return s
		},
		Reopen: func(t *testing.T, s engine.Store) engine.Store {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			next := openStore(t, dirs[s])
			dirs[next] = dirs[s]
			return next
		},
	})
}
