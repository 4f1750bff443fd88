package transport

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// body is a reply's whole body.
type body struct {
	ctx    context.Context
	bytes  []byte
	closed atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errClosedBody
	}
	if len(b.bytes) == 0 {
		return 0, io.EOF
	}
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n := copy(p, b.bytes)
	b.bytes = b.bytes[n:]
	if len(b.bytes) == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (b *body) Close() error {
	b.closed.Store(true)
	return nil
}

// stream is a body that comes piece by piece. It is pulled: it owns no goroutine, and Read
// waits for what was given to the subscription.
type stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	source handler.Stream
	stop   func() bool

	mu     sync.Mutex // one Read at a time
	rest   []byte
	err    error
	closed atomic.Bool
}

func openStream(parent context.Context, source handler.Stream) *stream {
	s := &stream{source: source}
	s.ctx, s.cancel = context.WithCancel(parent)
	s.stop = context.AfterFunc(parent, source.Leave)
	return s
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && len(p) > 0 {
		s.fill()
	}
	if s.closed.Load() {
		return 0, errClosedBody
	}
	if s.err != nil {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// fill waits for bytes, or an error in their place.
func (s *stream) fill() {
	if err := s.ctx.Err(); err != nil {
		s.err = err
		return
	}
	if len(s.rest) > 0 {
		return
	}
	s.rest, s.err = s.source.Next(s.ctx)
	if errors.Is(s.err, engine.ErrStreamLost) {
		s.err = io.ErrUnexpectedEOF
	}
}

// Close is the client going away. It may be called while a Read waits.
func (s *stream) Close() error {
	s.closed.Store(true)
	s.stop()
	s.cancel()
	s.source.Leave()
	return nil
}
