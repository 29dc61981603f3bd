package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/stream/ws"
)

// Run serves until ctx ends, then drains: first the matches, whose agents may
// still send events, then the streams, then the listeners. A drain that an
// admin asked for leaves the listeners open until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	down := make(chan error, 3) // a listener that fails takes the server with it
	serve := func(h *http.Server, l net.Listener) {
		run := h.Serve
		if h.TLSConfig != nil {
			run = func(l net.Listener) error { return h.ServeTLS(ws.NewListener(l), "", "") }
		}
		if err := run(l); !errors.Is(err, http.ErrServerClosed) {
			down <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	}
	s.wg.Go(func() { serve(s.public, s.listener) })
	if s.plain != nil {
		s.wg.Go(func() { serve(s.plain, s.plainListener) })
	}
	if s.private != nil {
		s.wg.Go(func() { serve(s.private, s.privateListener) })
	}
	running, stopRunning := context.WithCancel(ctx)
	defer stopRunning()
	streaming, stopStreaming := context.WithCancel(context.WithoutCancel(ctx))
	defer stopStreaming()
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx))
	defer stopListening()
	if s.certs != nil {
		s.wg.Go(func() { s.certs.Run(listening) })
	}
	hub, matches := make(chan error, 1), make(chan error, 1)
	go func() { hub <- s.hub.Run(streaming) }()
	s.wg.Go(func() { _ = s.signed.Run(streaming) }) // ends with its context alone
	s.wg.Go(func() { _ = s.pulls.Run(streaming) })  // so does this one
	if s.bus != nil {
		s.wg.Go(func() { s.forwardWakes(running) })
	}
	jobs := func() {}
	if s.opts.Passive {
		matches <- nil
	} else {
		go func() { matches <- s.runner.Run(running) }()
		jobs = s.startJobs(running)
	}
	s.log.Info("serving", "url", s.url, "addr", s.listener.Addr().String(), "node", s.node)

	var failed error
	select {
	case <-ctx.Done():
	case failed = <-down:
	case <-s.drainRequested:
	}
	s.draining.Store(true)
	s.log.Info("draining", "matches", s.runner.Playing())
	stopRunning()
	jobs()
	failed = errors.Join(failed, <-matches)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastHeartbeat)
	if err := s.heartbeat(last); err != nil { // shows the other nodes a clean exit
		s.log.Warn("last heartbeat could not be stored", "error", err)
	}
	if err := s.ops.accounts.StoreUses(last); err != nil {
		s.log.Warn("last uses of tokens could not be stored", "error", err)
	}
	cancel()
	stopStreaming()
	failed = errors.Join(failed, <-hub)
	if failed == nil {
		s.log.Info("drained")
		select { // at once, unless the drain was asked for
		case <-ctx.Done():
		case failed = <-down:
		}
	}
	stopListening()
	return errors.Join(failed, s.Close())
}

// forwardWakes wakes the runner for the matches of other nodes until ctx ends.
func (s *Server) forwardWakes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.bus.Woken():
			s.runner.Wake()
		}
	}
}

// Close stops the listeners and closes the parts in the reverse of the order
// in which New made them.
func (s *Server) Close() error {
	shutdown, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var problems []error
	for _, in := range s.inbound {
		if in.stop != nil {
			in.stop()
		}
	}
	if s.api != nil {
		s.api.Close()
	}
	for _, h := range []*http.Server{s.public, s.plain, s.private} {
		if h == nil {
			continue
		}
		if err := h.Shutdown(shutdown); err != nil {
			problems = append(problems, h.Close())
		}
	}
	for _, l := range []net.Listener{s.listener, s.plainListener, s.privateListener} {
		if l != nil {
			_ = l.Close() // it is closed already once its server ran
		}
	}
	s.wg.Wait()
	for _, l := range s.protocols {
		if l.wait != nil {
			l.wait()
		}
	}
	for _, c := range []*protocol.Client{s.client, s.crawler} {
		if c != nil {
			c.Close()
		}
	}
	if s.scripts != nil {
		problems = append(problems, s.scripts.Close())
	}
	if s.telemetry != nil {
		_ = s.telemetry.Close(shutdown) // a collector that is away loses the last spans, and is no error of the arena
	}
	if s.bus != nil {
		problems = append(problems, s.bus.Close())
	}
	if s.store != nil {
		problems = append(problems, s.store.Close())
	}
	return errors.Join(problems...)
}

// lastHeartbeat is the time limit of the last heartbeat: the database may be
// unavailable.
const lastHeartbeat = 2 * time.Second
