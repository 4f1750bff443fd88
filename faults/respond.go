package faults

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/hermesfake/hermesfake/handler"
)

// fate is what is to become of a request, as the rules have it before its
// operation.
type fate struct {
	delay  time.Duration
	answer *Rule    // answers, drops or refuses in place of the operation
	slow   *Rule    // the last one that slows the body
	later  []*entry // rules on whose effects the operation's reply decides
}

// decide uses the rules that the call meets, but those whose effects come later.
func (s *Set) decide(c *handler.Call) fate {
	var f fate
	s.match(c, func(e *entry) bool {
		r := &e.rule
		if r.Effect.follows() {
			f.later = append(f.later, e)
			return true
		}
		s.take(e)
		c.SetFault(r.ID)
		f.delay += r.Delay
		if r.Effect == EffectSlowBody {
			f.slow = r
		}
		if r.Status != 0 || r.Drop || r.Effect == EffectConnectionRefused {
			f.answer = r
		}
		return f.answer == nil
	})
	return f
}

// Respond answers a call as the rules want it. It is the handler's middleware.
func (s *Set) Respond(c *handler.Call, operation handler.Responder) (*handler.Reply, error) {
	f := s.decide(c)
	ctx := c.Request().Context()
	if f.delay > 0 {
		// A server notices that a client goes only once it has read what the client sends.
		if err := c.ReadAhead(); err != nil {
			return nil, err
		}
	}
	if s.wait(ctx, f.delay) != nil {
		return handler.Lost(handler.Reset), nil
	}
	if f.answer != nil {
		return s.slowed(c, f.slow, f.answer.reply()), nil
	}
	reply, err := operation(c)
	if err != nil {
		return nil, err
	}
	for _, e := range s.occurring(c, reply, f.later) {
		if s.wait(ctx, e.rule.Delay) != nil {
			leave(reply)
			return handler.Lost(handler.Reset), nil
		}
		apply(c, &e.rule, reply)
	}
	return s.slowed(c, f.slow, reply), nil
}

// reply is that of a rule that answers in place of the operation.
func (r *Rule) reply() *handler.Reply {
	switch {
	case r.Drop:
		return handler.Lost(handler.Reset)
	case r.Effect == EffectConnectionRefused:
		return handler.Lost(handler.Refused)
	}
	return handler.Substitute(r.Status, r.Header, r.Body)
}

// occurring uses those of the rules whose effects the reply gives rise to. A lost reply is
// the last thing that can happen to it.
func (s *Set) occurring(c *handler.Call, reply *handler.Reply, later []*entry) []*entry {
	if later == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken []*entry
	for _, e := range later {
		effect := e.rule.Effect
		if effect.ofAccepted() && !c.Accepted() || effect.ofEvents() && reply.Stream == nil || !s.take(e) {
			continue
		}
		c.SetFault(e.rule.ID)
		taken = append(taken, e)
		if effect.ofAccepted() {
			break
		}
	}
	return taken
}

// apply carries out an effect on the operation's reply.
func apply(c *handler.Call, r *Rule, reply *handler.Reply) {
	switch r.Effect {
	case EffectAcceptedDrop:
		*reply = *handler.Lost(handler.Reset)
	case EffectAcceptedTruncated:
		reply.Stream = &whole{reply.Body[:len(reply.Body)/2], io.ErrUnexpectedEOF}
	case EffectEventsCut:
		reply.Stream = newCut(reply.Stream, r.After)
	case EffectEventsNoTerminal:
		reply.Stream = &noTerminal{Stream: reply.Stream}
	case EffectEventsStall:
		reply.Stream = &stalled{Stream: reply.Stream, sleep: c.Sleep}
	case EffectEventsSplitFrames:
		reply.Stream = &fragments{Stream: reply.Stream}
		reply.Pause = fragmentPause
	}
}

// slowed slows the reply's body down, if a rule wants that and there is one.
func (s *Set) slowed(c *handler.Call, r *Rule, reply *handler.Reply) *handler.Reply {
	if r == nil || reply.Loss != handler.NotLost || c.Request().Method == http.MethodHead {
		return reply
	}
	if reply.Stream == nil {
		if len(reply.Body) == 0 {
			return reply
		}
		reply.Stream = &whole{reply.Body, io.EOF}
	}
	reply.Stream = &slow{Stream: reply.Stream, wait: s.wait, bytesPerSecond: r.BytesPerSecond}
	return reply
}

func leave(reply *handler.Reply) {
	if reply.Stream != nil {
		reply.Stream.Leave()
	}
}

// wait waits for d, or until the fake is closed. It returns the context's error.
func (s *Set) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	// Made for each wait, because a synctest bubble counts only its own channels as waits.
	woken := make(chan struct{})
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.waits[woken] = struct{}{}
	s.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	defer s.forget(woken)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case <-woken:
	}
	return nil
}

func (s *Set) forget(woken chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waits, woken)
}

// Close ends every delay, and there are none from then on. The rules stay.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for woken := range s.waits {
		close(woken)
	}
	clear(s.waits)
}
