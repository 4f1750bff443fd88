package suppliedinput_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// TestChecks: what each step that has a check is told.
func TestChecks(t *testing.T) {
	fails := func(f suppliedinput.VerificationFailure) func(*world) {
		return func(w *world) { w.script(suppliedinput.Verification{Failure: f, Times: 1}) }
	}
	for _, c := range []struct {
		name   string
		happen func(*world)
		reason suppliedinput.Reason // "": none
	}{
		{"nothing", func(*world) {}, ""},
		{"input erased", func(w *world) { w.erase("m") }, suppliedinput.Erased},
		{"source erased", func(w *world) { w.erase("s") }, suppliedinput.Erased},
		{"timeout", fails(suppliedinput.Timeout), suppliedinput.FreshnessUnavailable},
		{"remote protocol error", fails(suppliedinput.RemoteProtocolError), suppliedinput.FreshnessUnavailable},
		{"503", fails(suppliedinput.HTTP503), suppliedinput.FreshnessUnavailable},
		{"401", fails(suppliedinput.HTTP401), suppliedinput.Unavailable},
		{"403", fails(suppliedinput.HTTP403), suppliedinput.Unavailable},
		{"unknown", fails(suppliedinput.UnknownFailure), suppliedinput.Unavailable},
		{"another input", func(w *world) { w.script(suppliedinput.Verification{SourceID: "x", Failure: suppliedinput.HTTP401}) }, ""},
		{"the input", func(w *world) { w.script(suppliedinput.Verification{SourceID: "m", Failure: suppliedinput.HTTP401}) }, suppliedinput.Unavailable},
		{"the source", func(w *world) { w.script(suppliedinput.Verification{SourceID: "s", Failure: suppliedinput.HTTP401}) }, suppliedinput.Unavailable},
		{"erased, and not to be reached", func(w *world) {
			w.erase("s")
			w.script(suppliedinput.Verification{Failure: suppliedinput.HTTP503})
		}, suppliedinput.Erased},
		{"a new version of the source", func(w *world) { w.put("s") }, suppliedinput.Unavailable},
		{"a new version of the input with the same text", func(w *world) { w.put("m") }, ""},
		{"another text of the input", func(w *world) {
			if _, err := w.Put(suppliedinput.Source{ID: "m", Text: "other"}); err != nil {
				t.Error(err)
			}
		}, suppliedinput.Unavailable},
		{"an annotation", func(w *world) { good(t, w.Annotate("m", "private")) }, ""},
	} {
		for step, do := range map[string]func(*world, suppliedinput.Actor) error{
			"model request": func(w *world, a suppliedinput.Actor) error { return w.ModelRequest(background, a) },
			"tool":          func(w *world, a suppliedinput.Actor) error { return w.Tool(background, a) },
			"child":         func(w *world, a suppliedinput.Actor) error { return w.Child(background, a, "child") },
			"rotation":      func(w *world, a suppliedinput.Actor) error { return w.RotateSession(background, a, "rotated") },
			"final writer":  nil,
		} {
			for _, admitted := range []bool{false, true} {
				w := newWorld(t, nil)
				w.put("m", "s")
				scope := w.open(opening())
				run := w.run(scope, "root")
				if admitted {
					good(t, w.ModelRequest(background, run))
				}
				c.happen(w)
				if do != nil {
					err := do(w, run)
					if c.reason != "" {
						blocked(t, err, c.reason)
					} else {
						good(t, err)
					}
				}
				w.complete(run)
				if c.reason == "" {
					if w.failure(scope) != nil || w.result(scope) == nil {
						t.Errorf("%s before the %s: %v, %v", c.name, step, w.failure(scope), w.result(scope))
					}
					continue
				}
				if w.result(scope) != nil {
					t.Errorf("%s before the %s: there is a result", c.name, step)
				}
				w.failed(scope, c.reason, admitted, c.reason == suppliedinput.FreshnessUnavailable && !admitted)
			}
		}
	}
}

