package engine

import (
	"fmt"
	"strconv"
	"testing"
)

// BenchmarkMutation is a keyed admission or its completion, each with its checkpoint, in a namespace of so many runs, and up
// to half as many more. Collecting garbage is a part of it, so it wants many iterations: -benchtime 300000x.
func BenchmarkMutation(b *testing.B) {
	for _, runs := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			n := open(b, Config{})
			for i := range runs {
				settle(b, n, "before-"+strconv.Itoa(i))
			}
			begin, err := n.Checkpoint()
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for i := range b.N / 2 {
				settle(b, n, strconv.Itoa(i))
				if i%(runs/2) == runs/2-1 {
					b.StopTimer()
					if _, err := n.Checkout("", begin.ID); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkCheckpoint asks for a checkpoint, in a namespace of so many runs.
func BenchmarkCheckpoint(b *testing.B) {
	for _, runs := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			n := open(b, Config{})
			for range runs {
				settle(b, n, "")
			}
			b.ResetTimer()
			for b.Loop() {
				if _, err := n.Checkpoint(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
