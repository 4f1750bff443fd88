package engine

import (
	"slices"
	"strings"

	"github.com/hermesfake/hermesfake/canon"
)

// The bounds of steer text.
const (
	maxSteerDepth = 10
	maxSteerParts = 1000
	maxSteerText  = 65536 // characters
)

// SteerPolicy is how an executor takes steer text.
type SteerPolicy struct {
	Refuse bool   // it does not take it
	Broken bool   // it breaks on it
	Err    string // the message of a broken one
}

// Steerable fails with RunNotFound, SteerNotAccepting or StorageFailed where a steer of the
// run would, before its body is read.
func (n *Namespace) Steerable(id RunID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	w, now, err := n.begin()
	if err != nil {
		return err
	}
	rec, err := n.find(w, id, now)
	if err != nil {
		return err
	}
	if err := n.commit(w, id); err != nil {
		return err
	}
	return rec.steerable(id)
}

func (rec *record) steerable(id RunID) error {
	if !rec.run.active || rec.run.status != Running {
		return refuseRun(SteerNotAccepting, id)
	}
	return nil
}

// ReadSteer returns the text of a steer body. It fails with SteerInvalidJSON,
// SteerNotObject or SteerEmpty (vectors: steer.json, steer-inputs).
func ReadSteer(body []byte) (string, error) {
	v, err := canon.Parse(body)
	if err != nil {
		return "", refuse(SteerInvalidJSON)
	}
	object, ok := v.(canon.Object)
	if !ok {
		return "", refuse(SteerNotObject)
	}
	for _, name := range [...]string{"input", "message", "text"} {
		if v, _ := object.Get(name); canon.Truth(v) {
			if text := canon.Strip(steerText(v)); text != "" {
				return text, nil
			}
			break
		}
	}
	return "", refuse(SteerEmpty)
}

func steerText(v canon.Value) string {
	switch v := v.(type) {
	case canon.String:
		return firstCharacters(string(v), maxSteerText)
	case canon.Array:
		return PartsText(v)
	}
	return string(canon.AppendWire(nil, v))
}

// PartsText returns the text of content parts: parts of type text, input_text or
// output_text, plain strings and nested arrays, joined by newlines and cut at the provider's bounds.
func PartsText(parts canon.Array) string {
	return firstCharacters(strings.Join(steerParts(nil, parts, 0), "\n"), maxSteerText)
}

// steerParts collects the texts of an array: of its first 1000 items, and of arrays up to 10 levels
// below it.
func steerParts(parts []string, array canon.Array, depth int) []string {
	for _, v := range array[:min(len(array), maxSteerParts)] {
		switch v := v.(type) {
		case canon.String:
			if v != "" {
				parts = append(parts, string(v))
			}
		case canon.Array:
			if depth < maxSteerDepth {
				parts = steerParts(parts, v, depth+1)
			}
		case canon.Object:
			kind, _ := v.Get("type")
			switch kind {
			case canon.String("text"), canon.String("input_text"), canon.String("output_text"):
				text, _ := v.Get("text")
				if text, ok := text.(canon.String); ok && text != "" {
					parts = append(parts, string(text))
				}
			}
		}
	}
	return parts
}

// Steer gives text to the run's executor. It fails with RunNotFound,
// SteerNotAccepting, SteerRefused, SteerFailed or StorageFailed.
func (n *Namespace) Steer(id RunID, text string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	w, now, err := n.begin()
	if err != nil {
		return err
	}
	rec, err := n.find(w, id, now)
	if err != nil {
		return err
	}
	if refused := rec.steerable(id); refused != nil {
		if err := n.commit(w, id); err != nil {
			return err
		}
		return refused
	}
	x := rec.execution.copy()
	switch {
	case x.policy.Broken:
		return &Refusal{Reason: SteerFailed, Subject: x.policy.Err}
	case x.policy.Refuse:
		return refuseRun(SteerRefused, id)
	}
	x.steers = append(slices.Clip(x.steers), text)
	next := *rec
	next.execution = &x
	w.update(&next, &update{status: Running, lastEvent: "run.steered"}, now)
	w.put(id, &next)
	if err := n.commit(w, id); err != nil {
		return err
	}
	n.deliver(id, now, item{eventFrame("run.steered", id, now,
		canon.Object{{Name: "accepted", Value: canon.Bool(true)}})})
	n.accepted(now)
	n.transition(id)
	return nil
}

// SetSteering sets how the run's executor takes steer text from now on. It
// fails with RunNotFound, RunSettled or RunForeign.
func (n *Namespace) SetSteering(id RunID, p SteerPolicy) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	w, now, err := n.begin()
	if err != nil {
		return err
	}
	rec, err := n.executing(id)
	if err != nil {
		return err
	}
	next := *rec
	x := rec.execution.copy()
	x.policy = p
	next.execution = &x
	w.put(id, &next)
	n.world = w
	n.accepted(now)
	return nil
}
