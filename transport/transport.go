// Package transport answers HTTP requests in process: an http.RoundTripper in
// front of a handler, without a connection, a port or a recorder between the two.
package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/jarcoal/httpmock"

	"github.com/hermesfake/hermesfake/handler"
)

// ErrInvalidRequest is wrapped by the error for a request that no client would send.
var ErrInvalidRequest = errors.New("invalid request")

// Responder answers a request with a reply value.
type Responder interface {
	Respond(*http.Request) (*handler.Reply, error)
}

// Options of a Transport. The zero value of a field stands for none.
type Options struct {
	// Hosts are those that the responder answers for, each a name as in a URL, with or
	// without port.
	Hosts []string
	// Bases are URLs below which it answers too; their path is cut from that of requests.
	Bases []*url.URL
	// Stubs returns what is asked before the responder, and for other hosts, or nil.
	Stubs func() *httpmock.MockTransport
	// Fallback gets the requests to other hosts that no stub answers.
	Fallback http.RoundTripper
	// Refused is told of the requests that nobody answers.
	Refused func(*http.Request)
}

// Transport is an http.RoundTripper. Use New or NewWith.
type Transport struct {
	responder Responder
	hosts     []string
	bases     []*url.URL
	stubs     func() *httpmock.MockTransport
	fallback  http.RoundTripper
	refused   func(*http.Request)
}

// New returns a transport that answers requests to the given hosts, named
// without port, and refuses all others.
func New(r Responder, hosts ...string) *Transport {
	return NewWith(r, Options{Hosts: hosts})
}

// NewWith returns a transport with options.
func NewWith(r Responder, o Options) *Transport {
	return &Transport{r, o.Hosts, o.Bases, o.Stubs, o.Fallback, o.Refused}
}

// RoundTrip answers the request in process. Like a connection, it refuses what
// cannot be sent, honours the request's context, reads the body once and
// closes it, and leaves the request as it is. A request that is not for the
// responder, and that neither a stub nor the fallback takes, is an error that wraps
// ErrUnknownHost, never a network call.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL == nil {
		closeBody(r)
		return nil, fmt.Errorf("hermesfake: %w: nil URL", ErrInvalidRequest)
	}
	located, ours := t.locate(r)
	var stubs *httpmock.MockTransport
	if t.stubs != nil {
		stubs = t.stubs()
	}
	if ours && stubs == nil {
		return t.answer(r, located)
	}
	return t.detour(r, stubs)
}

// detour answers a request that is not for the responder alone.
func (t *Transport) detour(r *http.Request, stubs *httpmock.MockTransport) (*http.Response, error) {
	next := r
	var known []string
	if stubs != nil {
		res, read, answered, err := ask(stubs, r)
		if answered || read != r {
			closeBody(r)
		}
		if answered {
			return res, err
		}
		next, known = read, stubs.Responders()
	}
	if located, ours := t.locate(next); ours {
		return t.answer(r, located)
	}
	if t.fallback != nil {
		// It closes the body, be it after it has returned.
		return t.fallback.RoundTrip(next)
	}
	closeBody(next)
	return nil, t.refuse(r, known)
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// answer has the responder answer the request r, which was located, and closes the body.
func (t *Transport) answer(r, located *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if located.Body != nil && ctx.Done() != nil {
		body := &upload{ReadCloser: located.Body}
		defer body.end(ctx)()
		with := *located
		with.Body = body
		located = &with
	} else {
		defer closeBody(located)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(r); err != nil {
		return nil, err
	}
	if located.Method == "" {
		with := *located
		with.Method = http.MethodGet
		located = &with
	}
	reply, err := t.responder.Respond(located)
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		if reply.Stream != nil {
			reply.Stream.Leave()
		}
		return nil, err
	}
	if reply.Loss != handler.NotLost {
		return nil, connectionError(reply.Loss, r.URL)
	}
	return response(r, reply), nil
}

func check(r *http.Request) error {
	if !validToken(r.Method) && r.Method != "" {
		return fmt.Errorf("hermesfake: %w: method %q", ErrInvalidRequest, r.Method)
	}
	for name, values := range r.Header {
		if !validToken(name) {
			return fmt.Errorf("hermesfake: %w: header field name %q", ErrInvalidRequest, name)
		}
		for _, v := range values {
			if !validValue(v) {
				return fmt.Errorf("hermesfake: %w: header field value for %q", ErrInvalidRequest, name)
			}
		}
	}
	return nil
}

// tokenBytes are those that a token of RFC 9110 may have.
var tokenBytes = func() (ok [256]bool) {
	for c := '!'; c <= '~'; c++ {
		ok[c] = !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	}
	return ok
}()

// validToken reports whether s is a token of RFC 9110.
func validToken(s string) bool {
	for i := range len(s) {
		if !tokenBytes[s[i]] {
			return false
		}
	}
	return s != ""
}

// validValue reports whether a client would send s: no control character but tab.
func validValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// exchange is a response and its body in one piece of memory.
type exchange struct {
	response http.Response
	body     body
}

func response(r *http.Request, reply *handler.Reply) *http.Response {
	x := &exchange{response: http.Response{
		Status:        statusLine(reply.Status),
		StatusCode:    reply.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        reply.Header(),
		ContentLength: int64(len(reply.Body)),
		Request:       r,
	}}
	res := &x.response
	switch {
	case reply.Stream != nil:
		if reply.EventStream() {
			res.ContentLength = -1
			res.TransferEncoding = []string{"chunked"}
		}
		res.Body = openStream(r.Context(), reply.Stream)
	case reply.Head:
		res.Body = http.NoBody
		if reply.EventStream() {
			res.ContentLength = -1
		}
	default:
		x.body.bytes, x.body.ctx = reply.Body, r.Context()
		res.Body = &x.body
	}
	return res
}

func statusLine(status int) string {
	switch status {
	case http.StatusOK:
		return "200 OK"
	case http.StatusAccepted:
		return "202 Accepted"
	}
	text := http.StatusText(status)
	if text == "" {
		text = fmt.Sprintf("status code %d", status) // as net/http's server has it
	}
	return fmt.Sprintf("%d %s", status, text)
}

// errClosedBody is what a read after Close gets, in net/http's words.
var errClosedBody = errors.New("http: read on closed response body")

var _ io.ReadCloser = (*body)(nil)
