package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/agora-arena/arena/protocol"
)

// ServeCmd is `arena serve`.
type ServeCmd struct {
	ConfigFlags
	ReadyFile string `placeholder:"FILE" type:"path" help:"Write a JSON file with url, metrics_url and admin_token once the server answers."`
}

// Help shows the command at work.
func (c *ServeCmd) Help() string {
	return `Runs the whole arena in one process: API and pages, the stream, the runner that
plays matches, the scheduler of leagues, and health checks. Without settings it
keeps everything in ./arena.db and prints a new admin token once.

    arena serve
    ARENA_ADDR=:80 ARENA_PUBLIC_URL=https://arena.example arena serve
    ARENA_ALLOW_CIDRS=127.0.0.0/8 arena serve      # agents on this machine

SIGTERM lets open rounds end (ARENA_SHUTDOWN_GRACE), gives matches back and tells
spectators to come again. A second signal ends the process at once.`
}

// Run serves until a signal comes.
func (c *ServeCmd) Run(app *App) error {
	cfg, err := c.Load(app)
	if err != nil {
		return err
	}
	s, err := newServer(app.Ctx, cfg, app.Logger(cfg), serverOptions{})
	if err != nil {
		return err
	}
	if s.newAdminToken != "" {
		_, _ = fmt.Fprintf(app.Stdout, "admin token (shown only now): %s\n", s.newAdminToken)
	}
	_, _ = fmt.Fprintf(app.Stdout, "arena is at %s\n", s.url)
	if c.ReadyFile != "" {
		if err := s.writeReadyFile(c.ReadyFile); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Run(app.Ctx)
}

// Run serves until ctx ends, then drains: first the matches, whose agents may
// still send events, then the streams, then the listeners. A drain that an
// admin asked for leaves the listeners open until ctx ends.
func (s *server) Run(ctx context.Context) error {
	down := make(chan error, 2) // a listener that fails takes the server with it
	serve := func(h *http.Server, l net.Listener) {
		if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			down <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	}
	s.wg.Go(func() { serve(s.public, s.listener) })
	if s.private != nil {
		s.wg.Go(func() { serve(s.private, s.privateListener) })
	}
	running, stopRunning := context.WithCancel(ctx)
	defer stopRunning()
	streaming, stopStreaming := context.WithCancel(context.WithoutCancel(ctx))
	defer stopStreaming()
	hub, matches := make(chan error, 1), make(chan error, 1)
	go func() { hub <- s.hub.Run(streaming) }()
	s.wg.Go(func() { _ = s.signed.Run(streaming) }) // ends with its context alone
	go func() { matches <- s.runner.Run(running) }()
	jobs := s.startJobs(running)
	s.log.Info("serving", "url", s.url, "addr", s.listener.Addr().String(), "node", s.node)

	var failed error
	select {
	case <-ctx.Done():
	case failed = <-down:
	case <-s.drainAsked:
	}
	s.draining.Store(true)
	s.log.Info("draining", "matches", s.runner.Playing())
	stopRunning()
	jobs()
	failed = errors.Join(failed, <-matches)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastBeat)
	if err := s.beat(last); err != nil { // the others see that it left in good order
		s.log.Warn("the last sign of life is lost", "error", err)
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
	return errors.Join(failed, s.Close())
}

// Close stops the listeners and closes the parts in the reverse of the order
// in which newServer made them.
func (s *server) Close() error {
	shutdown, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var problems []error
	for _, l := range s.protocols {
		if l.hangUp != nil {
			l.hangUp()
		}
	}
	for _, h := range []*http.Server{s.public, s.private} {
		if h == nil {
			continue
		}
		if err := h.Shutdown(shutdown); err != nil {
			problems = append(problems, h.Close())
		}
	}
	for _, l := range []net.Listener{s.listener, s.privateListener} {
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
	if s.bus != nil {
		problems = append(problems, s.bus.Close())
	}
	if s.store != nil {
		problems = append(problems, s.store.Close())
	}
	return errors.Join(problems...)
}

// lastBeat is how long the last sign of life may take: the database may be away.
const lastBeat = 2 * time.Second

// readyFile is what --ready-file holds.
type readyFile struct {
	URL        string `json:"url"`
	LocalURL   string `json:"local_url"` // this very node, whatever stands in front of it
	MetricsURL string `json:"metrics_url,omitempty"`
	AdminToken string `json:"admin_token,omitempty"` // "" when an earlier start made it
}

// writeReadyFile writes the file in one step: a reader sees all of it or none.
func (s *server) writeReadyFile(path string) error {
	ready := readyFile{URL: s.url, LocalURL: s.localURL(), AdminToken: s.adminToken}
	if s.privateListener != nil {
		ready.MetricsURL = "http://" + s.privateListener.Addr().String() + "/metrics"
	}
	data, err := json.Marshal(ready)
	if err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}
