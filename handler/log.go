package handler

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// The log tells what the journal tells: nothing of a query, a header or a body.

// logRequest writes the line of a request to a provider path.
func (h *Handler) logRequest(e *Entry, loss Loss) {
	ctx := context.Background()
	if h.logger == nil || !h.logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	line := []slog.Attr{
		slog.String("namespace", e.Namespace), slog.String("operation", string(e.Operation)),
		slog.String("method", e.Method), slog.String("path", e.Path), slog.Int("status", e.Status),
		slog.Duration("duration", e.Duration),
	}
	if e.RunID != "" {
		line = append(line, slog.String("run", e.RunID))
	}
	if e.Accepted {
		line = append(line, slog.Bool("accepted", true))
	}
	if e.FaultID != "" {
		line = append(line, slog.String("fault", e.FaultID))
	}
	switch {
	case loss == Reset:
		line = append(line, slog.String("lost", "reset"))
	case loss == Refused:
		line = append(line, slog.String("lost", "refused"))
	case e.Status == 0:
		line = append(line, slog.String("lost", "request"))
	}
	h.logger.LogAttrs(ctx, slog.LevelInfo, "request", line...)
}

// logControl writes the line of a request to the control plane. A nil reply is one whose body could not be read.
func (h *Handler) logControl(r *http.Request, reply *Reply, began time.Time) {
	ctx := context.Background()
	if h.logger == nil || !h.logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	status := 0
	if reply != nil {
		status = reply.Status
	}
	h.logger.LogAttrs(ctx, slog.LevelDebug, "control",
		slog.String("method", cutMethod(r)), slog.String("path", cutPath(r.URL.EscapedPath())),
		slog.Int("status", status), slog.Duration("duration", time.Since(began)))
}

// watched returns the event stream of a reply so that its end is logged.
func (h *Handler) watched(c *Call, s Stream, began time.Time) Stream {
	if h.logger == nil || !h.logger.Enabled(context.Background(), slog.LevelInfo) {
		return s
	}
	return &watchedStream{Stream: s, logger: h.logger, namespace: c.Namespace(), run: c.run.String(), fault: c.fault, began: began}
}

// watchedStream logs how a stream ends, once.
type watchedStream struct {
	Stream
	logger                *slog.Logger
	namespace, run, fault string
	began                 time.Time

	mu    sync.Mutex
	bytes int
	over  bool
}

func (w *watchedStream) Next(ctx context.Context) ([]byte, error) {
	piece, err := w.Stream.Next(ctx)
	switch {
	case err == nil:
		w.mu.Lock()
		w.bytes += len(piece)
		w.mu.Unlock()
	case err == io.EOF:
		w.log("ended")
	case ctx.Err() != nil:
		w.log("client gone")
	default:
		w.log("connection lost")
	}
	return piece, err
}

func (w *watchedStream) Leave() {
	w.Stream.Leave()
	w.log("client gone")
}

func (w *watchedStream) log(end string) {
	w.mu.Lock()
	over, given := w.over, w.bytes
	w.over = true
	w.mu.Unlock()
	if over {
		return
	}
	line := []slog.Attr{
		slog.String("namespace", w.namespace), slog.String("run", w.run), slog.String("end", end),
		slog.Int("bytes", given), slog.Duration("duration", time.Since(w.began)),
	}
	if w.fault != "" {
		line = append(line, slog.String("fault", w.fault))
	}
	w.logger.LogAttrs(context.Background(), slog.LevelInfo, "stream", line...)
}
