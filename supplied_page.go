package hermesfake

import (
	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// Bounds of what the page is told of one scope or run; it has counts of all.
const (
	pageParents  = 8
	pageChildren = 50
	pageWords    = 300 // characters of a message
)

// inputPage is what the page shows of supplied input. It has no text of a source.
type inputPage struct {
	Scopes        []pageScope        `json:"scopes"` // the latest first, as all lists but that of the verifications
	Known         int                `json:"known"`
	Open          int                `json:"open"`
	Sources       []pageSource       `json:"sources"`
	Recorded      int                `json:"recorded"`
	Verifications []verificationJSON `json:"verifications"`
	Scripted      int                `json:"scripted"`
	Queue         []pageTurn         `json:"queue"`
	Waiting       int                `json:"waiting"`
	Problems      []string           `json:"problems"` // of the queue
	Misuses       []misuseJSON       `json:"misuses"`
	Misused       int                `json:"misused"`
	Run           *pageInputRun      `json:"run"` // the one that the page looks at; null if it came with no scope
}

type pageScope struct {
	ID        string          `json:"id"`
	ContactID string          `json:"contact_id"`
	SessionID string          `json:"session_id"`
	Platform  string          `json:"platform"`
	OpenedAt  int64           `json:"opened_at"` // ms
	Opened    string          `json:"opened"`
	Closed    bool            `json:"closed"`
	Admitted  bool            `json:"admitted"`
	Failure   *HandoffFailure `json:"failure"`
	Result    string          `json:"result"` // the turn's id
	Tasks     int             `json:"tasks"`
	Inputs    []string        `json:"inputs"` // source ids
	InputsAll int             `json:"inputs_all"`
	Handles   []pageHandle    `json:"handles"`
	Inherited int             `json:"inherited"`
}

type pageHandle struct {
	SourceID string `json:"source_id"`
	Version  int64  `json:"source_version"`
	Opened   bool   `json:"opened"`
}

type pageSource struct {
	ID        string `json:"source_id"`
	Version   int64  `json:"source_version"`
	Annotated bool   `json:"annotated"`
	Erased    bool   `json:"erased"`
	Assistant bool   `json:"assistant"`
	Parents   int    `json:"parents"`
}

type pageTurn struct {
	TurnID    string `json:"turn_id"`
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id"`
	ContactID string `json:"contact_id"`
	Parents   int    `json:"parents"`
	QueuedAt  int64  `json:"queued_at"` // ms
}

type pageInputRun struct {
	RunID     string    `json:"run_id"`
	Scope     pageScope `json:"scope"`
	SessionID string    `json:"session_id"`
	Bound     bool      `json:"bound"`
	Children  []string  `json:"children"`
	Known     int       `json:"known"` // children
}

// inputPage returns nil where nothing was supplied yet, and an earlier fake left nothing in the queue.
func (k *core) inputPage(namespace string, run engine.RunID) any {
	space := k.usedInputs(namespace)
	if space == nil {
		if left, err := k.config.inputQueue.Envelopes(namespace); err == nil && len(left) == 0 {
			return nil
		}
		space = k.inputsOf(namespace)
	}
	o, err := space.Overview()
	if err != nil {
		o = &suppliedinput.Overview{QueueFailures: []error{err}}
	}
	p := inputPageOf(o)
	if x, err := space.Execution(run); err == nil {
		p.Run = &pageInputRun{RunID: run.String(), Scope: pageScopeOf(x.Scope), SessionID: x.Session, Bound: x.Bound,
			Children: append([]string{}, x.Children[:min(len(x.Children), pageChildren)]...), Known: len(x.Children)}
	}
	return p
}

func inputPageOf(o *suppliedinput.Overview) *inputPage {
	p := &inputPage{Scopes: []pageScope{}, Known: o.Known, Open: o.Open, Sources: []pageSource{}, Recorded: o.Recorded,
		Verifications: []verificationJSON{}, Scripted: o.Scripted, Queue: []pageTurn{}, Waiting: o.Waiting, Problems: []string{},
		Misuses: []misuseJSON{}, Misused: o.Misused}
	for _, s := range o.Scopes {
		p.Scopes = append(p.Scopes, pageScopeOf(s))
	}
	for _, s := range o.Sources {
		p.Sources = append(p.Sources, pageSource{s.ID, s.Version, s.Annotation != "", s.Erased, s.Assistant, len(s.Inputs) + len(s.Sources)})
	}
	for _, v := range o.Verifications {
		p.Verifications = append(p.Verifications, verificationOfInput(v))
	}
	for _, e := range o.Queued {
		p.Queue = append(p.Queue, pageTurn{e.TurnID, e.RunID, e.SessionID, e.ContactID, len(e.Inputs) + len(e.Sources), e.QueuedAt.UnixMilli()})
	}
	for _, err := range o.QueueFailures {
		p.Problems = append(p.Problems, cutWords(err.Error()))
	}
	for _, m := range o.Misuses {
		p.Misuses = append(p.Misuses, misuseOfInput(m))
	}
	return p
}

func pageScopeOf(s HandoffState) pageScope {
	p := pageScope{ID: s.ID, ContactID: s.ContactID, SessionID: s.SessionID, Platform: s.Platform, OpenedAt: s.OpenedAt.UnixMilli(),
		Opened: s.Opened, Closed: s.Closed, Admitted: s.Admitted, Failure: s.Failure, Tasks: s.Tasks,
		Inputs: []string{}, InputsAll: len(s.Inputs), Handles: []pageHandle{}, Inherited: len(s.Handles)}
	if s.Result != nil {
		p.Result = s.Result.TurnID
	}
	for _, in := range s.Inputs[:min(len(s.Inputs), pageParents)] {
		p.Inputs = append(p.Inputs, in.SourceID)
	}
	for _, h := range s.Handles[:min(len(s.Handles), pageParents)] {
		p.Handles = append(p.Handles, pageHandle{h.SourceID, h.SourceVersion, h.Opened})
	}
	return p
}

func cutWords(text string) string {
	n := 0
	for i := range text {
		if n++; n > pageWords {
			return text[:i] + "…"
		}
	}
	return text
}
