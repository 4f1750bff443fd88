package suppliedinput

import (
	"slices"
	"unicode/utf8"

	"github.com/hermesfake/hermesfake/engine"
)

// Bounds of the registry of work.
const (
	maxExcerpt     = 240  // characters
	maxWork        = 8    // records
	maxWorkText    = 4000 // characters of all of them
	purposeInput   = "input"
	purposeUnknown = "unknown"
	activeWork     = "active"
	finishedWork   = "finished"
)

// Work is one record of the registry of work as a viewer sees it.
type Work struct {
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id,omitempty"` // "" of a run that nobody is known to take part in
	State     string `json:"state"`                // "active" or "finished"
	Purpose   string `json:"purpose"`              // "input", or "unknown"
	Excerpt   string `json:"excerpt,omitempty"`    // of the original input, at most 240 characters
	Partial   bool   `json:"partial"`              // it was cut, or there are several inputs
}

func (w *Work) characters() int {
	n := 0
	for _, text := range [...]string{w.RunID, w.SessionID, w.State, w.Purpose, w.Excerpt} {
		n += utf8.RuneCountInString(text)
	}
	return n
}

// Work returns what a viewer, who is a contact, sees of the root executions that are its own, and of the active runs that
// nobody is known to take part in: active work first, the latest first, at most eight records and 4000 characters of
// texts. The registry has ids and hashes only; an excerpt is taken from the ledger as it is now.
func (s *Space) Work(viewer string) []Work {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.work(viewer)
}

func (s *state) work(viewer string) []Work {
	active := map[engine.RunID]bool{}
	var running, finished []Work
	for _, run := range s.config.Gateway.ActiveRuns() {
		active[run] = true
		if e := s.executions[run]; e == nil {
			running = append(running, Work{RunID: run.String(), State: activeWork, Purpose: purposeUnknown})
		} else if e.seenBy(viewer) {
			running = append(running, s.record(e, activeWork))
		}
	}
	for _, e := range s.order {
		if !active[e.run] && e.seenBy(viewer) {
			finished = append(finished, s.record(e, finishedWork))
		}
	}
	work, left := []Work{}, maxWorkText
	for _, list := range [][]Work{running, finished} {
		for _, w := range slices.Backward(list) {
			left -= w.characters()
			if len(work) == maxWork || left < 0 {
				return work
			}
			work = append(work, w)
		}
	}
	return work
}

// seenBy reports whether a viewer sees an execution: that of a child nobody does.
func (e *execution) seenBy(viewer string) bool { return !e.child && e.contact() == viewer }

func (s *state) record(e *execution, state string) Work {
	w := Work{RunID: e.run.String(), SessionID: e.session, State: state, Purpose: purposeUnknown}
	s.excerpt(&w, e)
	return w
}

// contact is whose an execution is, as far as that is known.
func (e *execution) contact() string {
	switch {
	case e.participant != nil:
		return e.participant.ContactID
	case e.scope != nil:
		return e.scope.ContactID
	}
	return ""
}

// excerpt adds what a source-checked execution works on: the first original input that may be shown.
func (s *state) excerpt(w *Work, e *execution) {
	if e.scope == nil || !e.bound || !e.checked || e.scope.reason != "" {
		return
	}
	for _, p := range e.scope.Inputs {
		known := s.sources[p.SourceID]
		if known == nil || known.Erased || known.InputMessageHash != p.InputMessageHash || s.inaccessible(p) {
			continue
		}
		w.Purpose, w.Partial = purposeInput, len(e.scope.Inputs) > 1
		if known.Annotation != "" {
			continue
		}
		w.Excerpt = firstCharacters(known.Text, maxExcerpt)
		w.Partial = w.Partial || len(w.Excerpt) < len(known.Text)
		return
	}
}

// inaccessible reports whether the next verification of an input would fail. It uses up no script.
func (s *state) inaccessible(p InputParent) bool {
	for i := range s.rules {
		if r := &s.rules[i]; r.fits([]InputParent{p}, nil) {
			return r.Failure != ""
		}
	}
	return false
}

func firstCharacters(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
