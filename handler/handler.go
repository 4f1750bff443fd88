// Package handler answers HTTP requests from an engine: the provider's routes and the
// control plane. A request becomes a Reply; the same replies are written to connections here and
// read in process by package transport.
package handler

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// Options of a Handler. The zero value of a field stands for its default.
type Options struct {
	// JournalSize is how many entries each namespace's journal keeps; default
	// DefaultJournalSize, none if negative.
	JournalSize int
	// Logger gets a line for each request and for each event stream's end; at its debug level one for each
	// control too. Default none.
	Logger *slog.Logger
	// Namespace is that of requests that name none; default engine.DefaultNamespace.
	Namespace string
	// Admitted is called with each admission of a new run and the body of its submission, before the
	// reply leaves. It must not keep the body.
	Admitted func(n *engine.Namespace, a engine.Admission, body []byte)
	// SuppliedInput is asked about each valid submission before it is admitted: ctx is the request's, id the value of
	// SuppliedInputHeader. An error, which wraps one of package suppliedinput, refuses it. attach, nil for nothing, is called
	// in any case: with the new run and the body of its submission before Admitted is, or with nil if there is no new
	// run. It must not keep the body.
	SuppliedInput func(ctx context.Context, n *engine.Namespace, id string) (attach func(*engine.Run, []byte), err error)
	// PageInput returns what the page shows of supplied input, as something that becomes JSON: of a namespace, and of the run that is looked
	// at, if any. nil, also what it returns, stands for nothing.
	PageInput func(namespace string, run engine.RunID) any
	// Script replaces the JSON script that later runs of a namespace follow; nil removes it.
	// An error is the caller's fault, and nothing has changed.
	Script func(namespace string, document []byte) error
	// Middleware stands before the operations; default none.
	Middleware Middleware
	// Controls are further routes of the control plane.
	Controls []Control
	// APIKey is what requests to provider routes must bring as their bearer token; default none.
	APIKey string
	// Profiles are served below /p/NAME, besides the routes without it.
	Profiles []Profile
	// CORSOrigins are the origins whose browser pages may use the provider's routes, "*" for
	// any; default none.
	CORSOrigins []string
	// AdminKey is what requests to the control plane must bring; default none.
	AdminKey string
}

// Handler answers requests. It is an http.Handler.
type Handler struct {
	*shared
	namespace string
}

// shared is what the handlers of one engine have in common.
type shared struct {
	engine  *engine.Engine
	size    int
	logger  *slog.Logger
	started time.Time
	dates   dates

	onAdmitted func(*engine.Namespace, engine.Admission, []byte)
	onSupplied func(context.Context, *engine.Namespace, string) (func(*engine.Run, []byte), error)
	pageInput  func(string, engine.RunID) any
	setScript  func(string, []byte) error
	middleware Middleware
	controls   []Control
	profiles   []namedProfile // the first is that of requests of no profile
	origins    []string
	adminKey   secret

	mu        sync.RWMutex
	spaces    map[string]*space
	unmatched unmatched
	metrics   metrics
	pages     pages
	files     func() map[string]*pageFile
}

type namedProfile struct {
	profile
	name string
}

// space is what the handler keeps for a namespace.
type space struct {
	engine   *engine.Namespace
	gateways []*engine.Namespace // views of it, one for each profile
	journal  journal
	server   string      // its x-mockingbird header
	base     http.Header // of the provider's JSON replies
}

// New returns a handler of e.
func New(e *engine.Engine, o Options) *Handler {
	if o.JournalSize == 0 {
		o.JournalSize = DefaultJournalSize
	}
	if o.Namespace == "" {
		o.Namespace = engine.DefaultNamespace
	}
	profiles := []namedProfile{{profile: profile{key: newSecret(o.APIKey)}}}
	for _, p := range o.Profiles {
		profiles = append(profiles, namedProfile{profile{p.Scope, newSecret(p.Key)}, p.Name})
	}
	return &Handler{
		namespace: o.Namespace,
		shared: &shared{
			engine:  e,
			size:    max(0, o.JournalSize),
			logger:  o.Logger,
			started: time.Now(),
			spaces:  map[string]*space{},

			onAdmitted: o.Admitted,
			onSupplied: o.SuppliedInput,
			pageInput:  o.PageInput,
			setScript:  o.Script,
			middleware: o.Middleware,
			controls:   o.Controls,
			profiles:   profiles,
			origins:    o.CORSOrigins,
			adminKey:   newSecret(o.AdminKey),
			files:      sync.OnceValue(readPage),
		},
	}
}

// In returns a handler of the same engine for which requests that name no
// namespace belong to the given one.
func (h *Handler) In(namespace string) *Handler {
	return &Handler{h.shared, namespace}
}

func (h *shared) space(name string) (*space, error) {
	h.mu.RLock()
	s := h.spaces[name]
	h.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.spaces[name]; s != nil {
		return s, nil
	}
	n, err := h.engine.Namespace(name)
	if err != nil {
		return nil, err
	}
	s = &space{engine: n, journal: journal{size: h.size}, server: "hermes@" + Version + "; ns=" + name}
	s.base = baseHeader(s.server, jsonType, true)
	for _, p := range h.profiles {
		s.gateways = append(s.gateways, n.As(p.scope))
	}
	h.spaces[name] = s
	h.pages.tell(nil)
	return s, nil
}

// namespaceHeader names the namespace of a request whose path does not.
const namespaceHeader = "X-Mockingbird-Namespace"

