package model

import (
	"strings"

	"github.com/hermesfake/hermesfake/canon"
)

// Approval is a guarded step asking. The approval queues behind those that wait already; the status object shows the
// latest.
func (m *Model) Approval(id string, data canon.Object) {
	r := m.executing(id)
	if r == nil {
		return
	}
	r.approvals = append(r.approvals, data)
	event := append(canon.Object{}, data...)
	event = with(event, text("event", "approval.request"))
	event = with(event, text("run_id", r.id))
	event = with(event, member("timestamp", m.seconds()))
	event = with(event, member("choices", choices(data)))
	m.update(r, "waiting_for_approval", text("last_event", "approval.request"), member("approval", event))
	if q := m.queue(r.id); q != nil {
		m.emit(q, event)
	}
}

func choices(data canon.Object) canon.Array {
	smart, ok := data.Get("smart_denied")
	session, _ := data.Get("allow_session")
	permanent, _ := data.Get("allow_permanent")
	switch {
	case ok && canon.Truth(smart), isFalse(session):
		return canon.Array{canon.String("once"), canon.String("deny")}
	case isFalse(permanent):
		return canon.Array{canon.String("once"), canon.String("session"), canon.String("deny")}
	}
	return canon.Array{canon.String("once"), canon.String("session"), canon.String("always"), canon.String("deny")}
}

// approve is POST /v1/runs/{id}/approval.
func (m *Model) approve(id string, body []byte) Reply {
	r := m.find(id)
	if r == nil {
		return notFound(id)
	}
	v, err := canon.Parse(body)
	if err != nil {
		return invalid("Invalid JSON", "")
	}
	o, ok := v.(canon.Object)
	if !ok {
		return refused()
	}
	requestID := ""
	if v, ok := given(o, "request_id"); ok {
		s, ok := v.(canon.String)
		requestID = canon.Strip(string(s))
		if !ok || requestID == "" || characters(requestID) > 256 {
			return invalid("Approval request_id is invalid.", "invalid_approval_request")
		}
	}
	choice := readChoice(o)
	if choice == "" {
		return invalid("Invalid approval choice; expected one of: always, deny, once, session", "invalid_approval_choice")
	}
	if !r.active {
		return conflict("Run has no active approval session: "+id, "approval_not_active")
	}
	resolved := 0
	var left []canon.Object
	all := flag(o, "all") || flag(o, "resolve_all")
	for _, approval := range r.approvals {
		switch {
		case requestID != "" && resolved == 0 && has(approval, requestID),
			requestID == "" && all,
			requestID == "" && resolved == 0:
			resolved++
		default:
			left = append(left, approval)
		}
	}
	if resolved == 0 {
		return conflict("Run has no pending approval: "+id, "approval_not_pending")
	}
	r.approvals = left

	answer := []canon.Member{text("choice", choice)}
	if requestID != "" {
		answer = append(answer, text("request_id", requestID))
	}
	answer = append(answer, member("resolved", canon.IntOf(int64(resolved))))
	m.update(r, "running", text("last_event", "approval.responded"))
	m.tell(r, "approval.responded", answer...)
	return reply(200, append(canon.Object{text("object", "hermes.run.approval_response"), text("run_id", id)}, answer...))
}

// readChoice is the choice in the provider's words, or "". Only a string can name one: what Python's str() makes of
// other values never does. Python lower-cases U+0130 to two code points, so ASCII is all that matters.
func readChoice(o canon.Object) string {
	v, _ := o.Get("choice")
	s, ok := v.(canon.String)
	if !ok {
		return ""
	}
	switch choice := lowerASCII(canon.Strip(string(s))); choice {
	case "approve", "approved", "allow":
		return "once"
	case "once", "session", "always", "deny":
		return choice
	}
	return ""
}

func lowerASCII(s string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// flag reads a boolean, a number or one of the words for true.
func flag(o canon.Object, name string) bool {
	v, ok := o.Get(name)
	if !ok {
		return false
	}
	switch v := v.(type) {
	case canon.Bool, canon.Int, canon.Float:
		return canon.Truth(v)
	case canon.String:
		switch lowerASCII(canon.Strip(string(v))) {
		case "1", "true", "yes", "on":
			return true
		}
	}
	return false
}

func has(approval canon.Object, requestID string) bool {
	v, _ := approval.Get("request_id")
	s, ok := v.(canon.String)
	return ok && string(s) == requestID
}
