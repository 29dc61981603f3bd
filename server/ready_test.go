//go:build linux

package server

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/store/storetest"
)

// readyz returns the status of /readyz, from a write that is made now.
func readyz(t *testing.T, s *Server) int {
	t.Helper()
	s.writes.at = time.Time{}
	return request(t, s, "GET", "/readyz", "", "").Code
}

// Threat O1: a node whose disk is full reads, but must not get requests. It
// recovers without a restart.
func TestServer_ready_diskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skip("only root can mount a small disk: ", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	s := newTestServerOn(t, "sqlite:"+filepath.Join(dir, "arena.db"))
	if got := readyz(t, s); got != http.StatusOK {
		t.Fatalf("status %d with free disk space", got)
	}
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	must(t, f.Close())
	if got := readyz(t, s); got != http.StatusServiceUnavailable {
		t.Errorf("status %d on a full disk, want 503", got)
	}
	if got := request(t, s, "GET", "/v1/leagues", "", "").Code; got != http.StatusOK {
		t.Errorf("reads answer %d on a full disk", got)
	}
	must(t, os.Remove(filler))
	if got := readyz(t, s); got != http.StatusOK {
		t.Errorf("status %d after space was freed", got)
	}
}

// Threat O1: a PostgreSQL server that became read-only, as a standby or an
// operator makes it.
func TestServer_ready_readOnly(t *testing.T) {
	t.Parallel()
	postgres, err := storetest.StartServer(t.Context())
	if storetest.Missing(err) {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, postgres.Stop()) })
	database := postgres.Database(t)
	s := newTestServerOn(t, database)
	if got := readyz(t, s); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	u, err := url.Parse(database)
	must(t, err)
	name := strings.TrimPrefix(u.Path, "/")
	db, err := sql.Open("pgx", database)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	set := func(value string) {
		t.Helper()
		for _, statement := range []string{
			"ALTER DATABASE " + name + " SET default_transaction_read_only = " + value,
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "' AND pid <> pg_backend_pid()",
		} {
			_, err := db.ExecContext(t.Context(), "SET default_transaction_read_only = off; "+statement)
			must(t, err)
		}
	}
	// Each request finds at most one connection that was ended.
	settled := func() (status int) {
		t.Helper()
		for range 30 {
			status = readyz(t, s)
		}
		return status
	}
	set("on")
	if got := settled(); got != http.StatusServiceUnavailable {
		t.Errorf("status %d on a read-only database, want 503", got)
	}
	set("off")
	if got := settled(); got != http.StatusOK {
		t.Errorf("status %d once it may be written again", got)
	}
}

// Threat O1: everyone may ask for /readyz, and none of them makes the database
// write more than once a second or waits longer than two.
func TestWriteProbe_shared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		writes, outcome := 0, error(nil)
		hang := make(chan struct{})
		p := newWriteProbe(func(context.Context) error {
			if writes++; writes == 3 {
				<-hang
			}
			return outcome
		}, time.Now)
		for range 100 {
			must(t, p.check(t.Context()))
		}
		outcome = errors.New("disk full")
		must(t, p.check(t.Context()))
		time.Sleep(probeEvery)
		for range 100 {
			if err := p.check(t.Context()); !errors.Is(err, outcome) {
				t.Fatalf("got %v, want %v", err, outcome)
			}
		}
		if writes != 2 {
			t.Errorf("%d writes, want 2", writes)
		}
		time.Sleep(probeEvery)
		outcome = nil
		done := make(chan error)
		go func() { done <- p.check(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
		defer cancel()
		if err := p.check(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v while a write hangs, want a timeout", err)
		}
		close(hang)
		must(t, <-done)
	})
}