// TestUnknownParents: what the ledger does not have cannot be verified.
func TestUnknownParents(t *testing.T) {
	for _, put := range []string{"m", "s"} {
		w := newWorld(t, nil)
		w.put(put)
		scope := w.open(opening())
		blocked(t, w.Tool(background, w.run(scope, "root")), suppliedinput.Unavailable)
	}
}

// TestTheAssistantIsNoPerson: what it wrote can be inherited as a source, and is no input.
func TestTheAssistantIsNoPerson(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	first := w.open(opening())
	w.complete(w.run(first, "root"))
	turn := w.result(first).TurnID
	if n, err := w.Deliver(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	written, err := w.Source(turn)
	good(t, err)
	o := opening()
	o.Sources = []suppliedinput.SourceParent{{SourceID: turn, SourceVersion: written.Version}}
	good(t, w.Tool(background, w.run(w.open(o), "root")))
	o.Inputs = []suppliedinput.InputParent{{SourceID: turn, InputMessageHash: written.InputMessageHash}}
	blocked(t, w.Tool(background, w.run(w.open(o), "root")), suppliedinput.Unavailable)
}

// TestBlockedIsBlocked: a scope never opens again, and only a permanent reason replaces the first.
func TestBlockedIsBlocked(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	scope := w.open(opening())
	run := w.run(scope, "root")
	w.script(suppliedinput.Verification{Failure: suppliedinput.HTTP503, Times: 1})
	blocked(t, w.ModelRequest(background, run), suppliedinput.FreshnessUnavailable)
	for range 3 { // verification works again
		blocked(t, w.Tool(background, run), suppliedinput.FreshnessUnavailable)
		w.failed(scope, suppliedinput.FreshnessUnavailable, false, true)
	}
	w.script(suppliedinput.Verification{Failure: suppliedinput.HTTP403, Times: 1})
	blocked(t, w.Tool(background, run), suppliedinput.Unavailable)
	w.failed(scope, suppliedinput.Unavailable, false, false)
	w.script(suppliedinput.Verification{Failure: suppliedinput.Timeout})
	blocked(t, w.Tool(background, run), suppliedinput.Unavailable)
	w.erase("m") // another permanent reason
	blocked(t, w.Tool(background, run), suppliedinput.Unavailable)
	w.complete(run)
	if w.result(scope) != nil {
		t.Error("there is a result")
	}
	w.failed(scope, suppliedinput.Unavailable, false, false)
	good(t, w.Close(scope))
	w.failed(scope, suppliedinput.Unavailable, false, false)
}

// TestScriptedTimes: once, some times, until cleared, in order.
func TestScriptedTimes(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	w.script(suppliedinput.Verification{SourceID: "m", Failure: suppliedinput.HTTP503, Times: 2})
	w.script(suppliedinput.Verification{Failure: suppliedinput.HTTP401})
	var got []suppliedinput.Reason
	try := func() {
		scope := w.open(opening())
		w.ModelRequest(background, w.run(scope, "root"))
		reason := suppliedinput.Reason("")
		if f := w.failure(scope); f != nil {
			reason = f.Reason
		}
		got = append(got, reason)
	}
	for range 4 {
		try()
	}
	if left := w.Verifications(); len(left) != 1 || left[0].Failure != suppliedinput.HTTP401 || left[0].Times != 0 {
		t.Errorf("left: %v", left)
	}
	w.ClearVerifications("m") // of another source
	try()
	w.ClearVerifications("")
	try()
	f, u := suppliedinput.FreshnessUnavailable, suppliedinput.Unavailable
	for i, want := range []suppliedinput.Reason{f, f, u, u, u, ""} {
		if got[i] != want {
			t.Errorf("check %d: %q, want %q", i, got[i], want)
		}
	}
}

func TestVerificationsThatMakeNoSense(t *testing.T) {
	w := newWorld(t, nil)
	for _, v := range []suppliedinput.Verification{
		{}, {Failure: "http_500"}, {Failure: suppliedinput.Timeout, Times: -1}, {Failure: suppliedinput.Timeout, Takes: -1},
		{SourceID: string(make([]byte, 257)), Failure: suppliedinput.Timeout},
	} {
		if err := w.SetVerification(v); !errors.Is(err, suppliedinput.ErrInvalid) || len(w.Verifications()) != 0 {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

// TestWhileAVerificationLasts: what happens meanwhile counts.
func TestWhileAVerificationLasts(t *testing.T) {
	ended := errors.New("ended")
	for _, c := range []struct {
		name      string
		failure   suppliedinput.VerificationFailure
		meanwhile func(w *world, scope string)
		wake      error
		want      error
		reason    suppliedinput.Reason
	}{
		{"nothing", "", func(*world, string) {}, nil, nil, ""},
		{"it fails", suppliedinput.Timeout, func(*world, string) {}, nil, suppliedinput.FreshnessUnavailable, suppliedinput.FreshnessUnavailable},
		{"an erasure", "", func(w *world, _ string) { w.erase("s") }, nil, suppliedinput.Erased, suppliedinput.Erased},
		{"an erasure, and it fails", suppliedinput.Timeout, func(w *world, _ string) { w.erase("s") }, nil, suppliedinput.Erased, suppliedinput.Erased},
		{"a close", "", func(w *world, scope string) { good(t, w.Close(scope)) }, nil, suppliedinput.ErrScopeClosed, ""},
		{"the wait ends", suppliedinput.Timeout, func(*world, string) {}, ended, ended, ""},
	} {
		for _, final := range []bool{false, true} {
			w := newWorld(t, nil)
			w.put("m", "s")
			w.gateway.Sleeping, w.gateway.Wake = make(chan time.Duration), make(chan error)
			scope := w.open(opening())
			run := w.run(scope, "root")
			w.script(suppliedinput.Verification{Failure: c.failure, Takes: 5 * time.Second, Times: 1})
			settled := false
			done := make(chan error)
			go func() {
				if final {
					done <- w.Complete(background, run, "output", func() error { settled = true; return nil })
				} else {
					done <- w.ModelRequest(background, run)
				}
			}()
			if d := <-w.gateway.Sleeping; d != 5*time.Second {
				t.Errorf("%s: it sleeps for %s", c.name, d)
			}
			c.meanwhile(w, scope)
			w.gateway.Wake <- c.wake
			err := <-done
			switch {
			case final && c.wake == nil: // it completes, one way or the other
				good(t, err)
				if _, err := w.Scope(scope); err != nil || !settled {
					t.Errorf("%s: settled %t, %v", c.name, settled, err)
				}
				if r := w.result(scope); (r != nil) != (c.want == nil) {
					t.Errorf("%s: result %v", c.name, r)
				}
			case !errors.Is(err, c.want) || settled:
				t.Errorf("%s: %v, want %v; settled %t", c.name, err, c.want, settled)
			}
			if f := w.failure(scope); (f == nil) != (c.reason == "") || f != nil && f.Reason != c.reason {
				t.Errorf("%s: failure %+v", c.name, f)
			}
		}
	}
}

func TestChecksObeyTheirContext(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	w.gateway.Sleeping, w.gateway.Wake = make(chan time.Duration, 1), make(chan error)
	w.script(suppliedinput.Verification{Takes: time.Hour})
	scope := w.open(opening())
	run := w.run(scope, "root")
	ctx, cancel := context.WithCancel(background)
	cancel()
	if err := w.Tool(ctx, run); !errors.Is(err, context.Canceled) || w.failure(scope) != nil {
		t.Errorf("%v, %+v", err, w.failure(scope))
	}
	<-w.gateway.Sleeping
	if err := w.RevalidateParents(ctx, scope); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
