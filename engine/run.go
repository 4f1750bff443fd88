package engine

import (
	"time"

	"github.com/hermesfake/hermesfake/canon"
)

// member is a member of the status object. The constants stand in
// alphabetical order, so a row read back sorts by number.
type member uint8

const (
	memberApproval member = iota
	memberCreatedAt
	memberError
	memberLastEvent
	memberModel
	memberObject
	memberOutput
	memberPendingSteer
	memberRunID
	memberSessionID
	memberStatus
	memberUpdatedAt
	memberUsage
	memberCount
)

// Usage counts the tokens of a completed run.
type Usage struct {
	InputTokens  int64
	OutputTokens int64
	TotalTokens  int64
}

var noUsage Usage

// Run is one observation of a run: the status object that the provider
// answers to a poll. It never changes; the next observation is another Run.
type Run struct {
	id           RunID
	number       uint64
	scope        *Scope
	created      int64
	updated      int64
	session      canon.Value // nil: the run's id
	model        canon.Value
	approval     canon.Value
	lastEvent    string
	output       string
	err          *string
	pendingSteer *string
	usage        *Usage
	order        [memberCount]member
	members      uint8
	status       Status
	active       bool // admitted by this gateway process and not settled
}

func newRun(id RunID, number uint64, scope *Scope, session, model canon.Value, now int64) *Run {
	r := &Run{id: id, number: number, scope: scope, session: session, model: model,
		created: now, updated: now, status: Queued, active: true}
	for _, m := range [...]member{memberObject, memberRunID, memberStatus, memberUpdatedAt,
		memberCreatedAt, memberSessionID, memberModel} {
		r.set(m)
	}
	return r
}

// ID is the run's id.
func (r *Run) ID() RunID { return r.id }

// Status is the run's state.
func (r *Run) Status() Status { return r.status }

// Active reports whether the run was admitted by this gateway process and has not settled.
func (r *Run) Active() bool { return r.active }

// Scope is whose run it is.
func (r *Run) Scope() *Scope { return r.scope }

// Number counts the admissions of the namespace from 1 on; this run was that one. The count goes on after a reopened
// store, and passes over what an earlier process had reserved.
func (r *Run) Number() uint64 { return r.number }

// CreatedAt is the time of admission.
func (r *Run) CreatedAt() time.Time { return time.Unix(0, r.created).UTC() }

// UpdatedAt is the time of the last update that the provider counts as one.
func (r *Run) UpdatedAt() time.Time { return time.Unix(0, r.updated).UTC() }

// SessionID is the session_id member: the submitted value if it was true, else the run's id.
func (r *Run) SessionID() canon.Value {
	if r.session == nil {
		return canon.String(r.id.String())
	}
	return r.session
}

// Model is the model member: the submitted value if there was one, else the server's model.
func (r *Run) Model() canon.Value { return r.model }

// LastEvent is the last_event member, "" while there is none.
func (r *Run) LastEvent() string { return r.lastEvent }

// Output is the output member of a completed run, else "".
func (r *Run) Output() string { return r.output }

// Usage is the usage member of a completed run, else zero.
func (r *Run) Usage() Usage {
	if r.usage == nil {
		return Usage{}
	}
	return *r.usage
}

// Err is the error member of a failed or interrupted run, else "".
func (r *Run) Err() string { return text(r.err) }

// PendingSteer is the pending_steer member: steer text that a completed run left unused.
func (r *Run) PendingSteer() string { return text(r.pendingSteer) }

// Approval is the approval member of a waiting run, else nil.
func (r *Run) Approval() canon.Value { return r.approval }

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// has reports whether m is among the status object's members.
func (r *Run) has(m member) bool {
	for _, o := range r.order[:r.members] {
		if o == m {
			return true
		}
	}
	return false
}

func (r *Run) set(m member) {
	if !r.has(m) {
		r.order[r.members] = m
		r.members++
	}
}

func (r *Run) drop(m member) {
	for i, o := range r.order[:r.members] {
		if o == m {
			copy(r.order[i:r.members-1], r.order[i+1:r.members])
			r.members--
			return
		}
	}
}

