package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

const (
	// updateInterval is the least time between two looks at what changed, so that what comes
	// in between goes to the page at once.
	updateInterval = 100 * time.Millisecond
	// updateAlive is how long a page hears nothing. Then it is looked whether sweeps fell due, which
	// nobody tells, and a comment is sent.
	updateAlive = 15 * time.Second
	// maxPages bounds the pages that are open at once.
	maxPages = 64
)

// pages are the open streams of updates.
type pages struct {
	count atomic.Int32
	mu    sync.Mutex
	open  map[*updates]struct{}
}

func (p *pages) add(u *updates) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) >= maxPages {
		return false
	}
	if p.open == nil {
		p.open = map[*updates]struct{}{}
	}
	p.open[u] = struct{}{}
	p.count.Store(int32(len(p.open)))
	return true
}

func (p *pages) remove(u *updates) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, u)
	p.count.Store(int32(len(p.open)))
}

// tell wakes the open pages of a namespace, of all if s is nil.
func (p *pages) tell(s *space) {
	p.tellThose(func(u *updates) bool { return s == nil || u.space == s })
}

func (p *pages) tellThose(which func(*updates) bool) {
	if p.count.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for u := range p.open {
		if which(u) {
			select {
			case u.woken <- struct{}{}:
			default:
			}
		}
	}
}

// Changed tells the open pages that something changed which is not the engine's, such as the fault rules.
func (h *Handler) Changed() { h.pages.tell(nil) }

// ChangedIn tells those of a namespace.
func (h *Handler) ChangedIn(namespace string) {
	h.pages.tellThose(func(u *updates) bool { return u.space.engine.Name() == namespace })
}

// updates is the stream of what changes, for one page: events with the parts of the page as JSON, each sent
// when it differs from what was sent before. It is pulled, and owns no goroutine.
type updates struct {
	h     *Handler
	space *space
	run   string // the one that the page looks at, "" for none

	woken chan struct{}
	left  chan struct{}
	leave sync.Once
	stop  func() // being told by the engine

	// Of Next, which is called by one goroutine at a time.
	looked time.Time // when it was last looked for changes
	said   time.Time // when something was last sent
	sent   map[string][]byte
	lines  map[string]string // of runs, by id
	trail  uint64
	event  uint64
	entry  uint64
	clears uint64
	out    bytes.Buffer
}

// pageUpdates opens the stream of what changes in a namespace.
func (h *Handler) pageUpdates(c *adminCall) *Reply {
	reply := &Reply{Status: http.StatusOK, eventStream: true}
	if c.request.Method == http.MethodHead {
		return reply
	}
	u := &updates{
		h: h, space: c.space, run: c.query.Get("run"),
		woken: make(chan struct{}, 1), left: make(chan struct{}), sent: map[string][]byte{},
	}
	if !h.pages.add(u) {
		return adminError(http.StatusServiceUnavailable, "too many pages are open; close some")
	}
	u.stop = c.space.engine.OnChange(u.woken)
	reply.Stream = u
	return reply
}

// Leave ends the stream.
func (u *updates) Leave() {
	u.leave.Do(func() {
		u.stop()
		u.h.pages.remove(u)
		close(u.left)
	})
}

// Next waits for changes, and returns them. The first time it returns all there is.
func (u *updates) Next(ctx context.Context) ([]byte, error) {
	u.out.Reset()
	for u.out.Len() == 0 {
		if !u.looked.IsZero() {
			if err := u.wait(ctx); err != nil {
				return nil, err
			}
		}
		if u.space.engine.Closed() {
			u.Leave()
			return nil, io.EOF
		}
		u.looked = time.Now()
		if u.look(); u.out.Len() == 0 && u.looked.Sub(u.said) >= updateAlive {
			u.out.WriteString(": nothing new\n\n")
		}
	}
	u.said = time.Now()
	return u.out.Bytes(), nil
}

// wait waits until there may be something new, but no shorter than updateInterval after the last look.
func (u *updates) wait(ctx context.Context) error {
	alive := time.NewTimer(time.Until(u.said.Add(updateAlive)))
	defer alive.Stop()
	for _, until := range [...]<-chan struct{}{u.woken, nil} {
		if until == nil {
			alive.Reset(time.Until(u.looked.Add(updateInterval)))
		}
		select {
		case <-until:
		case <-alive.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-u.left:
			return io.EOF
		}
	}
	select {
	case <-u.woken:
	default:
	}
	return nil
}

// look writes the parts that changed.
func (u *updates) look() {
	u.part("namespaces", func() any {
		return map[string]any{"namespace": u.space.engine.Name(), "default": u.h.namespace,
			"namespaces": u.h.engine.Namespaces(), "version": Version}
	})
	u.lookClock()
	u.part("gateway", func() any {
		g, n := u.space.engine.Gateway(), u.space.engine.Counts()
		return map[string]any{"max_concurrent_runs": g.MaxConcurrentRuns, "draining": g.Draining,
			"profile": brief(u.space.engine.Scope().Profile(), briefLine), "active": n.Active, "cached": n.Cached,
			"rows": n.Durable, "admitted": n.Admitted, "streams": n.Streams}
	})
	u.lookRuns()
	if u.run != "" {
		u.raw("run", u.space.pageRun(u.run))
		u.lookEvents()
	}
	u.lookJournal()
	u.part("faults", func() any { return u.h.pageFaults(u.space) })
	u.part("timeline", func() any { return pageTimeline(u.space.engine) })
	u.part("input", u.input)
}

