// Package faults makes requests to the provider fail as they do on a network:
// a reply that is lost after the run was admitted, a poll that is slower than the client's
// deadline, a stream that is cut, a gateway that says 429, 503 or nothing.
//
// A [Rule] says which requests and what becomes of them. The functions that return a Rule are the
// presets. A fake takes rules by its Inject method, or over HTTP by
// POST /__admin/faults:
//
//	hermes.Inject(faults.SubmitAcceptedDrop())
//	hermes.Inject(faults.Rule{Operation: hermesfake.RunGet, Drop: true, Rate: 0.1})
//
// # What clients see
//
// In process a client gets the errors of a real connection: a dropped reply is
// a *net.OpError with syscall.ECONNRESET, a refused connection one with
// syscall.ECONNREFUSED, and a body that ends too early is io.ErrUnexpectedEOF. Over a socket the
// connection really breaks; one that is to be refused was accepted already, and is reset at once.
//
// Go's own http.Transport silently sends a request again when a connection
// that it had used before is reset, if the request is a GET or has an
// Idempotency-Key. A test over a socket that wants to see the fault needs
// fresh connections (http.Transport.DisableKeepAlives). In process nothing is sent twice.
//
// # Time
//
// Delays and slow bodies take real time, as the client's deadline does, and the time of the
// bubble under testing/synctest. They end at once with the request's context, and
// when the fake is closed.
package faults

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// ErrRule is wrapped by the error for a rule that makes no sense, which says
// what is wrong with it.
var ErrRule = errors.New("fault rule")

// AllNamespaces as the Namespace of a rule stands for every namespace.
const AllNamespaces = "*"

// Effect is what a rule does that goes beyond a delay, an answer and a drop.
type Effect string

// The effects.
const (
	// EffectAcceptedDrop lets the operation happen and loses its reply, where the
	// operation was accepted: a new run, a stop, an approval, a steer. Other replies
	// arrive, and do not use the rule up.
	EffectAcceptedDrop Effect = "accepted_drop"
	// EffectAcceptedTruncated is the same, but the reply ends half way through its body.
	EffectAcceptedTruncated Effect = "accepted_truncated"
	// EffectEventsCut breaks an event stream after Rule.After events, or before its terminal
	// event if that comes first. To the gateway that is a client that has gone.
	EffectEventsCut Effect = "events_cut"
	// EffectEventsNoTerminal leaves the terminal event out of an event stream that ends cleanly.
	EffectEventsNoTerminal Effect = "events_no_terminal"
	// EffectEventsStall keeps an event stream open and lets only keepalives through.
	EffectEventsStall Effect = "events_stall"
	// EffectEventsSplitFrames delivers the frames of an event stream in fragments that end
	// inside of data:, of \u escapes and of the blank line.
	EffectEventsSplitFrames Effect = "events_split_frames"
	// EffectConnectionRefused refuses the connection, as when nothing listens.
	EffectConnectionRefused Effect = "connection_refused"
	// EffectSlowBody delivers Rule.BytesPerSecond of the reply's body.
	EffectSlowBody Effect = "slow_body"
)

var effects = []Effect{
	EffectAcceptedDrop, EffectAcceptedTruncated, EffectEventsCut, EffectEventsNoTerminal,
	EffectEventsStall, EffectEventsSplitFrames, EffectConnectionRefused, EffectSlowBody,
}

// ofEvents reports whether the effect is one on event streams.
func (e Effect) ofEvents() bool { return strings.HasPrefix(string(e), "events_") }

// ofAccepted reports whether the effect is one on accepted operations.
func (e Effect) ofAccepted() bool { return strings.HasPrefix(string(e), "accepted_") }

// follows reports whether the effect waits for the operation's reply, which
// decides whether it takes place.
func (e Effect) follows() bool { return e.ofEvents() || e.ofAccepted() }

// Rule says which requests to the provider meet a fault, and which. It needs
// at least one of Delay, Status, Drop and Effect. The zero value of the others
// stands for no restriction.
//
// Rules are tried in the order in which they were added. One that only delays or has an effect
// lets later ones match too; the first that answers or drops ends the search.
type Rule struct {
	// ID names the rule in the journal and for removal; default "fault-N" with the number of
	// the rule. It matches ^[A-Za-z0-9_.-]{1,64}$, and is that of no other rule that is still in use.
	ID string

	// Operation is the operation of the requests; "" is any, and also stands for those that
	// no route takes.
	Operation handler.Operation
	// Method is the method of the requests, in upper case.
	Method string
	// PathPrefix is what their path begins with, escaped and without the /ns/NAME of a namespace.
	PathPrefix string
	// Namespace is theirs, or AllNamespaces. "" stands for that of who adds the rule: the
	// caller's over HTTP, that of a view in Go, and AllNamespaces for the fake itself.
	Namespace string

	// Count is how many requests the rule is for; 0 is no bound.
	Count int
	// Rate is the share of the matching requests that the rule is for, above 0 and at most
	// 1; 0 stands for 1. It is drawn from the fake's seed, rule by rule and namespace by namespace, so
	// that the same requests meet the same faults again.
	Rate float64

	// Delay is how long the request waits before anything else happens to it. If its client
	// goes meanwhile, the operation never happens. With an effect that waits for the
	// operation's reply, it is the reply that waits.
	Delay time.Duration
	// Status answers in place of the operation, with Header and Body: 200 to 599.
	Status int
	// Header is that of the answer, beside the fields that every reply has.
	Header http.Header
	// Body is that of the answer. A JSON object or array has the type and the security headers
	// of the provider's replies, anything else is text/plain, unless Header says otherwise.
	Body string
	// Drop resets the connection before the operation.
	Drop bool
	// Effect is something else to do.
	Effect Effect
	// After is the number of events that EffectEventsCut lets through.
	After int
	// BytesPerSecond is the pace of EffectSlowBody.
	BytesPerSecond int
}

