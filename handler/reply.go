package handler

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

const (
	jsonType = "application/json; charset=utf-8"
	textType = "text/plain; charset=utf-8"
)

// Reply is what a request is answered with, before it is written to a
// connection or read by a client in process.
type Reply struct {
	Status int
	Body   []byte
	// Stream is an open event stream that follows the head in place of a Body.
	Stream *engine.Subscription
	// Head is set on a reply that has no body because the request was a HEAD;
	// Body still says the length.
	Head bool

	contentType string
	secured     bool // carries the provider's security headers
	eventStream bool
	retryAfter  bool
	replayed    bool
	sessionKey  string
	allow       string
	server      string // x-mockingbird
	date        string
}

// securityHeaders are those of every JSON reply of the provider.
var securityHeaders = [...][2]string{
	{"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
	{"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
	{"Strict-Transport-Security", "max-age=31536000; includeSubDomains"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"X-Xss-Protection", "0"},
	{"Referrer-Policy", "no-referrer"},
}

// Header returns the reply's header fields, in a map of its own.
func (r *Reply) Header() http.Header {
	h := make(http.Header, 14)
	values := make([]string, 14)
	set := func(name, value string) {
		values[0] = value
		h[name] = values[:1:1]
		values = values[1:]
	}
	set("X-Mockingbird", r.server)
	set("Date", r.date)
	if r.eventStream {
		set("Content-Type", "text/event-stream")
		set("Cache-Control", "no-cache")
		set("X-Accel-Buffering", "no")
		return h
	}
	if r.contentType != "" {
		set("Content-Type", r.contentType)
	}
	set("Content-Length", strconv.Itoa(len(r.Body)))
	if r.secured {
		for _, s := range securityHeaders {
			set(s[0], s[1])
		}
	}
	if r.retryAfter {
		set("Retry-After", "1")
	}
	if r.replayed {
		set("Idempotency-Replayed", "true")
	}
	if r.sessionKey != "" {
		set("X-Hermes-Session-Key", r.sessionKey)
	}
	if r.allow != "" {
		set("Allow", r.allow)
	}
	return h
}

// dates formats a Date header once a second.
type dates struct {
	last atomic.Pointer[date]
}

type date struct {
	second int64
	text   string
}

func (d *dates) format(t time.Time) string {
	last := d.last.Load()
	if last == nil || last.second != t.Unix() {
		last = &date{t.Unix(), t.UTC().Format(http.TimeFormat)}
		d.last.Store(last)
	}
	return last.text
}

func providerJSON(status int, body []byte) *Reply {
	return &Reply{Status: status, Body: body, contentType: jsonType, secured: true}
}

func plainText(status int, body string) *Reply {
	return &Reply{Status: status, Body: []byte(body), contentType: textType}
}

// EventStream reports whether the reply is the head of an event stream.
func (r *Reply) EventStream() bool { return r.eventStream }
