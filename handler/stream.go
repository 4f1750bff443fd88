package handler

import "context"

// Stream is a body that comes piece by piece.
type Stream interface {
	// Next waits for bytes and returns them; they stay valid until the next call.
	// After the last ones it returns io.EOF. Any other error but the context's says that
	// the connection broke.
	Next(ctx context.Context) ([]byte, error)
	// Leave says that the client has gone. It may be called while Next waits, and more
	// than once.
	Leave()
}
