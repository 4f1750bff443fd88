package badgerstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// BenchmarkSubmit is a keyed admission: with no store, and with each of them; by one writer, by eight of one namespace, and by eight
// of a namespace each.
func BenchmarkSubmit(b *testing.B) {
	stores := []struct {
		name string
		open func(b *testing.B) engine.Store
	}{
		{"none", func(*testing.B) engine.Store { return nil }},
		{"memory", func(*testing.B) engine.Store { return engine.NewMemoryStore() }},
		{"badger", func(b *testing.B) engine.Store { return openStore(b, b.TempDir()) }},
		{"badger-sync", func(b *testing.B) engine.Store { return openStore(b, b.TempDir(), badgerstore.WithSync()) }},
	}
	for _, store := range stores {
		for _, writers := range []struct{ count, namespaces int }{{1, 1}, {8, 1}, {8, 8}} {
			b.Run(fmt.Sprintf("%s/writers=%d/namespaces=%d", store.name, writers.count, writers.namespaces), func(b *testing.B) {
				s := store.open(b)
				e := engine.New(engine.Config{Store: s})
				var number atomic.Int64
				var wg sync.WaitGroup
				b.ResetTimer()
				for w := range writers.count {
					n, err := e.Namespace(strconv.Itoa(w % writers.namespaces))
					if err != nil {
						b.Fatal(err)
					}
					wg.Go(func() {
						for {
							i := number.Add(1)
							if i > int64(b.N) {
								return
							}
							if _, err := n.Submit(engine.Submission{Key: strconv.FormatInt(i, 10)}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
				e.Close()
				if s != nil {
					s.Close()
				}
			})
		}
	}
}

// BenchmarkReopen opens a store and reads its rows: one that was closed, and one whose process was killed.
func BenchmarkReopen(b *testing.B) {
	for _, rows := range []int{0, 1000, 100_000} {
		sound := b.TempDir()
		s := openStore(b, sound)
		fill(b, s, rows, 20)
		dead := copied(b, sound)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		for name, dir := range map[string]string{"closed": sound, "killed": dead} {
			b.Run(fmt.Sprintf("%s/rows=%d", name, rows), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					copy := copied(b, dir)
					b.StartTimer()
					s := openStore(b, copy)
					e := engine.New(engine.Config{Store: s})
					if c := namespace(b, e).Counts(); c.Durable != rows {
						b.Fatalf("%+v", c)
					}
					b.StopTimer()
					e.Close()
					s.Close()
					os.RemoveAll(filepath.Join(copy, "rows-1"))
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkOpen makes a new store and closes it.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		openStore(b, b.TempDir()).Close()
	}
}
