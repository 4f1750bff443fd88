package hermesfake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
	"github.com/hermesfake/hermesfake/handler"
)

// inputArguments reads a JSON object of supplied input: its members one by one, and none may be left over. The first thing that is
// wrong is kept in err, which wraps ErrSuppliedInput and shows no text of the object.
type inputArguments struct {
	object canon.Object
	read   []string
	err    error
}

// readInputArguments reads a body; an empty one stands for {}.
func readInputArguments(body []byte) *inputArguments {
	if strings.Trim(string(body), " \t\r\n") == "" {
		return &inputArguments{}
	}
	v, err := canon.Parse(body)
	object, ok := v.(canon.Object)
	if err != nil || !ok {
		return &inputArguments{err: fmt.Errorf("%w: the body must be a JSON object", ErrSuppliedInput)}
	}
	return &inputArguments{object: object}
}

func (a *inputArguments) fail(name, problem string) {
	if a.err == nil {
		a.err = fmt.Errorf("%w: %s %s", ErrSuppliedInput, name, problem)
	}
}

func (a *inputArguments) get(name string) (canon.Value, bool) {
	a.read = append(a.read, name)
	return a.object.Get(name)
}

// text reads a string; a missing one is "".
func (a *inputArguments) text(name string) string {
	v, ok := a.get(name)
	text, isText := v.(canon.String)
	if ok && !isText {
		a.fail(name, "must be a string")
	}
	return string(text)
}

// wanted reads a string that must be there.
func (a *inputArguments) wanted(name string) string {
	if _, ok := a.object.Get(name); !ok {
		a.fail(name, "is missing")
	}
	return a.text(name)
}

func (a *inputArguments) flag(name string, otherwise bool) bool {
	v, ok := a.get(name)
	if !ok {
		return otherwise
	}
	b, isBool := v.(canon.Bool)
	if !isBool {
		a.fail(name, "must be true or false")
	}
	return bool(b)
}

// count reads a nonnegative integer; a missing one is 0.
func (a *inputArguments) count(name string) int64 {
	v, ok := a.get(name)
	if !ok {
		return 0
	}
	digits, isInt := v.(canon.Int)
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if !isInt || err != nil || n < 0 {
		a.fail(name, "must be a nonnegative integer")
	}
	return n
}

// list reads an array, whose items are objects or whatever read takes; a missing one is empty.
func (a *inputArguments) list(name string, read func(canon.Value)) {
	v, ok := a.get(name)
	if !ok {
		return
	}
	items, isArray := v.(canon.Array)
	if !isArray {
		a.fail(name, "must be an array")
	}
	for _, item := range items {
		read(item)
	}
}

// texts reads an array of strings.
func (a *inputArguments) texts(name string) (texts []string) {
	a.list(name, func(v canon.Value) {
		text, ok := v.(canon.String)
		if !ok {
			a.fail(name, "must be strings")
		}
		texts = append(texts, string(text))
	})
	return texts
}

// item reads an object within a list.
func (a *inputArguments) item(name string, v canon.Value, read func(*inputArguments)) {
	object, ok := v.(canon.Object)
	if !ok {
		a.fail(name, "must be objects")
		return
	}
	in := &inputArguments{object: object}
	read(in)
	if err := in.done(); err != nil && a.err == nil {
		a.err = err
	}
}

func (a *inputArguments) inputs(name string) (parents []InputParent) {
	a.list(name, func(v canon.Value) {
		a.item(name, v, func(in *inputArguments) {
			parents = append(parents, InputParent{SourceID: in.wanted("source_id"), InputMessageHash: in.wanted("input_message_hash")})
		})
	})
	return parents
}

func (a *inputArguments) sources(name string) (parents []SourceParent) {
	a.list(name, func(v canon.Value) {
		a.item(name, v, func(in *inputArguments) {
			parents = append(parents, SourceParent{SourceID: in.wanted("source_id"), SourceVersion: in.count("source_version")})
		})
	})
	return parents
}

// done reports what was wrong, members that nobody read included.
func (a *inputArguments) done() error {
	for _, m := range a.object {
		if !slices.Contains(a.read, m.Name) {
			a.fail("the object", "has a member that does not belong here; it may have "+strings.Join(a.read, ", "))
		}
	}
	return a.err
}

