package handler

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"

	prom "github.com/VictoriaMetrics/metrics"

	"github.com/hermesfake/hermesfake/engine"
)

// maxSeries bounds how many namespaces have series of their own; the others share one, whose name is
// no namespace's.
const (
	maxSeries       = 100
	otherNamespaces = "(others)"
)

// prometheus is the reply with the metrics in Prometheus's text format.
func (h *Handler) prometheus() *Reply {
	set := prom.NewSet()
	h.metrics.snapshot().describe(set)
	gauge(set, 1, `hermesfake_build_info{version=%q,hermes=%q}`, Version, upstreamVersion)
	h.describeNamespaces(set)
	var text bytes.Buffer
	set.WritePrometheus(&text)
	return &Reply{Status: http.StatusOK, Body: text.Bytes(), contentType: "text/plain; version=0.0.4; charset=utf-8"}
}

// The names are made of constants and of names of namespaces, so none is refused.

func counter(set *prom.Set, value int, format string, labels ...any) {
	set.GetOrCreateCounter(fmt.Sprintf(format, labels...)).Set(uint64(value))
}

func gauge(set *prom.Set, value int, format string, labels ...any) {
	set.GetOrCreateGauge(fmt.Sprintf(format, labels...), nil).Set(float64(value))
}

func (m *metrics) describe(set *prom.Set) {
	for o, n := range m.outcomes {
		label := o.operation
		if label == "" {
			label = "none"
		}
		counter(set, n, `hermesfake_requests_total{operation=%q,status="%d"}`, label, o.status)
		duration := fmt.Sprintf(`hermesfake_request_duration_seconds_total{operation=%q}`, label)
		set.GetOrCreateFloatCounter(duration).Set(m.durations[place(o.operation)].Seconds())
	}
	counter(set, m.unmatched, "hermesfake_unmatched_requests_total")
	counter(set, m.faults, "hermesfake_faults_total")
}

// sizes are what a namespace has a gauge of.
type sizes struct {
	engine.Counts
	entries, dropped int
}

// describeNamespaces describes those that a request has named, in alphabetical order.
func (h *Handler) describeNamespaces(set *prom.Set) {
	h.mu.RLock()
	spaces := maps.Clone(h.spaces)
	h.mu.RUnlock()
	gauge(set, len(h.engine.Namespaces()), "hermesfake_namespaces")
	var others sizes
	for i, name := range slices.Sorted(maps.Keys(spaces)) {
		now := spaces[name].sizes()
		if i < maxSeries {
			now.describe(set, name)
			continue
		}
		others.Cached += now.Cached
		others.Durable += now.Durable
		others.Active += now.Active
		others.Streams += now.Streams
		others.entries += now.entries
		others.dropped += now.dropped
	}
	if len(spaces) > maxSeries {
		others.describe(set, otherNamespaces)
	}
}

func (s *space) sizes() sizes {
	now := sizes{Counts: s.engine.Counts()}
	now.entries, now.dropped = s.journal.sizes()
	return now
}

func (s *sizes) describe(set *prom.Set, namespace string) {
	for _, g := range [...]struct {
		name  string
		value int
	}{
		{"runs_cached", s.Cached},
		{"runs_active", s.Active},
		{"rows", s.Durable},
		{"event_streams", s.Streams},
		{"journal_entries", s.entries},
		{"journal_dropped", s.dropped},
	} {
		gauge(set, g.value, `hermesfake_%s{namespace=%q}`, g.name, namespace)
	}
}
