package engine_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/record"
)

// playRecorded plays a match that has a record.
func (b *bench) playRecorded(change func(*arena.Settings)) string {
	b.t.Helper()
	n := b.node("n1", func(o *engine.Options) { o.Games = saloon{} })
	m, e := b.due("m_1")
	change(&m.Settings)
	_, err := n.Create(b.t.Context(), m, e)
	b.ok(err)
	if m, _ := b.over("m_1"); m.Status != arena.MatchFinished {
		b.t.Fatalf("match %s: %s", m.Status, m.VoidReason)
	}
	return m.ID
}

// verifyGames verifies a record with its games, and returns how many rounds were
// played again.
func verifyGames(t *testing.T, file []byte) (rounds int, err error) {
	t.Helper()
	_, err = record.Verify(file, func([]byte, record.Signature) error { return nil }, func(r record.Record) (err error) {
		rounds, err = game.Verify(t.Context(), saloon{}, r)
		return err
	})
	return rounds, err
}

// The games of a record can be played again from it alone, sealed or not, with
// illegal moves and with agents that leave.
func TestEngine_record_of_games(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		a, b   script
		change func(*arena.Settings)
		rounds int
	}{
		"live":    {column(1), column(2), func(s *arena.Settings) { connectFour(2)(s); s.Visibility = arena.VisibilityLive }, 14},
		"sealed":  {column(1), column(2), connectFour(2), 14},
		"illegal": {column(1), column(9), connectFour(2), 3},
		"late":    {column(1), at(2, always(bad(arena.OutcomeTimeout, "late")), column(2)), connectFour(1), 4},
		"left":    {column(1), at(2, always(unavailable), column(2)), connectFour(2), 4},
		"bank": {column(1), column(2), func(s *arena.Settings) {
			connectFour(1)(s)
			s.Game.TimeBank = time.Minute
		}, 7},
		"hidden": {talkative("bet"), talkative("fold"), func(s *arena.Settings) {
			connectFour(2)(s)
			s.Game.Name, s.Game.Hidden, s.Visibility, s.Game.Duplicate = "poker", true, arena.VisibilityLive, true
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.a, tt.b)
			id := b.playRecorded(tt.change)
			rows, file, _ := b.record(id)
			if n, err := verifyGames(t, file); err != nil || n != tt.rounds {
				t.Fatalf("played %d rounds again: %v\n%s", n, err, file)
			}
			erasure, err := record.NewErasure(rows, agentID(1))
			b.ok(err)
			b.ok(b.store.Matches.EraseTexts(t.Context(), erasure))
			_, file, _ = b.record(id)
			if n, err := verifyGames(t, file); err != nil || n >= tt.rounds {
				t.Errorf("after the erasure of texts it played %d rounds again: %v", n, err)
			}
		})
	}
}

