package engine_test

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/store/storetest"
)

// lines is a log that a test reads while nodes write to it.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// rows keeps and puts back the rows of matches, as a standby has them that takes over
// without the last commits.
type rows struct {
	b  *bench
	db *sql.DB
}

func (b *bench) rowsOf(url string) rows {
	b.t.Helper()
	db, err := sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:")+"?_pragma=busy_timeout(5000)")
	b.ok(err)
	b.t.Cleanup(func() { _ = db.Close() })
	return rows{b, db}
}

func (r rows) each(statements ...string) {
	r.b.t.Helper()
	tx, err := r.db.BeginTx(r.b.t.Context(), nil)
	r.b.ok(err)
	for _, table := range []string{"matches", "seats", "rounds", "answers", "events", "deliveries", "verdicts", "settlements", "rating_changes", "ratings", "counters"} {
		for _, s := range statements {
			_, err := tx.ExecContext(r.b.t.Context(), strings.ReplaceAll(s, "TABLE", table))
			r.b.ok(err)
		}
	}
	r.b.ok(tx.Commit())
}

func (r rows) keep() { r.each("CREATE TEMP table kept_TABLE AS SELECT * FROM main.TABLE") }
func (r rows) putBack() {
	r.each("DELETE FROM main.TABLE", "INSERT INTO main.TABLE SELECT * FROM kept_TABLE")
}

// lateRenewals lets the claims of a node that plays nothing come before its renewals.
type lateRenewals struct {
	engine.Store
	sweeps chan struct{}
}

// UntilStart follows each attempt to claim.
func (l lateRenewals) UntilStart(ctx context.Context) (time.Duration, error) {
	select {
	case l.sweeps <- struct{}{}:
	default:
	}
	return l.Store.UntilStart(ctx)
}

func (l lateRenewals) RenewLeases(ctx context.Context, node string, ids []string, ttl time.Duration) ([]arena.Lease, error) {
	for range cap(l.sweeps) {
		if len(ids) > 0 {
			break
		}
		select {
		case <-l.sweeps:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return l.Store.RenewLeases(ctx, node, ids, ttl)
}

// A failover that loses the last seconds voids no match: the node names the matches
// that lost events, and they run again from what is stored. Threat C5.
func TestEngine_LostCommits(t *testing.T) {
	t.Parallel()
	for name, ended := range map[string]bool{"in the next round": false, "after the end": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			second, third := make(chan struct{}), make(chan struct{})
			url := storetest.SQLite(t)
			b := newBenchOn(t, url, right, func(ctx context.Context, a arena.Attempt) arena.Reply {
				switch a.Round {
				case 2:
					<-second
				case 3:
					<-third
				}
				return right(ctx, a)
			})
			r := b.rowsOf(url)
			r.db.SetMaxOpenConns(1) // which has the kept rows
			x, log := newFrail(b, fault{}), &lines{}
			id := b.match()
			late := lateRenewals{x, make(chan struct{}, 20)}
			b.node("n1", lively, x.use, func(o *engine.Options) { o.Store = late }, func(o *engine.Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) })
			asked := func(round, times int) func() bool {
				return func() bool { return count(b.asked, func(a arena.Attempt) bool { return a.Round == round }) == times }
			}
			b.wait("round 2 is asked", asked(2, 2))
			b.wait("round 2 is answered by seat 0", func() bool {
				return count(b.published, func(e arena.Event) bool { return e.Type == arena.EventSeatOutcome && e.Round == 2 }) == 1
			})
			r.keep()
			close(second)
			b.wait("round 3 is asked", asked(3, 2))
			if ended {
				close(third)
				b.over(id)
			}
			x.sever(everything)
			testwait.Until(t, "the node finds the storage unavailable", func() bool { return strings.Contains(log.String(), "storage is unavailable") })
			r.putBack()
			_, err := r.db.ExecContext(t.Context(), "UPDATE matches SET leased_until = 0") // as later
			b.ok(err)
			b.mu.Lock()
			b.published = nil
			b.mu.Unlock()
			x.sever(nil)
			if !ended {
				close(third)
			}
			m, _ := b.over(id)
			if m.Status != arena.MatchFinished || m.Lease.Epoch < 2 {
				t.Errorf("the match is %s (%s) at epoch %d", m.Status, m.VoidReason, m.Lease.Epoch)
			}
			if !asked(2, 3)() || !asked(3, 4)() {
				t.Errorf("asked %d times", len(b.asked))
			}
			if text := log.String(); strings.Count(text, "runs again") != 1 || !strings.Contains(text, "match_id="+id) {
				t.Errorf("logged %s", text)
			}
		})
	}
}
