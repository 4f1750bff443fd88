// Package hermesfake is a test double of the Hermes Agent API server: submit a
// run, poll it, stop it, follow its events, answer its approvals, steer it. It
// is exact to the byte, runs in process without a port, and moves only when
// the test says so, on a clock that the test owns.
//
//	hermes := hermesfake.New()
//	client := &http.Client{Transport: hermes}
//
// A Fake is an http.RoundTripper and an http.Handler. The command
// cmd/hermesfake serves the same to programs in other languages.
//
// In a test [Start] takes the place of [New]: it closes the fake, and says what went wrong.
//
// # Driving
//
// A submitted run stays queued until the test moves it, through a [*Run] from
// [Fake.Runs], [Fake.Run] or [Fake.WaitRun], or until a script does ([Fake.Script],
// [Fake.SetScript]). Time passes by [Fake.Advance], or with that of a testing/synctest bubble.
// [Fake.Inject] makes the network fail, [Fake.Restart] the gateway, [Fake.Checkout] goes back to an
// earlier [Fake.Checkpoint].
//
// # Looking
//
// [Fake.Requests] is what arrived, [Run.Snapshot] how a run stands, [Fake.Dump] all of it as a text. What
// waits takes a context: give it a deadline, and the error says what came instead. A wait that only the end of
// the test binary ends shows neither that nor a dump.
//
// # Types of other packages
//
// Types such as [Snapshot] and [Request] stand for types of packages engine, handler and
// engine/suppliedinput, whose documentation has their members: go doc
// github.com/hermesfake/hermesfake/engine.Inspection.
package hermesfake

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/jarcoal/httpmock"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
	"github.com/hermesfake/hermesfake/faults"
	"github.com/hermesfake/hermesfake/handler"
	"github.com/hermesfake/hermesfake/transport"
)

// Version is the version of hermesfake.
const Version = handler.Version

// BaseURL is an address that reaches a Fake in process. Loopback addresses
// with any port do too, and what WithHosts and WithBaseURL add.
const BaseURL = "http://hermes.test"

// Fake is a Hermes API server that the test drives. Make one with New or
// Start. All methods may be called from any goroutine.
type Fake struct {
	core      *core
	handler   *handler.Handler
	transport *transport.Transport
	namespace *engine.Namespace
	all       bool // clock calls move every namespace

	// Of WaitRun, whose waits guard it: admissions that were returned, in the era of the latest reset or checkout.
	seen, era uint64
}

// core is what the views of one fake share.
type core struct {
	engine *engine.Engine
	config config
	fake   *Fake // that New returned
	stage  stage
	faults *faults.Set

	inputSpaces inputSpaces

	mock atomic.Pointer[httpmock.MockTransport] // nil until Mock is called
}

// New returns a fake that is ready for requests. It cannot fail, needs no
// configuration, and uses no resources that must be freed, but for scripts that still play: Start, or a Close of
// one's own, ends them.
func New(options ...Option) *Fake {
	c := config{
		seed: rand.Uint64(),
		engine: engine.Config{
			Gateway: engine.Gateway{MaxConcurrentRuns: engine.DefaultMaxConcurrentRuns},
		},
		handler: handler.Options{Namespace: engine.DefaultNamespace},
		hosts:   []string{"hermes.test", "localhost", "127.0.0.1", "::1"},
	}
	for _, o := range options {
		o(&c)
	}
	c.engine.Seed = c.seed
	c.engine.Scope = scopeOf(engine.DefaultProfile, c.handler.APIKey)
	if c.inputQueue == nil {
		c.inputQueue = suppliedinput.NewMemoryQueue()
	}
	k := &core{faults: faults.New(c.seed)}
	c.engine.Completing, c.engine.Clearing, c.engine.Restored = k.completing, k.clearing, k.restored
	k.engine, k.config = engine.New(c.engine), c
	c.handler.Admitted, c.handler.Script, c.handler.SuppliedInput = k.admitted, k.scriptControl, k.supplied
	c.handler.PageInput = k.inputPage
	c.handler.Middleware, c.handler.Controls = k.faults, append(k.faults.Controls(), k.inputControls()...)
	// The options keep the clock's bounds, so the change cannot fail.
	k.engine.ChangeClock(c.clock)
	f := k.view(handler.New(k.engine, c.handler), c.handler.Namespace)
	f.all = true
	k.fake = f
	return f
}

