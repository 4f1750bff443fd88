package handler

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

// adminRoute is a route of the control plane. A name in braces in its path stands for one segment.
type adminRoute struct {
	method string
	path   string // below /__admin
	answer func(*Handler, *adminCall) *Reply
}

func (h *Handler) adminRoutes() []adminRoute {
	routes := []adminRoute{
		{"GET", "", (*Handler).adminIndex},
		{"GET", "/health", (*Handler).adminHealth},
		{"GET", "/openapi.yaml", (*Handler).adminDocument},
		{"POST", "/reset", (*Handler).adminReset},
		{"GET", "/namespaces", (*Handler).adminNamespaces},
		{"GET", "/ui", (*Handler).adminIndex}, // answered before: see pageReply
		{"GET", "/clock", (*Handler).adminClock},
		{"POST", "/clock", (*Handler).adminMoveClock},
		{"GET", "/requests", (*Handler).adminRequests},
		{"DELETE", "/requests", (*Handler).adminClearRequests},
		{"GET", "/metrics", (*Handler).adminMetrics},
		{"DELETE", "/metrics", (*Handler).adminClearMetrics},
		{"GET", "/state", (*Handler).adminState},
		{"GET", "/checkpoints", (*Handler).adminCheckpoints},
		{"POST", "/checkpoints", (*Handler).adminCheckpoint},
		{"DELETE", "/checkpoints/{id}", (*Handler).adminDeleteCheckpoint},
		{"GET", "/branches", (*Handler).adminBranches},
		{"POST", "/branches", (*Handler).adminFork},
		{"DELETE", "/branches/{name}", (*Handler).adminDeleteBranch},
		{"POST", "/branches/{name}/checkout", (*Handler).adminCheckout},
		{"POST", "/hermes/scope", (*Handler).adminScope},
		{"POST", "/hermes/restart", (*Handler).adminRestart},
		{"POST", "/hermes/sweep", (*Handler).adminSweep},
		{"GET", "/hermes/gateway", (*Handler).adminGateway},
		{"POST", "/hermes/gateway", (*Handler).adminSetGateway},
		{"POST", "/hermes/script", (*Handler).adminScript},
		{"DELETE", "/hermes/script", (*Handler).adminClearScript},
		{"GET", "/hermes/runs", (*Handler).adminRuns},
		{"GET", "/hermes/runs/{id}", (*Handler).adminRun},
		{"POST", "/hermes/runs/{id}/observe", (*Handler).adminObserve},
		{"POST", "/hermes/runs/{id}/events", (*Handler).adminEmit},
		{"POST", "/hermes/runs/{id}/steering", (*Handler).adminSteering},
	}
	for _, c := range h.controls {
		routes = append(routes, c.route())
	}
	return routes
}

// pageRoutes are the page's own. They may change with it, and are not listed.
func pageRoutes() []adminRoute {
	return []adminRoute{
		{"GET", "/ui/updates", (*Handler).pageUpdates},
		{"GET", "/ui/runs", (*Handler).pageOlder},
		{"GET", "/ui/runs/{id}/value", (*Handler).pageValue},
		{"POST", "/ui/send", (*Handler).pageSend},
	}
}

// adminCall is a request to the control plane.
type adminCall struct {
	request *http.Request
	query   url.Values
	space   *space
	engine  *engine.Namespace // a view of the space's that records checkpoints
	named   bool              // the request names its namespace
	id      string            // the {id} or {name} of the path, decoded
	body    []byte
}

// respondAdmin answers a request for a path below /__admin.
func (h *Handler) respondAdmin(r *http.Request, path string) (*Reply, error) {
	name, path, named := cutNamespace(path)
	reply := h.guardBrowser(r)
	if reply == nil {
		if reply = h.pageReply(r, path); reply == nil {
			reply = h.guardKey(r)
		}
	}
	if reply != nil {
		return h.finish(reply, r, nil), nil
	}
	c := &adminCall{request: r, query: r.URL.Query()}
	if !named {
		name = c.query.Get("namespace")
		if name == "" {
			name = field(r.Header, namespaceHeader)
		}
		named = name != ""
	}
	c.named = named
	if !named {
		name = h.namespace
	}
	s, err := h.space(name)
	if err != nil {
		return h.finish(adminError(http.StatusBadRequest, err.Error()), r, nil), nil
	}
	c.space, c.engine = s, s.engine.Recording()
	answer, reply := h.findAdmin(r.Method, path, c)
	if reply != nil {
		return h.finish(reply, r, s), nil
	}
	if r.ContentLength > maxBody {
		return h.finish(adminError(http.StatusRequestEntityTooLarge, "the body is too large"), r, s), nil
	}
	body, err := readBody(r)
	if errors.Is(err, errTooLarge) {
		return h.finish(adminError(http.StatusRequestEntityTooLarge, "the body is too large"), r, s), nil
	}
	if err != nil {
		return nil, err
	}
	defer body.release()
	c.body = body.bytes
	reply = answer(h, c)
	reply.checkpoint = c.engine.Recorded()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.pages.tell(nil)
	}
	return h.finish(reply, r, s), nil
}

