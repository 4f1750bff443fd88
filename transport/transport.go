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

	"github.com/hermesfake/hermesfake/handler"
)

// ErrUnknownHost is wrapped by the error for a request to a host that is not
// the fake's. The request went nowhere.
var ErrUnknownHost = errors.New("unknown host")

// ErrInvalidRequest is wrapped by the error for a request that no client would send.
var ErrInvalidRequest = errors.New("invalid request")

// Responder answers a request with a reply value.
type Responder interface {
	Respond(*http.Request) (*handler.Reply, error)
}

// Transport is an http.RoundTripper. Use New.
type Transport struct {
	responder Responder
	hosts     []string
}

// New returns a transport that answers requests to the given hosts, named
// without port, and refuses all others.
func New(r Responder, hosts ...string) *Transport {
	return &Transport{r, hosts}
}

// RoundTrip answers the request in process. Like a connection, it refuses what
// cannot be sent, honours the request's context, reads the body once and
// closes it, and leaves the request as it is.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := t.check(r); err != nil {
		return nil, err
	}
	reply, err := t.responder.Respond(r)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		if reply.Stream != nil {
			reply.Stream.Leave()
		}
		return nil, err
	}
	return response(r, reply), nil
}

func (t *Transport) check(r *http.Request) error {
	if r.URL == nil {
		return fmt.Errorf("hermesfake: %w: nil URL", ErrInvalidRequest)
	}
	if !t.claims(r.URL) {
		return fmt.Errorf("hermesfake: %w: %s %s goes to %q, and this fake answers for %s only",
			ErrUnknownHost, r.Method, r.URL.Redacted(), r.URL.Host, strings.Join(t.hosts, ", "))
	}
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

func (t *Transport) claims(u *url.URL) bool {
	if u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	host := u.Host
	for _, h := range t.hosts {
		if host == h {
			return true
		}
	}
	host = u.Hostname()
	for _, h := range t.hosts {
		if strings.EqualFold(host, h) {
			return true
		}
	}
	return false
}

// validToken reports whether s is a token of RFC 9110.
func validToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
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
		res.ContentLength = -1
		res.TransferEncoding = []string{"chunked"}
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
	return fmt.Sprintf("%d %s", status, http.StatusText(status))
}

// errClosedBody is what a read after Close gets, in net/http's words.
var errClosedBody = errors.New("http: read on closed response body")

var _ io.ReadCloser = (*body)(nil)
