package handler

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// Call is a request to a provider path on its way to its operation.
type Call struct {
	request *http.Request
	space   *space
	profile *profile
	gateway *engine.Namespace // the namespace as the profile sees it
	origin  string            // of a browser's page that may read the reply
	path    string            // escaped, without namespace and profile
	route   route
	allow   string       // what the path takes, where that is not the request's method
	run     engine.RunID // the run that it is about
	known   bool         // whether there is such a run
	accept  bool         // it changed the state
	fault   string

	checkpoint engine.CheckpointID // after it changed the state
}

// Request is the request as it came. Its body belongs to the operation.
func (c *Call) Request() *http.Request { return c.request }

// Operation is the operation that the request is for; "" where no route takes it.
func (c *Call) Operation() Operation { return c.route.operation }

// Path is the escaped path without query and without the namespace and profile before it.
func (c *Call) Path() string { return c.path }

// Namespace is the name of the namespace that the request belongs to.
func (c *Call) Namespace() string { return c.space.engine.Name() }

// Accepted reports whether the operation has changed the state. It is false
// until the operation has answered.
func (c *Call) Accepted() bool { return c.accept }

// ReadAhead reads the request's body, which the operation then reads from
// memory. An error is one of reading it.
func (c *Call) ReadAhead() error {
	if c.request.Body == nil || c.request.ContentLength > maxBody {
		return nil
	}
	read, err := io.ReadAll(io.LimitReader(c.request.Body, maxBody+1))
	if err != nil {
		return err
	}
	with := *c.request
	with.Body = io.NopCloser(io.MultiReader(bytes.NewReader(read), c.request.Body))
	c.request = &with
	return nil
}

// Sleep waits for d on the namespace's clock. It returns the context's error,
// or engine.Closed.
func (c *Call) Sleep(ctx context.Context, d time.Duration) error {
	return c.space.engine.Sleep(ctx, nil, d)
}

// SetFault names the fault that the request met, for the journal.
func (c *Call) SetFault(id string) { c.fault = id }

// Responder answers a call. An error is one of reading the request's body, and
// there is no reply.
type Responder func(*Call) (*Reply, error)

// Middleware stands between the requests to provider paths and their
// operations, and inside the journal. The control plane is out of its reach.
type Middleware interface {
	// Idle reports that requests may go past it for now.
	Idle() bool
	// Respond answers a call by way of the operation, or in its place.
	Respond(c *Call, operation Responder) (*Reply, error)
}

// through answers a call by way of the middleware. It works on a copy, so that
// calls stay off the heap where none is in the way.
func (h *Handler) through(c *Call) (*Reply, error) {
	kept := *c
	reply, err := h.middleware.Respond(&kept, h.operate)
	*c = kept
	return reply, err
}
