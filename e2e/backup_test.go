//go:build unix

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// A copy that was made while matches ran is a whole arena: what was over is
// as it was, and what was running continues. These are the commands of
// docs/operations.md.
func TestE2E_Backup(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		dir, restored := t.TempDir(), t.TempDir()
		backup(t, "sqlite:"+filepath.Join(dir, "arena.db"), "sqlite:"+filepath.Join(restored, "arena.db"), func() {
			if code, out := runBeside(t, dir, nil, "backup", filepath.Join(restored, "arena.db")); code != exitOK {
				t.Fatalf("exit code %d, %s", code, out)
			}
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		server, err := storetest.StartServer(t.Context())
		if storetest.Missing(err) {
			t.Skip(err)
		}
		must(t, err)
		t.Cleanup(func() { must(t, server.Stop()) })
		for _, program := range []string{"pg_dump", "pg_restore"} {
			if _, err := exec.LookPath(program); err != nil && !storetest.Required("postgres") {
				t.Skip(err)
			}
		}
		from, to, file := server.Database(t), server.EmptyDatabase(t), filepath.Join(t.TempDir(), "arena.dump")
		run := func(name string, args ...string) {
			out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v: %s", name, err, out)
			}
		}
		backup(t, from, to, func() {
			run("pg_dump", "--format=custom", "--file="+file, "--dbname="+from)
			run("pg_restore", "--exit-on-error", "--no-owner", "--dbname="+to, file)
		})
	})
}

func backup(t *testing.T, from, to string, take func()) {
	t.Helper()
	p := serve(t, t.TempDir(), "ARENA_DATABASE_URL="+from)
	p.league("trivia", p.pack(9), map[string]any{
		"format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": 3, "time_limit_seconds": 30,
	})
	gate := make(chan struct{})
	ada := p.contestant("Ada", func(r protocoltest.Request) protocoltest.Behaviour {
		if r.N == 5 { // round 2 of the second match
			return protocoltest.When(gate, protocoltest.Answer("to the old arena"))
		}
		return protocoltest.Answer(correct(r))
	}, "trivia")
	bob := p.contestant("Bob", answers("no"), "trivia")
	over := p.schedule("trivia", ada, bob)
	p.watch(over, 0).end(nil)
	running := p.schedule("trivia", ada, bob)
	_, err := ada.WaitRequest(t.Context(), 5)
	must(t, err)
	take()
	was := readArena(t, from, over)
	p.kill()
	close(gate)

	p = serve(t, t.TempDir(), "ARENA_DATABASE_URL="+to)
	is := readArena(t, to, over)
	if was != is {
		t.Errorf("the copy holds %s, the arena held %s", is, was)
	}
	s := p.watch(running, 0)
	var result finished
	s.end(&result)
	s.gapless(1)
	if len(result.RatingChanges) != 2 || result.RatingChanges[0].Before != "1520.000" {
		t.Errorf("the match that went on ended with %+v", result)
	}
}

// readArena returns one line for all that counts: the match that is over, its
// log, the settlements and the ratings.
func readArena(t *testing.T, url, match string) string {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{Logger: discard(), Now: time.Now})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	ctx := context.WithoutCancel(t.Context())
	m, err := s.Match(ctx, match)
	must(t, err)
	log, err := s.EventsAfter(ctx, match, 0, 1000)
	must(t, err)
	settled, err := s.Settlements(ctx, "", 0, 1000)
	must(t, err)
	ids := make([]string, len(m.Seats))
	for i, seat := range m.Seats {
		ids[i] = seat.AgentID
	}
	ratings, err := s.AgentRatings(ctx, ids)
	must(t, err)
	var melo []arena.MilliElo
	for _, id := range ids {
		for _, r := range ratings[id] {
			melo = append(melo, r.MilliElo)
		}
	}
	return fmt.Sprintf("%s %d %s %d %v", m.Status, len(log), log[len(log)-1].Body, len(settled), melo)
}
