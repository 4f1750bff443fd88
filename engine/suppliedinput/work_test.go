package suppliedinput_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// only returns the single record that anna sees.
func (w *world) only() suppliedinput.Work {
	w.t.Helper()
	work := w.Work("anna")
	if len(work) != 1 {
		w.t.Fatalf("%d records: %+v", len(work), work)
	}
	return work[0]
}

// TestWork: the registry as a viewer sees it.
func TestWork(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	run := w.run(scope, "root")
	want := suppliedinput.Work{RunID: run.Run.String(), SessionID: "root", State: "active", Purpose: "unknown"}
	if got := w.only(); got != want { // it is not checked yet
		t.Errorf("%+v, want %+v", got, want)
	}
	good(t, w.ModelRequest(background, run))
	want.Purpose, want.Excerpt = "input", "text of m"
	if got := w.only(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if others := w.Work("bert"); len(others) != 0 {
		t.Errorf("another contact sees %+v", others)
	}
	good(t, w.Annotate("m", "private"))
	want.Excerpt = ""
	if got := w.only(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	good(t, w.Annotate("m", ""))
	w.script(suppliedinput.Verification{SourceID: "m", Failure: suppliedinput.HTTP403, Times: 1})
	want.Purpose = "unknown"
	for range 2 { // looking uses up nothing
		if got := w.only(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	w.ClearVerifications("")
	w.blockedWork()
	w.complete(run)
	good(t, w.Close(scope))
	want.State, want.Purpose, want.Excerpt = "finished", "input", "text of m"
	if got := w.only(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	w.erase("m")
	want.Purpose, want.Excerpt = "unknown", ""
	if got := w.only(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// blockedWork fails the test if a blocked scope shows its input.
func (w *world) blockedWork() {
	w.t.Helper()
	o := opening()
	o.ContactID = "bert"
	run := w.run(w.open(o), "root")
	good(w.t, w.ModelRequest(background, run))
	w.script(suppliedinput.Verification{Failure: suppliedinput.HTTP401, Times: 1})
	blocked(w.t, w.Tool(background, run), suppliedinput.Unavailable)
	if work := w.Work("bert"); len(work) != 1 || work[0].Purpose != "unknown" || work[0].Excerpt != "" {
		w.t.Errorf("of a blocked scope: %+v", work)
	}
}

// TestExcerpts: what is shown of which input.
func TestExcerpts(t *testing.T) {
	long := strings.Repeat("語", 241)
	for name, c := range map[string]struct {
		texts   []string
		then    func(*world)
		purpose string
		excerpt string
		partial bool
	}{
		"240 characters":       {[]string{long[:720]}, nil, "input", long[:720], false},
		"241 characters":       {[]string{long}, nil, "input", long[:720], true},
		"empty":                {[]string{""}, nil, "input", "", false},
		"two inputs":           {[]string{"one", "two"}, nil, "input", "one", true},
		"the first is erased":  {[]string{"one", "two"}, func(w *world) { w.erase("0") }, "input", "two", true},
		"the first is private": {[]string{"one", "two"}, func(w *world) { w.Annotate("0", "private") }, "input", "two", true},
		"all are private": {[]string{"one", "two"}, func(w *world) {
			w.Annotate("0", "private")
			w.Annotate("1", "private")
		}, "input", "", true},
		"another text by now": {[]string{"one"}, func(w *world) { w.Put(suppliedinput.Source{ID: "0", Text: "new"}) }, "unknown", "", false},
	} {
		w := newWorld(t, nil)
		o := opening()
		o.Inputs, o.Sources = nil, nil
		for i, text := range c.texts {
			id := fmt.Sprint(i)
			if _, err := w.Put(suppliedinput.Source{ID: id, Text: text}); err != nil {
				t.Fatal(err)
			}
			o.Inputs = append(o.Inputs, suppliedinput.InputParent{SourceID: id, InputMessageHash: suppliedinput.HashText(text)})
		}
		good(t, w.ModelRequest(background, w.run(w.open(o), "root")))
		if c.then != nil {
			c.then(w)
		}
		if got := w.only(); got.Purpose != c.purpose || got.Excerpt != c.excerpt || got.Partial != c.partial {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestWorkBounds: eight records and 4000 characters, active work first, the latest first.
func TestWorkBounds(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	begin := func(session string) suppliedinput.Actor {
		o := opening()
		o.SessionID = session
		run := w.run(w.open(o), session)
		good(t, w.ModelRequest(background, run))
		return run
	}
	var runs []suppliedinput.Actor
	for i := range 10 {
		runs = append(runs, begin(fmt.Sprint("session ", i)))
	}
	for _, i := range []int{9, 8, 1} {
		w.complete(runs[i])
	}
	plain := w.gateway.Admit()
	var got []string
	for _, r := range w.Work("anna") {
		got = append(got, strings.TrimPrefix(r.SessionID, "session ")+r.State[:1])
	}
	if text := strings.Join(got, " "); text != "a 7a 6a 5a 4a 3a 2a 0a" { // the plain run has no session that is shown
		t.Errorf("%s", text)
	}
	w.gateway.Settle(plain)
	w.gateway.Settle(runs[7].Run)
	got = nil
	for _, r := range w.Work("anna") {
		got = append(got, strings.TrimPrefix(r.SessionID, "session ")+r.State[:1])
	}
	if text := strings.Join(got, " "); text != "6a 5a 4a 3a 2a 0a 9f 8f" {
		t.Errorf("%s", text)
	}

	if _, err := w.Put(suppliedinput.Source{ID: "m", Text: strings.Repeat("語", 240)}); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		o := opening()
		o.Inputs[0].InputMessageHash = suppliedinput.HashText(strings.Repeat("語", 240))
		o.SessionID = strings.Repeat(string(rune('a'+i)), 256)
		good(t, w.ModelRequest(background, w.run(w.open(o), o.SessionID)))
	}
	work := w.Work("anna")
	characters := 0
	for _, r := range work {
		characters += utf8.RuneCountInString(r.RunID + r.SessionID + r.State + r.Purpose + r.Excerpt)
	}
	if len(work) != 7 || characters > 4000 || characters+characters/7 <= 4000 {
		t.Errorf("%d records of %d characters", len(work), characters)
	}
}

// TestWhoseWork: a run that resolves somebody else is that one's, and nothing is shown of the input.
func TestWhoseWork(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	run := w.run(w.open(opening()), "root")
	good(t, w.SetParticipant(run.Run, suppliedinput.Participant{ContactID: "bert"}))
	blocked(t, w.ModelRequest(background, run), suppliedinput.ScopeInvalid)
	if work := w.Work("anna"); len(work) != 0 {
		t.Errorf("anna sees %+v", work)
	}
	if work := w.Work("bert"); len(work) != 1 || work[0].Purpose != "unknown" || work[0].Excerpt != "" {
		t.Errorf("bert sees %+v", work)
	}
	child := w.run(w.open(opening()), "sub")
	good(t, w.SetParticipant(child.Run, suppliedinput.Participant{ContactID: "anna", ParentSessionID: "root"}))
	plain := w.gateway.Admit()
	if work := w.Work("anna"); len(work) != 1 || work[0].RunID != plain.String() || work[0].Purpose != "unknown" {
		t.Errorf("anna sees %+v", work)
	}
	good(t, w.SetParticipant(plain, suppliedinput.Participant{ContactID: "carl"}))
	if work := w.Work("anna"); len(work) != 0 {
		t.Errorf("anna sees %+v", work)
	}
	if work := w.Work("carl"); len(work) != 1 || work[0].Purpose != "unknown" {
		t.Errorf("carl sees %+v", work)
	}
}
