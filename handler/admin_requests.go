package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// entryJSON is a journal entry on the wire.
type entryJSON struct {
	At          int64               `json:"at"`
	Service     string              `json:"service"`
	Namespace   string              `json:"namespace"`
	Operation   Operation           `json:"operationId,omitempty"`
	Method      string              `json:"method"`
	Path        string              `json:"path"`
	Status      int                 `json:"status"`
	Duration    float64             `json:"durationMs"`
	Unmatched   bool                `json:"unmatched"`
	FaultID     string              `json:"faultId,omitempty"`
	IDs         map[string]string   `json:"ids"`
	Accepted    bool                `json:"accepted,omitempty"`
	Checkpoint  engine.CheckpointID `json:"checkpoint,omitempty"`
	ContentType *string             `json:"contentType,omitempty"`
	BodyBytes   *int64              `json:"bodyBytes,omitempty"`
}

func (e *Entry) json() entryJSON {
	j := entryJSON{
		At: e.At.UnixMilli(), Service: "hermes", Namespace: e.Namespace, Operation: e.Operation,
		Method: e.Method, Path: e.Path, Status: e.Status, Duration: float64(e.Duration) / 1e6,
		Unmatched: e.Unmatched, FaultID: e.FaultID, IDs: map[string]string{}, Accepted: e.Accepted,
		Checkpoint: e.Checkpoint,
	}
	if e.RunID != "" {
		j.IDs["runId"] = e.RunID
	}
	if e.own {
		j.ContentType, j.BodyBytes = &e.ContentType, &e.BodyBytes
	}
	return j
}

// How long a wait for requests takes at most.
const (
	defaultWait = 10 * time.Second
	maxWait     = 10 * time.Minute
)

// journalQuery is what a request to the journal asks for. A nil part is not asked for.
type journalQuery struct {
	operation           Operation
	status, since       *int64
	limit, wait, within *int64 // none is negative
}

func (c *adminCall) journalQuery() (q journalQuery, err error) {
	q.operation = Operation(c.query.Get("operationId"))
	if err := q.operation.check(); err != nil {
		return q, fmt.Errorf("operationId must be one of %s", operationNames())
	}
	for _, n := range [...]struct {
		name     string
		into     **int64
		positive bool
	}{
		{"status", &q.status, false}, {"since", &q.since, false},
		{"limit", &q.limit, true}, {"wait", &q.wait, true}, {"timeoutMs", &q.within, true},
	} {
		text := c.query.Get(n.name)
		if text == "" {
			continue
		}
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n.positive && value < 0 {
			return q, errors.New("status, since, limit, wait and timeoutMs must be whole numbers, of which only status and since may be negative")
		}
		*n.into = &value
	}
	switch {
	case q.wait == nil && q.within != nil:
		return q, errors.New("timeoutMs needs wait")
	case q.within != nil && *q.within > maxWait.Milliseconds():
		return q, fmt.Errorf("timeoutMs must be at most %d", maxWait.Milliseconds())
	case q.wait != nil && (q.status != nil || q.since != nil):
		return q, errors.New("wait goes with operationId, timeoutMs and limit alone")
	case q.wait != nil && *q.wait > 1<<31:
		return q, errors.New("wait is too large")
	}
	return q, nil
}

func (q *journalQuery) wants(e *Entry) bool {
	return (q.operation == "" || e.Operation == q.operation) &&
		(q.status == nil || int64(e.Status) == *q.status) &&
		(q.since == nil || e.At.UnixMilli() >= *q.since)
}

func (h *Handler) adminRequests(c *adminCall) *Reply {
	q, err := c.journalQuery()
	if err != nil {
		return adminError(http.StatusBadRequest, "requests: "+err.Error())
	}
	if q.wait != nil {
		if reply := c.awaitRequests(&q); reply != nil {
			return reply
		}
	}
	entries, dropped := c.space.journal.entries()
	requests := []entryJSON{}
	for i := range entries {
		if q.wants(&entries[i]) {
			requests = append(requests, entries[i].json())
		}
	}
	if q.limit != nil {
		requests = requests[max(0, len(requests)-int(min(*q.limit, int64(len(requests))))):]
	}
	return adminJSON(http.StatusOK, map[string]any{"requests": requests, "dropped": dropped})
}

// awaitRequests waits for the requests that q asks for. A reply is that to a wait in vain.
func (c *adminCall) awaitRequests(q *journalQuery) *Reply {
	within := defaultWait
	if q.within != nil {
		within = time.Duration(*q.within) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(c.request.Context(), within)
	defer cancel()
	err := c.space.await(ctx, q.operation, int(*q.wait))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, engine.Closed):
		return adminError(http.StatusServiceUnavailable, err.Error())
	}
	return adminError(http.StatusGatewayTimeout, err.Error())
}

func (h *Handler) adminClearRequests(c *adminCall) *Reply {
	c.space.journal.clear()
	return adminJSON(http.StatusOK, map[string]any{"status": "ok"})
}