func (h *Handler) findAdmin(method, path string, c *adminCall) (func(*Handler, *adminCall) *Reply, *Reply) {
	path = strings.TrimSuffix(path, "/")
	var allow []string
	for _, route := range append(h.adminRoutes(), pageRoutes()...) {
		id, ok := matchAdmin(route.path, path)
		if !ok {
			continue
		}
		if method == route.method || method == http.MethodHead && route.method == http.MethodGet {
			c.id = id
			return route.answer, nil
		}
		allow = append(allow, route.method)
	}
	if allow == nil {
		return nil, adminError(http.StatusNotFound, "no such control; GET /__admin lists them")
	}
	r := adminError(http.StatusMethodNotAllowed, fmt.Sprintf("this control takes %s", strings.Join(allow, " or ")))
	r.allow = strings.Join(allow, ",")
	return nil, r
}

func matchAdmin(pattern, path string) (id string, ok bool) {
	before, after, variable := strings.Cut(pattern, "{")
	if !variable {
		return "", pattern == path
	}
	_, after, _ = strings.Cut(after, "}")
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return "", false
	}
	raw, ok := strings.CutSuffix(rest, after)
	if !ok || raw == "" || strings.Contains(raw, "/") {
		return "", false
	}
	if id, err := url.PathUnescape(raw); err == nil {
		return id, true
	}
	return raw, true
}

// adminJSON is a reply of the control plane.
func adminJSON(status int, v any) *Reply {
	body, err := json.Marshal(v)
	if err != nil {
		return adminError(http.StatusInternalServerError, err.Error())
	}
	return &Reply{Status: status, Body: body, contentType: "application/json"}
}

func adminError(status int, message string) *Reply {
	return adminJSON(status, map[string]any{"error": map[string]string{"type": "mockingbird_admin", "message": message}})
}

// invalid is the provider's envelope around the message of a /hermes/ control.
func invalid(err error) *Reply {
	return envelope{status: http.StatusBadRequest}.reply(err.Error())
}

// arguments is the body of a control: a JSON object whose members are read
// one by one, and none may be left over. The first thing wrong is kept in err.
type arguments struct {
	control string
	object  canon.Object
	read    map[string]bool
	err     error
}

// arguments reads the body as a JSON object; an empty one stands for {}.
func (c *adminCall) arguments(control string) *arguments {
	a := newArguments(control, nil)
	if len(strings.Trim(string(c.body), " \t\r\n")) == 0 {
		return a
	}
	v, err := canon.Parse(c.body)
	if err != nil {
		a.fail("", "the body is not JSON: "+err.Error())
		return a
	}
	object, ok := v.(canon.Object)
	if !ok {
		a.fail("", "the body must be a JSON object")
	}
	a.object = object
	return a
}

func newArguments(control string, object canon.Object) *arguments {
	return &arguments{control: control, object: object, read: map[string]bool{}}
}

func (a *arguments) fail(member, problem string) {
	if a.err != nil {
		return
	}
	if member != "" {
		problem = member + " " + problem
	}
	a.err = fmt.Errorf("%s: %s", a.control, problem)
}

func (a *arguments) get(name string) (canon.Value, bool) {
	a.read[name] = true
	return a.object.Get(name)
}

func (a *arguments) text(name string) (string, bool) {
	v, ok := a.get(name)
	if !ok {
		return "", false
	}
	text, isText := v.(canon.String)
	if !isText {
		a.fail(name, "must be a string")
	}
	return string(text), true
}

func (a *arguments) flag(name string) (value, ok bool) {
	v, ok := a.get(name)
	if !ok {
		return false, false
	}
	b, isBool := v.(canon.Bool)
	if !isBool {
		a.fail(name, "must be true or false")
	}
	return bool(b), true
}

// done reports what was wrong, members that nobody read included.
func (a *arguments) done() error {
	for _, m := range a.object {
		if !a.read[m.Name] {
			a.fail("", fmt.Sprintf("unknown member %q", m.Name))
		}
	}
	return a.err
}

// runID reads the {id} of the path, which must be a run of the scope.
func (c *adminCall) runID() (engine.RunID, error) {
	id, ok := engine.ParseRunID(c.id)
	if !ok {
		return id, &engine.Refusal{Reason: engine.RunNotFound, Subject: c.id}
	}
	return id, c.engine.InScope(id)
}
