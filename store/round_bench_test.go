package store_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// BenchmarkRound opens a round, stores the answers of all seats at once and
// closes it, in one large match and in many duels at once. Of each it gives
// the processor's time per seat, that of the database too on SQLite.
func BenchmarkRound(b *testing.B) {
	for _, size := range []struct{ matches, seats int }{{1, 100}, {250, 2}} {
		name := fmt.Sprintf("%d matches of %d", size.matches, size.seats)
		b.Run("SQLite/"+name, func(b *testing.B) { benchmarkRound(b, sqliteURL(b), size.matches, size.seats) })
		b.Run("Postgres/"+name, func(b *testing.B) {
			if os.Getenv("ARENA_TEST_REQUIRE") == "" {
				b.Skip("ARENA_TEST_REQUIRE is not set")
			}
			benchmarkRound(b, postgres.get(b).Database(b), size.matches, size.seats)
		})
	}
}

// benchMatches makes matches, each of other agents, and claims them.
func benchMatches(b *testing.B, s *store.Store, matches, seats int) []arena.Match {
	b.Helper()
	ctx, at := b.Context(), time.Now()
	mustBench(b, s.Leagues.CreateLeague(ctx, arena.League{Slug: "l", Status: arena.LeagueOpen, CreatedAt: at}))
	mustBench(b, s.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow", Name: "o"}, arena.Token{ID: "to", OwnerID: "ow", Scope: arena.ScopeOwner, Hash: sha256.Sum256(nil)}))
	ids := make([]string, matches*seats)
	for i := range ids {
		ids[i] = arena.NewID(arena.AgentPrefix, at)
		mustBench(b, s.Agents.CreateAgent(ctx, arena.Agent{ID: ids[i], OwnerID: "ow", Name: fmt.Sprint(i), CreatedAt: at}))
	}
	for i := range matches {
		m := arena.Match{ID: arena.NewID(arena.MatchPrefix, at), League: "l", CreatedAt: at}
		for j := range seats {
			m.Seats = append(m.Seats, arena.Seat{No: j, AgentID: ids[i*seats+j]})
		}
		_, err := s.Matches.CreateMatch(ctx, m, arena.Event{At: at, Type: arena.EventMatchScheduled})
		mustBench(b, err)
	}
	claimed, err := s.Matches.ClaimMatches(ctx, "nd", time.Hour, matches, nil)
	mustBench(b, err)
	if len(claimed) != matches {
		b.Fatalf("%d of %d matches are claimed", len(claimed), matches)
	}
	return claimed
}

func benchmarkRound(b *testing.B, url string, matches, seats int) {
	b.Helper()
	s := openStore(b, url)
	played := benchMatches(b, s, matches, seats)
	ctx, task := b.Context(), arena.Task{Description: strings.Repeat("what is six times seven? ", 8)}
	var opening, saving, closing time.Duration
	before := s.CommitStats()
	b.ReportAllocs()
	for no := 1; b.Loop(); no++ {
		at := time.Now()
		var answers [][]arena.Answer
		for _, m := range played {
			var of []arena.Answer
			for _, seat := range m.Seats {
				of = append(of, arena.Answer{
					Round: no, AgentID: seat.AgentID, Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "42"},
					Elapsed: time.Millisecond, Attempts: 1, ArrivedAt: at,
				})
			}
			answers = append(answers, of)
		}
		opening += together(b, played, func(_ int, m arena.Match) error {
			_, err := s.Matches.OpenRound(ctx, m.Lease, arena.Round{No: no, Task: task, OpenedAt: at}, []arena.Event{{At: at, Type: arena.EventRoundStarted, Body: []byte(`{}`)}})
			return err
		})
		saving += together(b, played, func(i int, m arena.Match) error {
			var all sync.WaitGroup
			for _, a := range answers[i] {
				all.Go(func() {
					d := arena.Delivery{
						AgentID: a.AgentID, Round: no, Attempt: 1, Status: 200, Outcome: a.Outcome, SentAt: at, Elapsed: a.Elapsed,
						Request: []byte(strings.Repeat("r", 800)), Response: []byte{},
					}
					e := arena.Event{
						At: at, Type: arena.EventSeatOutcome, Round: no, AgentID: a.AgentID,
						Body:   []byte(`{"outcome":"answered","elapsed_ms":1,"attempts":1,"commitment":"` + strings.Repeat("0", 64) + `"}`),
						Hidden: []byte(`{"answer":"42","nonce":"0123456789012345678901"}`),
					}
					if _, err := s.Matches.SaveAnswer(ctx, m.Lease, a, []arena.Delivery{d}, []arena.Event{e}); err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
			return nil
		})
		closing += together(b, played, func(i int, m arena.Match) error {
			for j := range answers[i] {
				answers[i][j].Points, answers[i][j].Judged = arena.OnePoint, true
			}
			_, err := s.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats, Answers: answers[i]}, func([]arena.Event) ([]arena.Event, error) {
				return []arena.Event{{At: at, Type: arena.EventRoundClosed, Round: no, Body: []byte(`{}`)}}, nil
			})
			return err
		})
	}
	after := s.CommitStats()
	n := float64(b.N * matches * seats)
	b.ReportMetric(float64(opening.Microseconds())/n, "cpu-µs/opening")
	b.ReportMetric(float64(saving.Microseconds())/n, "cpu-µs/answer")
	b.ReportMetric(float64(closing.Microseconds())/n, "cpu-µs/closing")
	b.ReportMetric(float64(after.Operations-before.Operations)/float64(after.Commits-before.Commits), "ops/commit")
}

// together calls f for all matches at once and returns the processor time that
// it took.
func together(b *testing.B, matches []arena.Match, f func(i int, m arena.Match) error) time.Duration {
	b.Helper()
	began := processorTime(b)
	var all sync.WaitGroup
	for i, m := range matches {
		all.Go(func() {
			if err := f(i, m); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	return processorTime(b) - began
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	mustBench(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func mustBench(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
