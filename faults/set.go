package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/hermesfake/hermesfake/handler"
)

// maxRules bounds how many rules a Set keeps. Beyond, those that are used up
// are forgotten, the oldest first.
const maxRules = 1000

// Set holds the rules of a fake, for all of its namespaces. It is the
// handler's middleware. Its methods may be called from any goroutine. Use New.
type Set struct {
	seed uint64
	live atomic.Pointer[[]*entry] // the rules that are not used up; nil if there are none

	mu      sync.Mutex
	entries []*entry // in order; guarded by mu, as is all that follows
	added   uint64
	waits   map[chan struct{}]struct{}
	closed  bool
}

// entry is a rule in use. But for the rule and its number, Set.mu guards it.
type entry struct {
	rule   Rule
	number uint64
	hits   int
	left   int // -1: no bound
	draws  map[string]*rand.Rand
}

// New returns an empty set that draws from the seed.
func New(seed uint64) *Set {
	return &Set{seed: seed, waits: map[chan struct{}]struct{}{}}
}

// Injected is a rule that was added, and what it has done so far.
type Injected struct {
	Rule
	// Hits is how many requests it was for.
	Hits int
	// Remaining is how many more it is for, -1 if there is no bound.
	Remaining int
}

// Add adds rules behind those that are there, all or none, and returns them as they are
// kept. Those without a namespace get the given one. An error wraps ErrRule.
func (s *Set) Add(namespace string, rules ...Rule) ([]Injected, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, number := slices.Clone(s.entries), s.added
	var added []Injected
	for _, r := range rules {
		if err := r.Validate(); err != nil {
			return nil, err
		}
		number++
		if r.Namespace == "" {
			r.Namespace = namespace
		}
		r.Header = canonical(r.Header)
		if r.ID == "" {
			r.ID = freeID(entries, number)
		}
		i := slices.IndexFunc(entries, func(e *entry) bool { return e.rule.ID == r.ID })
		if i >= 0 {
			if entries[i].left != 0 {
				return nil, fmt.Errorf("%w: id %q is that of another rule; remove that first", ErrRule, r.ID)
			}
			entries = slices.Delete(entries, i, i+1)
		}
		if len(entries) == maxRules {
			used := slices.IndexFunc(entries, func(e *entry) bool { return e.left == 0 })
			if used < 0 {
				return nil, fmt.Errorf("%w: there are %d rules already; remove some", ErrRule, maxRules)
			}
			entries = slices.Delete(entries, used, used+1)
		}
		e := &entry{rule: r, number: number, left: r.Count, draws: map[string]*rand.Rand{}}
		if r.Count == 0 {
			e.left = -1
		}
		entries = append(entries, e)
		added = append(added, e.injected())
	}
	s.entries, s.added = entries, number
	s.publish()
	return added, nil
}

func canonical(h http.Header) http.Header {
	if h == nil {
		return nil
	}
	c := make(http.Header, len(h))
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		c[name] = append(c[name], values...)
	}
	return c
}

func freeID(entries []*entry, number uint64) string {
	for ; ; number++ {
		id := "fault-" + strconv.FormatUint(number, 10)
		if !slices.ContainsFunc(entries, func(e *entry) bool { return e.rule.ID == id }) {
			return id
		}
	}
}

// Remove removes the rule with the id, and reports whether there was one.
func (s *Set) Remove(id string) bool {
	return s.remove(func(r *Rule) bool { return r.ID == id }) > 0
}

// Clear removes the rules of the namespace, all of them if it is AllNamespaces, and returns
// how many those were.
func (s *Set) Clear(namespace string) int {
	return s.remove(func(r *Rule) bool { return namespace == AllNamespaces || r.Namespace == namespace })
}

func (s *Set) remove(which func(*Rule) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []*entry
	for _, e := range s.entries {
		if which(&e.rule) {
			// A request may be under way that has met the rule.
			e.left = 0
		} else {
			kept = append(kept, e)
		}
	}
	removed := len(s.entries) - len(kept)
	s.entries = kept
	s.publish()
	return removed
}

// List returns the rules that requests of the namespace may meet, those that are used up
// included, in order; with AllNamespaces all rules.
func (s *Set) List(namespace string) []Injected {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Injected{}
	for _, e := range s.entries {
		if namespace == AllNamespaces || e.rule.Namespace == AllNamespaces || e.rule.Namespace == namespace {
			list = append(list, e.injected())
		}
	}
	return list
}

func (e *entry) injected() Injected {
	i := Injected{e.rule, e.hits, e.left}
	i.Header = i.Header.Clone()
	return i
}

// publish renews what requests look at. The caller holds mu.
func (s *Set) publish() {
	var live []*entry
	for _, e := range s.entries {
		if e.left != 0 {
			live = append(live, e)
		}
	}
	if live == nil {
		s.live.Store(nil)
		return
	}
	s.live.Store(&live)
}

// Idle reports that there is no rule that is not used up.
func (s *Set) Idle() bool { return s.live.Load() == nil }

// match calls each with the rules that the call meets, until it returns false. Whoever is
// called holds mu.
func (s *Set) match(c *handler.Call, each func(*entry) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.left != 0 && e.rule.matches(c) && s.draw(e, c.Namespace()) && !each(e) {
			return
		}
	}
}

// draw decides by the rule's rate. Every rule draws from a sequence of its own
// in each namespace, so that neither other rules nor tests in other namespaces shift it. The caller holds mu.
func (s *Set) draw(e *entry, namespace string) bool {
	r := e.draws[namespace]
	if r == nil {
		r = rand.New(rand.NewPCG(s.seed, xxhash.Sum64String(strconv.FormatUint(e.number, 10)+" "+namespace)))
		e.draws[namespace] = r
	}
	drawn := r.Float64()
	return e.rule.Rate == 0 || drawn < e.rule.Rate
}

// take uses the rule for one request, unless it is used up. The caller holds mu.
func (s *Set) take(e *entry) bool {
	if e.left == 0 {
		return false
	}
	e.hits++
	if e.left > 0 {
		e.left--
		if e.left == 0 {
			s.publish()
		}
	}
	return true
}
