package transport

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hermesfake/hermesfake/handler"
)

// ErrUnknownHost is wrapped by the error for a request to a host that is not
// the fake's, and that nothing else answers for. The request went nowhere.
var ErrUnknownHost = errors.New("unknown host")

// maxStubs bounds how many stubs an error lists.
const maxStubs = 5

// refuse returns the error for a request that nobody answers.
func (t *Transport) refuse(r *http.Request, stubs []string) error {
	if t.refused != nil {
		t.refused(r)
	}
	var b strings.Builder
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	fmt.Fprintf(&b, "%s %s: this fake answers for %s only", method, bare(r.URL), strings.Join(t.addresses(), ", "))
	if pattern, why, ok := handler.Nearest(method, r.URL.EscapedPath()); ok {
		method, path, _ := strings.Cut(pattern, " ")
		fmt.Fprintf(&b, "; its nearest route is %s %s%s", method, t.baseOf(r.URL), path)
		if why != "" {
			fmt.Fprintf(&b, " (the request has %s)", why)
		}
	}
	if len(stubs) > 0 {
		more := ""
		if len(stubs) > maxStubs {
			stubs, more = stubs[:maxStubs], ", ..."
		}
		fmt.Fprintf(&b, "; none of the stubs fits: %s%s", strings.Join(stubs, ", "), more)
	}
	b.WriteString("; claim the host with WithHosts or WithBaseURL, stub it on Mock, or let it through with WithFallback")
	return fmt.Errorf("hermesfake: %w: %s", ErrUnknownHost, b.String())
}

// addresses lists what the fake answers for.
func (t *Transport) addresses() []string {
	addresses := append([]string{}, t.hosts...)
	for _, base := range t.bases {
		addresses = append(addresses, bare(base))
	}
	return addresses
}

// baseOf returns the base URL on the host of u, "" if there is none.
func (t *Transport) baseOf(u *url.URL) string {
	for _, base := range t.bases {
		if addressOf(u) == addressOf(base) {
			return strings.TrimSuffix(bare(base), "/")
		}
	}
	return ""
}

// bare returns the URL without userinfo, query and fragment, which may hold secrets.
func bare(u *url.URL) string {
	b := *u
	b.User, b.RawQuery, b.ForceQuery, b.Fragment, b.RawFragment = nil, "", false, "", ""
	return b.String()
}
