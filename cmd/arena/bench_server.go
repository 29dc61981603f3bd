package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/agora-arena/arena/arena/api"
)

// benchServer runs a whole node on a database ("": SQLite in a temporary
// folder) whose own jobs do nothing meanwhile. stop ends it.
func benchServer(ctx context.Context, database string) (s *server, stop func() error, err error) {
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
	if s, err = newServer(ctx, cfg, slog.New(slog.DiscardHandler), serverOptions{limits: &api.Limits{}, spectators: 1 << 20}); err != nil {
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

// databaseName says what a benchmark ran on.
func databaseName(database string) string {
	if strings.HasPrefix(database, "postgres") {
		return "postgres"
	}
	return "sqlite"
}
