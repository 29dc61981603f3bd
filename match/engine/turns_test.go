package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/match/engine"
)

// connectFour makes a match a series of games.
func connectFour(games int) func(*arena.Settings) {
	return func(s *arena.Settings) {
		s.Game = &arena.GameSpec{Name: "connect_four", Version: "1", Games: games}
		s.Generator, s.Judge, s.Rounds, s.ScoreMode = nil, arena.JudgeSpec{}, 0, arena.ScoreResult
	}
}

// column always drops its disc into the same column.
func column(n int) script {
	return always(arena.Reply{
		Outcome: arena.OutcomeAnswered, Status: 200, SentAt: time.Now(), Elapsed: time.Millisecond,
		Answer: &arena.AnswerBody{Answer: strconv.Itoa(n), Reasoning: "because of secrets"},
	})
}

// at plays s when a seat is asked for the nth time, and else as before.
func at(n int, s, before script) script {
	asked := 0
	return func(ctx context.Context, a arena.Attempt) arena.Reply {
		if asked++; asked == n {
			return s(ctx, a)
		}
		return before(ctx, a)
	}
}

// closings returns the bodies of the events that close rounds.
func (b *bench) closings(events []arena.Event) (all []arena.RoundClosedBody) {
	b.t.Helper()
	for _, e := range events {
		if e.Type == arena.EventRoundClosed {
			var body arena.RoundClosedBody
			b.ok(json.Unmarshal(e.Body, &body))
			all = append(all, body)
		}
	}
	return all
}

func TestEngine_PlaysGames(t *testing.T) {
	t.Parallel()
	b := newBench(t, column(1), column(2))
	x := newFrail(b, fault{})
	b.node("n1", x.use)
	m, events := b.over(b.match(connectFour(2)))
	if n := x.called("SaveAnswer"); n != 0 {
		t.Errorf("%d moves were not stored with the round they close", n)
	}
	// Who begins wins: each of both games has seven turns.
	if m.Status != arena.MatchFinished || m.Round != 14 || m.Seats[0].Points != arena.OnePoint || m.Seats[1].Points != arena.OnePoint {
		t.Fatalf("match %s (%s), round %d, seats %+v", m.Status, m.VoidReason, m.Round, m.Seats)
	}
	for _, s := range m.Seats {
		if s.Place != 1 || s.Delta == nil || *s.Delta != 0 {
			t.Errorf("place %d, delta %v", s.Place, s.Delta)
		}
	}
	for i, a := range b.asked {
		if a.Round != i+1 || len(a.Task.Options) != 7 && i < 6 || len(a.Task.Observation) == 0 || a.TotalRounds != 0 {
			t.Errorf("request %d is of round %d: %+v", i+1, a.Round, a.Task)
		}
	}
	closings := b.closings(events)
	if d := cmp.Diff([]arena.PlayedMove{{AgentID: agentID(0), Move: "1", Legal: true}}, closings[6].Moves); d != "" {
		t.Error(d)
	}
	// What agents think becomes public when the match ends, not when a turn does.
	reveals := 0
	for i, e := range events {
		if bytes.Contains(e.Body, []byte("secrets")) && e.Type != arena.EventReveal {
			t.Errorf("event %d shows reasoning: %s", e.Seq, e.Body)
		}
		if e.Type == arena.EventReveal {
			if reveals++; i < len(events)-2-14 {
				t.Errorf("event %d of %d reveals", i+1, len(events))
			}
			if e.Round != reveals {
				t.Errorf("reveal %d is of round %d", reveals, e.Round)
			}
		}
	}
	if reveals != 14 {
		t.Errorf("%d rounds are revealed", reveals)
	}
}

// An illegal move is asked for again on the same clock, then it loses the game.
func TestEngine_IllegalMoves(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		then   script // after an illegal first move
		points [2]arena.Points
		rounds int
		reason string
	}{
		"mended":  {column(1), [2]arena.Points{1000, 0}, 7, ""},
		"illegal": {column(8), [2]arena.Points{0, 1000}, 1, arena.ReasonIllegalMove},
		"timeout": {always(bad(arena.OutcomeTimeout, "late")), [2]arena.Points{0, 1000}, 1, "late"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, at(1, column(9), tt.then), column(2))
			b.node("n1")
			id := b.match(connectFour(1))
			m, _ := b.over(id)
			if got := [2]arena.Points{m.Seats[0].Points, m.Seats[1].Points}; got != tt.points || m.Round != tt.rounds {
				t.Errorf("points %v after %d rounds", got, m.Round)
			}
			again := b.asked[1]
			if again.Seat.No != 0 || again.Number != 2 || again.Round != 1 || again.Previous == nil || !strings.Contains(again.Previous.Error, "1 to 7") {
				t.Errorf("asked again as %+v with %+v", again, again.Previous)
			}
			if again.TimeLimit != 10*time.Second-time.Millisecond {
				t.Errorf("asked again with %s", again.TimeLimit)
			}
			answers, err := b.store.Matches.Answers(t.Context(), id)
			b.ok(err)
			if answers[0].Reason != tt.reason || answers[0].Attempts != 2 || answers[0].Elapsed != 2*time.Millisecond {
				t.Errorf("stored answer %+v", answers[0])
			}
		})
	}
}

