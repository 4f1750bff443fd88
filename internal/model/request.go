package model

import (
	"net/url"
	"strings"

	"github.com/hermesfake/hermesfake/canon"
)

// A Reply is what a client sees. Of the headers only these are said: Content-Type, Retry-After, Idempotency-Replayed,
// X-Hermes-Session-Key, Cache-Control, X-Accel-Buffering, Allow. Status 501 is a refusal of the emulator's own, whose
// headers and body are not modelled.
type Reply struct {
	Status int
	Header map[string]string
	Body   string
}

// Request answers one request of a run route. path is as sent, escapes and all. newRunID is the id of the run if this
// is a submission that is admitted, which the reply tells.
//
// A request for the events of a run reads what there is; if that was not all, the client has gone with it.
func (m *Model) Request(method, path string, header map[string]string, body []byte, newRunID string) Reply {
	if path == "/v1/runs" {
		if method != "POST" {
			return notAllowed("POST")
		}
		return m.submit(header, body, newRunID)
	}
	escaped, action, ok := split(path)
	if !ok {
		return noRoute()
	}
	id, err := url.PathUnescape(escaped)
	if err != nil {
		return noRoute()
	}
	switch action {
	case "", "events":
		switch method {
		case "GET", "HEAD":
		default:
			return notAllowed("GET,HEAD")
		}
	default:
		if method != "POST" {
			return notAllowed("POST")
		}
	}
	switch action {
	case "stop":
		return m.stop(id)
	case "approval":
		return m.approve(id, body)
	case "steer":
		return m.steer(id, body)
	}

	var r Reply
	switch {
	case action == "":
		r = m.poll(id)
	case method == "GET":
		r = m.events(id)
	default:
		r = notFound(id)
		if _, ok := m.stream(id); ok {
			r = streamHead()
		}
	}
	if method == "HEAD" {
		r.Body = ""
	}
	return r
}

// split takes /v1/runs/{id} and /v1/runs/{id}/{action} apart.
func split(path string) (id, action string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/v1/runs/")
	if !ok {
		return "", "", false
	}
	id, action, deeper := strings.Cut(rest, "/")
	if id == "" {
		return "", "", false
	}
	if !deeper {
		return id, "", true
	}
	switch action {
	case "stop", "approval", "steer", "events":
		return id, action, true
	}
	return "", "", false
}

// poll is GET /v1/runs/{id}.
func (m *Model) poll(id string) Reply {
	r := m.find(id)
	if r == nil {
		return notFound(id)
	}
	return reply(200, r.status)
}

// stop is POST /v1/runs/{id}/stop.
func (m *Model) stop(id string) Reply {
	r := m.find(id)
	switch {
	case r == nil:
		return notFound(id)
	case terminal(r.state()):
		return reply(200, r.status)
	case !r.active:
		return conflict("Run is not active in this gateway process: "+id, "run_not_active")
	}
	m.update(r, "stopping", text("last_event", "run.stopping"))
	return reply(200, canon.Object{text("run_id", id), text("status", "stopping")})
}

func reply(status int, v canon.Value) Reply {
	return Reply{Status: status, Header: map[string]string{"Content-Type": "application/json; charset=utf-8"}, Body: wire(v)}
}

func errorReply(status int, message, kind, code string) Reply {
	c := canon.Value(canon.Null{})
	if code != "" {
		c = canon.String(code)
	}
	return reply(status, canon.Object{member("error", canon.Object{
		text("message", message), text("type", kind), member("param", canon.Null{}), member("code", c),
	})})
}

func failure(status int, message, code string) Reply {
	return errorReply(status, message, "invalid_request_error", code)
}

func invalid(message, code string) Reply { return failure(400, message, code) }

func conflict(message, code string) Reply { return failure(409, message, code) }

func notFound(id string) Reply { return failure(404, "Run not found: "+id, "run_not_found") }

func sessionKeyError(message string) Reply {
	return reply(400, canon.Object{member("error", canon.Object{
		text("message", message), text("type", "invalid_request_error"),
	})})
}

func refused() Reply { return Reply{Status: 501, Header: map[string]string{}} }

func plain(status int, body string) Reply {
	return Reply{Status: status, Header: map[string]string{"Content-Type": "text/plain; charset=utf-8"}, Body: body}
}

func noRoute() Reply { return plain(404, "404: Not Found") }

func notAllowed(allow string) Reply {
	r := plain(405, "405: Method Not Allowed")
	r.Header["Allow"] = allow
	return r
}
