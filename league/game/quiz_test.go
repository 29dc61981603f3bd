package game_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// position returns a position of agents a, b and c, all active.
func position(s arena.Settings) game.Position {
	p := game.Position{Settings: s, Seed: 7, Round: 1, Task: arena.Task{Description: "How many?", Answers: []string{"4"}}}
	for i, id := range []string{"a", "b", "c"} {
		p.Seats = append(p.Seats, arena.Seat{No: i, AgentID: id, OwnerID: "owner of " + id, Name: "agent " + id, State: arena.SeatActive})
	}
	return p
}

// answered returns the replies of seats that answered, "" for a timeout.
func answered(texts ...string) (replies []game.Reply) {
	for i, text := range texts {
		r := game.Reply{Seat: i, Outcome: arena.OutcomeAnswered, Text: text}
		if text == "" {
			r.Outcome, r.Reason = arena.OutcomeTimeout, "late"
		}
		replies = append(replies, r)
	}
	return replies
}

// closed opens and closes a round. ask is whether a judge must be asked.
func closed(t *testing.T, p game.Position, replies []game.Reply, v *arena.Verdict) (q *game.Question, r game.Result) {
	t.Helper()
	g := gameOf(t, p.Settings)
	q, err := g.Ask(t.Context(), p, replies)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = g.Close(t.Context(), p, replies, v); err != nil {
		t.Fatal(err)
	}
	if len(r.Scores) != len(replies) {
		t.Fatalf("%d scores of %d replies", len(r.Scores), len(replies))
	}
	return q, r
}

func judgedBy(kind string) arena.Settings { return arena.Settings{Judge: arena.JudgeSpec{Kind: kind}} }

func TestQuiz_deterministic(t *testing.T) {
	t.Parallel()
	p := position(judgedBy(arena.JudgeNumber))
	replies := answered("4.0", "five", "")
	replies[1].Reason = arena.ReasonJudgeLimit
	q, r := closed(t, p, replies, nil)
	want := game.Result{
		Verdict: arena.Verdict{Judge: "number", Version: "number-2", Seats: []arena.SeatVerdict{
			{AgentID: "a", Points: arena.OnePoint}, {AgentID: "b", Reason: arena.ReasonJudgeLimit}, {AgentID: "c"},
		}},
		Scores: []game.Score{{Points: arena.OnePoint}, {Reason: arena.ReasonJudgeLimit}, {}},
	}
	if d := cmp.Diff(want, r); d != "" || q != nil {
		t.Errorf("asked %v: %s", q, d)
	}
	if turn, err := gameOf(t, p.Settings).Turn(t.Context(), p); err != nil || !turn.IsZero() {
		t.Errorf("turn %+v (%v)", turn, err)
	}
}

// A judge that compares is asked about two answers or more. The only seat that
// answered wins the round.
func TestQuiz_compared(t *testing.T) {
	t.Parallel()
	p := position(judgedBy(arena.JudgeCrowd))
	p.Settings.Judge.Window = 5
	verdict := &arena.Verdict{
		Judge: "crowd", Version: "crowd-9", Seats: []arena.SeatVerdict{{AgentID: "a"}, {AgentID: "c", Points: 500}}, Ballots: []arena.Ballot{{Judge: "crowd"}},
	}
	q, r := closed(t, p, answered("one", "", "three"), verdict)
	wantQ := &game.Question{Window: 5, Answers: []arena.JudgedAnswer{
		{AgentID: "a", OwnerID: "owner of a", Text: "one"}, {AgentID: "c", OwnerID: "owner of c", Text: "three"},
	}}
	if d := cmp.Diff(wantQ, q); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(game.Result{Verdict: *verdict, Scores: []game.Score{{}, {}, {Points: 500}}}, r); d != "" {
		t.Error(d)
	}
	for _, tt := range []struct {
		replies []game.Reply
		want    []game.Score
	}{
		{answered("", "two", ""), []game.Score{{}, {Points: arena.OnePoint}, {}}},
		{answered("", "", ""), make([]game.Score, 3)},
	} {
		q, r := closed(t, p, tt.replies, nil)
		if d := cmp.Diff(tt.want, r.Scores); d != "" || q != nil || r.Verdict.Judge != "crowd" {
			t.Errorf("asked %v, verdict %+v: %s", q, r.Verdict, d)
		}
	}
}

// A lone program is run too, and a program that exceeded a limit is not run
// again.
func TestQuiz_code(t *testing.T) {
	t.Parallel()
	p := position(judgedBy(arena.JudgeCode))
	replies := answered("one", "two", "")
	replies[1].Reason = arena.ReasonJudgeLimit
	q, r := closed(t, p, replies, &arena.Verdict{Judge: "code", Version: "code-9", Seats: []arena.SeatVerdict{{AgentID: "a", Points: 250}}})
	if d := cmp.Diff(&game.Question{Answers: []arena.JudgedAnswer{{AgentID: "a", OwnerID: "owner of a", Text: "one"}}}, q); d != "" {
		t.Error(d)
	}
	want := game.Result{
		Verdict: arena.Verdict{Judge: "code", Version: "code-9", Seats: []arena.SeatVerdict{
			{AgentID: "a", Points: 250}, {AgentID: "b", Reason: arena.ReasonJudgeLimit}, {AgentID: "c"},
		}},
		Scores: []game.Score{{Points: 250}, {Reason: arena.ReasonJudgeLimit}, {}},
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
}

// Without the verdict of a judge that was asked, no counted reply loses.
func TestQuiz_void(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{arena.JudgeCode, arena.JudgePanel} {
		replies := answered("one", "two", "")
		replies[1].Outcome, replies[1].Text = arena.OutcomeRateLimited, ""
		replies = append(replies[:2], game.Reply{Seat: 2, Outcome: arena.OutcomeAnswered, Text: "three"})
		_, r := closed(t, position(judgedBy(kind)), replies, nil)
		if d := cmp.Diff(game.Result{Scores: []game.Score{{Void: true}, {}, {Void: true}}}, r); d != "" {
			t.Errorf("%s: %s", kind, d)
		}
	}
}

func TestQuiz_closing(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]game.Closing{
		arena.JudgeExact: game.Evaluates, arena.JudgeCode: game.Evaluates, arena.JudgePanel: game.Asks, arena.JudgeModel: game.Asks,
	} {
		if s := judgedBy(kind); gameOf(t, s).Closing(s) != want {
			t.Errorf("%s: not %d", kind, want)
		}
	}
}

