package inputtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// Walk takes random steps with a Space and a plain model of the rules, and compares them after each one. The queue may be
// another one, which reads what an earlier one has stored, each time that it is asked for.
func Walk(t testing.TB, seed uint64, steps int, queue func() suppliedinput.Queue) {
	t.Helper()
	w := &walk{
		t:       t,
		random:  rand.New(rand.NewPCG(seed, 0)),
		gateway: NewGateway(),
		erased:  map[string]bool{},
		seed:    seed,
	}
	proxy := &proxy{queue()}
	w.space = suppliedinput.New(suppliedinput.Config{Namespace: "default", Seed: seed, Gateway: w.gateway, Queue: proxy})
	for _, id := range walkSources {
		if _, err := w.space.Put(suppliedinput.Source{ID: id, Text: id}); err != nil {
			t.Fatal(err)
		}
	}
	for range steps {
		w.step()
		if w.random.IntN(25) == 0 {
			w.log("another queue")
			proxy.Queue = queue()
		}
		w.compare()
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(w.said, "\n"))
		}
	}
}

// proxy is a queue that can be replaced.
type proxy struct{ suppliedinput.Queue }

var walkSources = []string{"a", "b", "c", "d", "e", "f"}

// walk is the model: what the rules say, as plainly as can be.
type walk struct {
	t       testing.TB
	random  *rand.Rand
	gateway *Gateway
	space   *suppliedinput.Space
	seed    uint64
	said    []string

	scopes []*walkScope
	runs   []*walkRun
	erased map[string]bool
	fails  []suppliedinput.VerificationFailure // of the next verifications
	queued []*walkScope                        // whose envelope is in the queue
}

type walkScope struct {
	id        string
	transport bool
	inputs    []string
	sources   []string
	closed    bool
	admitted  bool
	reason    suppliedinput.Reason
	root      string // session
	rootRun   *walkRun
	bound     []string // sessions
	result    *suppliedinput.Result
}

// walkRun is a run or a child of one.
type walkRun struct {
	scope   *walkScope
	actor   suppliedinput.Actor
	session string
	parent  string // of a child
	child   bool
	contact string
	bound   bool
	settled bool
}

func (w *walk) log(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) }

func pick[E any](r *rand.Rand, list []E) (e E) {
	if len(list) == 0 {
		return e
	}
	return list[r.IntN(len(list))]
}

func (w *walk) step() {
	ctx := context.Background()
	run := pick(w.random, w.runs)
	if len(w.scopes) == 0 {
		w.open()
		return
	}
	switch n := w.random.IntN(100); {
	case n < 8:
		w.open()
	case n < 24 || run == nil:
		w.submit(pick(w.random, w.scopes))
	case n < 40:
		w.log("model request of %v", run.actor)
		w.same(w.space.ModelRequest(ctx, run.actor), w.check(run))
	case n < 54:
		w.log("tool of %v", run.actor)
		w.same(w.space.Tool(ctx, run.actor), w.check(run))
	case n < 62:
		w.child(run)
	case n < 70:
		w.rotate(run)
	case n < 82:
		w.complete(run)
	case n < 86:
		w.fails = append(w.fails, pick(w.random, []suppliedinput.VerificationFailure{suppliedinput.Timeout, suppliedinput.RemoteProtocolError,
			suppliedinput.HTTP503, suppliedinput.HTTP401, suppliedinput.HTTP403, suppliedinput.UnknownFailure}))
		last := w.fails[len(w.fails)-1]
		w.log("the next verification fails: %s", last)
		w.must(w.space.SetVerification(suppliedinput.Verification{Failure: last, Times: 1, Takes: time.Duration(w.random.IntN(2)) * time.Second}))
	case n < 89:
		w.erase(pick(w.random, walkSources))
	case n < 92 && run.actor.Child == "":
		run.contact = pick(w.random, []string{"anna", "bert"})
		run.child, run.parent = w.random.IntN(3) == 0, ""
		if run.child {
			run.parent = pick(w.random, []string{"root", "session 1", "nobody"})
		}
		w.log("%v resolves %s, child of %q", run.actor, run.contact, run.parent)
		w.must(w.space.SetParticipant(run.actor.Run, suppliedinput.Participant{ContactID: run.contact, Platform: "chat", ParentSessionID: run.parent}))
	case n < 96:
		s := pick(w.random, w.scopes)
		w.log("close of %s", s.id)
		s.closed = true
		w.must(w.space.Close(s.id))
	default:
		w.revalidate(pick(w.random, w.scopes))
	}
}

func (w *walk) must(err error) {
	if err != nil {
		w.t.Error(err)
	}
}

