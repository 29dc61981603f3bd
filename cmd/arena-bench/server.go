package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/server"
)

// benchNode is a node in this process with the parts that benchmarks measure.
type benchNode struct {
	*server.Server
	server.Parts

	admin string // token
}

// newBenchNode makes a node with these settings that counts no requests by
// address.
func newBenchNode(ctx context.Context, settings map[string]string, o server.Options, more ...string) (*benchNode, error) {
	cfg, err := server.Load(server.Sources{Environ: more, Flags: settings})
	if err != nil {
		return nil, err
	}
	o.NoLimits, o.Spectators = true, 1<<20
	s, err := server.New(ctx, cfg, slog.New(slog.DiscardHandler), o)
	if err != nil {
		return nil, err
	}
	n := &benchNode{Server: s, Parts: s.Parts()}
	n.admin, _ = s.AdminToken()
	return n, nil
}

// benchServer runs a complete node on a database ("": SQLite in a temporary
// folder) with its periodic jobs disabled. drivers may replace the drivers of
// agents. stop ends it. More settings are KEY=VALUE.
func benchServer(ctx context.Context, database string, drivers func(map[string]engine.Driver), more ...string) (s *benchNode, stop func() error, err error) {
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
	if s, err = newBenchNode(ctx, map[string]string{
		"ARENA_ADDR": "127.0.0.1:0", "ARENA_METRICS_ADDR": "127.0.0.1:0", "ARENA_ALLOW_CIDRS": "127.0.0.0/8",
		"ARENA_DATABASE_URL": database, "ARENA_SPECTATORS": "1000000", "ARENA_HEALTH_INTERVAL": "1h", "ARENA_AUDIT_LEAGUES": "0", "ARENA_ADMIN_TOKEN": "bench-admin-token-of-this-run",
	}, server.Options{Drivers: drivers}, more...); err != nil {
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
	server *benchNode
	stop   func() error
}

func startBenchArena(app *App, database string, agents int, league string, flags ...string) (*benchArena, error) {
	a, err := startBenchAgents(app, agents, league, flags...)
	if err != nil {
		return nil, err
	}
	s, stop, err := benchServer(app.Ctx, database, nil)
	if err != nil {
		return nil, errors.Join(err, a.stop())
	}
	return &benchArena{agents: a, server: s, stop: func() error { return errors.Join(stop(), a.stop()) }}, nil
}

// databaseName returns the name of the database of a benchmark.
func databaseName(database string) string {
	if strings.HasPrefix(database, "postgres") {
		return "postgres"
	}
	return "sqlite"
}