// A first 429 stops the clock of the seat, a second loses the game.
func TestEngine_RateLimitInAGame(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		agent  script
		points [2]arena.Points
		limits int
	}{
		"once":  {at(1, always(limited), column(1)), [2]arena.Points{1000, 0}, 1},
		"twice": {at(1, always(limited), at(1, always(limited), column(1))), [2]arena.Points{0, 1000}, 2},
		"later": {at(1, always(limited), at(3, always(limited), column(1))), [2]arena.Points{0, 1000}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.agent, column(2))
			b.node("n1", func(o *engine.Options) { o.RateLimitPause = time.Millisecond })
			m, _ := b.over(b.match(connectFour(1)))
			if got := [2]arena.Points{m.Seats[0].Points, m.Seats[1].Points}; got != tt.points || m.Seats[0].RateLimits != tt.limits {
				t.Errorf("points %v, %d rate limits", got, m.Seats[0].RateLimits)
			}
		})
	}
}

// docs/rules.md, section 3: a seat that is unavailable before its first move
// leaves; later it also loses, and no rating changes.
func TestEngine_LeavingAGame(t *testing.T) {
	t.Parallel()
	b := newBench(t, column(1), always(unavailable))
	b.node("n1")
	if m, _ := b.over(b.match(connectFour(1))); m.Status != arena.MatchVoid {
		t.Errorf("unavailable before its first move: the match is %s", m.Status)
	}
	b = newBench(t, column(1), at(2, always(unavailable), column(2)))
	b.node("n1")
	m, _ := b.over(b.match(connectFour(2)))
	if m.Status != arena.MatchFinished || m.Seats[0].Place != 1 || m.Seats[1].Place != 2 || m.Seats[1].State != arena.SeatLeft || m.Seats[0].Points != 2*arena.OnePoint {
		t.Errorf("match %s, seats %+v", m.Status, m.Seats)
	}
	for _, s := range m.Seats {
		if s.Delta != nil {
			t.Errorf("the rating of seat %d changed by %d", s.No, *s.Delta)
		}
	}
}

// A node that takes a game over goes on at the move where it was, and a second
// judgement changes nothing.
func TestEngine_GameAcrossNodes(t *testing.T) {
	t.Parallel()
	b := newBench(t, column(1), column(2))
	asked, release := make(chan struct{}), make(chan struct{})
	b.agent[agentID(0)] = at(3, func(ctx context.Context, a arena.Attempt) arena.Reply {
		close(asked)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return column(1)(ctx, a)
	}, column(1))
	first := b.node("n1", func(o *engine.Options) { o.Grace = time.Millisecond })
	id := b.match(connectFour(1))
	<-asked
	first.stop()
	close(release)
	b.node("n2")
	m, events := b.over(id)
	if m.Status != arena.MatchFinished || m.Round != 7 || m.Seats[0].Points != arena.OnePoint {
		t.Fatalf("match %s (%s), round %d, seats %+v", m.Status, m.VoidReason, m.Round, m.Seats)
	}
	if n := len(b.closings(events)); n != 7 {
		t.Errorf("%d rounds closed", n)
	}
	report, err := b.rescorer(nil).Match(t.Context(), id)
	b.ok(err)
	if len(report.Changed) > 0 {
		t.Errorf("a second judgement changed %+v", report.Changed)
	}
}

// broken is a library of a game whose rules fail at the first move.
type broken struct{ game.Builtin }

func (l broken) Rules(ctx context.Context, spec arena.GameSpec) (rules.Rules, error) {
	r, err := l.Builtin.Rules(ctx, spec)
	return brokenRules{r}, err
}

type brokenRules struct{ rules.Rules }

func (brokenRules) Move(context.Context, rules.State, []rules.Move) (rules.State, error) {
	return nil, errors.New("line 3: no such piece")
}

// Rules that fail void the match and pause the league: nobody's rating moves.
func TestEngine_FaultOfAGame(t *testing.T) {
	t.Parallel()
	b := newBench(t, column(1), column(2))
	faults := make(chan string, 1)
	b.node("n1", func(o *engine.Options) {
		o.Games = broken{}
		o.GameFailed = func(_ context.Context, league, matchID string, cause error) error {
			faults <- league + " " + matchID + " " + cause.Error()
			return nil
		}
	})
	id := b.match(connectFour(1))
	m, _ := b.over(id)
	if m.Status != arena.MatchVoid || m.VoidReason.Code != arena.VoidGameFailed || m.Seats[0].Delta != nil {
		t.Errorf("match %s (%s), seats %+v", m.Status, m.VoidReason, m.Seats)
	}
	if fault := <-faults; !strings.HasPrefix(fault, slug+" "+id) || !strings.Contains(fault, "line 3") {
		t.Errorf("the fault is %q", fault)
	}
}
