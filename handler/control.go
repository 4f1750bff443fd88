package handler

import "net/url"

// Control is a route of the control plane that another package serves.
type Control struct {
	Method string
	Path   string // below /__admin
	// Answer returns a status, and what is to be the reply's JSON, or an error whose
	// message is. The namespace is that of the caller.
	Answer func(namespace string, query url.Values, body []byte) (status int, v any)
}

func (c Control) route() adminRoute {
	return adminRoute{c.Method, c.Path, func(_ *Handler, call *adminCall) *Reply {
		status, v := c.Answer(call.space.engine.Name(), call.query, call.body)
		if err, ok := v.(error); ok {
			return adminError(status, err.Error())
		}
		return adminJSON(status, v)
	}}
}
