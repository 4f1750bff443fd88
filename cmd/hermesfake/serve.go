package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/hermesfake/hermesfake"
)

// limits bound what a client may take of the server. There is none for writing a
// reply, which would end event streams.
type limits struct {
	headerTime  time.Duration // for a request's head
	headerBytes int           // of a request's head
	requestTime time.Duration // for a request, body included
	idleTime    time.Duration // of a connection between requests
	closeTime   time.Duration // for replies under way when the server ends
}

func defaultLimits() limits {
	return limits{
		headerTime:  10 * time.Second,
		headerBytes: 64 << 10,
		requestTime: 60 * time.Second,
		idleTime:    120 * time.Second,
		closeTime:   5 * time.Second,
	}
}

// serve serves a new fake on the listener, which it closes, until ctx ends.
// No goroutine is left when it returns. An error is one of the script, the
// listener, or of stdout.
func serve(ctx context.Context, listener net.Listener, s *settings, within limits, stdout, stderr io.Writer) error {
	log := s.logger(stderr)
	fake := hermesfake.New(s.options(log)...)
	if err := s.play(fake); err != nil {
		listener.Close()
		return err
	}
	base, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	conns := newConnections()
	server := &http.Server{
		Handler:           fake,
		ReadHeaderTimeout: within.headerTime,
		// net/http lifts it when the body has been read, so streams may last longer.
		ReadTimeout:    within.requestTime,
		IdleTimeout:    within.idleTime,
		MaxHeaderBytes: within.headerBytes,
		// What is left for it are panics and a listener that fails.
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelError),
		BaseContext: func(net.Listener) context.Context { return base },
		ConnState:   conns.changed,
		// The provider does not answer OPTIONS * as net/http does.
		DisableGeneralOptionsHandler: true,
	}
	closed := make(chan struct{})
	server.RegisterOnShutdown(func() {
		conns.closeSilent()
		fake.Close()
		close(closed)
	})

	url := "http://" + listener.Addr().String()
	// Connections are taken since the socket listens, though Serve comes later.
	if _, err := fmt.Fprintf(stdout, "hermesfake listening on %s\n", url); err != nil {
		listener.Close()
		return fmt.Errorf("cannot print the URL: %w", err)
	}
	// As text, because JSON readers round numbers of 64 bits.
	log.Info("started", "version", hermesfake.Version, "seed", strconv.FormatUint(fake.Seed(), 10), "url", url, "page", url+"/__admin/ui")

	var failure error
	served := make(chan struct{})
	go func() {
		failure = server.Serve(listener)
		close(served)
	}()
	select {
	case <-ctx.Done():
	case <-served:
	}

	// Shutdown closes the listener, then the fake, whose event streams end as
	// those of a gateway that is gone, and lets the replies under way end.
	bounded, cancel := context.WithTimeout(base, within.closeTime)
	defer cancel()
	if err := server.Shutdown(bounded); errors.Is(err, context.DeadlineExceeded) {
		log.Warn("closing connections that did not end in time", "limit", within.closeTime)
	}
	abandon()
	server.Close()
	<-served
	<-closed
	conns.wait()
	if errors.Is(failure, http.ErrServerClosed) {
		return nil
	}
	return failure
}
