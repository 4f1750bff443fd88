package handler

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

func (h *Handler) adminScope(c *adminCall) *Reply {
	a := c.arguments("scope")
	profile, _ := a.text("profile")
	identity, _ := a.text("identity")
	scope, err := engine.NewScope(profile, identity)
	if problem := a.done(); problem != nil {
		err = problem
	}
	if err == nil {
		err = c.engine.SetScope(scope)
	}
	if isRefusal(err) {
		return refusal(err)
	}
	if err != nil {
		return invalid(err)
	}
	return adminJSON(http.StatusOK, map[string]any{"profile": profile, "identity": identity, "simulated": true})
}

func (h *Handler) adminRestart(c *adminCall) *Reply {
	a := c.arguments("restart")
	name, _ := a.text("owner")
	owner := engine.OwnerStale
	switch name {
	case "stale":
	case "alive":
		owner = engine.OwnerAlive
	default:
		a.fail("owner", `must be "stale" or "alive"`)
	}
	if err := a.done(); err != nil {
		return invalid(err)
	}
	retained, discarded, err := c.engine.Restart(owner)
	if err != nil {
		return refusal(err)
	}
	return adminJSON(http.StatusOK, map[string]any{"owner": name, "retained": retained,
		"discarded": discarded, "simulated": true})
}

func (h *Handler) adminSweep(c *adminCall) *Reply {
	if err := c.arguments("sweep").done(); err != nil {
		return invalid(err)
	}
	removed, err := c.engine.Sweep()
	if err != nil {
		return refusal(err)
	}
	return adminJSON(http.StatusOK, map[string]any{"cacheRemoved": removed, "simulated": true})
}

func gatewayJSON(g engine.Gateway) *Reply {
	return adminJSON(http.StatusOK, map[string]any{"max_concurrent_runs": g.MaxConcurrentRuns,
		"draining": g.Draining, "simulated": true})
}

func (h *Handler) adminGateway(c *adminCall) *Reply {
	return gatewayJSON(c.engine.Gateway())
}

func (h *Handler) adminSetGateway(c *adminCall) *Reply {
	a := c.arguments("gateway")
	var limit *int
	if v, ok := a.get("max_concurrent_runs"); ok {
		n := a.count("max_concurrent_runs", v)
		size := int(n)
		limit = &size
	}
	var draining *bool
	if on, ok := a.flag("draining"); ok {
		draining = &on
	}
	if err := a.done(); err != nil {
		return invalid(err)
	}
	g, err := c.engine.SetGateway(limit, draining)
	if err != nil {
		return refusal(err)
	}
	return gatewayJSON(g)
}

func (h *Handler) adminScript(c *adminCall) *Reply {
	if h.setScript == nil {
		return unsupported("scripts")
	}
	if err := h.setScript(c.engine.Name(), append([]byte{}, c.body...)); err != nil {
		return invalid(err)
	}
	return adminJSON(http.StatusOK, map[string]any{"status": "ok"})
}

func (h *Handler) adminClearScript(c *adminCall) *Reply {
	if h.setScript != nil {
		h.setScript(c.engine.Name(), nil)
	}
	return adminJSON(http.StatusOK, map[string]any{"status": "ok"})
}

// count reads a nonnegative integer.
func (a *arguments) count(name string, v canon.Value) int64 {
	digits, ok := v.(canon.Int)
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if !ok || err != nil || n < 0 {
		a.fail(name, "must be a nonnegative integer")
		return 0
	}
	return n
}

func (h *Handler) adminObserve(c *adminCall) *Reply {
	id, err := c.runID()
	if err != nil {
		return refusal(err)
	}
	o, err := c.arguments("observe").observation()
	if err != nil {
		return invalid(err)
	}
	run, err := c.engine.Observe(id, o)
	switch {
	case errors.Is(err, engine.RunNotFound), errors.Is(err, engine.StorageFailed):
		return refusal(err)
	case err != nil:
		return refusalFor(err, "observe: "+err.Error())
	}
	return &Reply{Status: http.StatusOK, Body: run.AppendJSON(nil), contentType: "application/json"}
}

