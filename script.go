package hermesfake

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

// Why the context of a script ended, as context.Cause tells.
var (
	// ErrStopRequested: a client asked to stop the run.
	ErrStopRequested = engine.ErrStopRequested
	// ErrSettled: the run has settled.
	ErrSettled = engine.ErrSettled
	// ErrGatewayGone: the gateway process was restarted or reset.
	ErrGatewayGone = engine.ErrGatewayGone
)

// ErrScript is wrapped by what a script did wrong, as Start reports it, and by
// the errors of SetScript.
var ErrScript = errors.New("script")

// Submission is what a script may be chosen by. It is not kept.
type Submission struct {
	Input     string // the text of input, or of its last message; parts of text are joined by newlines
	Model     string // the model member if it is a string, else ""
	SessionID string // the session_id member if it is a string, else ""
}

// A When chooses the submissions that a script is for.
type When func(Submission) bool

// InputContains chooses submissions whose input contains text.
func InputContains(text string) When {
	return func(s Submission) bool { return strings.Contains(s.Input, text) }
}

// ModelIs chooses submissions that name the model.
func ModelIs(model string) When {
	return func(s Submission) bool { return s.Model == model }
}

// SessionIs chooses submissions that name the session.
func SessionIs(id string) When {
	return func(s Submission) bool { return s.SessionID == id }
}

// script plays the agent of the runs that it is for.
type script struct {
	play func(context.Context, *Run)
	when []When
}

// scripts are those of one namespace.
type scripts struct {
	list     []script // from Script, in order
	document []script // from SetScript
}

// stage runs the scripts of a fake.
type stage struct {
	mu       sync.Mutex
	scripts  map[string]*scripts // by namespace
	everyone scripts             // of namespaces that have none
	failures []error
	closed   bool
	playing  sync.WaitGroup
}

// maxFailures bounds what is kept of scripts that went wrong.
const maxFailures = 20

// Script lets play act as the agent of later runs of the namespace: of those
// that every when chooses, where no script added before does. On the fake itself it is for
// every namespace that has no scripts of its own.
//
// play runs on a goroutine of its own for each run, and is to settle it. Its
// context ends when a client stops the run, when the run is settled, when the
// gateway is restarted or reset, and at Close; context.Cause tells which. It
// may sleep with Run.Sleep, which goes by the fake's clock. A play that
// returns after a stop without settling the run cancels it, as an executor does. Any other that forgets
// to settle, or panics, fails the run with a clear message, and Start fails the test.
func (f *Fake) Script(play func(ctx context.Context, run *Run), when ...When) {
	st := &f.core.stage
	st.mu.Lock()
	defer st.mu.Unlock()
	own := st.own(f)
	own.list = append(own.list, script{play, when})
}

// ClearScripts removes the scripts that Script and SetScript have added. Runs that are being
// played go on.
func (f *Fake) ClearScripts() {
	st := &f.core.stage
	st.mu.Lock()
	defer st.mu.Unlock()
	*st.own(f) = scripts{}
	if !f.all {
		delete(st.scripts, f.namespace.Name())
	}
}

// own returns the scripts that calls on f are about.
func (st *stage) own(f *Fake) *scripts {
	if f.all {
		return &st.everyone
	}
	return st.of(f.namespace.Name())
}

func (st *stage) of(namespace string) *scripts {
	own := st.scripts[namespace]
	if own == nil {
		own = &scripts{}
		if st.scripts == nil {
			st.scripts = map[string]*scripts{}
		}
		st.scripts[namespace] = own
	}
	return own
}

