package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/server"
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
    ARENA_TLS=auto ARENA_HTTP_ADDR=:80 ARENA_PUBLIC_URL=https://arena.example arena serve
    ARENA_ALLOW_CIDRS=127.0.0.0/8 arena serve      # agents on this machine

SIGTERM lets open rounds end (ARENA_SHUTDOWN_GRACE), releases matches and closes
streams so that spectators reconnect. A second signal ends the process at once.`
}

// Run serves until a signal comes.
func (c *ServeCmd) Run(app *App) error {
	server.TuneStart()
	cfg, err := c.Load(app)
	if err != nil {
		return err
	}
	s, err := server.New(app.Ctx, cfg, app.Logger(cfg), server.Options{Version: readBuildInfo().Version})
	if err != nil {
		return err
	}
	server.TuneCollector()
	if secret, made := s.AdminToken(); made {
		_, _ = fmt.Fprintf(app.Stdout, "admin token (shown only now): %s\nadmin page: %s\n", secret, s.URL()+adminPath)
	}
	_, _ = fmt.Fprintf(app.Stdout, "arena is at %s\n", s.URL())
	if c.ReadyFile != "" {
		if err := writeReadyFile(s, c.ReadyFile); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Run(app.Ctx)
}

// adminPath is the page of the admin console. Tokens are printed beside addresses
// and never in them: addresses end up in histories and logs.
const adminPath = "/admin"

// readyFile is what --ready-file holds.
type readyFile struct {
	URL        string `json:"url"`
	LocalURL   string `json:"local_url"` // this very node, whatever stands in front of it
	MetricsURL string `json:"metrics_url,omitempty"`
	AdminToken string `json:"admin_token,omitempty"` // "" when an earlier start made it
}

// writeReadyFile writes the file in one step: a reader sees all of it or none.
func writeReadyFile(s *server.Server, path string) error {
	admin, _ := s.AdminToken()
	ready := readyFile{URL: s.URL(), LocalURL: s.LocalURL(), MetricsURL: s.MetricsURL(), AdminToken: admin}
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

// HealthCmd is `arena healthcheck`.
type HealthCmd struct {
	FileFlag
}

// healthTimeout is how long the server may take to answer. It tests the database itself
// within 2 s.
const healthTimeout = 5 * time.Second

// Help describes who needs the command.
func (c *HealthCmd) Help() string {
	return `Asks /readyz of the server on this machine: exit code 0 when it should get
requests, 1 when not. For supervisors without an HTTP client; the container image
uses it. Settings: ARENA_ADDR and those of TLS, from the file or the environment.

    arena healthcheck`
}

// Run asks.
func (c *HealthCmd) Run(app *App) error {
	cfg, err := c.Load(app)
	if err != nil {
		return err
	}
	base, err := cfg.LocalURL()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(app.Ctx, healthTimeout)
	defer cancel()
	client := apiclient.New(base, "")
	if cfg.TLSOn() {
		client.HTTP.Transport = ownTLS(cfg.PublicURL.Hostname())
	}
	if err := client.Call(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintln(app.Stdout, "ready")
	return err
}

// ownTLS returns a transport to the arena on this machine. Whether clients trust
// its certificate, and whether it has one yet, makes no node unready.
func ownTLS(host string) *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{ServerName: host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // G402: the process on this machine, which gets no secret
	}
}
