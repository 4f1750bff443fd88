package suppliedinput

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// MisuseKind is something that a host must not do.
type MisuseKind string

// The kinds.
const (
	// SecondTask: a task was submitted inside a scope that had failed.
	SecondTask MisuseKind = "second_task_in_failed_scope"
	// RetryAfterAdmission: the parents of a scope that failed after an admission were tried again.
	RetryAfterAdmission MisuseKind = "retry_after_admission"
	// RetryNotRetryable: the parents of a scope that failed for a permanent reason were tried again.
	RetryNotRetryable MisuseKind = "retry_not_retryable"
	// MoreThanOneFreshTask: a second task in one scope, or a second retry of the same parents.
	MoreThanOneFreshTask MisuseKind = "more_than_one_fresh_task"
	// RetryWithoutRevalidation: a retry, without having revalidated the original parents since the failure.
	RetryWithoutRevalidation MisuseKind = "retry_without_revalidation"
	// UsedAfterClose: something used a scope after it was left.
	UsedAfterClose MisuseKind = "used_after_close"
	// ResultAfterClose: a result was asked for after its scope was left.
	ResultAfterClose MisuseKind = "result_after_close"
)

var misuseTexts = map[MisuseKind]string{
	SecondTask:               "a second task was submitted inside a scope that has failed; open a fresh one, if the failure is retryable",
	RetryAfterAdmission:      "work was retried that had been admitted before it failed; that is not retryable",
	RetryNotRetryable:        "a failure was retried that is not retryable",
	MoreThanOneFreshTask:     "more than one fresh task was submitted",
	RetryWithoutRevalidation: "work was retried without revalidating the original parents first",
	UsedAfterClose:           "a scope was used after it had been left",
	ResultAfterClose:         "a result was asked for after its scope had been left; persist it before",
}

// Misuse is one thing that the host did wrong.
type Misuse struct {
	Kind    MisuseKind
	ScopeID string
	Where   string // file and line that did it, and perhaps those that called it; "" where it is not known
	Opened  string // those that opened the scope, likewise
}

// String says what was done wrong, and where.
func (m Misuse) String() string {
	text := fmt.Sprintf("supplied input %s: %s", m.ScopeID, misuseTexts[m.Kind])
	if m.Where != "" {
		text += ", at " + m.Where
	}
	if m.Opened != "" {
		text += " (the scope was opened at " + m.Opened + ")"
	}
	return text
}

type misuse struct {
	Misuse
	task *execution // that was counted as a task, nil for other kinds
}

func (s *state) report(kind MisuseKind, sc *scope, task *execution) {
	if len(s.misuses) < maxMisuses {
		s.misuses = append(s.misuses, misuse{Misuse{kind, sc.id, s.config.Caller(), sc.where}, task})
	}
}

// Misuses returns what the host did wrong so far, the first 100.
func (s *Space) Misuses() []Misuse {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Misuse, 0, len(s.state.misuses))
	for _, m := range s.state.misuses {
		list = append(list, m.Misuse)
	}
	return list
}

// lineageKey is one piece of work: a contact and exact parents, in any order.
type lineageKey [sha256.Size]byte

// lineage is what became of the tries of one piece of work.
type lineage struct {
	last        *scope // the latest that had a task
	retries     int    // since the latest try that was new work
	revalidated bool   // since the last one failed
}

func lineageOf(o Opening) lineageKey {
	var lines []string
	for _, p := range o.Inputs {
		lines = append(lines, "i"+p.InputMessageHash+p.SourceID)
	}
	for _, p := range o.Sources {
		lines = append(lines, "s"+string(binary.BigEndian.AppendUint64(nil, uint64(p.SourceVersion)))+p.SourceID)
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, line := range append(lines, o.ContactID) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(line))))
		h.Write([]byte(line))
	}
	return lineageKey(h.Sum(nil))
}

// began counts a task of the host, and reports what must not be.
func (s *state) began(e *execution) {
	sc := e.scope
	before := s.lineages[sc.lineage]
	sc.tasks++
	e.uncount = func() {
		sc.tasks--
		if sc.tasks > 0 || s.lineages[sc.lineage].last != sc {
			return
		}
		if before.last == nil {
			delete(s.lineages, sc.lineage)
		} else {
			s.lineages[sc.lineage] = before
		}
	}
	switch {
	case sc.closed:
		s.report(UsedAfterClose, sc, e)
		return
	case sc.reason != "":
		s.report(SecondTask, sc, e)
		return
	case sc.tasks > 1:
		s.report(MoreThanOneFreshTask, sc, e)
		return
	}
	try := lineage{last: sc}
	switch tried := before.last; {
	case tried == nil || tried.result != nil: // new work
	case tried.reason != "":
		try.retries = before.retries + 1
		switch f := tried.failure(); {
		case f.Admitted:
			s.report(RetryAfterAdmission, sc, e)
		case !f.Retryable:
			s.report(RetryNotRetryable, sc, e)
		case before.retries > 0:
			s.report(MoreThanOneFreshTask, sc, e)
		case !before.revalidated:
			s.report(RetryWithoutRevalidation, sc, e)
		}
	case before.retries > 0: // that one was the retry, and came to nothing
		try.retries = before.retries + 1
		s.report(MoreThanOneFreshTask, sc, e)
	}
	s.lineages[sc.lineage] = try
}
