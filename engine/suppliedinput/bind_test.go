package suppliedinput_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// TestWhoBinds: what does not bind blocks the scope.
func TestWhoBinds(t *testing.T) {
	who := func(p suppliedinput.Participant) *suppliedinput.Participant { return &p }
	for _, c := range []struct {
		name        string
		session     string
		participant *suppliedinput.Participant
		binds       bool
	}{
		{"the root session", "root", nil, true},
		{"the same contact", "root", who(suppliedinput.Participant{ContactID: "anna"}), true},
		{"the same contact on any platform", "root", who(suppliedinput.Participant{ContactID: "anna", Platform: "chat"}), true},
		{"another session", "other", nil, false},
		{"no session", "", nil, false},
		{"another contact", "root", who(suppliedinput.Participant{ContactID: "bert"}), false},
		{"a contact that differs in case", "root", who(suppliedinput.Participant{ContactID: "Anna"}), false},
		{"no contact", "root", who(suppliedinput.Participant{}), false},
		{"a contact that is too long", "root", who(suppliedinput.Participant{ContactID: strings.Repeat("a", 257)}), false},
		{"not authenticated", "root", who(suppliedinput.Participant{ContactID: "anna", Unauthenticated: true}), false},
		{"a child of nobody", "root", who(suppliedinput.Participant{ContactID: "anna", ParentSessionID: "stranger"}), false},
		{"a child of a root that is not bound", "sub", who(suppliedinput.Participant{ContactID: "anna", ParentSessionID: "root"}), false},
	} {
		w := newWorld(t, nil)
		w.put("m", "s")
		scope := w.open(opening())
		run := w.run(scope, c.session)
		if c.participant != nil {
			good(t, w.SetParticipant(run.Run, *c.participant))
		}
		err := w.ModelRequest(background, run)
		if c.binds {
			if err != nil || w.failure(scope) != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		blocked(t, err, suppliedinput.ScopeInvalid)
		w.failed(scope, suppliedinput.ScopeInvalid, false, false)
	}
}

// TestOthersBlockAScopeThatIsAdmitted: a run that does not belong to it, and one whose participant changes.
func TestOthersBlockAScopeThatIsAdmitted(t *testing.T) {
	for name, use := range map[string]func(w *world, scope string, root suppliedinput.Actor) error{
		"another run": func(w *world, scope string, _ suppliedinput.Actor) error {
			return w.Tool(background, w.run(scope, "other"))
		},
		"another participant": func(w *world, _ string, root suppliedinput.Actor) error {
			good(w.t, w.SetParticipant(root.Run, suppliedinput.Participant{ContactID: "bert"}))
			return w.Tool(background, root)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.put("m", "s")
			scope := w.open(opening())
			root := w.run(scope, "root")
			good(t, w.ModelRequest(background, root))
			blocked(t, use(w, scope, root), suppliedinput.ScopeInvalid)
			blocked(t, w.ModelRequest(background, root), suppliedinput.ScopeInvalid)
			w.failed(scope, suppliedinput.ScopeInvalid, true, false)
			w.complete(root)
			if r := w.result(scope); r != nil {
				t.Errorf("result %+v", r)
			}
		})
	}
}

// TestChildren inherit from a bound session, to any depth, and otherwise not.
func TestChildren(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	root := w.run(scope, "root")
	good(t, w.Child(background, root, "child"))
	child := suppliedinput.Actor{Run: root.Run, Child: "child"}
	good(t, w.ModelRequest(background, child))
	good(t, w.Child(background, child, "grandchild"))
	good(t, w.Tool(background, suppliedinput.Actor{Run: root.Run, Child: "grandchild"}))
	submitted := w.run(scope, "submitted child")
	good(t, w.SetParticipant(submitted.Run, suppliedinput.Participant{ContactID: "anna", ParentSessionID: "grandchild"}))
	good(t, w.Tool(background, submitted))
	w.misused() // it is no second task

	for _, session := range []string{"child", "root", "", strings.Repeat("x", 257)} {
		if err := w.Child(background, root, session); !errors.Is(err, suppliedinput.ErrInvalid) {
			t.Errorf("a child with session %q: %v", session, err)
		}
	}
	if err := w.Tool(background, suppliedinput.Actor{Run: root.Run, Child: "nobody"}); !errors.Is(err, suppliedinput.ErrNoChild) {
		t.Errorf("no child: %v", err)
	}
	if s, _ := w.Scope(scope); strings.Join(s.Sessions, ",") != "child,grandchild,root,submitted child" || s.Failure != nil {
		t.Errorf("%+v", s)
	}
	w.complete(submitted)
	if r := w.result(scope); r != nil {
		t.Errorf("a child's completion is the result %+v", r)
	}
}

