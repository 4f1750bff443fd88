package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/hermesfake/hermesfake/canon"
)

const (
	approvalRequest   = "approval.request"
	approvalResponded = "approval.responded"
	maxRequestID      = 256 // characters
)

// Choice is an answer to an approval, in the provider's words.
type Choice string

// The four answers.
const (
	Once    Choice = "once"
	Session Choice = "session"
	Always  Choice = "always"
	Deny    Choice = "deny"
)

// Pending is an approval that waits for its answer.
type Pending struct {
	Number   uint64       // counts the approvals of the run from 1 on
	Approval canon.Object // the event object, as the status object shows it
	AskedAt  time.Time
}

// Decision is the answer that a pending approval got.
type Decision struct {
	Number    uint64 // of the approval
	Choice    Choice
	RequestID string // which the client named, "" if it named none
	Approval  canon.Object
	DecidedAt time.Time
}

// execution is what the executor of a run holds. It never changes.
type execution struct {
	asks      uint64
	pending   []Pending
	decisions []Decision
	steers    []string
	policy    SteerPolicy
}

func (x *execution) copy() execution {
	if x == nil {
		return execution{}
	}
	return *x
}

func (x *execution) asked(event canon.Object, now int64) *execution {
	next := x.copy()
	next.asks++
	next.pending = append(slices.Clip(next.pending), Pending{next.asks, event, time.Unix(0, now).UTC()})
	return &next
}

// settled ends the approval session.
func (x *execution) settled() *execution {
	if x == nil || x.pending == nil {
		return x
	}
	next := *x
	next.pending = nil
	return &next
}

// approvalEvent sets on an approval's own object what the provider sets, in
// place where it has it already (vectors: approval.json, approval-event-choices).
func approvalEvent(approval canon.Object, id RunID, now int64) canon.Object {
	event := append(make(canon.Object, 0, len(approval)+4), approval...)
	set := func(name string, v canon.Value) {
		for i := range event {
			if event[i].Name == name {
				event[i].Value = v
				return
			}
		}
		event = append(event, canon.Member{Name: name, Value: v})
	}
	set("event", canon.String(approvalRequest))
	set("run_id", canon.String(id.String()))
	set("timestamp", canon.Float(seconds(now)))
	set("choices", choices(approval))
	return event
}

func choices(approval canon.Object) canon.Array {
	smartDenied, _ := approval.Get("smart_denied")
	allowSession, _ := approval.Get("allow_session")
	allowPermanent, _ := approval.Get("allow_permanent")
	offered := []Choice{Once, Session, Always, Deny}
	switch {
	case canon.Truth(smartDenied) || allowSession == canon.Bool(false):
		offered = []Choice{Once, Deny}
	case allowPermanent == canon.Bool(false):
		offered = []Choice{Once, Session, Deny}
	}
	array := make(canon.Array, len(offered))
	for i, c := range offered {
		array[i] = canon.String(c)
	}
	return array
}

// Answer is a valid answer to pending approvals.
type Answer struct {
	Choice    Choice
	RequestID string // resolves exactly this one; "" for none
	All       bool   // resolves all, where no request is named; else the oldest
}

// ReadAnswer checks the body of an approval request. It fails with
// InvalidJSON, Unsupported, ApprovalRequestInvalid or ApprovalChoiceInvalid.
func ReadAnswer(body []byte) (Answer, error) {
	v, err := canon.Parse(body)
	if err != nil {
		return Answer{}, refuse(InvalidJSON)
	}
	object, ok := v.(canon.Object)
	if !ok {
		return Answer{}, &Refusal{Reason: Unsupported, Subject: "an approval body that is no JSON object"}
	}
	var a Answer
	if v, ok := object.Get("request_id"); ok && v != (canon.Null{}) {
		text, _ := v.(canon.String)
		a.RequestID = canon.Strip(string(text))
		if a.RequestID == "" || characters(a.RequestID) > maxRequestID {
			return Answer{}, refuse(ApprovalRequestInvalid)
		}
	}
	choice, _ := object.Get("choice")
	text, _ := choice.(canon.String)
	a.Choice, ok = readChoice(string(text))
	if !ok {
		return Answer{}, refuse(ApprovalChoiceInvalid)
	}
	all, _ := object.Get("all")
	resolveAll, _ := object.Get("resolve_all")
	a.All = yes(all) || yes(resolveAll)
	return a, nil
}

// readChoice compares in ASCII lower case, which is exact: no other character
// becomes one of these letters in Python.
func readChoice(text string) (Choice, bool) {
	switch c := Choice(lowerASCII(canon.Strip(text))); c {
	case "approve", "approved", "allow":
		return Once, true
	case Once, Session, Always, Deny:
		return c, true
	}
	return "", false
}

func yes(v canon.Value) bool {
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

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}

// Approve answers pending approvals of a run and returns how many. The run
// goes to running, even if others still wait or it was stopping. It fails with
// RunNotFound, ApprovalNotActive, ApprovalNotPending or StorageFailed.
func (n *Namespace) Approve(id RunID, a Answer) (resolved int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w, now, err := n.begin()
	if err != nil {
		return 0, err
	}
	rec, err := n.find(w, id, now)
	if err != nil {
		return 0, err
	}
	if !rec.run.active {
		if err := n.commit(w, id); err != nil {
			return 0, err
		}
		return 0, refuseRun(ApprovalNotActive, id)
	}
	x := rec.execution.copy()
	var kept []Pending
	for _, p := range x.pending {
		if !a.resolves(p, resolved) {
			kept = append(kept, p)
			continue
		}
		resolved++
		x.decisions = append(slices.Clip(x.decisions),
			Decision{p.Number, a.Choice, a.RequestID, p.Approval, time.Unix(0, now).UTC()})
	}
	if resolved == 0 {
		return 0, refuseRun(ApprovalNotPending, id)
	}
	x.pending = kept
	next := *rec
	next.execution = &x
	w.update(&next, &update{status: Running, lastEvent: approvalResponded}, now)
	w.put(id, &next)
	if err := n.commit(w, id); err != nil {
		return 0, err
	}
	members := canon.Object{{Name: "choice", Value: canon.String(a.Choice)}}
	if a.RequestID != "" {
		members = append(members, canon.Member{Name: "request_id", Value: canon.String(a.RequestID)})
	}
	members = append(members, canon.Member{Name: "resolved", Value: canon.IntOf(int64(resolved))})
	n.deliver(id, now, item{eventFrame(approvalResponded, id, now, members)})
	n.accepted(now)
	n.transition(id)
	return resolved, nil
}

// resolves reports whether the answer is for p, when so many were resolved before it.
func (a *Answer) resolves(p Pending, before int) bool {
	if a.RequestID != "" {
		id, _ := p.Approval.Get("request_id")
		return before == 0 && id == canon.Value(canon.String(a.RequestID))
	}
	return a.All || before == 0
}

// AppendJSON appends the provider's reply to an answer that resolved so many.
func (a *Answer) AppendJSON(dst []byte, id RunID, resolved int) []byte {
	reply := canon.Object{
		{Name: "object", Value: canon.String("hermes.run.approval_response")},
		{Name: "run_id", Value: canon.String(id.String())},
		{Name: "choice", Value: canon.String(a.Choice)},
	}
	if a.RequestID != "" {
		reply = append(reply, canon.Member{Name: "request_id", Value: canon.String(a.RequestID)})
	}
	return canon.AppendWire(dst, append(reply,
		canon.Member{Name: "resolved", Value: canon.IntOf(int64(resolved))}))
}
