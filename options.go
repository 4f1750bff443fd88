package hermesfake

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// Option configures New and Start. What an option does not take it ignores, and Start then fails
// the test.
type Option func(*config)

type config struct {
	seed           uint64
	engine         engine.Config
	handler        handler.Options
	clock          engine.ClockChange
	hosts          []string
	bases          []*url.URL
	fallback       http.RoundTripper
	allowUnmatched bool
	inputQueue     InputQueue
	allowMisuse    bool
	ignored        []string // what options did not take, and why
}

func (c *config) ignore(format string, args ...any) {
	c.ignored = append(c.ignored, fmt.Sprintf(format, args...))
}

// validTime reports whether an option can set the clock to t.
func (c *config) validTime(option string, t time.Time) bool {
	if engine.ValidTime(t) {
		return true
	}
	c.ignore("%s: %s is ignored; it must be in the years 1970 to 2199", option, t.UTC().Format(time.RFC3339))
	return false
}

// WithSeed makes the fake draw its ids from seed, so that runs repeat. The
// default is a random seed, which Seed tells.
func WithSeed(seed uint64) Option {
	return func(c *config) { c.seed = seed }
}

// WithClock makes the clock run from t on, instead of following the system's. A
// time outside of the years 1970 to 2199 is ignored.
func WithClock(t time.Time) Option {
	return func(c *config) {
		if c.validTime("WithClock", t) {
			c.clock.Set = t
		}
	}
}

// WithFrozenClock makes the clock stand at t until it is moved. A time outside
// of the years 1970 to 2199 is ignored.
func WithFrozenClock(t time.Time) Option {
	return func(c *config) {
		if c.validTime("WithFrozenClock", t) {
			freeze := true
			c.clock.Set, c.clock.Freeze = t, &freeze
		}
	}
}

// WithModel sets the model of runs whose submission names none. The default,
// and what "" stands for, is "hermes-agent".
func WithModel(model string) Option {
	return func(c *config) { c.engine.Model = model }
}

// WithMaxConcurrentRuns bounds how many runs may be unsettled at once; one more is
// 429. The default is 10; 0 or less is no bound.
func WithMaxConcurrentRuns(n int) Option {
	return func(c *config) { c.engine.Gateway.MaxConcurrentRuns = max(0, n) }
}

// WithNamespace sets the namespace of requests that name none. A name that
// does not match ^[A-Za-z0-9_.-]{1,64}$ is ignored. The default is "default".
func WithNamespace(name string) Option {
	return func(c *config) {
		if !engine.ValidNamespace(name) {
			c.ignore("WithNamespace: %q is ignored; it must match %s", name, NamePattern)
			return
		}
		c.handler.Namespace = name
	}
}

// WithJournalSize bounds how many requests each namespace's journal keeps, the
// latest ones. The default is 1000; 0 or less keeps none.
func WithJournalSize(n int) Option {
	return func(c *config) {
		if n <= 0 {
			n = -1
		}
		c.handler.JournalSize = n
	}
}

// WithCheckpoints bounds how many checkpoints of accepted mutations each namespace keeps, the latest ones, and how many of
// Fake.Checkpoint. The default is 1000; with 0 or less mutations make none, and Fake.Checkpoint keeps to the default.
func WithCheckpoints(n int) Option {
	return func(c *config) {
		if n <= 0 {
			n = -1
		}
		c.engine.Checkpoints = n
	}
}

// WithEventHistory has each namespace keep the latest events of its latest runs from the start, for the page at
// /__admin/ui to show: 200 of each of 50 runs, 8 MiB at most. Without it they are kept while a page is open.
func WithEventHistory() Option {
	return func(c *config) { c.engine.KeepEvents = true }
}

// WithQueueBytes bounds the event queue of a run that nobody reads, in bytes:
// emitting beyond is an error that wraps QueueFull. The default, and what 0 or
// less stands for, is 64 MiB.
func WithQueueBytes(n int) Option {
	return func(c *config) { c.engine.QueueBytes = n }
}