// Times returns the rule for n requests; 0 is no bound.
func (r Rule) Times(n int) Rule {
	r.Count = n
	return r
}

var (
	idPattern    = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	tokenPattern = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
)

var operations = []handler.Operation{
	handler.RunCreate, handler.RunGet, handler.RunStop, handler.RunEvents, handler.RunApproval,
	handler.RunSteer, handler.Models, handler.Capabilities, handler.Health,
}

// accepting are the operations that can be accepted.
var accepting = []handler.Operation{
	handler.RunCreate, handler.RunStop, handler.RunApproval, handler.RunSteer,
}

// Validate returns why the rule makes no sense, as an error that wraps ErrRule,
// or nil.
func (r *Rule) Validate() error {
	for _, check := range [...]func(*Rule) string{
		(*Rule).checkMatch, (*Rule).checkAnswer, (*Rule).checkEffect,
	} {
		if problem := check(r); problem != "" {
			return fmt.Errorf("%w: %s", ErrRule, problem)
		}
	}
	return nil
}

func (r *Rule) checkMatch() string {
	switch {
	case r.ID != "" && !idPattern.MatchString(r.ID):
		return "id must match " + idPattern.String()
	case r.Operation != "" && !slices.Contains(operations, r.Operation):
		return "operationId must be one of " + list(operations)
	case r.Method != "" && (!tokenPattern.MatchString(r.Method) || r.Method != strings.ToUpper(r.Method)):
		return "method must be a method in upper case, such as POST"
	case r.PathPrefix != "" && r.PathPrefix[0] != '/':
		return "pathPrefix must begin with a slash"
	case r.Namespace != "" && r.Namespace != AllNamespaces && !engine.ValidNamespace(r.Namespace):
		return `namespace must be the name of one, or "*"`
	case r.Count < 0:
		return "count must not be negative"
	case !(r.Rate >= 0 && r.Rate <= 1):
		return "rate must be above 0 and at most 1"
	}
	return ""
}

func (r *Rule) checkAnswer() string {
	switch {
	case r.Delay < 0:
		return "delayMs must not be negative"
	case r.Status == 0 && (len(r.Header) > 0 || r.Body != ""):
		return "headers and body need a status"
	case r.Status != 0 && (r.Status < 200 || r.Status > 599):
		return "status must be 200 to 599"
	case handler.Bodiless(r.Status) && r.Body != "":
		return fmt.Sprintf("a reply with status %d has no body", r.Status)
	case r.Status != 0 && r.Drop:
		return "status and drop exclude each other"
	}
	for name, values := range r.Header {
		switch http.CanonicalHeaderKey(name) {
		case "Content-Length", "Transfer-Encoding", "Connection", "Trailer":
			return "headers must not have " + name + ", which belongs to the connection"
		}
		if !tokenPattern.MatchString(name) || slices.ContainsFunc(values, invalidValue) {
			return fmt.Sprintf("headers: %q is no valid field", name)
		}
	}
	return ""
}

// invalidValue reports whether a field value has control characters.
func invalidValue(v string) bool {
	return strings.ContainsFunc(v, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

func (r *Rule) checkEffect() string {
	switch {
	case r.Effect == "" && r.Delay == 0 && r.Status == 0 && !r.Drop:
		return "at least one of status, drop, delayMs and effect is needed"
	case r.Effect != EffectEventsCut && r.After != 0:
		return "params.after belongs to the effect " + string(EffectEventsCut)
	case r.Effect != EffectSlowBody && r.BytesPerSecond != 0:
		return "params.bytesPerSecond belongs to the effect " + string(EffectSlowBody)
	case r.Effect == "":
		return ""
	case !slices.Contains(effects, r.Effect):
		return "effect must be one of " + list(effects)
	case r.Drop, r.Status != 0 && r.Effect != EffectSlowBody:
		return "the effect " + string(r.Effect) + " leaves no place for status or drop"
	case r.Effect.ofEvents() && r.Operation != "" && r.Operation != handler.RunEvents:
		return "the effect " + string(r.Effect) + " is for the operation RunEvents"
	case r.Effect.ofAccepted() && r.Operation != "" && !slices.Contains(accepting, r.Operation):
		return "the effect " + string(r.Effect) + " is for the operations " + list(accepting)
	case r.After < 0:
		return "params.after must not be negative"
	case r.Effect == EffectSlowBody && r.BytesPerSecond <= 0:
		return "params.bytesPerSecond must be above 0"
	}
	return ""
}

func list[T ~string](names []T) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(name))
	}
	return b.String()
}

// matches reports whether the rule is for the call, count and rate aside.
func (r *Rule) matches(c *handler.Call) bool {
	return (r.Operation == "" || r.Operation == c.Operation()) &&
		(r.Namespace == AllNamespaces || r.Namespace == c.Namespace()) &&
		(r.Method == "" || r.Method == c.Request().Method) &&
		strings.HasPrefix(c.Path(), r.PathPrefix)
}
