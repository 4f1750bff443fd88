package handler

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

// Bounds of what the page is told at once.
const (
	pageRuns      = 200
	pageRequests  = 200
	pagePending   = 20
	briefLine     = 160  // bytes of a text in a list
	briefText     = 4096 // bytes of a text of the run that is looked at
	briefApproval = 2048
	briefEvent    = 2048
)

// runLine is a run in the page's list.
type runLine struct {
	ID        string       `json:"id"`
	Number    uint64       `json:"number"`
	Status    string       `json:"status"`
	LastEvent string       `json:"last_event"`
	Model     piece        `json:"model"`
	Created   milliseconds `json:"created"`
	Updated   milliseconds `json:"updated"`
	Active    bool         `json:"active"`
	Cached    bool         `json:"cached"`
	Keyed     bool         `json:"keyed"`
	Says      piece        `json:"says"` // its output or error
}

func lineOf(r *engine.Run, cached, keyed bool) runLine {
	says := r.Output()
	if says == "" {
		says = r.Err()
	}
	return runLine{
		ID: r.ID().String(), Number: r.Number(), Status: r.Status().String(), LastEvent: brief(r.LastEvent(), briefLine).Text,
		Model: briefValue(r.Model(), briefLine), Created: milliseconds(r.CreatedAt().UnixNano()),
		Updated: milliseconds(r.UpdatedAt().UnixNano()), Active: r.Active(), Cached: cached, Keyed: keyed,
		Says: brief(says, briefLine),
	}
}

func lines(runs []engine.Listed) []runLine {
	list := make([]runLine, len(runs))
	for i, r := range runs {
		list[i] = lineOf(r.Run, r.Cached, r.Keyed)
	}
	return list
}

// pageOlder lists the runs that were admitted before another one.
func (h *Handler) pageOlder(c *adminCall) *Reply {
	before, err := strconv.ParseUint(c.query.Get("before"), 10, 64)
	if err != nil {
		return adminError(http.StatusBadRequest, "runs: before must be the number of a run")
	}
	runs, known := c.space.engine.Recent(before, pageRuns)
	return adminJSON(http.StatusOK, map[string]any{"runs": lines(runs), "known": known})
}

// runJSON is the run that the page looks at. What clients sent is told by its number only.
type runJSON struct {
	runLine
	Missing      bool           `json:"missing,omitempty"`
	Session      piece          `json:"session"`
	WholeModel   piece          `json:"whole_model"`
	Output       piece          `json:"output"`
	Error        piece          `json:"error"`
	PendingSteer piece          `json:"pending_steer"`
	Usage        *engine.Usage  `json:"usage"`
	Pending      []pendingJSON  `json:"pending"`
	PendingCount int            `json:"pending_count"`
	Decisions    []decisionJSON `json:"decisions"`
	Steers       int            `json:"steers"`
	Steering     map[string]any `json:"steering"`
	Queue        any            `json:"queue"`
	Subscribers  int            `json:"subscribers"`
	Gone         int            `json:"gone"`
	Row          any            `json:"row"`
}

type pendingJSON struct {
	Number    uint64       `json:"number"`
	Asked     milliseconds `json:"asked"`
	Command   piece        `json:"command"`
	Says      piece        `json:"description"`
	RequestID string       `json:"request_id"`
	Choices   []string     `json:"choices"`
	Event     piece        `json:"event"`
}

type decisionJSON struct {
	Number uint64       `json:"number"`
	Choice string       `json:"choice"`
	At     milliseconds `json:"at"`
}

// pageRun is the run that the page looks at, as JSON.
func (s *space) pageRun(id string) []byte {
	missing, _ := json.Marshal(map[string]any{"id": brief(id, briefLine).Text, "missing": true})
	run, ok := engine.ParseRunID(id)
	if !ok || s.engine.InScope(run) != nil {
		return missing
	}
	in, err := s.engine.Inspect(run)
	if err != nil {
		return missing
	}
	j := runJSON{
		runLine: lineOf(in.Run, in.Cached, in.Row != nil), Session: briefValue(in.Run.SessionID(), briefText),
		WholeModel: briefValue(in.Run.Model(), briefText), Output: brief(in.Run.Output(), briefText),
		Error: brief(in.Run.Err(), briefText), PendingSteer: brief(in.Run.PendingSteer(), briefText),
		Pending: []pendingJSON{}, PendingCount: len(in.Pending), Decisions: []decisionJSON{}, Steers: len(in.Steers),
		Steering: steeringJSON(in.Steering), Queue: queueJSON(in.Queue), Row: rowJSON(in.Row),
	}
	if in.Run.Status() == engine.Completed {
		usage := in.Run.Usage()
		j.Usage = &usage
	}
	for _, p := range in.Pending[:min(len(in.Pending), pagePending)] {
		j.Pending = append(j.Pending, pendingOf(p))
	}
	for _, d := range in.Decisions[max(0, len(in.Decisions)-pagePending):] {
		j.Decisions = append(j.Decisions, decisionJSON{d.Number, string(d.Choice), milliseconds(d.DecidedAt.UnixNano())})
	}
	for _, sub := range in.Subscribers {
		if sub.Gone {
			j.Gone++
		} else {
			j.Subscribers++
		}
	}
	told, _ := json.Marshal(j)
	return told
}

