package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// Answers of several matches that wait for the writer pool at the same time are
// one transaction, in which each is stored, refused or undone by itself, and
// every log stays without gaps.
func TestMatchWrites(t *testing.T) {
	t.Parallel()
	urls := map[string]func(t *testing.T) string{
		"SQLite":   func(t *testing.T) string { t.Helper(); return storetest.SQLite(t) },
		"Postgres": func(t *testing.T) string { t.Helper(); return postgres.get(t).Database(t) },
	}
	right := []answerCall{
		{match: 0, seat: 0},
		{match: 0, seat: 1},
		// Threats F3 and C2.
		{match: 0, seat: 0, again: true},
		{match: 0, seat: 2, epoch: 1, fails: arena.CodeLeaseLost},
		{match: 1, seat: 0},
		{match: 1, seat: 1},
		{match: 1, seat: 2, round: 2, fails: arena.CodeRoundClosed},
	}
	for engine, url := range urls {
		for name, c := range map[string]struct {
			calls   []answerCall
			commits int64 // of the calls, where all of them share a shard
		}{
			"one transaction": {right, 1},
			"one that the database refuses": {append([]answerCall{
				{match: 0, seat: 2, delivery: "dl_1"}, {match: 0, seat: 3, delivery: "dl_1", fails: arena.CodeConflict},
			}, right...), 0},
		} {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := openStore(t, url(t))
				oneShard := engine == "SQLite"
				commits := saveAtOnce(t, s, openMatches(t, s, 2, 4), c.calls, oneShard)
				if oneShard && c.commits > 0 && commits != c.commits {
					t.Errorf("%d commits, want %d", commits, c.commits)
				}
			})
		}
	}
}

// answerCall is a call of SaveAnswer in round 1.
type answerCall struct {
	match, seat int
	round       int   // 0: the open one
	epoch       int64 // more than that of the lease
	delivery    string
	again       bool // the seat has an answer already
	fails       arena.Code
}

// saveAtOnce lets the calls wait for the writer pool together, checks what comes
// of each and of the logs, and returns the number of commits.
func saveAtOnce(t *testing.T, s *store.Store, matches []arena.Match, calls []answerCall, oneShard bool) int64 {
	t.Helper()
	ctx := t.Context()
	entered, release := make(chan struct{}), make(chan struct{})
	var held, saves sync.WaitGroup
	held.Go(func() {
		_ = s.Write(ctx, matches[0].ID, func(context.Context, *store.Tx) error { close(entered); <-release; return nil })
	})
	<-entered
	before := s.CommitStats().Commits
	seqs := make([][]int64, len(matches)) // of the log, by the answers' callers
	var mu sync.Mutex
	for i, c := range calls {
		m := matches[c.match]
		l := m.Lease
		l.Epoch += c.epoch
		a := arena.Answer{Round: max(c.round, 1), AgentID: m.Seats[c.seat].AgentID, Outcome: arena.OutcomeTimeout}
		d := arena.Delivery{ID: c.delivery, AgentID: a.AgentID, Round: a.Round, SentAt: m.CreatedAt}
		e := arena.Event{At: m.CreatedAt, Round: a.Round, AgentID: a.AgentID, Type: arena.EventSeatOutcome, Body: json.RawMessage(`{}`)}
		ready := s.Queued() + 1
		saves.Go(func() {
			stored, err := s.Matches.SaveAnswer(ctx, l, a, []arena.Delivery{d}, []arena.Event{e, e})
			mu.Lock()
			defer mu.Unlock()
			want := 2
			if c.again || c.fails != "" {
				want = 0
			}
			if arena.CodeOf(err) != c.fails && (err != nil || c.fails != "") || len(stored) != want {
				t.Errorf("call %d: %d events, %v; want %d, %q", i, len(stored), err, want, c.fails)
			}
			for _, e := range stored {
				seqs[c.match] = append(seqs[c.match], e.Seq)
			}
		})
		if oneShard || c.match == 0 { // else it may have run already
			waitQueued(s, ready)
		}
	}
	close(release)
	held.Wait()
	saves.Wait()
	for i, m := range matches {
		log, err := s.Matches.EventsAfter(ctx, m.ID, 0, 100)
		check(t, err)
		seen := map[int64]bool{}
		for _, seq := range seqs[i] {
			seen[seq] = true
		}
		for j, e := range log {
			if e.Seq != int64(j+1) || (e.Type == arena.EventSeatOutcome) != seen[e.Seq] {
				t.Errorf("match %d: event %d has number %d and type %s", i, j+1, e.Seq, e.Type)
			}
		}
	}
	return s.CommitStats().Commits - before - 1 // less the one that held the rest up
}

