package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/jarcoal/httpmock"
)

// ask lets the stubs answer. If none does, answered is false, and the request
// returned is the one to go on with: the body of r was read, and may be read once more from it.
//
// A request that no stub answers is not counted by httpmock, whose counters
// keep each URL for ever.
func ask(stubs *httpmock.MockTransport, r *http.Request) (res *http.Response, next *http.Request, answered bool, err error) {
	if err := r.Context().Err(); err != nil {
		return nil, r, true, err
	}
	// Matchers read the body while httpmock holds a lock, and replace it, so
	// they get a copy that is in memory.
	asked := *r
	next = r
	if r.Body != nil && r.Body != http.NoBody {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, r, true, err
		}
		again := *r
		asked.Body = io.NopCloser(bytes.NewReader(content))
		again.Body = io.NopCloser(bytes.NewReader(content))
		next = &again
	}
	res, err = stubs.RoundTrip(&asked)
	if errors.Is(err, httpmock.NoResponderFound) {
		return nil, next, false, nil
	}
	if err == nil && res == nil {
		err = fmt.Errorf("hermesfake: the stub for %s %s returned neither a response nor an error", r.Method, bare(r.URL))
	}
	if err != nil {
		return nil, next, true, err
	}
	return complete(res, r), next, true, nil
}

// complete returns a stub's response with what a connection would have added.
// The response itself may be shared.
func complete(res *http.Response, r *http.Request) *http.Response {
	c := *res
	c.Request = r
	if c.Proto == "" {
		c.Proto, c.ProtoMajor, c.ProtoMinor = "HTTP/1.1", 1, 1
	}
	if c.Status == "" {
		c.Status = statusLine(c.StatusCode)
	}
	if c.Header == nil {
		c.Header = http.Header{}
	}
	if sized, ok := c.Body.(interface{ Len() int }); ok && c.ContentLength < 0 {
		c.ContentLength = int64(sized.Len())
	}
	if c.Body == nil || r.Method == http.MethodHead {
		if c.Body != nil {
			c.Body.Close()
		}
		c.Body = http.NoBody
		return &c
	}
	c.Body = &stubBody{ctx: r.Context(), ReadCloser: c.Body}
	return &c
}

// stubBody is the body of a stub's response, tied to the request's context.
type stubBody struct {
	io.ReadCloser
	ctx    context.Context
	closed atomic.Bool
}

func (b *stubBody) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errClosedBody
	}
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

func (b *stubBody) Close() error {
	b.closed.Store(true)
	return b.ReadCloser.Close()
}
