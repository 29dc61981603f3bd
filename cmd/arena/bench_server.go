package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/agora-arena/arena/arena/quota"
	"github.com/agora-arena/arena/arena/runner"
)

// benchServer runs a whole node on a database ("": SQLite in a temporary
// folder) whose own jobs do nothing meanwhile. drivers may change what speaks
// to agents. stop ends it.
func benchServer(ctx context.Context, database string, drivers ...func(map[string]runner.Driver)) (s *server, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "arena-bench-")
	if err != nil {
		return nil, nil, fmt.Errorf("folder for the database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if database == "" {
		database = "sqlite:" + filepath.Join(dir, "arena.db")
	}
	cfg, err := Load(Sources{Flags: map[string]string{
		"ARENA_ADDR": "127.0.0.1:0", "ARENA_METRICS_ADDR": "", "ARENA_ALLOW_CIDRS": "127.0.0.0/8",
		"ARENA_DATABASE_URL": database, "ARENA_SPECTATORS": "1000000", "ARENA_HEALTH_INTERVAL": "1h", "ARENA_ADMIN_TOKEN": "bench-admin-token-of-this-run",
	}})
	if err != nil {
		return nil, nil, err
	}
	if s, err = newServer(ctx, cfg, slog.New(slog.DiscardHandler), serverOptions{limits: &quota.Limits{}, spectators: 1 << 20, drivers: drivers}); err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Run(running) }()
	return s, func() error {
		cancel()
		return errors.Join(<-served, os.RemoveAll(dir))
	}, nil
}

// benchArena is a whole node with agents in another process.
type benchArena struct {
	agents *benchAgents
	server *server
	stop   func() error
}

func startBenchArena(app *App, database string, agents int, league string, flags ...string) (*benchArena, error) {
	a, err := startBenchAgents(app, agents, league, flags...)
	if err != nil {
		return nil, err
	}
	s, stop, err := benchServer(app.Ctx, database)
	if err != nil {
		return nil, errors.Join(err, a.stop())
	}
	return &benchArena{agents: a, server: s, stop: func() error { return errors.Join(stop(), a.stop()) }}, nil
}

// databaseName says what a benchmark ran on.
func databaseName(database string) string {
	if strings.HasPrefix(database, "postgres") {
		return "postgres"
	}
	return "sqlite"
}