// WithAPIKey makes every provider route but health need the key as its bearer
// token, else 401. As upstream has it, the key is also the identity of the
// scope. The default, and what "" stands for, is no key: everything is open.
func WithAPIKey(key string) Option {
	return func(c *config) { c.handler.APIKey = key }
}

// WithProfile serves every provider route below /p/NAME too, with runs of its
// own and a key of its own; "" is no key. A name that does not match
// ^[A-Za-z0-9_.-]{1,64}$, or was given before, is ignored. Other profiles are 404.
func WithProfile(name, key string) Option {
	return func(c *config) {
		given := slices.ContainsFunc(c.handler.Profiles, func(p handler.Profile) bool { return p.Name == name })
		if !engine.ValidNamespace(name) || given {
			c.ignore("WithProfile: %q is ignored; it must match %s, and be given once", name, NamePattern)
			return
		}
		c.handler.Profiles = append(c.handler.Profiles, handler.Profile{Name: name, Key: key, Scope: scopeOf(name, key)})
	}
}

// scopeOf is the scope of a profile's requests, whose identity is the key where there is one.
func scopeOf(profile, key string) *engine.Scope {
	if key == "" {
		key = engine.DefaultIdentity
	}
	s, err := engine.NewScope(profile, key)
	if err != nil {
		return nil // no request can bring such a key
	}
	return s
}

// WithCORSOrigins allows pages of these origins, such as "https://app.example.com",
// to use the provider's routes from a browser; "*" allows all. The default is
// none: a request with an Origin is 403. What ValidOrigin does not take is ignored.
func WithCORSOrigins(origins ...string) Option {
	return func(c *config) {
		for _, origin := range origins {
			if !ValidOrigin(origin) {
				c.ignore("WithCORSOrigins: %q is ignored; it must be an origin such as https://app.example.com, or *", origin)
				continue
			}
			c.handler.CORSOrigins = append(c.handler.CORSOrigins, origin)
		}
	}
}

// WithAdminKey makes every route of the control plane need the key in
// x-mockingbird-admin-key, else 401. The default, and what "" stands for, is no key.
func WithAdminKey(key string) Option {
	return func(c *config) { c.handler.AdminKey = key }
}

// WithStore keeps the rows of keyed runs in s, which outlives the fake: a fake that is
// made with the same store knows them, as a gateway does after a restart. Package
// engine/badgerstore keeps them on disk, engine.NewMemoryStore in memory. Who opened the
// store closes it, after the fake. While another fake uses it, every operation fails with
// StorageFailed. The default, and what nil stands for, is no store.
func WithStore(s engine.Store) Option {
	return func(c *config) { c.engine.Store = s }
}

// WithLogger writes a line for each request to l, and one for each event stream's end; for each control
// too, if l is enabled at the debug level. The default, and what nil stands for, is silence.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) { c.handler.Logger = l }
}

// WithHosts adds hosts that the fake answers for in process, each a name as in
// a URL, with or without port.
func WithHosts(hosts ...string) Option {
	return func(c *config) { c.hosts = append(c.hosts, hosts...) }
}

// WithBaseURL makes the fake answer in process below an http or https URL as clients are configured with
// it, such as "https://api.example.com/hermes". The provider's paths follow that
// of the URL; requests beside it are not the fake's. May be given more than once. A
// text that is no such URL, or has a query, is ignored.
func WithBaseURL(base string) Option {
	return func(c *config) {
		u, err := url.Parse(base)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
			c.ignore("WithBaseURL: the text is ignored; it must be a URL such as https://api.example.com/hermes, without a query")
			return
		}
		c.bases = append(c.bases, u)
	}
}

// WithFallback has rt answer, in process, the requests to hosts that are not the fake's and
// that no stub of Mock answers, such as http.DefaultTransport for real ones. The
// default, and what nil stands for, is an error that wraps ErrUnknownHost.
func WithFallback(rt http.RoundTripper) Option {
	return func(c *config) { c.fallback = rt }
}

// WithUnmatchedAllowed keeps Start from failing the test on requests that no
// route takes, or that were refused because of their host.
func WithUnmatchedAllowed() Option {
	return func(c *config) { c.allowUnmatched = true }
}
