package faults

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/handler"
)

// whole is a body in one piece, and what comes after it.
type whole struct {
	body []byte
	end  error
}

func (w *whole) Next(context.Context) ([]byte, error) {
	if len(w.body) == 0 {
		return nil, w.end
	}
	body := w.body
	w.body = nil
	return body, nil
}

func (w *whole) Leave() {}

// frame returns the first frame of an event stream's bytes, which come in
// whole frames.
func frame(stream []byte) []byte {
	if i := bytes.Index(stream, []byte("\n\n")); i >= 0 {
		return stream[:i+2]
	}
	return stream
}

// isEvent tells events from comments.
func isEvent(frame []byte) bool { return bytes.HasPrefix(frame, []byte("data:")) }

var terminalEvents = [...][]byte{
	[]byte(`data: {"event": "run.completed"`),
	[]byte(`data: {"event": "run.failed"`),
	[]byte(`data: {"event": "run.cancelled"`),
}

func isTerminal(frame []byte) bool {
	for _, event := range terminalEvents {
		if bytes.HasPrefix(frame, event) {
			return true
		}
	}
	return false
}

// cut breaks an event stream after some events.
type cut struct {
	handler.Stream
	left int
	over bool
}

func newCut(s handler.Stream, after int) *cut {
	c := &cut{Stream: s, left: after}
	if after == 0 {
		c.end()
	}
	return c
}

// end breaks the connection, which to the gateway is the client going.
func (c *cut) end() {
	c.over = true
	c.Leave()
}

func (c *cut) Next(ctx context.Context) ([]byte, error) {
	if c.over {
		return nil, io.ErrUnexpectedEOF
	}
	piece, err := c.Stream.Next(ctx)
	if err != nil {
		return nil, err
	}
	n := 0
	for n < len(piece) && !c.over {
		f := frame(piece[n:])
		if isTerminal(f) {
			c.end()
			break
		}
		n += len(f)
		if isEvent(f) {
			c.left--
			if c.left == 0 {
				c.end()
			}
		}
	}
	if n == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return piece[:n], nil
}

// filter returns the frames of a piece that are wanted.
func filter(piece []byte, wanted func(frame []byte) bool) []byte {
	var kept []byte
	for len(piece) > 0 {
		f := frame(piece)
		if wanted(f) {
			kept = append(kept, f...)
		}
		piece = piece[len(f):]
	}
	return kept
}

// noTerminal leaves the terminal event out.
type noTerminal struct {
	handler.Stream
}

func (n *noTerminal) Next(ctx context.Context) ([]byte, error) {
	for {
		piece, err := n.Stream.Next(ctx)
		if err != nil {
			return nil, err
		}
		piece = filter(piece, func(f []byte) bool { return !isTerminal(f) })
		if len(piece) > 0 {
			return piece, nil
		}
	}
}

// keepAliveAfter is how long the provider leaves a stream silent.
const keepAliveAfter = 30 * time.Second

var keepAlive = []byte(": keepalive\n\n")

// stalled lets only keepalives through, and has no end.
type stalled struct {
	handler.Stream
	sleep func(context.Context, time.Duration) error // on the fake's clock
	over  bool
}

func (s *stalled) Next(ctx context.Context) ([]byte, error) {
	for !s.over {
		piece, err := s.Stream.Next(ctx)
		switch {
		case err == io.EOF:
			s.over = true
		case err != nil:
			return nil, err
		default:
			piece = filter(piece, func(f []byte) bool { return bytes.Equal(f, keepAlive) })
			if len(piece) > 0 {
				return piece, nil
			}
		}
	}
	if err := s.sleep(ctx, keepAliveAfter); err != nil {
		if ctx.Err() == nil {
			err = engine.ErrStreamLost
		}
		return nil, err
	}
	return keepAlive, nil
}

// fragmentPause is how long fragments are apart on a connection: long enough for the
// client's side to read one before the next comes.
const fragmentPause = time.Millisecond

// fragments cuts the stream where parsers expect it least.
type fragments struct {
	handler.Stream
	rest []byte
}

func (f *fragments) Next(ctx context.Context) ([]byte, error) {
	if len(f.rest) == 0 {
		var err error
		if f.rest, err = f.Stream.Next(ctx); err != nil {
			return nil, err
		}
	}
	n := 1
	for n < len(f.rest) && !splits(f.rest, n) {
		n++
	}
	piece := f.rest[:n]
	f.rest = f.rest[n:]
	return piece, nil
}

// splits reports whether the stream is cut before its byte i.
func splits(stream []byte, i int) bool {
	before, after := stream[:i], stream[i:]
	return before[i-1] == '\n' && after[0] == '\n' ||
		bytes.HasSuffix(before, []byte("\ndat")) && after[0] == 'a' ||
		string(before) == "dat" && after[0] == 'a' ||
		i >= 4 && stream[i-4] == '\\' && stream[i-3] == 'u'
}

// piecesPerSecond is about how many pieces of a slow body come in a second.
const piecesPerSecond = 20

// slow delivers a stream at a pace.
type slow struct {
	handler.Stream
	wait           func(context.Context, time.Duration) error
	bytesPerSecond int
	rest           []byte
}

func (s *slow) Next(ctx context.Context) ([]byte, error) {
	if len(s.rest) == 0 {
		var err error
		if s.rest, err = s.Stream.Next(ctx); err != nil {
			return nil, err
		}
	}
	n := min(len(s.rest), max(1, s.bytesPerSecond/piecesPerSecond))
	if err := s.wait(ctx, time.Duration(n)*time.Second/time.Duration(s.bytesPerSecond)); err != nil {
		return nil, err
	}
	piece := s.rest[:n]
	s.rest = s.rest[n:]
	return piece, nil
}
