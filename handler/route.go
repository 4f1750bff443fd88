package handler

import (
	"net/http"
	"net/url"
	"strings"
)

// Operation is the name of a provider route, as the journal and faults use it.
type Operation string

// The operations.
const (
	RunCreate    Operation = "RunCreate"
	RunGet       Operation = "RunGet"
	RunStop      Operation = "RunStop"
	RunEvents    Operation = "RunEvents"
	RunApproval  Operation = "RunApproval"
	RunSteer     Operation = "RunSteer"
	Models       Operation = "Models"
	Capabilities Operation = "Capabilities"
	Health       Operation = "Health"
)

var operations = [...]Operation{RunCreate, RunGet, RunStop, RunEvents, RunApproval, RunSteer, Models, Capabilities, Health}

// route is where a provider path leads.
type route struct {
	operation Operation
	run       string // the decoded {run_id}
	method    string // the one that the route takes; GET takes HEAD too
	missing   string // a route that upstream has and the emulator does not
}

// unserved are routes of the provider that this emulator does not serve. One that ends in a slash stands for all below it.
var unserved = []string{
	"/health/detailed", "/v1/chat/completions", "/v1/responses", "/v1/responses/", "/v1/skills",
	"/v1/toolsets", "/v1/artifacts/", "/v1/browser-control/", "/api/",
}

// findRoute matches an escaped path. It matches by itself, because ServeMux cleans paths
// where the provider says 404.
func findRoute(path string) (route, bool) {
	if rest, ok := strings.CutPrefix(path, "/v1/runs"); ok {
		if rest == "" {
			return route{operation: RunCreate, method: http.MethodPost}, true
		}
		if rest[0] == '/' {
			return findRunRoute(rest[1:])
		}
		return route{}, false
	}
	switch path {
	case "/health", "/v1/health":
		return route{operation: Health, method: http.MethodGet}, true
	case "/v1/models":
		return route{operation: Models, method: http.MethodGet}, true
	case "/v1/capabilities":
		return route{operation: Capabilities, method: http.MethodGet}, true
	}
	for _, p := range unserved {
		if path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
			return route{missing: path}, true
		}
	}
	return route{}, false
}

func findRunRoute(rest string) (route, bool) {
	raw, action, more := strings.Cut(rest, "/")
	if raw == "" {
		return route{}, false
	}
	r := route{operation: RunGet, method: http.MethodGet}
	if more {
		switch action {
		case "events":
			r.operation = RunEvents
		case "stop":
			r.operation, r.method = RunStop, http.MethodPost
		case "approval":
			r.operation, r.method = RunApproval, http.MethodPost
		case "steer":
			r.operation, r.method = RunSteer, http.MethodPost
		default:
			return route{}, false
		}
	}
	var err error
	if r.run, err = url.PathUnescape(raw); err != nil {
		r.run = raw
	}
	return r, true
}

// takes reports whether the route takes the method, and what it allows otherwise.
func (r *route) takes(method string) (allow string, ok bool) {
	if method == r.method || method == http.MethodHead && r.method == http.MethodGet {
		return "", true
	}
	if r.method == http.MethodGet {
		return "GET,HEAD", false
	}
	return r.method, false
}

// cutName splits a prefix and the name behind it, such as /ns/NAME, from the
// front of a path.
func cutName(path, prefix string) (name, rest string, ok bool) {
	after, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return "", path, false
	}
	name, rest, _ = strings.Cut(after, "/")
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	return name, "/" + rest, true
}

// cutNamespace splits /ns/NAME from the front of a path.
func cutNamespace(path string) (name, rest string, ok bool) { return cutName(path, "/ns/") }