// same compares errors: want is nil, ErrScopeClosed, or a Reason.
func (w *walk) same(err, want error) {
	if !errors.Is(err, want) {
		w.t.Errorf("error %v, want %v", err, want)
	}
}

func (w *walk) open() {
	s := &walkScope{transport: w.random.IntN(3) == 0}
	for _, id := range walkSources {
		switch w.random.IntN(4) {
		case 0:
			s.inputs = append(s.inputs, id)
		case 1:
			s.sources = append(s.sources, id)
		}
	}
	if s.inputs == nil {
		s.inputs = []string{pick(w.random, walkSources)}
	}
	o := suppliedinput.Opening{ContactID: "anna", Transport: s.transport, Platform: "chat"}
	if !s.transport {
		s.root = "root"
		o.SessionID, o.Platform = s.root, ""
	}
	o.Inputs, o.Sources = s.parents()
	var err error
	s.id, err = w.space.Open(o)
	w.must(err)
	w.log("open %s: transport %t, inputs %v, sources %v", s.id, s.transport, s.inputs, s.sources)
	w.scopes = append(w.scopes, s)
}

func (s *walkScope) parents() (inputs []suppliedinput.InputParent, sources []suppliedinput.SourceParent) {
	for _, id := range s.inputs {
		inputs = append(inputs, suppliedinput.InputParent{SourceID: id, InputMessageHash: suppliedinput.HashText(id)})
	}
	for _, id := range s.sources {
		sources = append(sources, suppliedinput.SourceParent{SourceID: id, SourceVersion: 1})
	}
	return inputs, sources
}

func (w *walk) submit(s *walkScope) {
	id := w.gateway.Admit()
	session := "root"
	if w.random.IntN(8) == 0 {
		session = "stranger"
	}
	run := &walkRun{scope: s, actor: suppliedinput.Actor{Run: id}, session: session, contact: "anna"}
	w.log("submit %v with %s and session %s", run.actor, s.id, session)
	w.must(w.space.Attach(s.id, id, session))
	w.runs = append(w.runs, run)
}

// binds says who binds, in both forms.
func (w *walk) binds(run *walkRun) bool {
	s := run.scope
	if run.contact != "anna" {
		return false
	}
	if run.child {
		if !slices.Contains(s.bound, run.parent) {
			return false
		}
	} else if !run.bound {
		if s.transport {
			if s.rootRun != nil {
				return false
			}
			s.root = run.session
		} else if run.session != s.root {
			return false
		}
		if s.rootRun == nil {
			s.rootRun = run
		}
	}
	run.bound = true
	if !slices.Contains(s.bound, run.session) {
		s.bound = append(s.bound, run.session)
	}
	return true
}

func (w *walk) gone(s *walkScope) bool {
	return slices.ContainsFunc(append(slices.Clone(s.inputs), s.sources...), func(id string) bool { return w.erased[id] })
}

// check says what a check answers, and what blocks for good.
func (w *walk) check(run *walkRun) error {
	s := run.scope
	permanent := func() bool { return s.reason != "" && s.reason != suppliedinput.FreshnessUnavailable }
	switch {
	case s.closed:
		return suppliedinput.ErrScopeClosed
	case permanent():
		return s.reason
	case !w.binds(run):
		s.reason = suppliedinput.ScopeInvalid
		return s.reason
	case w.gone(s):
		s.reason = suppliedinput.Erased
		return s.reason
	}
	if len(w.fails) > 0 {
		failure := w.fails[0]
		w.fails = w.fails[1:]
		switch failure {
		case suppliedinput.Timeout, suppliedinput.RemoteProtocolError, suppliedinput.HTTP503:
			s.reason = suppliedinput.FreshnessUnavailable
		default:
			s.reason = suppliedinput.Unavailable
		}
	}
	if s.reason != "" {
		return s.reason
	}
	s.admitted = true
	return nil
}

// family are the executions of the same run.
func (w *walk) family(run *walkRun) (list []*walkRun) {
	for _, r := range w.runs {
		if r.actor.Run == run.actor.Run {
			list = append(list, r)
		}
	}
	return list
}

func (w *walk) newSession(run *walkRun) (session string, taken bool) {
	session = fmt.Sprint("session ", w.random.IntN(6))
	return session, slices.ContainsFunc(w.family(run), func(r *walkRun) bool { return r.session == session })
}