// A position holds what is the same when the match is replayed: how the seats
// stood when the round opened, and none of their figures.
func TestNewPosition(t *testing.T) {
	t.Parallel()
	m := arena.Match{Seed: 7, Seats: []arena.Seat{
		{No: 0, AgentID: "a", Name: "A", OwnerID: "o", State: arena.SeatActive, Points: 9, Endpoint: "http://a", Place: 1},
		{No: 1, AgentID: "b", State: arena.SeatOut, OutRound: 2},
		{No: 2, AgentID: "c", State: arena.SeatLeft, OutRound: 3},
		{No: 3, AgentID: "d", State: arena.SeatLeft}, // before the start
	}}
	for round, want := range map[int][]arena.SeatState{
		2: {arena.SeatActive, arena.SeatActive, arena.SeatActive, arena.SeatLeft},
		3: {arena.SeatActive, arena.SeatOut, arena.SeatActive, arena.SeatLeft},
		4: {arena.SeatActive, arena.SeatOut, arena.SeatLeft, arena.SeatLeft},
	} {
		p := game.NewPosition(m, arena.Round{No: round}, nil)
		var got []arena.SeatState
		for _, s := range p.Seats {
			got = append(got, s.State)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("round %d: %s", round, d)
		}
		if d := cmp.Diff(arena.Seat{AgentID: "a", Name: "A", OwnerID: "o", State: arena.SeatActive}, p.Seats[0]); d != "" {
			t.Error(d)
		}
	}
	m.Settings = arena.Settings{MaxRounds: 5}
	if p := game.NewPosition(m, arena.Round{No: 3}, nil); over(t, m.Settings, p) {
		t.Error("over with two active seats")
	}
	if p := game.NewPosition(m, arena.Round{No: 4}, nil); !over(t, m.Settings, p) {
		t.Error("not over with one active seat")
	}
}

// The replies of a round come in the order of the seats, without those that
// were not asked.
func TestPosition_Replies(t *testing.T) {
	t.Parallel()
	got := position(arena.Settings{}).Replies(func(id string) (arena.Answer, bool) {
		a := map[string]arena.Answer{
			"c": {Outcome: arena.OutcomeTimeout, Reason: "late"}, "a": {Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "4"}},
		}[id]
		return a, a.Outcome != ""
	})
	want := []game.Reply{{Seat: 0, Outcome: arena.OutcomeAnswered, Text: "4"}, {Seat: 2, Outcome: arena.OutcomeTimeout, Reason: "late"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Under the policy zero_points an answer over the token limit gets no points
// from any judge, and no external judge receives it.
func TestQuiz_overTokens(t *testing.T) {
	t.Parallel()
	over := func(kind string, policy arena.TokenPolicy) (game.Position, []game.Reply) {
		p := position(judgedBy(kind))
		p.Settings.MaxTokensPolicy = policy
		return p, p.Replies(func(id string) (arena.Answer, bool) {
			return arena.Answer{AgentID: id, Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "4"}, OverTokens: id == "b"}, true
		})
	}
	for _, kind := range []string{arena.JudgeNumber, arena.JudgeExact} {
		p, replies := over(kind, arena.ZeroPointsTokens)
		_, r := closed(t, p, replies, nil)
		want := []game.Score{{Points: arena.OnePoint}, {Reason: arena.ReasonTokenLimit}, {Points: arena.OnePoint}}
		if d := cmp.Diff(want, r.Scores); d != "" || r.Verdict.Seats[1].Reason != arena.ReasonTokenLimit {
			t.Errorf("%s: verdict %+v: %s", kind, r.Verdict, d)
		}
		p, replies = over(kind, arena.NoteTokens)
		if _, r := closed(t, p, replies, nil); r.Scores[1] != (game.Score{Points: arena.OnePoint}) {
			t.Errorf("%s, only marked: %+v", kind, r.Scores)
		}
	}
	for _, kind := range []string{arena.JudgeCode, arena.JudgePanel} {
		p, replies := over(kind, arena.ZeroPointsTokens)
		q, r := closed(t, p, replies, &arena.Verdict{Judge: kind, Seats: []arena.SeatVerdict{{AgentID: "a", Points: 250}}})
		if len(q.Answers) != 2 || q.Answers[1].AgentID != "c" {
			t.Errorf("%s: asked %+v", kind, q)
		}
		if d := cmp.Diff([]game.Score{{Points: 250}, {Reason: arena.ReasonTokenLimit}, {}}, r.Scores); d != "" {
			t.Errorf("%s: %s", kind, d)
		}
		if q, _ := closed(t, p, replies[:2], nil); kind == arena.JudgePanel && q != nil {
			t.Errorf("the only answer within the limit: asked %+v", q)
		}
	}
}
