package handler

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/hermesfake/hermesfake/engine"
)

// Bounds of what the state shows of a namespace's runs, the latest ones.
const (
	defaultStateRuns = 100
	maxStateRuns     = 1000
	maxStateBytes    = 4 << 20 // of status objects; the latest one is shown however large it is
)

// scopeJSON is a scope as it may be shown: an identity that is a key is null.
type scopeJSON struct {
	Profile  string  `json:"profile"`
	Identity *string `json:"identity"`
}

// Identity returns the identity of a scope, unless that may not be shown: it is an API key where requests have to bring one.
func (h *Handler) Identity(s *engine.Scope) (identity string, ok bool) {
	identity = s.Identity()
	for i := range h.profiles {
		if k := h.profiles[i].key; k.set && k.is(identity) {
			return "", false
		}
	}
	return identity, true
}

func (h *Handler) scopeJSON(s *engine.Scope) scopeJSON {
	j := scopeJSON{Profile: s.Profile()}
	if identity, ok := h.Identity(s); ok {
		j.Identity = &identity
	}
	return j
}

func stateLimit(text string) (int, error) {
	if text == "" {
		return defaultStateRuns, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxStateRuns {
		return 0, errors.New("state: limit must be a whole number from 0 to " + strconv.Itoa(maxStateRuns))
	}
	return n, nil
}

// adminState shows the namespace: its sizes, and what its latest runs were last observed to be, in the provider's
// bytes. Looking changes nothing.
func (h *Handler) adminState(c *adminCall) *Reply {
	limit, err := stateLimit(c.query.Get("limit"))
	if err != nil {
		return adminError(http.StatusBadRequest, err.Error())
	}
	n := c.space.engine
	latest, total := n.Latest(limit)
	runs, rows := listRuns(latest)
	counts, gateway := n.Counts(), n.Gateway()
	body := []byte{'{'}
	member := func(name string, v any) {
		text, ok := v.([]byte)
		if !ok {
			text, _ = json.Marshal(v)
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(append(append(append(body, '"'), name...), `":`...), text...)
	}
	member("service", "hermes")
	member("namespace", n.Name())
	member("clock", clockJSON(n.Clock()))
	member("nextSweep", milliseconds(n.NextSweep().UnixNano()))
	member("scope", h.scopeJSON(n.Scope()))
	member("capacity", map[string]any{"active": counts.Active, "max_concurrent_runs": gateway.MaxConcurrentRuns,
		"draining": gateway.Draining})
	member("counts", map[string]int{"admitted": counts.Admitted, "cached": counts.Cached, "rows": counts.Durable,
		"active": counts.Active, "streams": counts.Streams})
	var owners any
	if owner, restarted := n.LastRestart(); restarted {
		owners = owner.String()
	}
	member("owners", owners)
	t := n.Timeline()
	member("timeline", map[string]any{"branch": t.Branch, "head": orNull(t.Head), "checkpoints": t.Checkpoints, "dropped": t.Dropped})
	member("runs", joined(runs))
	member("rows", joined(rows))
	member("omitted", total-len(runs))
	return &Reply{Status: http.StatusOK, Body: append(body, '}'), contentType: "application/json"}
}

// listRuns renders the status objects of runs and their rows, of as many of the latest as there is room for.
func listRuns(latest []engine.Inspection) (runs, rows [][]byte) {
	size := 0
	for _, in := range slices.Backward(latest) {
		run := in.Run.AppendJSON(nil)
		if size += len(run); size > maxStateBytes && runs != nil {
			break
		}
		runs = append(runs, run)
		if in.Row == nil {
			continue
		}
		row, _ := json.Marshal(map[string]any{"run_id": in.Run.ID().String(), "status": in.Row.Status.String(),
			"updated_at": milliseconds(in.Row.UpdatedAt.UnixNano()), "cached": in.Cached})
		rows = append(rows, row)
	}
	slices.Reverse(runs)
	slices.Reverse(rows)
	return runs, rows
}

// joined is a JSON array.
func joined(items [][]byte) []byte {
	array := []byte{'['}
	for i, item := range items {
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, item...)
	}
	return append(array, ']')
}
