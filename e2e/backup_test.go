//go:build unix

package e2e

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// The restore drill of docs/operations.md: an arena that was backed up while
// matches ran, killed, and whose database was deleted, is whole again after
// arena restore: what was over is as it was and can be verified, and what was
// running continues.
func TestE2E_Backup(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "arena.db")
		drill(t, "sqlite:"+file, "sqlite:"+file, func() {
			for _, ending := range []string{"", "-wal", "-shm"} {
				if err := os.Remove(file + ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
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
		for name, to := range map[string]string{
			"into PostgreSQL": "", "into SQLite": "sqlite:" + filepath.Join(t.TempDir(), "arena.db"),
		} {
			t.Run(name, func(t *testing.T) {
				from := server.Database(t)
				drill(t, from, cmp.Or(to, from), func() { dropAll(t, from) })
			})
		}
	})
}

// dropAll leaves a PostgreSQL database without tables.
func dropAll(t *testing.T, url string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	must(t, err)
	_, err = db.ExecContext(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	must(t, errors.Join(err, db.Close()))
}

func drill(t *testing.T, from, to string, destroy func()) {
	t.Helper()
	dir, backups := t.TempDir(), t.TempDir()
	record, keys := filepath.Join(dir, "record.json"), filepath.Join(dir, "keys.json")
	arenaOn := func(url string, args ...string) string {
		t.Helper()
		code, out := runBeside(t, dir, []string{"ARENA_DATABASE_URL=" + url, "ARENA_ADMIN_TOKEN=" + e2eAdmin}, args...)
		if code != exitOK {
			t.Fatalf("arena %v: exit code %d, %s", args, code, out)
		}
		return out
	}
	p := serve(t, dir, "ARENA_DATABASE_URL="+from)
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
	save(t, p.url+"/v1/matches/"+over+"/record", record)
	running := p.schedule("trivia", ada, bob)
	_, err := ada.WaitRequest(t.Context(), 5)
	must(t, err)
	arenaOn(from, "backup", backups)
	was := readArena(t, from, over)
	p.kill()
	close(gate)
	destroy()

	arenaOn(to, "restore", backups)
	p = serve(t, dir, "ARENA_DATABASE_URL="+to)
	if is := readArena(t, to, over); was != is {
		t.Errorf("the restored arena holds %s, the arena held %s", is, was)
	}
	save(t, p.url+"/.well-known/jwks.json", keys)
	if code, out, errs := call(t, "verify", record, "--jwks", keys); code != exitOK {
		t.Errorf("the record from before: exit code %d, %s%s", code, out, errs)
	}
	save(t, p.url+"/v1/matches/"+over+"/record", record)
	if code, out, errs := call(t, "verify", record, "--jwks", keys); code != exitOK {
		t.Errorf("the record from after: exit code %d, %s%s", code, out, errs)
	}
	s := p.watch(running, 0)
	var result finished
	s.end(&result)
	s.gapless(1)
	if len(result.RatingChanges) != 2 || result.RatingChanges[0].Before != "1520.000" {
		t.Errorf("the match that went on ended with %+v", result)
	}
	p.watch(p.schedule("trivia", ada, bob), 0).end(nil) // and new ones are played
	if out := arenaOn(to, "admin", "ratings", "verify", "--url", p.url); !strings.Contains(out, `"ok": true`) {
		t.Errorf("the ratings: %s", out)
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
	m, err := s.Matches.Match(ctx, match)
	must(t, err)
	log, err := s.Matches.EventsAfter(ctx, match, 0, 1000)
	must(t, err)
	settled, err := s.Ratings.Settlements(ctx, "", 0, 1000)
	must(t, err)
	ids := make([]string, len(m.Seats))
	for i, seat := range m.Seats {
		ids[i] = seat.AgentID
	}
	ratings, err := s.Ratings.AgentRatings(ctx, ids)
	must(t, err)
	var values []arena.MilliElo
	for _, id := range ids {
		for _, r := range ratings[id] {
			values = append(values, r.MilliElo)
		}
	}
	return fmt.Sprintf("%s %d %s %d %v", m.Status, len(log), log[len(log)-1].Body, len(settled), values)
}
