package hermesfake

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermesfake/hermesfake/handler"
)

// Request is what the journal keeps of a request: what it was and how it
// ended, and nothing that the client wrote into it but the path.
type Request = handler.Entry

// Operation is the name of a provider route.
type Operation = handler.Operation

// The operations.
const (
	RunCreate    = handler.RunCreate
	RunGet       = handler.RunGet
	RunStop      = handler.RunStop
	RunEvents    = handler.RunEvents
	RunApproval  = handler.RunApproval
	RunSteer     = handler.RunSteer
	Models       = handler.Models
	Capabilities = handler.Capabilities
	Health       = handler.Health
)

// Requests are requests in order of arrival.
type Requests []Request

// Requests returns the requests to provider routes that the namespace got,
// as far as its journal reaches back; DroppedRequests tells how many came before.
// A request is there as soon as its reply is ready, before the client has it.
func (f *Fake) Requests() Requests {
	entries, _, _ := f.handler.Entries(f.namespace.Name())
	return entries
}

// Metrics are counts of the requests to provider routes.
type Metrics = handler.Metrics

// Metrics returns the counts of the requests of all namespaces.
func (f *Fake) Metrics() Metrics { return f.handler.Metrics() }

// DroppedRequests is how many requests fell out of the namespace's journal, the oldest first,
// because of its size; see WithJournalSize.
func (f *Fake) DroppedRequests() int {
	_, dropped, _ := f.handler.Entries(f.namespace.Name())
	return dropped
}

// ClearRequests empties the namespace's journal, and WaitRequests counts from 0 again.
func (f *Fake) ClearRequests() { f.handler.ClearEntries(f.namespace.Name()) }

// WaitRequests waits until the namespace got n requests for an operation, or n of any if it is "", and
// returns those that the journal has. It counts since the journal began or was cleared, those too
// that fell out, so it misses none, however late it is called. Its error says how many came, and
// wraps the context's, Closed, or ErrOperation.
func (f *Fake) WaitRequests(ctx context.Context, o Operation, n int) (Requests, error) {
	err := f.handler.AwaitEntries(ctx, f.namespace.Name(), o, n)
	if err != nil {
		return nil, fmt.Errorf("hermesfake: %w", err)
	}
	if o == "" {
		return f.Requests(), nil
	}
	return f.Requests().ByOperation(o), nil
}

// ByOperation returns those for an operation; with "" those that no route took, or one of
// the provider's that hermesfake does not serve, 501.
func (r Requests) ByOperation(o Operation) Requests {
	return r.where(func(q *Request) bool { return q.Operation == o })
}

// CountByOperation counts those for an operation.
func (r Requests) CountByOperation(o Operation) int { return len(r.ByOperation(o)) }

// ByRun returns those about the run with the id: its submission, replays of it, and all whose path
// names it, also where it was not found.
func (r Requests) ByRun(id string) Requests {
	return r.where(func(q *Request) bool {
		rest, named := strings.CutPrefix(q.Path, "/v1/runs/"+id)
		return q.RunID == id || named && id != "" && (rest == "" || rest[0] == '/')
	})
}

// ByStatus returns those that were answered with the status, 0 for those whose reply was lost.
func (r Requests) ByStatus(status int) Requests {
	return r.where(func(q *Request) bool { return q.Status == status })
}

func (r Requests) where(want func(*Request) bool) Requests {
	var those Requests
	for i := range r {
		if want(&r[i]) {
			those = append(those, r[i])
		}
	}
	return those
}

// Last returns the latest one, or the zero Request if there is none.
func (r Requests) Last() Request {
	if len(r) == 0 {
		return Request{}
	}
	return r[len(r)-1]
}
