package model

import (
	"strings"

	"github.com/hermesfake/hermesfake/canon"
)

const (
	steerLevels     = 10
	steerParts      = 1000
	steerCharacters = 65536
)

// SteerPolicy says how a run's executor takes steer text from now on: "true", "false", or "error" with the message of
// its failure.
func (m *Model) SteerPolicy(id, accept, message string) {
	if r := m.executing(id); r != nil {
		r.steering, r.message = accept, message
	}
}

// steer is POST /v1/runs/{id}/steer.
func (m *Model) steer(id string, body []byte) Reply {
	r := m.find(id)
	if r == nil {
		return notFound(id)
	}
	if !r.active || r.state() != "running" {
		return conflict("Run is not currently accepting steer input: "+id, "run_not_accepting_steer")
	}
	v, err := canon.Parse(body)
	if err != nil {
		return invalid("Invalid JSON in request body", "")
	}
	o, ok := v.(canon.Object)
	if !ok {
		return invalid("Request body must be a JSON object", "")
	}
	if steerText(o) == "" {
		return invalid("Missing non-empty steer text; expected 'input', 'message', or 'text'.", "invalid_steer_input")
	}
	switch r.steering {
	case "false":
		return conflict("Run did not accept steer text: "+id, "steer_not_accepted")
	case "error":
		return failure(500, r.message, "steer_failed")
	}
	m.update(r, "running", text("last_event", "run.steered"))
	m.tell(r, "run.steered", member("accepted", canon.Bool(true)))
	return reply(200, canon.Object{
		text("object", "hermes.run.steer"), text("run_id", id), member("accepted", canon.Bool(true)),
	})
}

// steerText is the first true one of three members as text, trimmed.
func steerText(o canon.Object) string {
	for _, name := range []string{"input", "message", "text"} {
		v, ok := o.Get(name)
		if !ok || !canon.Truth(v) {
			continue
		}
		switch v := v.(type) {
		case canon.String:
			return canon.Strip(cut(string(v), steerCharacters))
		case canon.Array:
			return canon.Strip(cut(joined(v, 0), steerCharacters))
		}
		return canon.Strip(wire(v))
	}
	return ""
}

// joined is the text of content parts, one a line.
func joined(parts canon.Array, level int) string {
	if level > steerLevels {
		return ""
	}
	var lines []string
	for i, part := range parts {
		if i == steerParts {
			break
		}
		line := ""
		switch part := part.(type) {
		case canon.String:
			line = string(part)
		case canon.Array:
			line = joined(part, level+1)
		case canon.Object:
			kind, _ := part.Get("type")
			content, _ := part.Get("text")
			switch kind {
			case canon.String("text"), canon.String("input_text"), canon.String("output_text"):
				s, _ := content.(canon.String)
				line = string(s)
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
