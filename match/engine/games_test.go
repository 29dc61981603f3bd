package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// halfPlayed plays a match up to its second round without an engine: the first
// round is closed with the texts, and seat 0 has answered the open one. rounds
// edits the rounds before they are stored; without it they have the zero turn, as
// the rounds of a quiz do.
func (b *bench) halfPlayed(id string, texts []string, rounds func(*arena.Round)) {
	b.t.Helper()
	ctx := b.t.Context()
	claimed, err := b.store.Matches.ClaimMatches(ctx, "nd_old", time.Minute, 1, nil)
	b.ok(err)
	m := claimed[0]
	open := func(no int) arena.Round {
		task, err := b.Pick(ctx, m, no)
		b.ok(err)
		r := arena.Round{No: no, Task: task, OpenedAt: time.Now()}
		if rounds != nil {
			rounds(&r)
		}
		return r
	}
	event := func(t arena.EventType, round int) []arena.Event {
		return []arena.Event{{MatchID: id, Round: round, At: time.Now(), Type: t, Body: json.RawMessage(`{}`)}}
	}
	answer := func(round, seat int, text string) arena.Answer {
		a := arena.Answer{Round: round, AgentID: agentID(seat), Outcome: arena.OutcomeAnswered, Attempts: 1, Body: &arena.AnswerBody{Answer: text}}
		_, err := b.store.Matches.SaveAnswer(ctx, m.Lease, a, nil, event(arena.EventSeatOutcome, round))
		b.ok(err)
		return a
	}
	for i := range m.Seats {
		s := &m.Seats[i]
		s.Name, s.OwnerID, s.Protocol, s.Endpoint = s.AgentID, fmt.Sprintf("ow_%d", i), "fake", "http://"+s.AgentID
	}
	first := open(1)
	_, err = b.store.Matches.StartMatch(ctx, m.Lease, m.Seats, time.Now(), &first, append(event(arena.EventMatchStarted, 0), event(arena.EventRoundStarted, 1)...))
	b.ok(err)
	c := arena.RoundClose{Round: 1, Seats: m.Seats}
	for seat, text := range texts {
		a := answer(1, seat, text)
		if a.Judged = true; text == "right 1" {
			a.Points, c.Seats[seat].Points = arena.OnePoint, arena.OnePoint
		} else if m.Settings.Format == arena.FormatElimination {
			c.Seats[seat].State, c.Seats[seat].OutRound = arena.SeatOut, 1
		}
		c.Answers = append(c.Answers, a)
	}
	_, err = b.store.Matches.CloseRound(ctx, m.Lease, c, func([]arena.Event) ([]arena.Event, error) { return event(arena.EventRoundClosed, 1), nil })
	b.ok(err)
	_, err = b.store.Matches.OpenRound(ctx, m.Lease, open(2), event(arena.EventRoundStarted, 2))
	b.ok(err)
	answer(2, 0, "right 2")
	b.ok(b.store.Matches.ReleaseLease(ctx, m.Lease))
}

// prompted returns the prompt of a seat in a round, "" if there was none.
func (b *bench) prompted(seat, round int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.asked {
		if a.Seat.No == seat && a.Round == round {
			return a.Task.Description
		}
	}
	return ""
}