// observation reads the body of observe; each member belongs to some states only.
func (a *arguments) observation() (engine.Observation, error) {
	var o engine.Observation
	name, ok := a.text("status")
	status, known := engine.ParseStatus(name)
	if !ok || !known {
		a.fail("status", "must be one of queued, running, waiting_for_approval, stopping, completed, failed, cancelled, interrupted")
	}
	o.Status = status
	o.LastEvent, _ = a.text("last_event")
	only := func(member string, where string, allowed bool) {
		if _, given := a.object.Get(member); given && !allowed {
			a.fail(member, "is only allowed with "+where)
		}
	}
	only("approval", "waiting_for_approval", status == engine.WaitingForApproval)
	only("error", "failed or interrupted", status == engine.Failed || status == engine.Interrupted)
	for _, member := range [...]string{"output", "usage", "pending_steer"} {
		only(member, "completed", status == engine.Completed)
	}
	if v, ok := a.get("approval"); ok {
		if o.Approval, ok = v.(canon.Object); !ok {
			a.fail("approval", "must be an object")
		}
	}
	if text, ok := a.text("error"); ok {
		o.Err = &text
	}
	o.Output, _ = a.text("output")
	if text, ok := a.text("pending_steer"); ok {
		o.PendingSteer = &text
	}
	if v, ok := a.get("usage"); ok {
		o.Usage = a.usage(v)
	}
	return o, a.done()
}

func (a *arguments) usage(v canon.Value) engine.Usage {
	object, _ := v.(canon.Object)
	read := func(name string) int64 {
		n, ok := object.Get(name)
		if !ok || len(object) != 3 {
			a.fail("usage", "must be exactly input_tokens, output_tokens and total_tokens")
			return 0
		}
		return a.count("usage."+name, n)
	}
	return engine.Usage{
		InputTokens:  read("input_tokens"),
		OutputTokens: read("output_tokens"),
		TotalTokens:  read("total_tokens"),
	}
}

// eventTypes are the types of the fields that the provider passes on. A null
// stands for absent.
var eventTypes = map[string]map[string]string{
	"message.delta":       {"delta": "a string"},
	"tool.started":        {"tool": "a string", "preview": "a string"},
	"tool.completed":      {"tool": "a string", "duration": "a number", "error": "true or false"},
	"reasoning.available": {"text": "a string"},
}

func (h *Handler) adminEmit(c *adminCall) *Reply {
	id, err := c.runID()
	if err != nil {
		return refusal(err)
	}
	e, err := c.arguments("events").event()
	if err != nil {
		return invalid(err)
	}
	emitted, err := c.engine.Emit(id, *e)
	switch {
	case errors.Is(err, engine.RunNotFound):
		return refusal(err)
	case err != nil:
		return refusalFor(err, "events: "+err.Error())
	}
	return adminJSON(http.StatusOK, map[string]any{"emitted": emitted})
}

// event reads the body of events: the event's name, and its fields beside it.
func (a *arguments) event() (*engine.Event, error) {
	name, ok := a.text("event")
	if !ok || name == "" {
		a.fail("event", "must be the name of an event")
	}
	e := &engine.Event{Name: name}
	for _, m := range a.object {
		if m.Name == "event" {
			continue
		}
		if want := eventTypes[name][m.Name]; want != "" && want != kindOf(m.Value) && m.Value != (canon.Null{}) {
			a.fail(m.Name, "must be "+want)
		}
		e.Fields = append(e.Fields, m)
	}
	return e, a.err
}

func kindOf(v canon.Value) string {
	switch v.(type) {
	case canon.String:
		return "a string"
	case canon.Int, canon.Float:
		return "a number"
	case canon.Bool:
		return "true or false"
	}
	return ""
}

