package handler

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// ServeHTTP answers over a connection. Where a fault or a lost event stream
// breaks it, ServeHTTP takes the connection from the server and closes it. A
// ResponseWriter that does not let go of its connection, by Hijack or by Unwrap, has it
// panic with http.ErrAbortHandler instead, which middleware must let pass.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reply, err := h.Respond(r)
	if err != nil {
		// The body could not be read, so the connection is of no use.
		panic(http.ErrAbortHandler)
	}
	if reply.Loss != NotLost {
		lose(w, r, reply.Loss)
		return
	}
	write(w, r, reply)
}

// write sends a reply.
func write(w http.ResponseWriter, r *http.Request, reply *Reply) {
	header := w.Header()
	for name, values := range reply.Header() {
		header[name] = values
	}
	w.WriteHeader(reply.Status)
	switch {
	case reply.Stream != nil:
		if err := pour(w, r.Context(), reply); err != nil {
			sever(w)
		}
	case !reply.Head:
		w.Write(reply.Body)
	}
}

// pour writes a stream as it comes. It fails if the connection is to break.
func pour(w http.ResponseWriter, ctx context.Context, reply *Reply) error {
	stream := reply.Stream
	defer stream.Leave()
	// A client that goes while nothing is written is noticed at once.
	defer context.AfterFunc(ctx, stream.Leave)()
	flusher := http.NewResponseController(w)
	for {
		if err := flusher.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return nil
		}
		if reply.Pause > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(reply.Pause):
			}
		}
		piece, err := stream.Next(ctx)
		switch {
		case err == io.EOF || ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if _, err := w.Write(piece); err != nil {
			return nil
		}
	}
}