// TestRotation: the rotated root is the same root after a fresh check; the run that has the former session is another one.
func TestRotation(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	root := w.run(scope, "root")
	good(t, w.RotateSession(background, root, "rotated"))
	good(t, w.ModelRequest(background, root))
	good(t, w.Child(background, root, "child"))
	child := suppliedinput.Actor{Run: root.Run, Child: "child"}
	good(t, w.Tool(background, child))
	good(t, w.RotateSession(background, child, "child rotated"))
	good(t, w.Tool(background, child)) // by its former session
	good(t, w.Tool(background, suppliedinput.Actor{Run: root.Run, Child: "child rotated"}))
	for _, session := range []string{"rotated", "child rotated", ""} {
		if err := w.RotateSession(background, root, session); !errors.Is(err, suppliedinput.ErrInvalid) {
			t.Errorf("rotation to %q: %v", session, err)
		}
	}
	w.complete(root)
	if r := w.result(scope); r == nil || r.SessionID != "rotated" {
		t.Errorf("result %+v", r)
	}
	former := w.run(scope, "root")
	blocked(t, w.ModelRequest(background, former), suppliedinput.ScopeInvalid)
}

// TestRotationIsChecked: one whose check fails does not take place.
func TestRotationIsChecked(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	root := w.run(scope, "root")
	good(t, w.ModelRequest(background, root))
	w.erase("s")
	blocked(t, w.RotateSession(background, root, "rotated"), suppliedinput.Erased)
	if s, _ := w.Scope(scope); s.SessionID != "root" {
		t.Errorf("the root session is %s", s.SessionID)
	}
}

func transport() suppliedinput.Opening {
	o := opening()
	query := "the recall query"
	o.SessionID, o.Transport, o.Platform, o.RecallQuery = "", true, "chat", &query
	return o
}

// TestTransport: only the first authenticated root run of the platform and the contact binds.
func TestTransport(t *testing.T) {
	for _, c := range []struct {
		name  string
		who   suppliedinput.Participant
		binds bool
	}{
		{"expected", suppliedinput.Participant{ContactID: "anna", Platform: "chat"}, true},
		{"another platform", suppliedinput.Participant{ContactID: "anna", Platform: "mail"}, false},
		{"no platform", suppliedinput.Participant{ContactID: "anna"}, false},
		{"another contact", suppliedinput.Participant{ContactID: "bert", Platform: "chat"}, false},
		{"not authenticated", suppliedinput.Participant{ContactID: "anna", Platform: "chat", Unauthenticated: true}, false},
		{"a child", suppliedinput.Participant{ContactID: "anna", Platform: "chat", ParentSessionID: "any"}, false},
	} {
		w := newWorld(t, nil)
		w.put("m", "s")
		scope := w.open(transport())
		first := w.run(scope, "first")
		good(t, w.SetParticipant(first.Run, c.who))
		if query := w.RecallQuery(first); query != "" {
			t.Errorf("%s: a run that is not bound sees %q", c.name, query)
		}
		err := w.ModelRequest(background, first)
		if !c.binds {
			blocked(t, err, suppliedinput.ScopeInvalid)
			if query := w.RecallQuery(first); query != "" {
				t.Errorf("%s: it sees %q", c.name, query)
			}
			continue
		}
		good(t, err)
		if query := w.RecallQuery(first); query != "the recall query" {
			t.Errorf("the recall query is %q", query)
		}
		good(t, w.Child(background, first, "child"))
		good(t, w.Tool(background, suppliedinput.Actor{Run: first.Run, Child: "child"}))
		good(t, w.RotateSession(background, first, "rotated"))
		good(t, w.ModelRequest(background, first))
		second := w.run(scope, "rotated") // even with the session
		blocked(t, w.ModelRequest(background, second), suppliedinput.ScopeInvalid)
		w.failed(scope, suppliedinput.ScopeInvalid, true, false)
	}
}

