package engine

import (
	"container/heap"
	"math"
)

// alarm is when a subscriber's wait may be over, and its place among the
// namespace's alarms. Every open stream has one.
type alarm struct {
	at    int64
	turn  uint64
	place int // in alarms, from 1 on; 0 for none
}

// alarms is a heap of streams, the earliest alarm first.
type alarms []*Subscription

func (a alarms) next() int64 {
	if len(a) == 0 {
		return math.MaxInt64
	}
	return a[0].alarm.at
}

// put sets the alarm of s to the end of its wait.
func (a *alarms) put(s *Subscription) {
	s.alarm.at, s.alarm.turn = s.since+int64(keepAliveAfter), s.turn
	if s.alarm.place == 0 {
		heap.Push(a, s)
		return
	}
	heap.Fix(a, s.alarm.place-1)
}

func (a *alarms) remove(s *Subscription) {
	if s.alarm.place > 0 {
		heap.Remove(a, s.alarm.place-1)
	}
}

// clear removes every alarm.
func (a *alarms) clear() {
	for _, s := range *a {
		s.alarm.place = 0
	}
	*a = nil
}

// Len, Less, Swap, Push and Pop are for container/heap.

func (a alarms) Len() int { return len(a) }

func (a alarms) Less(i, j int) bool {
	x, y := a[i].alarm, a[j].alarm
	return x.at < y.at || x.at == y.at && x.turn < y.turn
}

func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].alarm.place, a[j].alarm.place = i+1, j+1
}

func (a *alarms) Push(x any) {
	s := x.(*Subscription)
	*a = append(*a, s)
	s.alarm.place = len(*a)
}

func (a *alarms) Pop() any {
	last := len(*a) - 1
	s := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	s.alarm.place = 0
	return s
}