// input is what there is of supplied input.
func (u *updates) input() any {
	if u.h.pageInput == nil {
		return nil
	}
	run, ok := engine.ParseRunID(u.run)
	if ok && u.space.engine.InScope(run) != nil {
		run = engine.RunID{}
	}
	return u.h.pageInput(u.space.engine.Name(), run)
}

// part writes a part as JSON if it differs from what was sent before. A nil one is left out.
func (u *updates) part(name string, of func() any) {
	v := of()
	if v == nil {
		return
	}
	text, err := json.Marshal(v)
	if err == nil {
		u.raw(name, text)
	}
}

func (u *updates) raw(name string, text []byte) {
	if !bytes.Equal(u.sent[name], text) {
		u.sent[name] = text
		u.write(name, text)
	}
}

func (u *updates) write(name string, text []byte) {
	u.out.WriteString("event: " + name + "\ndata: ")
	u.out.Write(text)
	u.out.WriteString("\n\n")
}

// lookClock writes the clock if it was moved. That it runs, the page knows by itself.
func (u *updates) lookClock() {
	state := u.space.engine.Clock()
	fixed := strconv.FormatInt(int64(state.Offset), 10)
	if state.Frozen {
		fixed = "at " + strconv.FormatInt(state.Now.UnixNano(), 10)
	}
	if string(u.sent["clock"]) == fixed {
		return
	}
	u.sent["clock"] = []byte(fixed)
	if text, err := json.Marshal(clockJSON(state)); err == nil {
		u.write("clock", text)
	}
}

// lookRuns writes those of the latest runs that changed.
func (u *updates) lookRuns() {
	runs, known := u.space.engine.Recent(0, pageRuns)
	next := make(map[string]string, len(runs))
	changed := []json.RawMessage{}
	gone := []string{}
	for _, line := range lines(runs) {
		text, err := json.Marshal(line)
		if err != nil {
			continue
		}
		if next[line.ID] = string(text); u.lines[line.ID] != string(text) {
			changed = append(changed, text)
		}
	}
	for id := range u.lines {
		if _, still := next[id]; !still {
			gone = append(gone, id)
		}
	}
	first := u.lines == nil
	u.lines = next
	count := strconv.Itoa(known)
	if first || len(changed) > 0 || len(gone) > 0 || string(u.sent["known"]) != count {
		u.sent["known"] = []byte(count)
		text, _ := json.Marshal(map[string]any{"first": first, "known": known, "changed": changed, "gone": gone})
		u.write("runs", text)
	}
}

// lookEvents writes what the run emitted since.
func (u *updates) lookEvents() {
	e, ok := u.space.pageEvents(u.run, u.trail, u.event)
	if !ok || e.Trail == u.trail && e.Last == u.event {
		return
	}
	u.trail, u.event = e.Trail, e.Last
	if text, err := json.Marshal(e); err == nil {
		u.write("events", text)
	}
}

// lookJournal writes the entries that came since, the latest ones.
func (u *updates) lookJournal() {
	entries, last, clears, dropped := u.space.journal.after(u.entry, pageRequests)
	first := u.sent["journal"] == nil || clears != u.clears
	if !first && len(entries) == 0 {
		return
	}
	u.sent["journal"], u.entry, u.clears = []byte{}, last, clears
	list := make([]entryJSON, len(entries))
	for i := range entries {
		list[i] = entries[i].json()
	}
	text, _ := json.Marshal(map[string]any{"first": first, "entries": list, "last": last, "dropped": dropped})
	u.write("journal", text)
}

// pageAnswer is what another control answers, nil if there is none.
func (h *Handler) pageAnswer(s *space, path string) []byte {
	c := &adminCall{space: s, engine: s.engine, named: true, request: &http.Request{Method: http.MethodGet, Header: http.Header{}}}
	answer, refused := h.findAdmin(http.MethodGet, path, c)
	if refused != nil {
		return nil
	}
	reply := answer(h, c)
	if reply.Status != http.StatusOK {
		return nil
	}
	return reply.Body
}

// pageFaults are the fault rules, those in use first and no more than pageRules.
func (h *Handler) pageFaults(s *space) any {
	var told struct {
		Faults []map[string]any `json:"faults"`
	}
	if json.Unmarshal(h.pageAnswer(s, "/faults"), &told) != nil {
		return nil
	}
	const pageRules = 100
	list := []map[string]any{}
	for _, used := range [...]bool{false, true} {
		for i := len(told.Faults) - 1; i >= 0 && len(list) < pageRules; i-- {
			rule := told.Faults[i]
			if (rule["remaining"] == 0.0) != used {
				continue
			}
			delete(rule, "headers")
			for name, v := range rule {
				if text, ok := v.(string); ok {
					rule[name] = brief(text, briefLine).Text
				}
			}
			list = append(list, rule)
		}
	}
	return map[string]any{"faults": list, "count": len(told.Faults)}
}

// pagePoints is how many checkpoints a page is told of, the latest.
const pagePoints = 200

// pageTimeline are the latest checkpoints and the branches.
func pageTimeline(n *engine.Namespace) any {
	t, points, branches := n.Timeline(), []checkpointJSON{}, []branchJSON{}
	for _, p := range n.LatestCheckpoints(pagePoints) {
		points = append(points, newCheckpointJSON(p))
	}
	for _, b := range n.Branches() {
		branches = append(branches, branchJSON{Name: b.Name, Head: orNull(b.Head), Current: b.Current})
	}
	return map[string]any{"checkpoints": points, "count": t.Checkpoints, "dropped": t.Dropped,
		"branch": t.Branch, "head": orNull(t.Head), "branches": branches}
}

var _ Stream = (*updates)(nil)
