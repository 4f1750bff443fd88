package handler

import "strings"

// patterns are the provider's routes as people write them.
var patterns = map[Operation]string{
	RunCreate:    "/v1/runs",
	RunGet:       "/v1/runs/{run_id}",
	RunStop:      "/v1/runs/{run_id}/stop",
	RunEvents:    "/v1/runs/{run_id}/events",
	RunApproval:  "/v1/runs/{run_id}/approval",
	RunSteer:     "/v1/runs/{run_id}/steer",
	Models:       "/v1/models",
	Capabilities: "/v1/capabilities",
	Health:       "/health",
}

// Nearest returns the route that a request may have been meant for, as
// "POST /v1/runs", and how the request differs from it, if it does. ok is false
// if nothing comes near.
func Nearest(method, path string) (pattern, why string, ok bool) {
	_, path, _ = cutNamespace(path)
	var differs []string
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
		if differs == nil {
			differs = append(differs, "a double slash")
		}
	}
	if trimmed := strings.TrimRight(path, "/"); trimmed != path {
		path = trimmed
		differs = append(differs, "a trailing slash")
	}
	r, how, ok := nearestPath(path)
	if !ok {
		return "", "", false
	}
	if how != "" {
		differs = append(differs, how)
	}
	if _, ok := r.takes(method); !ok {
		differs = append(differs, "another method")
	}
	return r.method + " " + patterns[r.operation], strings.Join(differs, ", "), true
}

// nearestPath looks for a route at the end of a path, and with /v1 before that.
func nearestPath(path string) (r route, how string, ok bool) {
	for rest := path; rest != ""; {
		for _, candidate := range [...]string{rest, "/v1" + rest} {
			r, ok := findRoute(candidate)
			switch {
			case !ok || r.missing != "":
				continue
			case candidate == path:
				return r, "", true
			case rest == path:
				return r, "no /v1", true
			}
			return r, "another prefix", true
		}
		next := strings.IndexByte(rest[1:], '/')
		if next < 0 {
			break
		}
		rest = rest[1+next:]
	}
	return route{}, "", false
}