func TestTransportResult(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(transport())
	run := w.run(scope, "its own")
	w.complete(run)
	r := w.result(scope)
	if r == nil || r.SessionID != "its own" {
		t.Fatalf("result %+v", r)
	}
	queued, err := w.Queued()
	if err != nil || len(queued) != 1 || queued[0].Platform != "chat" {
		t.Errorf("queued %+v, %v", queued, err)
	}
	good(t, w.Close(scope))
	if query := w.RecallQuery(run); query != "" {
		t.Errorf("after close the recall query is %q", query)
	}
}

// TestNothingBindsAfterClose: a scope that was left stays out of reach.
func TestNothingBindsAfterClose(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	bound, late := w.run(scope, "root"), w.run(scope, "root")
	good(t, w.ModelRequest(background, bound))
	good(t, w.Child(background, bound, "child"))
	child := suppliedinput.Actor{Run: bound.Run, Child: "child"}
	good(t, w.Tool(background, child))
	good(t, w.Close(scope))
	good(t, w.Close(scope))
	for _, a := range []suppliedinput.Actor{bound, late, child} {
		for name, err := range map[string]error{
			"model request": w.ModelRequest(background, a), "tool": w.Tool(background, a),
			"child": w.Child(background, a, "new"), "rotation": w.RotateSession(background, a, "new"),
		} {
			if !errors.Is(err, suppliedinput.ErrScopeClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := w.Admit(scope); !errors.Is(err, suppliedinput.ErrScopeClosed) {
		t.Errorf("a submission: %v", err)
	}
	if _, err := w.Append(scope, "s", "x"); !errors.Is(err, suppliedinput.ErrScopeClosed) {
		t.Errorf("a block: %v", err)
	}
	w.complete(bound)
	if r := w.result(scope); r != nil {
		t.Errorf("result %+v", r)
	}
	if queued, err := w.Queued(); err != nil || len(queued) != 0 {
		t.Errorf("queued %v, %v", queued, err)
	}
	if s, err := w.Scope(scope); err != nil || s.SessionID != "root" || len(s.Sessions) != 2 || !s.Closed {
		t.Errorf("%+v, %v", s, err)
	}
	after := suppliedinput.UsedAfterClose
	w.misused(suppliedinput.MoreThanOneFreshTask, after, after, after, after, after) // once for each actor, the submission and the block
}

func TestNoScope(t *testing.T) {
	w := newWorld(t, nil)
	_, err1 := w.Result("input_x")
	_, err2 := w.Failure("input_x")
	_, err3 := w.Scope("input_x")
	_, err4 := w.Append("input_x", "s", "x")
	_, err5 := w.Execution(engine.RunID{})
	_, err6 := w.Admit("input_x")
	for i, err := range []error{err1, err2, err3, err4, err5, err6, w.Close("input_x"),
		w.Attach("input_x", w.gateway.Admit(), "root"), w.RevalidateParents(background, "input_x")} {
		if !errors.Is(err, suppliedinput.ErrNoScope) {
			t.Errorf("%d: %v", i, err)
		}
	}
	plain := suppliedinput.Actor{Run: w.gateway.Admit()}
	good(t, w.ModelRequest(background, plain))
	good(t, w.Tool(background, plain))
	good(t, w.Child(background, plain, "child"))
	good(t, w.RotateSession(background, plain, "x"))
	w.complete(plain)
	if queued, err := w.Queued(); err != nil || len(queued) != 0 {
		t.Errorf("queued %v, %v", queued, err)
	}
}
