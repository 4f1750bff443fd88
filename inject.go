package hermesfake

import (
	"github.com/jarcoal/httpmock"

	"github.com/hermesfake/hermesfake/faults"
)

// Inject adds fault rules behind those that there are, all or none: the
// presets of package faults, or rules of one's own. Rules are shared by all views of a
// fake. One that names no namespace is for the namespace of the view, and for every
// namespace if it is injected into the fake itself. An error wraps ErrRule and
// says what makes no sense; nothing was added then. Rule.ID, or Faults, tells
// the id that RemoveFault and the journal have.
func (f *Fake) Inject(rules ...faults.Rule) error {
	_, err := f.core.faults.Add(f.faultNamespace(), rules...)
	f.handler.Changed()
	return err
}

// RemoveFault removes the rule with the id, and reports whether there was one.
func (f *Fake) RemoveFault(id string) bool {
	defer f.handler.Changed()
	return f.core.faults.Remove(id)
}

// ClearFaults removes every rule; on a view those of its namespace alone.
func (f *Fake) ClearFaults() {
	f.core.faults.Clear(f.faultNamespace())
	f.handler.Changed()
}

// Faults returns the rules with what they have done so far, in order, those
// that are used up included; on a view those that its requests may meet.
func (f *Fake) Faults() []faults.Injected { return f.core.faults.List(f.faultNamespace()) }

func (f *Fake) faultNamespace() string {
	if f.all {
		return faults.AllNamespaces
	}
	return f.namespace.Name()
}

// Mock returns a transport of package httpmock whose stubs the fake's
// RoundTrip asks first: for services beside Hermes, and to override single routes of
// the provider. What no stub answers goes to the provider, or is an error that wraps
// ErrUnknownHost. It is one for all views, and knows nothing of requests over a socket.
//
// Register before the requests come: httpmock does not guard a stub that is replaced, nor
// Responder.Once and Times, against requests at the same time. Each URL that a
// regular expression has answered stays in its counters. A responder for
// what no stub answers (RegisterNoResponder) gets the provider's requests too; WithFallback does not.
func (f *Fake) Mock() *httpmock.MockTransport {
	if m := f.core.mock.Load(); m != nil {
		return m
	}
	f.core.mock.CompareAndSwap(nil, httpmock.NewMockTransport())
	return f.core.mock.Load()
}
