package handler

import (
	"maps"
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
	// Stream follows the head in place of Body. For a reply that is not the head of an
	// event stream, Body still says the length.
	Stream Stream
	// Pause is how long to wait on a connection after each piece of Stream, so that the
	// pieces arrive one by one.
	Pause time.Duration
	// Head is set on a reply that has no body because the request was a HEAD;
	// Body still says the length.
	Head bool
	// Loss says how the reply gets lost; Status is 0 then.
	Loss Loss

	contentType string
	secured     bool // carries the provider's security headers
	own         bool // the emulator's refusal, not the provider's
	eventStream bool
	retryAfter  bool
	replayed    bool
	sessionKey  string
	allow       string
	origin      string              // a browser's page of this origin may read the reply
	server      string              // x-mockingbird
	checkpoint  engine.CheckpointID // x-mockingbird-checkpoint, after an accepted mutation
	at          time.Time           // on the namespace's clock
	date        string
	base        http.Header // fields to start from, nil for none kept
	substitute  http.Header // fields that replace others, of a reply made by Substitute
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

// Header returns the reply's header fields, in a map of its own. The values of
// fields that never change are shared by all replies, and must not be overwritten in place.
func (r *Reply) Header() http.Header {
	h := r.base
	if h == nil {
		h = baseHeader(r.server, r.contentType, r.secured)
	} else {
		h = maps.Clone(h)
	}
	values := make([]string, 2, 7)
	values[0], values[1] = r.date, strconv.Itoa(len(r.Body))
	h["Date"] = values[0:1:1]
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	if r.checkpoint != "" {
		set("X-Mockingbird-Checkpoint", string(r.checkpoint))
	}
	if r.eventStream {
		set("Content-Type", "text/event-stream")
		set("Cache-Control", "no-cache")
		set("X-Accel-Buffering", "no")
		r.allowOrigin(h)
		return h
	}
	h["Content-Length"] = values[1:2:2]
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
	if r.substitute != nil {
		r.replace(h)
	}
	r.allowOrigin(h)
	return h
}

// baseHeader returns the fields that replies of a kind have in common, with
// room for the others. It is kept and cloned where many replies have them.
func baseHeader(server, contentType string, secured bool) http.Header {
	h := make(http.Header, len(securityHeaders)+7)
	h["X-Mockingbird"] = []string{server}
	h["Date"] = nil
	if contentType != "" {
		h["Content-Type"] = []string{contentType}
	}
	if secured {
		for _, s := range securityHeaders {
			h[s[0]] = []string{s[1]}
		}
		h["Content-Length"] = nil
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