func (w *walk) child(run *walkRun) {
	session, taken := w.newSession(run)
	w.log("child of %v with %s", run.actor, session)
	err, want := w.space.Child(context.Background(), run.actor, session), w.check(run)
	if want == nil && taken {
		want = suppliedinput.ErrInvalid
	}
	w.same(err, want)
	if want == nil {
		root := w.family(run)[0]
		w.runs = append(w.runs, &walkRun{scope: run.scope, actor: suppliedinput.Actor{Run: run.actor.Run, Child: session},
			session: session, parent: run.session, child: true, contact: root.contact})
	}
}

func (w *walk) rotate(run *walkRun) {
	session, taken := w.newSession(run)
	w.log("rotation of %v to %s", run.actor, session)
	err, want := w.space.RotateSession(context.Background(), run.actor, session), w.check(run)
	if want == nil && taken {
		want = suppliedinput.ErrInvalid
	}
	w.same(err, want)
	if want != nil {
		return
	}
	if run.child {
		run.parent = run.session
	} else {
		run.scope.root = session
	}
	if run.actor.Child != "" {
		run.actor.Child = session
	}
	run.session = session
	if !slices.Contains(run.scope.bound, session) {
		run.scope.bound = append(run.scope.bound, session)
	}
}

func (w *walk) complete(run *walkRun) {
	if run.actor.Child != "" {
		return // only runs complete
	}
	w.log("completion of %v", run.actor)
	err := w.space.Complete(context.Background(), run.actor, "output", func() error { return w.gateway.Settle(run.actor.Run) })
	if run.settled {
		w.same(err, engine.RunSettled)
		return
	}
	w.must(err)
	run.settled = true
	s := run.scope
	if w.check(run) != nil || run.child || s.result != nil {
		return
	}
	s.result = &suppliedinput.Result{SessionID: run.session}
	s.result.InputRefs, s.result.SourceRefs = s.parents()
	if got, err := w.space.Scope(s.id); err == nil && got.Result != nil {
		s.result.TurnID = got.Result.TurnID
	}
	w.queued = append(w.queued, s)
}

func (w *walk) erase(id string) {
	w.log("erasure of %s", id)
	n, err := w.space.Erase(id)
	w.must(err)
	w.erased[id] = true
	before := len(w.queued)
	w.queued = slices.DeleteFunc(w.queued, w.gone)
	if n != before-len(w.queued) {
		w.t.Errorf("%d dependents, want %d", n, before-len(w.queued))
	}
}

func (w *walk) revalidate(s *walkScope) {
	if s.result == nil {
		return
	}
	w.log("revalidation of %s", s.id)
	var want error
	if len(w.fails) > 0 { // it uses up the script whatever comes of it
		want = suppliedinput.ErrBlocked
		w.fails = w.fails[1:]
	}
	if w.gone(s) {
		want = suppliedinput.Erased
	}
	w.same(w.space.Revalidate(context.Background(), *s.result), want)
}

// compare compares all that is known of the scopes, and of the queue.
func (w *walk) compare() {
	for _, s := range w.scopes {
		got, err := w.space.Scope(s.id)
		w.must(err)
		slices.Sort(s.bound)
		if got.Closed != s.closed || got.Admitted != s.admitted || got.SessionID != s.root || !slices.Equal(got.Sessions, s.bound) {
			w.t.Errorf("scope %s is %+v, want %+v", s.id, got, *s)
		}
		if (got.Failure == nil) != (s.reason == "") {
			w.t.Errorf("scope %s: failure %+v, want %q", s.id, got.Failure, s.reason)
		} else if f := got.Failure; f != nil {
			want := suppliedinput.Failure{Reason: s.reason, Admitted: s.admitted,
				Retryable: s.reason == suppliedinput.FreshnessUnavailable && !s.admitted}
			if *f != want {
				w.t.Errorf("scope %s: failure %+v, want %+v", s.id, *f, want)
			}
		}
		want := s.result
		if s.closed {
			want = nil
		}
		result, err := w.space.Result(s.id)
		w.must(err)
		if fmt.Sprintf("%+v", result) != fmt.Sprintf("%+v", want) {
			w.t.Errorf("scope %s: result %+v, want %+v", s.id, result, want)
		}
	}
	queued, err := w.space.Queued()
	w.must(err)
	if len(queued) != len(w.queued) {
		w.t.Fatalf("seed %d: %d envelopes, want %d", w.seed, len(queued), len(w.queued))
	}
	for i, e := range queued {
		if r := w.queued[i].result; e.TurnID != r.TurnID || e.SessionID != r.SessionID ||
			!slices.Equal(e.Inputs, r.InputRefs) || !slices.Equal(e.Sources, r.SourceRefs) {
			w.t.Errorf("envelope %+v, want %+v", e, r)
		}
	}
}
