package faults

import (
	"fmt"
	"net/http"
	"time"

	"github.com/hermesfake/hermesfake/handler"
)

// SubmitAcceptedDrop admits one new run and loses its reply, so the client
// cannot know of the run. A submission that is rejected or replayed answers
// normally and does not use it up: the retry with the same Idempotency-Key finds the run.
func SubmitAcceptedDrop() Rule {
	return Rule{Operation: handler.RunCreate, Count: 1, Effect: EffectAcceptedDrop}
}

// SubmitDrop drops the connection of one submission before anything is admitted.
func SubmitDrop() Rule {
	return Rule{Operation: handler.RunCreate, Count: 1, Drop: true}
}

// SubmitReplyTruncated admits one new run and ends the body of its 202 half way. Submissions
// that are rejected or replayed do not use it up.
func SubmitReplyTruncated() Rule {
	return Rule{Operation: handler.RunCreate, Count: 1, Effect: EffectAcceptedTruncated}
}

// StopAcceptedDrop lets one stop take effect and loses its reply. A stop that
// changes nothing does not use it up.
func StopAcceptedDrop() Rule {
	return Rule{Operation: handler.RunStop, Count: 1, Effect: EffectAcceptedDrop}
}

// ApprovalAcceptedDrop lets one approval take effect and loses its reply. An
// approval that is refused does not use it up.
func ApprovalAcceptedDrop() Rule {
	return Rule{Operation: handler.RunApproval, Count: 1, Effect: EffectAcceptedDrop}
}

// SteerAcceptedDrop lets one steer take effect and loses its reply. A steer
// that is refused does not use it up.
func SteerAcceptedDrop() Rule {
	return Rule{Operation: handler.RunSteer, Count: 1, Effect: EffectAcceptedDrop}
}

// PollTimeout delays one poll by 1000 ms.
func PollTimeout() Rule {
	return Rule{Operation: handler.RunGet, Count: 1, Delay: time.Second}
}

// Throttled answers one submission with the provider's 429 of a gateway that
// has 10 active runs, before admission.
func Throttled() Rule {
	return Rule{
		Operation: handler.RunCreate, Count: 1, Status: http.StatusTooManyRequests,
		Header: http.Header{"Retry-After": {"1"}},
		Body: `{"error": {"message": "Too many concurrent runs (max 10)", "type": "rate_limit_error", ` +
			`"param": null, "code": "rate_limit_exceeded"}}`,
	}
}

// Draining answers one submission with the provider's 503 of a gateway that
// drains, before admission.
func Draining() Rule {
	return Rule{
		Operation: handler.RunCreate, Count: 1, Status: http.StatusServiceUnavailable,
		Header: http.Header{"Retry-After": {"1"}},
		Body: `{"error": {"message": "Gateway is draining existing work; retry shortly.", ` +
			`"type": "invalid_request_error", "param": null, "code": "gateway_draining"}}`,
	}
}

// BadGateway answers one request of any kind with a proxy's 502, whose body is HTML.
func BadGateway() Rule {
	return Rule{
		Count: 1, Status: http.StatusBadGateway,
		Header: http.Header{"Content-Type": {"text/html"}},
		Body: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
			"<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n",
	}
}

// ConnectionRefused refuses the next count requests of any kind, as when nothing
// listens during a restart; 0 is no bound.
func ConnectionRefused(count int) Rule {
	return Rule{Count: count, Effect: EffectConnectionRefused}
}

// SlowBody delivers the body of one reply, event streams included, at so many
// bytes a second.
func SlowBody(bytesPerSecond int) Rule {
	return Rule{Count: 1, Effect: EffectSlowBody, BytesPerSecond: bytesPerSecond}
}

// EventsCut breaks one event stream after so many events, or before its
// terminal event if that comes first. To the gateway that is a client that has
// gone, whose place in line is kept until something is due there.
func EventsCut(after int) Rule {
	return Rule{Operation: handler.RunEvents, Count: 1, Effect: EffectEventsCut, After: after}
}

// EventsNoTerminal lets one event stream end cleanly, but without its terminal event.
func EventsNoTerminal() Rule {
	return Rule{Operation: handler.RunEvents, Count: 1, Effect: EffectEventsNoTerminal}
}

// EventsStall keeps one event stream open and silent: its events are lost, and
// keepalives are all that comes, also when the run has settled.
func EventsStall() Rule {
	return Rule{Operation: handler.RunEvents, Count: 1, Effect: EffectEventsStall}
}

// EventsSplitFrames delivers one event stream in fragments that end inside of data:, of
// \u escapes and of the blank line. In process each Read returns one; over a socket each is
// written a millisecond after the one before.
func EventsSplitFrames() Rule {
	return Rule{Operation: handler.RunEvents, Count: 1, Effect: EffectEventsSplitFrames}
}

// Preset is a rule with a name, for the control plane.
type Preset struct {
	Name        string
	Description string
	Rule        Rule
}

// Presets returns the presets in the order of the documentation. Those of
// functions with a parameter have it at 1, but the slow body at 64 bytes a second.
func Presets() []Preset {
	return []Preset{
		{"hermes_submit_accepted_drop", "One new run is admitted, then its reply is lost; rejected and replayed submissions do not use it up.", SubmitAcceptedDrop()},
		{"hermes_poll_timeout", "One poll is delayed by 1000 ms.", PollTimeout()},
		{"hermes_throttled", "One submission is answered 429, as by a gateway with 10 active runs.", Throttled()},
		{"hermes_draining", "One submission is answered 503, as by a gateway that drains.", Draining()},
		{"hermes_submit_drop", "The connection of one submission drops before admission.", SubmitDrop()},
		{"hermes_submit_reply_truncated", "One new run is admitted, then the body of its 202 ends half way.", SubmitReplyTruncated()},
		{"hermes_stop_accepted_drop", "One stop takes effect, then its reply is lost.", StopAcceptedDrop()},
		{"hermes_approval_accepted_drop", "One approval takes effect, then its reply is lost.", ApprovalAcceptedDrop()},
		{"hermes_steer_accepted_drop", "One steer takes effect, then its reply is lost.", SteerAcceptedDrop()},
		{"hermes_events_cut", "One event stream breaks after params.after events, without a terminal event.", EventsCut(1)},
		{"hermes_events_no_terminal", "One event stream ends cleanly, but its terminal event is missing.", EventsNoTerminal()},
		{"hermes_events_stall", "One event stream stays open and silent, keepalives only.", EventsStall()},
		{"hermes_events_split_frames", "The frames of one event stream arrive in fragments.", EventsSplitFrames()},
		{"hermes_connection_refused", "Nothing listens for count requests; an accepted connection is reset at once.", ConnectionRefused(1)},
		{"hermes_slow_body", "The body of one reply comes at params.bytesPerSecond.", SlowBody(64)},
		{"hermes_bad_gateway", "One request is answered 502 with the HTML of a proxy.", BadGateway()},
	}
}

// Named returns the rule of the preset with the name. An error wraps ErrRule and names them
// all.
func Named(name string) (Rule, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p.Rule, nil
		}
		names = append(names, p.Name)
	}
	return Rule{}, fmt.Errorf("%w: preset must be one of %s", ErrRule, list(names))
}
