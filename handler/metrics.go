package handler

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// metrics counts the requests to provider routes of all namespaces. What it tells them apart by are
// operations and statuses, of which there are few.
type metrics struct {
	mu          sync.Mutex
	requests    int
	byOperation map[outcome]int
	faults      int
	duration    time.Duration
}

type outcome struct {
	operation Operation
	status    int
}

func (m *metrics) add(e *Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	m.duration += e.Duration
	if e.FaultID != "" {
		m.faults++
	}
	if e.Operation == "" {
		return
	}
	if m.byOperation == nil {
		m.byOperation = map[outcome]int{}
	}
	m.byOperation[outcome{e.Operation, e.Status}]++
}

func (m *metrics) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests, m.byOperation, m.faults, m.duration = 0, nil, 0, 0
}

type unmatchedJSON struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Count  int    `json:"count"`
}

func (h *Handler) adminMetrics(*adminCall) *Reply {
	unmatched := []unmatchedJSON{}
	for _, u := range h.Unmatched() {
		if u.Host == "" {
			unmatched = append(unmatched, unmatchedJSON{u.Method, u.Path, u.Count})
		}
	}
	m := &h.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	byOperation := map[string]int{}
	for o, n := range m.byOperation {
		byOperation[string(o.operation)+" "+strconv.Itoa(o.status)] = n
	}
	return adminJSON(http.StatusOK, map[string]any{
		"requests": m.requests, "byOperation": byOperation, "unmatched": unmatched,
		"faults": m.faults, "totalDurationMs": float64(m.duration) / 1e6,
	})
}

func (h *Handler) adminClearMetrics(*adminCall) *Reply {
	h.metrics.clear()
	h.unmatched.clear()
	return adminJSON(http.StatusOK, map[string]any{"status": "ok"})
}
