package handler

import (
	"slices"
	"sync"
)

// Unmatched is a method and path that no route took, and how often it was asked for.
type Unmatched struct {
	Method string
	Path   string
	Count  int
}

// maxUnmatched bounds how many different ones are told apart.
const maxUnmatched = 100

type unmatched struct {
	mu   sync.Mutex
	list []Unmatched
}

// add counts a request. Once the list is full, new ones count for the last entry,
// whose path is then "...".
func (u *unmatched) add(method, path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range u.list {
		if u.list[i].Method == method && u.list[i].Path == path {
			u.list[i].Count++
			return
		}
	}
	if len(u.list) == maxUnmatched {
		last := &u.list[maxUnmatched-1]
		last.Method, last.Path = "*", "..."
		last.Count++
		return
	}
	u.list = append(u.list, Unmatched{method, path, 1})
}

// Unmatched returns the requests of all namespaces that no route took.
func (h *Handler) Unmatched() []Unmatched {
	h.unmatched.mu.Lock()
	defer h.unmatched.mu.Unlock()
	return slices.Clone(h.unmatched.list)
}
