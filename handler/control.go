package handler

import (
	"context"
	"net/url"
	"strings"
)

// Control is a route of the control plane that another package serves.
type Control struct {
	Method string
	Path   string // below /__admin; a {id} in it stands for one segment
	// Answer returns a status, and what is to be the reply's JSON, or an error whose
	// message is. The namespace is that of the caller.
	Answer func(namespace string, query url.Values, body []byte) (status int, v any)
	// AnswerCall is Answer for a control that needs more of the request; one of the two is set.
	AnswerCall func(ControlCall) (status int, v any)
}

// ControlCall is a request to a Control.
type ControlCall struct {
	Context   context.Context // ends with the request
	Namespace string          // of the caller
	ID        string          // the {id} of the path, decoded
	Query     url.Values
	Body      []byte // valid until the answer
}

func (c Control) route() adminRoute {
	return adminRoute{c.Method, c.Path, func(_ *Handler, call *adminCall) *Reply {
		var status int
		var v any
		if c.AnswerCall != nil {
			status, v = c.AnswerCall(ControlCall{call.request.Context(), call.space.engine.Name(), call.id, call.query, call.body})
		} else {
			status, v = c.Answer(call.space.engine.Name(), call.query, call.body)
		}
		err, ok := v.(error)
		switch {
		case !ok:
			return adminJSON(status, v)
		case isRefusal(err):
			return refusal(err)
		case strings.HasPrefix(c.Path, "/hermes/"):
			return envelope{status: status}.reply(err.Error())
		}
		return adminError(status, err.Error())
	}}
}
