package engine

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

type scheduled struct {
	at int64
	id RunID
}

func byTime(a, b scheduled) int {
	return cmp.Or(cmp.Compare(a.at, b.at), slices.Compare(a.id[:], b.id[:]))
}

// drain takes everything, and fails the test unless it comes in order of time.
func drain(t *testing.T, s *schedule) []scheduled {
	t.Helper()
	var all []scheduled
	for s != nil {
		if n := len(all); n > 0 && s.at < all[n-1].at {
			t.Fatalf("%d after %d", s.at, all[n-1].at)
		}
		all = append(all, scheduled{s.at, s.id})
		s = s.take()
	}
	slices.SortFunc(all, byTime)
	return all
}

// TestScheduleVersions puts and takes at random, keeps every version, and finds each as it was when it was new.
func TestScheduleVersions(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0))
		type version struct {
			s    *schedule
			want []scheduled
		}
		versions := []version{{}}
		for i := range 200 {
			from := versions[len(versions)-1]
			if rng.IntN(4) == 0 { // any older one may be gone on from
				from = versions[rng.IntN(len(versions))]
			}
			next := version{from.s, slices.Clone(from.want)}
			if from.s != nil && rng.IntN(3) == 0 {
				least := slices.MinFunc(from.want, func(a, b scheduled) int { return cmp.Compare(a.at, b.at) })
				if from.s.at != least.at || !from.s.dueBefore(least.at+1) || from.s.dueBefore(least.at) {
					t.Fatalf("seed %d: the earliest is %d, want %d", seed, from.s.at, least.at)
				}
				gone := slices.Index(from.want, scheduled{from.s.at, from.s.id})
				next.want = slices.Delete(next.want, gone, gone+1)
				next.s = from.s.take()
			} else {
				one := scheduled{at: rng.Int64N(50) - 25}
				binary.BigEndian.PutUint32(one.id[:], uint32(i))
				next.want = append(next.want, one)
				next.s = from.s.put(one.at, one.id)
			}
			versions = append(versions, next)
		}
		for i, v := range versions {
			slices.SortFunc(v.want, byTime)
			for range 2 {
				if got := drain(t, v.s); !slices.Equal(got, v.want) {
					t.Fatalf("seed %d, version %d: %d entries, want %d", seed, i, len(got), len(v.want))
				}
			}
		}
	}
}

// TestScheduleInOrders drains what was put in the orders that make heaps deep.
func TestScheduleInOrders(t *testing.T) {
	const size = 100_000
	for name, at := range map[string]func(i int64) int64{
		"ascending":  func(i int64) int64 { return i },
		"descending": func(i int64) int64 { return -i },
		"equal":      func(int64) int64 { return 5 },
		"zigzag":     func(i int64) int64 { return i * (1 - 2*(i%2)) },
	} {
		var s *schedule
		if s.dueBefore(1 << 62) {
			t.Error("an empty schedule is due")
		}
		for i := range int64(size) {
			s = s.put(at(i), RunID{})
		}
		if got := len(drain(t, s)); got != size {
			t.Errorf("%s: %d", name, got)
		}
	}
}
