package handler

import (
	"net/http"
	"slices"
	"sync"
)

// Unmatched is a method and path that no route took, and how often it was asked for.
type Unmatched struct {
	Method string
	Host   string // where a request in process was refused because of its host, else ""
	Path   string // escaped, without the query
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
func (u *unmatched) add(method, host, path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range u.list {
		if u.list[i].Method == method && u.list[i].Host == host && u.list[i].Path == path {
			u.list[i].Count++
			return
		}
	}
	if len(u.list) == maxUnmatched {
		last := &u.list[maxUnmatched-1]
		last.Method, last.Host, last.Path = "*", "", "..."
		last.Count++
		return
	}
	u.list = append(u.list, Unmatched{method, host, path, 1})
}

// RefuseHost adds a request to those that no route took, because it goes to a
// host that is not the fake's.
func (h *Handler) RefuseHost(r *http.Request) {
	method := cutMethod(r)
	if method == "" {
		method = http.MethodGet
	}
	h.unmatched.add(method, r.URL.Host, cutPath(r.URL.EscapedPath()))
}

// Unmatched returns the requests of all namespaces that no route took.
func (h *Handler) Unmatched() []Unmatched {
	h.unmatched.mu.Lock()
	defer h.unmatched.mu.Unlock()
	return slices.Clone(h.unmatched.list)
}

func (u *unmatched) clear() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = nil
}
