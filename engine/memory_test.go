package engine

import (
	"runtime"
	"testing"
)

// settledRuns returns a namespace of so many keyless runs that are completed without output and whose queues
// were swept, and what each costs in bytes.
func settledRuns(t testing.TB, runs int) (n *Namespace, bytesPerRun float64) {
	before := heapBytes()
	n = open(t, Config{Checkpoints: -1}) // a checkpoint would keep the queues
	for range runs {
		settle(t, n, "")
	}
	advance(t, n, queueRetention+sweepInterval)
	if got := n.Counts(); got.Cached != runs || n.world.queues != nil {
		t.Fatalf("%+v", got)
	}
	return n, float64(heapBytes()-before) / float64(runs)
}

func heapBytes() int64 {
	var m runtime.MemStats
	for range 3 { // what a pool or a finalizer still held goes in the next one
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryOfSettledRuns bounds what a run costs that a long test leaves behind.
func TestMemoryOfSettledRuns(t *testing.T) {
	n, bytes := settledRuns(t, 20_000)
	t.Logf("%.0f bytes a run", bytes)
	if bytes > 500 {
		t.Errorf("a settled run costs %.0f bytes", bytes)
	}
	runtime.KeepAlive(n)
}

func BenchmarkMemoryOfSettledRuns(b *testing.B) {
	const runs = 100_000
	var bytes float64
	for b.Loop() {
		n, one := settledRuns(b, runs)
		bytes += one
		runtime.KeepAlive(n)
	}
	b.ReportMetric(bytes/float64(b.N), "bytes/run")
}