// update is what one step of the executor changes. Members that it sets are
// those that are not nil, and lastEvent if not empty.
type update struct {
	status       Status
	output       *string
	usage        *Usage
	err          *string
	lastEvent    string
	approval     canon.Value
	pendingSteer *string
}

// durable reports whether the update is one that the provider writes to the
// row of r: other progress is lost by a restart.
func (u *update) durable(r *Run) bool {
	return u.status != r.status || u.status.Terminal() ||
		u.output != nil || u.usage != nil || u.err != nil || u.pendingSteer != nil
}

// after returns the observation that follows r. Members keep the place where
// they were first set (vectors: lifecycle.json, stop-outcomes).
func (r *Run) after(u *update, now int64) *Run {
	next := *r
	next.status = u.status
	next.updated = now
	if u.status != WaitingForApproval && u.approval == nil {
		next.approval = nil
		next.drop(memberApproval)
	}
	if u.output != nil {
		next.output = *u.output
		next.set(memberOutput)
	}
	if u.usage != nil {
		next.usage = u.usage
		next.set(memberUsage)
	}
	if u.err != nil {
		next.err = u.err
		next.set(memberError)
	}
	if u.lastEvent != "" {
		next.lastEvent = u.lastEvent
		next.set(memberLastEvent)
	}
	if u.approval != nil {
		next.approval = u.approval
		next.set(memberApproval)
	}
	if u.pendingSteer != nil {
		next.pendingSteer = u.pendingSteer
		next.set(memberPendingSteer)
	}
	if u.status.Terminal() {
		next.active = false
	}
	return &next
}

// readBack returns r as it comes back from its row: without an executor here, and with
// members in alphabetical order at every level (vectors: restart.json).
func (r *Run) readBack() *Run {
	back := *r
	back.active = false
	back.session = canon.Sorted(r.session)
	back.model = canon.Sorted(r.model)
	back.approval = canon.Sorted(r.approval)
	back.members = 0
	for m := range memberCount {
		if r.has(m) {
			back.set(m)
		}
	}
	return &back
}

// AppendJSON appends the status object in the provider's bytes.
func (r *Run) AppendJSON(dst []byte) []byte {
	sep := `{"`
	for _, m := range r.order[:r.members] {
		dst = append(dst, sep...)
		sep = `, "`
		switch m {
		case memberObject:
			dst = append(dst, `object": "hermes.run"`...)
		case memberRunID:
			dst = append(dst, `run_id": "`...)
			dst = append(r.id.Append(dst), '"')
		case memberStatus:
			dst = append(dst, `status": "`...)
			dst = append(append(dst, r.status.String()...), '"')
		case memberUpdatedAt:
			dst = canon.AppendFloat(append(dst, `updated_at": `...), seconds(r.updated))
		case memberCreatedAt:
			dst = canon.AppendFloat(append(dst, `created_at": `...), seconds(r.created))
		case memberSessionID:
			dst = append(dst, `session_id": `...)
			if r.session == nil {
				dst = append(r.id.Append(append(dst, '"')), '"')
			} else {
				dst = canon.AppendWire(dst, r.session)
			}
		case memberModel:
			dst = canon.AppendWire(append(dst, `model": `...), r.model)
		case memberLastEvent:
			dst = canon.AppendWireString(append(dst, `last_event": `...), r.lastEvent)
		case memberOutput:
			dst = canon.AppendWireString(append(dst, `output": `...), r.output)
		case memberUsage:
			dst = append(append(dst, `usage": `...), r.usage.json()...)
		case memberError:
			dst = canon.AppendWireString(append(dst, `error": `...), *r.err)
		case memberApproval:
			dst = canon.AppendWire(append(dst, `approval": `...), r.approval)
		case memberPendingSteer:
			dst = canon.AppendWireString(append(dst, `pending_steer": `...), *r.pendingSteer)
		}
	}
	return append(dst, '}')
}

func (u *Usage) value() canon.Object {
	return canon.Object{
		{Name: "input_tokens", Value: canon.IntOf(u.InputTokens)},
		{Name: "output_tokens", Value: canon.IntOf(u.OutputTokens)},
		{Name: "total_tokens", Value: canon.IntOf(u.TotalTokens)},
	}
}

func (u *Usage) json() []byte { return canon.AppendWire(nil, u.value()) }