// Respond answers a request. It reads the request's body as far as it has to
// and does not close it. An error is one of reading the body, and there is no reply.
func (h *Handler) Respond(r *http.Request) (*Reply, error) {
	r = canonical(r)
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, "/__admin"); ok && (rest == "" || rest[0] == '/') {
		began := time.Now()
		reply, err := h.respondAdmin(r, rest)
		h.logControl(r, reply, began)
		return reply, err
	}
	name, path, named := cutNamespace(path)
	if !named {
		if name = field(r.Header, namespaceHeader); name == "" {
			name = h.namespace
		}
	}
	began := time.Now()
	s, err := h.space(name)
	if err != nil {
		// It has no journal.
		h.logRequest(&Entry{Method: cutMethod(r), Path: cutPath(r.URL.EscapedPath()), Status: http.StatusBadRequest, Duration: time.Since(began)}, NotLost)
		return h.finish(adminError(http.StatusBadRequest, err.Error()), r, nil), nil
	}
	c := Call{request: r, space: s, path: path}
	reply := h.enter(&c)
	if reply == nil {
		c.locate()
		if reply = h.crossOrigin(&c); reply == nil {
			if m := h.middleware; m == nil || m.Idle() {
				reply, err = h.operate(&c)
			} else {
				reply, err = h.through(&c)
			}
			if err != nil {
				h.record(&c, h.finish(&Reply{}, r, s), began)
				return nil, err
			}
		}
	}
	h.finish(reply, r, s)
	reply.origin, reply.checkpoint = c.origin, c.checkpoint
	h.record(&c, reply, began)
	return reply, nil
}

// locate finds the route of the call's path.
func (c *Call) locate() {
	var ok bool
	if c.route, ok = findRoute(c.path); !ok || c.route.missing != "" {
		return
	}
	if c.allow, ok = c.route.takes(c.request.Method); !ok {
		c.route = route{}
	}
}

// operate answers a call that was located.
func (h *Handler) operate(c *Call) (*Reply, error) {
	if c.request.ContentLength > maxBody && c.request.Method == http.MethodPost {
		return tooLarge(), nil
	}
	if c.route.operation != "" || c.route.missing != "" {
		if reply := c.admit(); reply != nil {
			return reply, nil
		}
	}
	switch c.route.operation {
	case RunCreate:
		return h.create(c)
	case RunGet:
		return h.get(c)
	case RunStop:
		return h.stop(c)
	case RunEvents:
		return h.events(c)
	case RunApproval:
		return h.approval(c)
	case RunSteer:
		return h.steer(c)
	case Models:
		return h.models(c), nil
	case Capabilities:
		return h.capabilities(c), nil
	case Health:
		return h.health(), nil
	}
	if c.route.missing != "" {
		return unsupported(c.route.missing), nil
	}
	if c.allow != "" {
		r := plainText(http.StatusMethodNotAllowed, "405: Method Not Allowed")
		r.allow = c.allow
		return r, nil
	}
	return plainText(http.StatusNotFound, "404: Not Found"), nil
}

// finish sets what every reply has. A nil space is one of no namespace.
func (h *Handler) finish(reply *Reply, r *http.Request, s *space) *Reply {
	reply.at = time.Now()
	reply.server = "hermes@" + Version
	if s != nil {
		reply.at = s.engine.Now()
		reply.server = s.server
		if reply.secured {
			reply.base = s.base
		}
	}
	reply.date = h.dates.format(reply.at)
	reply.Head = r.Method == http.MethodHead
	return reply
}

func (h *Handler) record(c *Call, reply *Reply, began time.Time) {
	e := Entry{
		At:         reply.at,
		Namespace:  c.space.engine.Name(),
		Operation:  c.route.operation,
		Method:     cutMethod(c.request),
		Path:       cutPath(c.path),
		Status:     reply.Status,
		Duration:   time.Since(began),
		Unmatched:  c.route.operation == "" && c.route.missing == "",
		FaultID:    c.fault,
		Accepted:   c.accept,
		Checkpoint: c.checkpoint,
	}
	if reply.own {
		e.own, e.ContentType, e.BodyBytes = true, mediaType(c.request.Header), c.request.ContentLength
	}
	c.space.journal.add(logged{e, c.run, c.known})
	c.space.engine.Notify()
	if e.FaultID != "" {
		h.pages.tell(nil)
	} else {
		h.pages.tell(c.space)
	}
	h.metrics.add(&e)
	if e.Unmatched {
		h.unmatched.add(e.Method, "", e.Path)
	}
	if h.logger != nil {
		if c.known {
			e.RunID = c.run.String()
		}
		h.logRequest(&e, reply.Loss)
		if reply.eventStream && reply.Stream != nil {
			reply.Stream = h.watched(c, reply.Stream, began)
		}
	}
}

// field returns the first value of a header field, whose name is canonical.
func field(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// canonical returns r with canonical names of its header fields. A connection
// would have put them right; a request in process may hold others.
func canonical(r *http.Request) *http.Request {
	for name := range r.Header {
		if http.CanonicalHeaderKey(name) != name {
			with := *r
			with.Header = make(http.Header, len(r.Header))
			for name, values := range r.Header {
				key := http.CanonicalHeaderKey(name)
				with.Header[key] = append(with.Header[key], values...)
			}
			return &with
		}
	}
	return r
}

// isRefusal reports whether err is the engine's own.
func isRefusal(err error) bool {
	var reason engine.Reason
	return errors.As(err, &reason)
}