// admitted starts the script that is for a new run, before its reply leaves.
func (k *core) admitted(n *engine.Namespace, a engine.Admission, body []byte) {
	play := k.stage.choose(n.Name(), body)
	if play == nil {
		return
	}
	view, err := k.fake.Namespace(n.Name())
	if err != nil {
		return
	}
	k.stage.mu.Lock()
	defer k.stage.mu.Unlock()
	if k.stage.closed {
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	run := view.run(a.Run.ID())
	run.executor = n.ExecuteAdmitted(a, cancel)
	view.namespace = n.For(run.executor)
	k.stage.playing.Add(1)
	go func() {
		defer k.stage.playing.Done()
		defer cancel(nil)
		defer run.executor.Done()
		k.stage.perform(ctx, run, play)
	}()
}

// choose returns the first script that is for the submission.
func (st *stage) choose(namespace string, body []byte) func(context.Context, *Run) {
	st.mu.Lock()
	own := st.scripts[namespace]
	if own == nil {
		own = &st.everyone
	}
	candidates := append(own.list[:len(own.list):len(own.list)], own.document...)
	st.mu.Unlock()
	if len(candidates) == 0 {
		return nil
	}
	s := readSubmission(body)
	for _, c := range candidates {
		if st.isFor(c, s) {
			return c.play
		}
	}
	return nil
}

// isFor reports whether the script is for the submission. A condition that
// panics chooses nothing, and is reported to Start.
func (st *stage) isFor(c script, s Submission) (yes bool) {
	defer func() {
		if p := recover(); p != nil {
			yes = false
			st.fail(fmt.Errorf("%w: a condition panicked: %v\n%s", ErrScript, p, debug.Stack()))
		}
	}()
	for _, when := range c.when {
		if !when(s) {
			return false
		}
	}
	return true
}

func readSubmission(body []byte) Submission {
	doc := canon.Get()
	defer doc.Release()
	if doc.Parse(body) != nil {
		return Submission{}
	}
	root := doc.Root()
	input, _ := root.Member("input")
	if input.Kind() == canon.KindArray {
		last, _ := input.Last()
		input, _ = last.Member("content")
	}
	model, _ := root.Member("model")
	session, _ := root.Member("session_id")
	s := Submission{Input: input.Text(), Model: model.Text(), SessionID: session.Text()}
	if parts, ok := input.Value().(canon.Array); ok {
		s.Input = engine.PartsText(parts)
	}
	return s
}

// perform plays a script, and settles what it has not.
func (st *stage) perform(ctx context.Context, run *Run, play func(context.Context, *Run)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		problem := "a script panicked"
		if p := recover(); p != nil {
			problem = fmt.Sprintf("a script panicked: %v", p)
			st.fail(fmt.Errorf("%w of %s panicked: %v\n%s", ErrScript, run.ID(), p, debug.Stack()))
		} else {
			// runtime.Goexit, as t.FailNow calls it.
			problem = "a script ended its goroutine"
			st.fail(fmt.Errorf("%w of %s ended its goroutine; a script must not call t.FailNow or t.Fatal", ErrScript, run.ID()))
		}
		run.Fail("hermesfake: " + problem)
	}()
	play(ctx, run)
	returned = true
	switch cause := context.Cause(ctx); {
	case cause == nil:
		st.mu.Lock()
		defer st.mu.Unlock() // so that who sees that the run has failed sees the error too
		if run.Fail("hermesfake: the script ended without settling the run") == nil {
			st.add(fmt.Errorf("%w of %s ended without settling the run; end it with Complete, Fail or Cancel", ErrScript, run.ID()))
		}
	case errors.Is(cause, ErrStopRequested):
		run.Cancel()
	}
}

func (st *stage) fail(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.add(err)
}

// add is fail for who holds the lock.
func (st *stage) add(err error) {
	if len(st.failures) < maxFailures {
		st.failures = append(st.failures, err)
	}
}

// ScriptErrors returns what scripts did wrong so far, the first 20; each wraps ErrScript.
func (f *Fake) ScriptErrors() []error {
	f.core.stage.mu.Lock()
	defer f.core.stage.mu.Unlock()
	return append([]error(nil), f.core.stage.failures...)
}

// close lets no script begin any more.
func (st *stage) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
}