// openMatches makes matches with seats, claims them and opens their first
// round.
func openMatches(t *testing.T, s *store.Store, matches, seats int) []arena.Match {
	t.Helper()
	ctx, at := t.Context(), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	check(t, s.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow_1", CreatedAt: at}, arena.Token{ID: "to_1", OwnerID: "ow_1", Scope: arena.ScopeOwner}))
	check(t, s.Leagues.CreateLeague(ctx, arena.League{Slug: "trivia", Status: arena.LeagueOpen, CreatedAt: at}))
	for i := range matches {
		m := arena.Match{ID: fmt.Sprintf("m_%d", i), League: "trivia", CreatedAt: at, StartsAt: at}
		for j := range seats {
			id := fmt.Sprintf("ag_%d_%d", i, j)
			check(t, s.Agents.CreateAgent(ctx, arena.Agent{ID: id, OwnerID: "ow_1", Name: id, CreatedAt: at}))
			m.Seats = append(m.Seats, arena.Seat{No: j, AgentID: id})
		}
		_, err := s.Matches.CreateMatch(ctx, m, arena.Event{At: at, Type: arena.EventMatchScheduled, Body: json.RawMessage(`{}`)})
		check(t, err)
	}
	claimed, err := s.Matches.ClaimMatches(ctx, "nd_1", time.Hour, matches, nil)
	check(t, err)
	for _, m := range claimed {
		_, err := s.Matches.OpenRound(ctx, m.Lease, arena.Round{No: 1, OpenedAt: at}, nil)
		check(t, err)
	}
	return claimed
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Rounds of several matches that close together reveal each their own hidden
// parts: none of another match, of an earlier round, or of a round that is
// still open. Threat F1.
func TestMatchWrites_reveal(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	ctx := t.Context()
	matches := openMatches(t, s, 3, 2)
	for _, m := range matches {
		for i := range m.Seats {
			m.Seats[i].State = arena.SeatActive
		}
	}
	say := func(m arena.Match, text string) {
		t.Helper()
		check(t, second(s.Matches.AppendEvents(ctx, m.ID, m.Seats[0].AgentID, []arena.Event{{
			At: m.CreatedAt, Type: arena.EventThinking, Body: json.RawMessage(`{}`), Hidden: json.RawMessage(`"` + text + `"`),
		}})))
	}
	revealed := make([]string, len(matches))
	closeRound := func(n, round int) error {
		c := arena.RoundClose{Round: round, Seats: matches[n].Seats}
		return second(s.Matches.CloseRound(ctx, matches[n].Lease, c, func(hidden []arena.Event) ([]arena.Event, error) {
			revealed[n] = "" // it may run more than once
			for _, e := range hidden {
				revealed[n] += string(e.Hidden)
			}
			return nil, nil
		}))
	}
	say(matches[1], "before")
	check(t, closeRound(1, 1))
	check(t, second(s.Matches.OpenRound(ctx, matches[1].Lease, arena.Round{No: 2, OpenedAt: matches[1].CreatedAt}, nil)))
	for n, text := range []string{"first", "second", "open"} {
		say(matches[n], text)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	var calls sync.WaitGroup
	calls.Go(func() {
		_ = s.Write(ctx, matches[0].ID, func(context.Context, *store.Tx) error { close(entered); <-release; return nil })
	})
	<-entered
	before := s.CommitStats().Commits
	for n, round := range []int{1, 2} {
		ready := s.Queued() + 1
		calls.Go(func() {
			if err := closeRound(n, round); err != nil {
				t.Error(err)
			}
		})
		waitQueued(s, ready)
	}
	close(release)
	calls.Wait()
	if n := s.CommitStats().Commits - before; n != 2 { // with the one that held the rest up
		t.Errorf("%d commits: they did not close together", n)
	}
	if want := []string{`"first"`, `"second"`, ""}; !slices.Equal(revealed, want) {
		t.Errorf("revealed %v, want %v", revealed, want)
	}
}
