package handler

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// fromPage marks the context of a request that the page sends as a client. Whoever may use
// the page needs no API key beside.
type fromPage struct{}

// maxSent bounds what the page is shown of a reply, in bytes.
const maxSent = 64 << 10

// sentJSON is the reply to a request that the page sent as a client.
type sentJSON struct {
	Status   int               `json:"status"`
	Text     string            `json:"text"`
	Header   map[string]string `json:"header"`
	Body     string            `json:"body"`
	BodySize int               `json:"bytes"`
	Lost     string            `json:"lost,omitempty"`
}

// pageSend sends a request to a provider route, as a client would: it meets faults and is in the
// journal. A browser cannot do that by itself, because the provider refuses the origin of a page.
func (h *Handler) pageSend(c *adminCall) *Reply {
	a := c.arguments("send")
	method, _ := a.text("method")
	path, _ := a.text("path")
	body, _ := a.text("body")
	r := &http.Request{Method: method, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: c.request.Host,
		Header: http.Header{}, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
	for _, from := range [...][2]string{
		{"idempotency_key", "Idempotency-Key"}, {"session_key", "X-Hermes-Session-Key"}, {"content_type", "Content-Type"},
		{"supplied_input", SuppliedInputHeader},
	} {
		if v, ok := a.text(from[0]); ok {
			if strings.ContainsFunc(v, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				a.fail(from[0], "must be the value of a header field, without control characters")
			}
			r.Header.Set(from[1], strings.Trim(v, " \t"))
		}
	}
	if method != http.MethodGet && method != http.MethodPost {
		a.fail("method", "must be GET or POST")
	}
	at, err := url.ParseRequestURI(path)
	if err != nil || !strings.HasPrefix(path, "/v1/") {
		a.fail("path", "must be that of a route of the provider, such as /v1/runs")
	}
	if err := a.done(); err != nil {
		return adminError(http.StatusBadRequest, err.Error())
	}
	if to, _ := findRoute(at.EscapedPath()); to.operation == RunEvents {
		return adminError(http.StatusBadRequest, "send: the page does not subscribe to events, which would take them from a client")
	}
	at.Path, at.RawPath = "/ns/"+c.space.engine.Name()+at.Path, "/ns/"+c.space.engine.Name()+at.EscapedPath()
	r.URL = at
	r = r.WithContext(context.WithValue(c.request.Context(), fromPage{}, true))
	reply, err := h.Respond(r)
	if err != nil {
		return adminError(http.StatusBadGateway, err.Error())
	}
	return adminJSON(http.StatusOK, sent(r.Context(), reply))
}

func sent(ctx context.Context, reply *Reply) sentJSON {
	s := sentJSON{Status: reply.Status, Text: http.StatusText(reply.Status), Header: map[string]string{}}
	switch reply.Loss {
	case Reset:
		s.Lost = "The connection was reset, and no reply came."
		return s
	case Refused:
		s.Lost = "The connection was refused."
		return s
	}
	whole := reply.Body
	if reply.Stream != nil {
		whole = nil
		for {
			piece, err := reply.Stream.Next(ctx)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					s.Lost = "The connection broke before the reply's end."
				}
				break
			}
			whole = append(whole, piece...)
		}
		reply.Stream.Leave()
	}
	header := reply.Header()
	for _, name := range [...]string{"Retry-After", "Idempotency-Replayed", "X-Hermes-Session-Key", "Allow", "X-Mockingbird-Checkpoint"} {
		if v := field(header, name); v != "" {
			s.Header[strings.ToLower(name)] = v
		}
	}
	s.Body, s.BodySize = string(whole[:min(len(whole), maxSent)]), len(whole)
	return s
}