// A match that another node left in an open round continues.
func TestEngine_TakesOverAnOpenRound(t *testing.T) {
	t.Parallel()
	t.Run("quiz", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, right, right)
		id := b.match()
		b.halfPlayed(id, []string{"right 1", "wrong"}, nil)
		b.node("n1")
		m, _ := b.over(id)
		if m.Status != arena.MatchFinished || m.Seats[0].Points != 3*arena.OnePoint || m.Seats[1].Points != 2*arena.OnePoint {
			t.Errorf("match is %s (%s), seats %+v", m.Status, m.VoidReason, m.Seats)
		}
		if b.prompted(0, 2) != "" || b.prompted(1, 2) != "question 2" {
			t.Errorf("prompts %q and %q", b.prompted(0, 2), b.prompted(1, 2))
		}
	})
	t.Run("elimination", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, right, wrong, right)
		id := b.match(func(s *arena.Settings) { s.Format, s.Rounds = arena.FormatElimination, 0 })
		b.halfPlayed(id, []string{"right 1", "right 1", "wrong"}, nil)
		b.node("n1")
		m, _ := b.over(id)
		var places []int
		for _, s := range m.Seats {
			places = append(places, s.Place)
		}
		if d := cmp.Diff([]int{1, 2, 3}, places); d != "" || m.Round != 2 || m.Seats[1].OutRound != 2 || m.Seats[2].OutRound != 1 {
			t.Errorf("round %d, seats %+v: %s", m.Round, m.Seats, d)
		}
		if b.prompted(2, 2) != "" {
			t.Error("a seat that is out was asked")
		}
	})
	t.Run("debate", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, right, always(says("And dogs fetch.")))
		id := b.match(asked(arena.JudgePanel), func(s *arena.Settings) { s.Debate, s.Rounds = &arena.DebateSpec{Turns: 2}, 4 })
		b.halfPlayed(id, []string{"Cats purr.", "Dogs bark."}, func(r *arena.Round) {
			r.Turn = arena.Turn{
				GameState: arena.GameState{Debate: &arena.DebateTurn{Half: 1, Turn: r.No, Turns: 2, For: agentID(0), Against: agentID(1), Motion: r.Task.Description}},
				Prompts:   []arena.Prompt{{Seat: 0, Description: "for"}, {Seat: 1, Description: "against"}},
			}
		})
		j := &jury{}
		b.node("n1", j.join)
		m, _ := b.over(id)
		if m.Status != arena.MatchFinished {
			t.Fatalf("match is %s: %s", m.Status, m.VoidReason)
		}
		if p := b.prompted(1, 2); p != "against" {
			t.Errorf("prompt %q", p)
		}
		if p := b.prompted(1, 3); !strings.Contains(p, "argue FOR") {
			t.Errorf("the prompt after the change of sides: %q", p)
		}
		var texts []string
		for _, a := range j.asked[0].Answers {
			texts = append(texts, a.Text)
		}
		if d := cmp.Diff([]string{"Cats purr.\n\nright 2", "Dogs bark.\n\nAnd dogs fetch."}, texts); d != "" || j.asked[0].Turns != 2 {
			t.Errorf("the judge received %+v: %s", j.asked[0], d)
		}
	})
}

// A take-over uses the turn that is stored, whatever the game makes of the
// position now: only seats with a prompt act.
func TestEngine_KeepsTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, right, right)
	id := b.match()
	b.halfPlayed(id, []string{"right 1", "wrong", "wrong"}, func(r *arena.Round) {
		r.Turn = arena.Turn{Description: "for all", Prompts: []arena.Prompt{{Seat: 0, Description: "for 0"}, {Seat: 1, Description: "for 1", Options: []string{"a1"}}}}
	})
	b.node("n1")
	_, events := b.over(id)
	if got := []string{b.prompted(0, 2), b.prompted(1, 2), b.prompted(2, 2)}; !slices.Equal(got, []string{"", "for 1", ""}) {
		t.Errorf("prompts %q", got)
	}
	started := slices.IndexFunc(events, func(e arena.Event) bool { return e.Type == arena.EventRoundStarted && len(e.Body) > 2 })
	if !strings.Contains(string(events[started].Body), `"description":"for all"`) {
		t.Errorf("round started: %s", events[started].Body)
	}
	if b.prompted(2, 3) != "question 3" {
		t.Errorf("the next round asked %q", b.prompted(2, 3))
	}
}

// A debate stores the prompts of its rounds.
func TestEngine_StoresTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	b.node("n1", (&jury{}).join)
	m, _ := b.over(b.match(asked(arena.JudgePanel), func(s *arena.Settings) { s.Debate = &arena.DebateSpec{Turns: 1} }))
	rounds, err := b.store.Matches.Rounds(t.Context(), m.ID)
	b.ok(err)
	want := &arena.DebateTurn{Half: 2, Turn: 1, Turns: 1, For: "ag_1", Against: "ag_0", Motion: "question 2"}
	turn := rounds[1].Turn
	if d := cmp.Diff(want, turn.Debate); d != "" {
		t.Error(d)
	}
	if len(turn.Prompts) != 2 || turn.Prompts[0].Description != b.prompted(0, 2) || turn.Prompts[1].Description != b.prompted(1, 2) {
		t.Errorf("prompts %+v", turn.Prompts)
	}
}

