package handler

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// ServeHTTP answers over a connection. A lost event stream breaks the connection
// with http.ErrAbortHandler, which middleware must let pass.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reply, err := h.Respond(r)
	if err != nil {
		// The body could not be read, so the connection is of no use.
		panic(http.ErrAbortHandler)
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
			panic(http.ErrAbortHandler)
		}
	case !reply.Head:
		w.Write(reply.Body)
	}
}

// pour writes an event stream as it comes. It fails if the stream was lost.
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
		frames, err := stream.Next(ctx)
		switch {
		case err == io.EOF || ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if _, err := w.Write(frames); err != nil {
			return nil
		}
	}
}
