package model

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hermesfake/hermesfake/canon"
)

// submit is POST /v1/runs, check by check in the provider's order.
func (m *Model) submit(header map[string]string, body []byte, newRunID string) Reply {
	if m.draining {
		r := failure(503, "Gateway is draining existing work; retry shortly.", "gateway_draining")
		r.Header["Retry-After"] = "1"
		return r
	}

	session := headerValue(header, "X-Hermes-Session-Key")
	switch {
	case !utf8.ValidString(session):
		return refused()
	case strings.ContainsAny(session, "\r\n\x00"):
		return sessionKeyError("Invalid session key")
	case utf8.RuneCountInString(session) > 256:
		return sessionKeyError("Session key too long")
	}

	root, err := canon.Parse(body)
	if err != nil {
		return invalid("Invalid JSON", "")
	}
	o, isObject := root.(canon.Object)
	for _, name := range []string{"hosted_room_dispatch", "_room_execution_policy"} {
		if _, ok := o.Get(name); ok {
			return refused()
		}
	}

	key := headerValue(header, "Idempotency-Key")
	if !validKey(key) {
		return invalid("Idempotency-Key must be 1-255 visible ASCII characters", "invalid_idempotency_key")
	}
	var fingerprint [32]byte
	if key != "" {
		if fingerprint, err = canon.Fingerprint(body, session); err != nil {
			return refused()
		}
	}
	if !isObject {
		return refused()
	}

	if problem, ok := checkInput(o); !ok {
		return problem
	}
	if problem, ok := checkHistory(o); !ok {
		return problem
	}

	if key != "" {
		m.prune()
		if row := m.keyed(key); row != nil {
			if row.fingerprint != fingerprint {
				return conflict("Idempotency-Key was already used with a different request payload", "idempotency_key_conflict")
			}
			// The key's row is of this scope, so the run is found, in the cache or by reading the row back.
			r := m.find(row.id)
			return admitted(row.id, r.state(), true, session)
		}
	}
	if m.max > 0 && m.unsettled() >= m.max {
		r := errorReply(429, "Too many concurrent runs (max "+strconv.Itoa(m.max)+")", "rate_limit_error", "rate_limit_exceeded")
		r.Header["Retry-After"] = "1"
		return r
	}

	status := canon.Object{
		text("object", "hermes.run"),
		text("run_id", newRunID),
		text("status", "queued"),
		member("updated_at", m.seconds()),
		member("created_at", m.seconds()),
		text("session_id", newRunID),
		text("model", "hermes-agent"),
	}
	if v, ok := o.Get("session_id"); ok && canon.Truth(v) {
		status = with(status, member("session_id", v))
	}
	if v, ok := o.Get("model"); ok {
		status = with(status, member("model", v))
	}
	m.cache = append(m.cache, &run{id: newRunID, scope: m.scope, status: status, updated: m.now, active: true})
	m.queues = append(m.queues, &queue{run: newRunID, admitted: m.now})
	if key != "" {
		m.rows = append(m.rows, &row{scope: m.scope, key: key, fingerprint: fingerprint, id: newRunID, status: status, updated: m.now})
	}
	return admitted(newRunID, "started", false, session)
}

func admitted(id, status string, replayed bool, session string) Reply {
	r := reply(202, canon.Object{text("run_id", id), text("status", status), member("replayed", canon.Bool(replayed))})
	if replayed {
		r.Header["Idempotency-Replayed"] = "true"
	}
	if session != "" {
		r.Header["X-Hermes-Session-Key"] = session
	}
	return r
}

// unsettled counts the runs that this process admitted and that have not settled.
func (m *Model) unsettled() int {
	n := 0
	for _, r := range m.cache {
		if r.active {
			n++
		}
	}
	return n
}

func headerValue(header map[string]string, name string) string {
	for k, v := range header {
		if strings.EqualFold(k, name) {
			return canon.Strip(v)
		}
	}
	return ""
}

// validKey accepts the absent key too.
func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < 33 || key[i] > 126 {
			return false
		}
	}
	return len(key) <= 255
}

func checkInput(o canon.Object) (problem Reply, ok bool) {
	input, ok := o.Get("input")
	if !ok || !canon.Truth(input) {
		return invalid("Missing 'input' field", ""), false
	}
	switch input := input.(type) {
	case canon.String:
		return Reply{}, true
	case canon.Array:
		last, ok := input[len(input)-1].(canon.Object)
		if !ok {
			return refused(), false
		}
		if content, ok := last.Get("content"); ok && canon.Truth(content) {
			return Reply{}, true
		}
	}
	return invalid("No user message found in input", ""), false
}

func checkHistory(o canon.Object) (problem Reply, ok bool) {
	history, ok := o.Get("conversation_history")
	if !ok || !canon.Truth(history) {
		return Reply{}, true
	}
	items, ok := history.(canon.Array)
	if !ok {
		return invalid("'conversation_history' must be an array of message objects", ""), false
	}
	for i, it := range items {
		message, _ := it.(canon.Object)
		_, role := message.Get("role")
		_, content := message.Get("content")
		if !role || !content {
			return invalid("conversation_history["+strconv.Itoa(i)+"] must have 'role' and 'content' fields", ""), false
		}
	}
	return Reply{}, true
}