// An arena that signs a game that was not played is found out.
func TestEngine_record_of_another_game(t *testing.T) {
	t.Parallel()
	b := newBench(t, column(1), column(2))
	id := b.playRecorded(func(s *arena.Settings) { connectFour(1)(s); s.Visibility = arena.VisibilityLive })
	edit := func(r *record.Rows, kind arena.EventType, round int, was, is string) {
		i := slices.IndexFunc(r.Events, func(e arena.Event) bool { return e.Type == kind && e.Round == round })
		if e := &r.Events[i]; bytes.Contains(e.Body, []byte(was)) {
			e.Body = bytes.ReplaceAll(e.Body, []byte(was), []byte(is))
			return
		}
		t.Errorf("%s of round %d has no %s: %s", kind, round, was, r.Events[i].Body)
	}
	answer := func(r *record.Rows, round int, text string) {
		i := slices.IndexFunc(r.Answers, func(a arena.Answer) bool { return a.Round == round })
		body := *r.Answers[i].Body
		body.Answer = text
		r.Answers[i].Body = &body
	}
	for name, tt := range map[string]struct {
		change func(*record.Rows)
		fault  string // the end of its pointer
		reason string
	}{
		"another answer": {func(r *record.Rows) {
			answer(r, 3, "4")
			edit(r, arena.EventRoundClosed, 3, `"answer":"1"`, `"answer":"4"`)
		}, "/moves/0/move", "round 3"},
		"another move": {func(r *record.Rows) {
			answer(r, 3, "4")
			edit(r, arena.EventRoundClosed, 3, `"answer":"1"`, `"answer":"4"`)
			edit(r, arena.EventRoundClosed, 3, `"move":"1"`, `"move":"4"`)
		}, "/state", "round 3"},
		"another mover": {func(r *record.Rows) {
			edit(r, arena.EventRoundStarted, 2, `"seats_to_act":["ag_1"]`, `"seats_to_act":["ag_0"]`)
		}, "/seats_to_act", "round 2"},
		"another position": {func(r *record.Rows) { edit(r, arena.EventRoundStarted, 4, `"turn":4`, `"turn":5`) }, "/state", "before round 4"},
		"illegal": {func(r *record.Rows) {
			r.Answers[0].Reason = arena.ReasonIllegalMove
		}, "/rounds/0/answers/0/reason", "accept"},
		"points": {func(r *record.Rows) {
			r.Match.Seats[1].Points = arena.OnePoint
			edit(r, arena.EventMatchFinished, 0, `"points":0`, `"points":1`)
		}, "/seats/1/points", "0"},
		"standings": {func(r *record.Rows) {
			edit(r, arena.EventRoundClosed, 5, `"standings":[{"agent_id":"ag_0","points":0`, `"standings":[{"agent_id":"ag_0","points":1`)
		}, "/standings/0/points", "round 5"},
		"places": {func(r *record.Rows) {
			r.Match.Seats[1].Place = 1
			edit(r, arena.EventMatchFinished, 0, `"place":2`, `"place":1`)
		}, "/seats/1/place", "2"},
		"a round less": {func(r *record.Rows) {
			r.Rounds = r.Rounds[:6]
			r.Events = slices.DeleteFunc(r.Events, func(e arena.Event) bool { return e.Round == 7 })
			for i := range r.Events {
				r.Events[i].Seq = int64(i + 1)
			}
		}, "/record/rounds", "missing"},
		"other games": {func(r *record.Rows) {
			spec := *r.Match.Settings.Game
			spec.Games = 2
			r.Match.Settings.Game = &spec
		}, "/record/match/game", "match_started"},
		"too many games": {func(r *record.Rows) {
			spec := *r.Match.Settings.Game
			spec.Games = 1e9
			r.Match.Settings.Game = &spec
			edit(r, arena.EventMatchStarted, 0, `"games_per_match":1`, `"games_per_match":1000000000`)
		}, "/series/games", "20"},
		"an unknown option": {func(r *record.Rows) {
			spec := *r.Match.Settings.Game
			spec.Options = map[string]int{"depth": 1}
			r.Match.Settings.Game = &spec
			edit(r, arena.EventMatchStarted, 0, `"games_per_match":1`, `"games_per_match":1,"options":{"depth":1}`)
		}, "/match/options", "depth"},
		"no such game": {func(r *record.Rows) {
			spec := *r.Match.Settings.Game
			spec.Name = "go"
			r.Match.Settings.Game = &spec
			edit(r, arena.EventMatchStarted, 0, `"name":"connect_four"`, `"name":"go"`)
		}, "/record/match/game", "choose one of"},
		"another version": {func(r *record.Rows) {
			spec := *r.Match.Settings.Game
			spec.Version = "0"
			r.Match.Settings.Game = &spec
			edit(r, arena.EventMatchStarted, 0, `"version":"1"`, `"version":"0"`)
		}, "/record/match/game_version", `"1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, _, _ := b.record(id)
			tt.change(&rows)
			file, _ := b.signed(rows)
			_, err := verifyGames(t, file)
			fault, ok := errors.AsType[*record.FaultError](err)
			if !ok || !strings.HasSuffix(fault.Pointer, tt.fault) || !strings.Contains(fault.Reason, tt.reason) {
				t.Errorf("found %v", err)
			}
		})
	}
}

// A settled match of games counts in its league how each of them ended for each
// seat, unless the league's table leaves the match out.
func TestEngine_countsGames(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		b      script
		reason arena.UnratedReason
		want   map[string]arena.GameTally
	}{
		"played out": {column(2), "", map[string]arena.GameTally{
			agentID(0): {All: arena.GameScore{Games: 2, Wins: 1, Losses: 1, Points: 1000}, PlayedOut: arena.GameScore{Games: 2, Wins: 1, Losses: 1, Points: 1000}},
			agentID(1): {All: arena.GameScore{Games: 2, Wins: 1, Losses: 1, Points: 1000}, PlayedOut: arena.GameScore{Games: 2, Wins: 1, Losses: 1, Points: 1000}},
		}},
		"illegal moves": {column(9), "", map[string]arena.GameTally{
			agentID(0): {All: arena.GameScore{Games: 2, Wins: 2, Points: 2000}, ForfeitsWon: 2},
			agentID(1): {All: arena.GameScore{Games: 2, Losses: 2}, ForfeitsLost: 2, Illegal: 2},
		}},
		"a no-show": {at(2, always(unavailable), column(2)), "", map[string]arena.GameTally{
			agentID(0): {All: arena.GameScore{Games: 2, Wins: 2, Points: 2000}, ForfeitsWon: 2},
			agentID(1): {All: arena.GameScore{Games: 2, Losses: 2}, ForfeitsLost: 2, NoShows: 2},
		}},
		"a challenge": {column(2), arena.UnratedChallenge, map[string]arena.GameTally{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, column(1), tt.b)
			n := b.node("n1", func(o *engine.Options) { o.Games = saloon{} })
			m, e := b.due("m_1")
			connectFour(2)(&m.Settings)
			m.UnratedReason = tt.reason
			_, err := n.Create(b.t.Context(), m, e)
			b.ok(err)
			m, _ = b.over("m_1")
			if m.Status != arena.MatchFinished {
				t.Fatalf("match %s: %s", m.Status, m.VoidReason)
			}
			records, err := b.store.Games.LeagueGames(t.Context(), slug)
			b.ok(err)
			if d := cmp.Diff(tt.want, arena.TallyGames(records)); d != "" {
				t.Error(d)
			}
		})
	}
}
