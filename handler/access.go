package handler

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/hermesfake/hermesfake/engine"
)

// Profile is a profile of the provider, below /p/NAME.
type Profile struct {
	Name  string
	Key   string        // the API key of its requests; "" for none
	Scope *engine.Scope // whose runs they see
}

// secret compares texts in a time that tells nothing of them, not even their length.
type secret struct {
	set  bool
	hash [sha256.Size]byte
}

func newSecret(text string) secret {
	return secret{text != "", sha256.Sum256([]byte(text))}
}

func (s secret) is(text string) bool {
	hash := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(s.hash[:], hash[:]) == 1
}

// profile is a Profile as requests meet it.
type profile struct {
	scope *engine.Scope // nil for the requests of no profile
	key   secret
}

// enter finds the profile of the call's path. A reply is that to a profile there is none of.
func (h *Handler) enter(c *Call) *Reply {
	name, rest, named := cutName(c.path, "/p/")
	if !named {
		c.profile = &h.profiles[0].profile
		c.gateway = c.space.gateways[0]
		return nil
	}
	for i := range h.profiles[1:] {
		if p := &h.profiles[i+1]; p.name == name {
			c.path = rest
			c.profile = &p.profile
			c.gateway = c.space.gateways[i+1]
			return nil
		}
	}
	return providerJSON(http.StatusNotFound, []byte(`{"error": "Unknown or unconfigured profile"}`))
}

// admit is the provider's first check: the bearer key, where one is configured.
func (c *Call) admit() *Reply {
	if !c.profile.key.set || c.route.operation == Health || c.request.Context().Value(fromPage{}) != nil {
		return nil
	}
	token, ok := strings.CutPrefix(field(c.request.Header, "Authorization"), "Bearer ")
	if ok && c.profile.key.is(token) {
		return nil
	}
	return providerJSON(http.StatusUnauthorized, []byte(`{"error": {"message": "Invalid gateway API key (API_SERVER_KEY)", `+
		`"type": "gateway_auth_error", "code": "gateway_auth_failed"}}`))
}

// corsMaxAge is how long, in seconds, a browser may keep what a preflight told it.
const corsMaxAge = "600"

// crossOrigin answers what a browser's request gets because of its Origin: 403
// where that is not allowed, the preflight's answer, or nothing.
func (h *Handler) crossOrigin(c *Call) *Reply {
	origin := field(c.request.Header, "Origin")
	if origin == "" {
		return nil
	}
	allowed := h.allowedOrigin(origin)
	if allowed == "" {
		return &Reply{Status: http.StatusForbidden}
	}
	c.origin = allowed
	if c.request.Method == http.MethodOptions {
		return &Reply{Status: http.StatusOK}
	}
	return nil
}

func (h *Handler) allowedOrigin(origin string) string {
	for _, o := range h.origins {
		if o == origin || o == "*" {
			return o
		}
	}
	return ""
}

// allowOrigin sets what tells a browser that its origin may read the reply.
func (r *Reply) allowOrigin(h http.Header) {
	if r.origin == "" {
		return
	}
	h["Access-Control-Allow-Origin"] = []string{r.origin}
	h["Access-Control-Allow-Headers"] = []string{"Authorization, Content-Type, Idempotency-Key"}
	h["Access-Control-Allow-Methods"] = []string{"GET, POST, DELETE, OPTIONS"}
	h["Access-Control-Max-Age"] = []string{corsMaxAge}
	if r.origin != "*" {
		h["Vary"] = []string{"Origin"}
	}
}

// adminKeyHeader has the admin key of a request to the control plane.
const adminKeyHeader = "X-Mockingbird-Admin-Key"

// guardBrowser refuses requests to the control plane that a browser makes for another origin.
func (h *Handler) guardBrowser(r *http.Request) *Reply {
	if origin := field(r.Header, "Origin"); origin != "" && !h.ownOrigin(origin, r) {
		return adminError(http.StatusForbidden, "the control plane takes no requests from other origins")
	}
	if fromBrowser(r.Header) && !h.ownName(r.Host) {
		return adminError(http.StatusForbidden, "the control plane takes no requests of browsers under this name; use an address, localhost or an admin key")
	}
	return nil
}

// fromBrowser reports whether a browser asks. It says where a request comes from only to hosts that it trusts, which a name that
// somebody has pointed here is not, and no Origin in a GET of the same one; its languages it says to all. So does the fetch of
// Node, which is no browser: it alone sends Sec-Fetch-Mode without the site, and a page cannot choose to.
func fromBrowser(h http.Header) bool {
	return len(h["Sec-Fetch-Site"]) > 0 || len(h["Accept-Language"]) > 0 && len(h["Sec-Fetch-Mode"]) == 0
}

// guardKey refuses requests to the control plane without the admin key, where there is one.
func (h *Handler) guardKey(r *http.Request) *Reply {
	if h.adminKey.set && !h.adminKey.is(field(r.Header, adminKeyHeader)) {
		return adminError(http.StatusUnauthorized, "the control plane needs its admin key in x-mockingbird-admin-key")
	}
	return nil
}

// ownOrigin reports whether a page of this very server asks.
func (h *Handler) ownOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
		return false
	}
	return h.ownName(u.Host)
}

// ownName reports whether a host can be trusted to be this server's. Without
// an admin key, a name may be one that somebody else has pointed here.
func (h *Handler) ownName(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	return h.adminKey.set || net.ParseIP(name) != nil || strings.EqualFold(name, "localhost")
}