func pendingOf(p engine.Pending) pendingJSON {
	j := pendingJSON{Number: p.Number, Asked: milliseconds(p.AskedAt.UnixNano()), Choices: []string{},
		Event: briefValue(p.Approval, briefApproval)}
	text := func(name string) piece {
		v, ok := p.Approval.Get(name)
		if !ok || v == (canon.Null{}) {
			return piece{}
		}
		return briefValue(v, briefApproval)
	}
	j.Command, j.Says = text("command"), text("description")
	if id, _ := p.Approval.Get("request_id"); id != nil {
		if id, ok := id.(canon.String); ok && len(id) <= 4*256 {
			j.RequestID = string(id)
		}
	}
	choices, _ := p.Approval.Get("choices")
	list, _ := choices.(canon.Array)
	for _, c := range list {
		if c, ok := c.(canon.String); ok {
			j.Choices = append(j.Choices, string(c))
		}
	}
	return j
}

type eventJSON struct {
	Number uint64 `json:"n"`
	piece
}

// eventsJSON are the events of the run that the page looks at which it was not told of yet.
type eventsJSON struct {
	Run    string      `json:"run"`
	Trail  uint64      `json:"trail"`
	Last   uint64      `json:"last"`
	Events []eventJSON `json:"events"`
}

// pageEvents returns the events of a run after the numbered one, unless they are of another trail: then all.
func (s *space) pageEvents(id string, trail, after uint64) (e eventsJSON, ok bool) {
	run, ok := engine.ParseRunID(id)
	if !ok || s.engine.InScope(run) != nil {
		return e, false
	}
	t, err := s.engine.Trail(run)
	if err != nil {
		return e, false
	}
	if t.Number != trail {
		after = 0
	}
	e = eventsJSON{Run: id, Trail: t.Number, Last: t.Last, Events: []eventJSON{}}
	first := t.Last - uint64(len(t.Frames))
	for i, f := range t.Frames {
		if n := first + uint64(i) + 1; n > after {
			p := brief(eventText(f.Text), briefEvent)
			if p.Bytes > 0 {
				p.Bytes = f.Size
			}
			e.Events = append(e.Events, eventJSON{n, p})
		}
	}
	return e, true
}

// eventText is the JSON of an event's frame.
func eventText(frame []byte) string {
	return strings.TrimSpace(strings.TrimPrefix(string(frame), "data: "))
}

// pageValue answers with the whole of a text that the page has shown the beginning of.
func (h *Handler) pageValue(c *adminCall) *Reply {
	id, err := c.runID()
	if err != nil {
		return refusal(err)
	}
	member := c.query.Get("member")
	if member == "event" {
		return c.space.wholeEvent(id, c.query.Get("n"))
	}
	in, err := c.space.engine.Inspect(id)
	if err != nil {
		return refusal(err)
	}
	var v canon.Value
	switch member {
	case "model":
		v = in.Run.Model()
	case "session_id":
		v = in.Run.SessionID()
	case "output":
		v = canon.String(in.Run.Output())
	case "error":
		v = canon.String(in.Run.Err())
	case "pending_steer":
		v = canon.String(in.Run.PendingSteer())
	case "approval":
		number, _ := strconv.ParseUint(c.query.Get("n"), 10, 64)
		for _, p := range in.Pending {
			if p.Number == number {
				v = p.Approval
			}
		}
	}
	if v == nil {
		return adminError(http.StatusNotFound, "the run has no such value any more")
	}
	if text, ok := v.(canon.String); ok {
		return pageText(string(text))
	}
	return pageText(string(canon.AppendWire(nil, v)))
}

func (s *space) wholeEvent(id engine.RunID, number string) *Reply {
	n, _ := strconv.ParseUint(number, 10, 64)
	t, err := s.engine.Trail(id)
	if err != nil {
		return refusal(err)
	}
	if i := t.Last - n; n > 0 && n <= t.Last && i < uint64(len(t.Frames)) {
		return pageText(eventText(t.Frames[uint64(len(t.Frames))-1-i].Text))
	}
	return adminError(http.StatusNotFound, "the event is not kept any more")
}

func pageText(text string) *Reply {
	r := plainText(http.StatusOK, strings.ToValidUTF8(text, "\uFFFD"))
	r.substitute = http.Header{"Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}}
	return r
}
