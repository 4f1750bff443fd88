package transport

import (
	"net/http"
	"net/url"
	"strings"
)

// locate returns the request as the handler is to see it, and whether it goes
// to the fake at all.
func (t *Transport) locate(r *http.Request) (*http.Request, bool) {
	if t.claims(r.URL) {
		if r.URL.Opaque != "" {
			return withPath(r, opaquePath(r.URL)), true
		}
		return r, true
	}
	for _, base := range t.bases {
		if path, ok := cutBase(base, r.URL); ok {
			return withPath(r, path), true
		}
	}
	return nil, false
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

// cutBase returns the escaped path of u below a base URL.
func cutBase(base, u *url.URL) (path string, ok bool) {
	if !strings.EqualFold(u.Scheme, base.Scheme) || addressOf(u) != addressOf(base) {
		return "", false
	}
	path, ok = strings.CutPrefix(u.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/"))
	return path, ok && (path == "" || path[0] == '/')
}

// opaquePath is what a client sends for a URL that holds its path, and may be
// its host, in Opaque.
func opaquePath(u *url.URL) string {
	if below, ok := strings.CutPrefix(u.Opaque, "//"); ok {
		_, path, _ := strings.Cut(below, "/")
		return "/" + path
	}
	return u.Opaque
}

// withPath returns the request with another escaped path.
func withPath(r *http.Request, path string) *http.Request {
	u := *r.URL
	if path == u.EscapedPath() && u.Opaque == "" {
		return r
	}
	u.Opaque = ""
	u.Path, u.RawPath = path, path
	if decoded, err := url.PathUnescape(path); err == nil {
		u.Path = decoded
	}
	with := *r
	with.URL = &u
	return &with
}