func (h *Handler) adminSteering(c *adminCall) *Reply {
	id, err := c.runID()
	if err != nil {
		return refusal(err)
	}
	a := c.arguments("steering")
	accept, _ := a.get("accept")
	var policy engine.SteerPolicy
	switch accept {
	case canon.Bool(true):
	case canon.Bool(false):
		policy.Refuse = true
	case canon.String("error"):
		policy.Broken, policy.Err = true, "steer failed"
	default:
		a.fail("accept", `must be true, false or "error"`)
	}
	if text, ok := a.text("message"); ok {
		if !policy.Broken {
			a.fail("message", `is only allowed with "error"`)
		}
		policy.Err = text
	}
	if err := a.done(); err != nil {
		return invalid(err)
	}
	switch err := c.engine.SetSteering(id, policy); {
	case errors.Is(err, engine.RunNotFound):
		return refusal(err)
	case err != nil:
		return refusalFor(err, "steering: "+err.Error())
	}
	return adminJSON(http.StatusOK, steeringJSON(policy))
}

func steeringJSON(p engine.SteerPolicy) map[string]any {
	switch {
	case p.Broken:
		return map[string]any{"accept": "error", "message": p.Err}
	case p.Refuse:
		return map[string]any{"accept": false}
	}
	return map[string]any{"accept": true}
}

func (h *Handler) adminRuns(c *adminCall) *Reply {
	body := []byte(`{"runs":[`)
	for i, run := range c.engine.Runs() {
		if i > 0 {
			body = append(body, ',')
		}
		body = run.AppendJSON(body)
	}
	return &Reply{Status: http.StatusOK, Body: append(body, "]}"...), contentType: "application/json"}
}

// adminRun shows one run with all that belongs to it. The status object is in
// the provider's bytes.
func (h *Handler) adminRun(c *adminCall) *Reply {
	id, err := c.runID()
	if err != nil {
		return refusal(err)
	}
	in, err := c.engine.Inspect(id)
	if err != nil {
		return refusal(err)
	}
	body := append([]byte(`{"run":`), in.Run.AppendJSON(nil)...)
	member := func(name string, v any) {
		text, _ := json.Marshal(v)
		body = append(append(append(append(body, `,"`...), name...), `":`...), text...)
	}
	member("cached", in.Cached)
	member("active", in.Run.Active())
	member("steers", append([]string{}, in.Steers...))
	member("steering", steeringJSON(in.Steering))
	approvals := canon.Array{}
	for _, p := range in.Pending {
		approvals = append(approvals, p.Approval)
	}
	body = canon.AppendWire(append(body, `,"pending_approvals":`...), approvals)
	decisions := canon.Array{}
	for _, d := range in.Decisions {
		decision := canon.Object{{Name: "choice", Value: canon.String(d.Choice)}}
		if d.RequestID != "" {
			decision = append(decision, canon.Member{Name: "request_id", Value: canon.String(d.RequestID)})
		}
		decisions = append(decisions, append(decision, canon.Member{Name: "approval", Value: d.Approval}))
	}
	body = canon.AppendWire(append(body, `,"decisions":`...), decisions)
	member("queue", queueJSON(in.Queue))
	subscribers := []map[string]any{}
	for _, s := range in.Subscribers {
		subscribers = append(subscribers, map[string]any{"waiting_ms": milliseconds(s.Waiting), "gone": s.Gone})
	}
	member("subscribers", subscribers)
	member("row", rowJSON(in.Row))
	return &Reply{Status: http.StatusOK, Body: append(body, '}'), contentType: "application/json"}
}

func queueJSON(q *engine.QueueState) any {
	if q == nil {
		return nil
	}
	return map[string]any{"events": q.Events, "bytes": q.Bytes, "closed": q.Closed}
}

func rowJSON(r *engine.Row) any {
	if r == nil {
		return nil
	}
	return map[string]any{"status": r.Status.String(), "updated_at": milliseconds(r.UpdatedAt.UnixNano())}
}