// opening reads either form: with platform it is the transport one.
func (a *inputArguments) opening() (suppliedinput.Opening, error) {
	o := suppliedinput.Opening{ContactID: a.text("contact_id"), SessionID: a.text("session_id"),
		Inputs: a.inputs("inputs"), Sources: a.sources("sources")}
	_, o.Transport = a.object.Get("platform")
	o.Platform = a.text("platform")
	query := a.text("recall_query")
	if _, given := a.object.Get("recall_query"); given {
		o.RecallQuery = &query
	}
	return o, a.done()
}

func (a *inputArguments) participant() Participant {
	return Participant{ContactID: a.wanted("contact_id"), Platform: a.text("platform"),
		Unauthenticated: !a.flag("authenticated", true), ParentSessionID: a.text("parent_session_id")}
}

func (a *inputArguments) verification() (Verification, error) {
	v := Verification{SourceID: a.text("source_id"), Failure: VerificationFailure(a.text("failure")), Times: int(a.count("times"))}
	if takes, ok := a.get("takes"); ok {
		d, err := handler.ReadDuration(takes)
		if err != nil {
			a.fail("takes", `must be milliseconds, or a time such as "90s"`)
		}
		v.Takes = d
	}
	return v, a.done()
}

func (a *inputArguments) result() (HandoffResult, error) {
	r := HandoffResult{SessionID: a.wanted("session_id"), TurnID: a.wanted("turn_id"),
		InputRefs: a.inputs("input_refs"), SourceRefs: a.sources("source_refs")}
	return r, a.done()
}

// scopeJSON is a scope in the control plane.
type scopeJSON struct {
	ID        string                 `json:"id"`
	ContactID string                 `json:"contact_id"`
	SessionID string                 `json:"session_id,omitempty"`
	Platform  string                 `json:"platform,omitempty"`
	Inputs    []InputParent          `json:"inputs"`
	Sources   []SourceParent         `json:"sources"`
	OpenedAt  int64                  `json:"opened_at"` // ms
	Opened    string                 `json:"opened,omitempty"`
	Closed    bool                   `json:"closed"`
	Admitted  bool                   `json:"admitted"`
	Failure   *HandoffFailure        `json:"failure"`
	Result    *HandoffResult         `json:"result"`
	Handles   []suppliedinput.Handle `json:"handles"`
	Sessions  []string               `json:"sessions"`
	Tasks     int                    `json:"tasks"`
}

func scopeOfInput(s HandoffState) scopeJSON {
	return scopeJSON{s.ID, s.ContactID, s.SessionID, s.Platform, s.Inputs, s.Sources, s.OpenedAt.UnixMilli(), s.Opened,
		s.Closed, s.Admitted, s.Failure, s.Result, s.Handles, append([]string{}, s.Sessions...), s.Tasks}
}

// sourceJSON is a source in the control plane, without its text.
type sourceJSON struct {
	ID               string         `json:"source_id"`
	InputMessageHash string         `json:"input_message_hash"`
	Version          int64          `json:"source_version"`
	Annotated        bool           `json:"annotated"`
	Erased           bool           `json:"erased"`
	Assistant        bool           `json:"assistant"`
	Inputs           []InputParent  `json:"input_refs,omitempty"`
	Sources          []SourceParent `json:"source_refs,omitempty"`
}

func sourceOfInput(s Source) sourceJSON {
	return sourceJSON{s.ID, s.InputMessageHash, s.Version, s.Annotation != "", s.Erased, s.Assistant, s.Inputs, s.Sources}
}

type verificationJSON struct {
	SourceID string              `json:"source_id,omitempty"`
	Failure  VerificationFailure `json:"failure,omitempty"`
	Times    int                 `json:"times"`
	Takes    int64               `json:"takes"` // ms
}

func verificationOfInput(v Verification) verificationJSON {
	return verificationJSON{v.SourceID, v.Failure, v.Times, v.Takes.Milliseconds()}
}

type misuseJSON struct {
	Kind    suppliedinput.MisuseKind `json:"kind"`
	ScopeID string                   `json:"scope_id"`
	Where   string                   `json:"where,omitempty"`
	Opened  string                   `json:"opened,omitempty"`
	Message string                   `json:"message"`
}

func misuseOfInput(m InputMisuse) misuseJSON {
	return misuseJSON{m.Kind, m.ScopeID, m.Where, m.Opened, m.String()}
}
