package hermesfake

import "github.com/hermesfake/hermesfake/handler"

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
// as far as its journal reaches back.
func (f *Fake) Requests() Requests {
	entries, _, _ := f.handler.Entries(f.namespace.Name())
	return entries
}

// ByOperation returns those of an operation.
func (r Requests) ByOperation(o Operation) Requests {
	var of Requests
	for _, q := range r {
		if q.Operation == o {
			of = append(of, q)
		}
	}
	return of
}

// CountByOperation counts those of an operation.
func (r Requests) CountByOperation(o Operation) int { return len(r.ByOperation(o)) }

// Last returns the latest one, or the zero Request if there is none.
func (r Requests) Last() Request {
	if len(r) == 0 {
		return Request{}
	}
	return r[len(r)-1]
}