func (k *core) view(h *handler.Handler, namespace string) *Fake {
	// The name was checked, and creating a namespace cannot fail otherwise.
	n, _ := k.engine.Namespace(namespace)
	return &Fake{
		core:    k,
		handler: h,
		transport: transport.NewWith(h, transport.Options{
			Hosts:    k.config.hosts,
			Bases:    k.config.bases,
			Stubs:    k.mock.Load,
			Fallback: k.config.fallback,
			Refused:  h.RefuseHost,
		}),
		namespace: n,
	}
}

// Namespace returns a view of the fake for one test among parallel ones: the same
// server, but an isolated world with its own runs, clock and journal. Requests
// through the view belong to the namespace unless they name another. Over a
// socket the header x-mockingbird-namespace or the path /ns/NAME/ does the same.
// The name must match ^[A-Za-z0-9_.-]{1,64}$, else the error wraps ErrNamespace; that of a
// subtest has slashes, so use strings.ReplaceAll(t.Name(), "/", ".").
func (f *Fake) Namespace(name string) (*Fake, error) {
	if _, err := f.core.engine.Namespace(name); err != nil {
		return nil, fmt.Errorf("hermesfake: the name %q: %w", name, err)
	}
	return f.core.view(f.handler.In(name), name), nil
}

// DropNamespace forgets a namespace, its rows in the store of WithStore too, until its
// next use. Its event streams break, and views of it are closed. The namespace of the
// fake itself cannot be dropped, which is an error that wraps ErrNamespace; Reset it.
// It fails with StorageFailed if the store does not drop the rows, and no run has changed; what was supplied may be
// forgotten by then.
func (f *Fake) DropNamespace(name string) error {
	if name == f.core.fake.namespace.Name() {
		return fmt.Errorf("%w: %s is the fake's own: use Reset", ErrNamespace, name)
	}
	return f.core.fake.handler.DropNamespace(name)
}

// RoundTrip answers a request in process. A request to a host that is not the
// fake's, and that no stub of Mock answers, is an error that wraps
// ErrUnknownHost, never a network call unless WithFallback makes it one.
func (f *Fake) RoundTrip(r *http.Request) (*http.Response, error) {
	return f.transport.RoundTrip(r)
}

// ServeHTTP answers a request that a server received.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.handler.ServeHTTP(w, r)
}

// Handler returns the fake as an http.Handler and nothing else, to be put
// under a mux or into httptest.NewServer.
func (f *Fake) Handler() http.Handler { return f.handler }

// Client returns a new client whose requests the fake answers in process.
func (f *Fake) Client() *http.Client { return &http.Client{Transport: f} }

// Seed is the number that ids are drawn from. A fake with the same seed, given the
// same requests, mints the same ids.
func (f *Fake) Seed() uint64 { return f.core.config.seed }

// Close ends every event stream, every delay and whoever waits, and returns when the
// scripts that still play have ended, so a script must not call it; what comes later is refused.
// The store of WithStore stays open, and can be given to another fake.
// It belongs to the whole fake, not to a view. Calling it again does nothing.
func (f *Fake) Close() {
	f.core.stage.close()
	f.core.faults.Close()
	f.core.engine.Close()
	f.core.stage.playing.Wait()
}

// NamePattern is what names of namespaces and profiles match.
const NamePattern = engine.NamePattern

// ValidName reports whether name can name a namespace or a profile.
func ValidName(name string) bool { return engine.ValidNamespace(name) }

// ValidOrigin reports whether WithCORSOrigins takes the text: "*", "null", or an origin as browsers
// send it, such as "https://app.example.com:8443", in lower case and without a path.
func ValidOrigin(origin string) bool {
	if origin == "*" || origin == "null" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme != "" && u.Host != "" && u.User == nil && origin == strings.ToLower(u.Scheme+"://"+u.Host)
}
