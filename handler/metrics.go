package handler

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// metrics counts the requests to provider routes of all namespaces. What it tells them apart by are
// operations and statuses, of which there are few.
type metrics struct {
	mu        sync.Mutex
	outcomes  map[outcome]int
	durations [len(operations) + 1]time.Duration // by the operation's place
	requests  int
	unmatched int
	faults    int
}

// outcome is an operation, "" for none, and how it ended.
type outcome struct {
	operation Operation
	status    int
}

func (m *metrics) add(e *Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	m.durations[place(e.Operation)] += e.Duration
	if e.FaultID != "" {
		m.faults++
	}
	if e.Unmatched {
		m.unmatched++
	}
	if m.outcomes == nil {
		m.outcomes = map[outcome]int{}
	}
	m.outcomes[outcome{e.Operation, e.Status}]++
}

func (m *metrics) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests, m.outcomes, m.faults, m.unmatched = 0, nil, 0, 0
	clear(m.durations[:])
}

// snapshot is a copy of what is counted.
func (m *metrics) snapshot() *metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &metrics{outcomes: maps.Clone(m.outcomes), durations: m.durations, requests: m.requests,
		unmatched: m.unmatched, faults: m.faults}
}

// Metrics are counts of the requests to provider routes, of all namespaces, since the beginning or
// since they were cleared.
type Metrics struct {
	Requests      int
	ByOperation   map[string]int // by operation and status, such as "RunCreate 202"; status 0: the reply was lost
	Unmatched     []Unmatched    // that no route took
	Faults        int            // requests that met a fault
	TotalDuration time.Duration  // until their replies' heads were ready
}

// Metrics returns the counts.
func (h *Handler) Metrics() Metrics {
	s := h.metrics.snapshot()
	m := Metrics{Requests: s.requests, ByOperation: map[string]int{}, Faults: s.faults}
	for o, n := range s.outcomes {
		if o.operation != "" {
			m.ByOperation[string(o.operation)+" "+strconv.Itoa(o.status)] = n
		}
	}
	for _, d := range s.durations {
		m.TotalDuration += d
	}
	m.Unmatched = slices.DeleteFunc(h.Unmatched(), func(u Unmatched) bool { return u.Host != "" })
	return m
}

type unmatchedJSON struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Count  int    `json:"count"`
}

func (h *Handler) adminMetrics(c *adminCall) *Reply {
	switch c.query.Get("format") {
	case "", "json":
	case "prometheus":
		return h.prometheus()
	default:
		return adminError(http.StatusBadRequest, "metrics: format must be json or prometheus")
	}
	m := h.Metrics()
	unmatched := []unmatchedJSON{}
	for _, u := range m.Unmatched {
		unmatched = append(unmatched, unmatchedJSON{u.Method, u.Path, u.Count})
	}
	return adminJSON(http.StatusOK, map[string]any{
		"requests": m.Requests, "byOperation": m.ByOperation, "unmatched": unmatched,
		"faults": m.Faults, "totalDurationMs": float64(m.TotalDuration) / 1e6,
	})
}

func (h *Handler) adminClearMetrics(*adminCall) *Reply {
	h.metrics.clear()
	h.unmatched.clear()
	return adminJSON(http.StatusOK, map[string]any{"status": "ok"})
}