// A match whose game cannot be played is void; the node goes on.
func TestEngine_GameFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, right, right)
	b.node("n1")
	m, events := b.over(b.match(func(s *arena.Settings) { s.Debate = &arena.DebateSpec{Turns: 1} })) // of three seats
	if m.Status != arena.MatchVoid || m.VoidReason.Code != arena.VoidGameFailed {
		t.Errorf("match is %s: %q", m.Status, m.VoidReason)
	}
	if last := events[len(events)-1]; last.Type != arena.EventMatchVoid {
		t.Errorf("the log ends with %s", last.Type)
	}
}

// The same rounds give the same result when they are judged again: the stored
// eliminations stay although other seats have the points now.
func TestRescorer_KeepsEliminations(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, always(says("7")), wrong)
	b.node("n1")
	m, _ := b.over(b.match(func(s *arena.Settings) { s.Format, s.Rounds = arena.FormatElimination, 0 }))
	b.setJudge(arena.JudgeSpec{Kind: arena.JudgeNumber})
	report, err := b.rescorer(nil).Match(t.Context(), m.ID)
	b.ok(err)
	if len(report.Changed) != 1 {
		t.Fatalf("report %+v", report)
	}
	after, err := b.store.Matches.Match(context.WithoutCancel(t.Context()), m.ID)
	b.ok(err)
	for i, s := range after.Seats {
		if s.State != m.Seats[i].State || s.OutRound != m.Seats[i].OutRound || s.Points != 0 {
			t.Errorf("seat %d was %+v and is %+v", i, m.Seats[i], s)
		}
	}
}

// An elimination whose leaders are equal at the cap plays a sudden death, which
// a take-over and a re-score repeat from the stored rounds.
func TestEngine_SuddenDeath(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, in(4, wrong), in(1, wrong), right)
	b.agent[agentID(3)] = in(5, wrong)
	b.node("n1")
	m, events := b.over(b.match(func(s *arena.Settings) { s.Format, s.Rounds, s.MaxRounds = arena.FormatElimination, 0, 2 }))
	var outs []int
	for _, s := range m.Seats {
		outs = append(outs, s.OutRound)
	}
	if d := cmp.Diff([]int{0, 4, 1, 5}, outs); d != "" || m.Round != 5 || m.Seats[0].Place != 1 || m.Seats[3].Place != 2 {
		t.Errorf("round %d, out %s, seats %+v", m.Round, d, m.Seats)
	}
	var turns []int
	for _, e := range events {
		var body arena.RoundStartedBody
		b.ok(json.Unmarshal(e.Body, &body))
		if e.Type == arena.EventRoundStarted && body.SuddenDeath != nil {
			turns = append(turns, body.SuddenDeath.Turn)
		}
	}
	if d := cmp.Diff([]int{1, 2, 3}, turns); d != "" {
		t.Errorf("sudden death: %s", d)
	}

	ctx := context.WithoutCancel(t.Context())
	rounds, err := b.store.Matches.Rounds(ctx, m.ID)
	b.ok(err)
	answers, err := b.store.Matches.Answers(ctx, m.ID)
	b.ok(err)
	verdicts, err := b.store.Matches.Verdicts(ctx, m.ID)
	b.ok(err)
	g, err := game.For(ctx, game.Builtin{}, m.Settings)
	b.ok(err)
	state, err := game.Replay(ctx, g, m, m.Round+1, rounds, answers, verdicts)
	b.ok(err)
	var totals []struct{ Points arena.Points }
	b.ok(json.Unmarshal(state, &totals))
	for i, s := range m.Seats {
		if totals[i].Points != s.Points {
			t.Errorf("seat %d has %d points after a replay, not %d", i, totals[i].Points, s.Points)
		}
	}
	report, err := b.rescorer(nil).Match(ctx, m.ID)
	b.ok(err)
	if len(report.Changed) != 0 {
		t.Errorf("re-score changed %+v", report.Changed)
	}
}
