package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
)

// jury prefers the longest answer, and keeps what it was asked.
type jury struct {
	mu     sync.Mutex
	asked  []arena.Judging
	fails  error
	change func(*arena.Verdict) // nil: leaves the verdict as it is
	hold   chan struct{}        // nil: answers at once
}

func (j *jury) Judge(ctx context.Context, in arena.Judging) (arena.Verdict, error) {
	j.mu.Lock()
	j.asked = append(j.asked, in)
	hold := j.hold
	j.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return arena.Verdict{}, ctx.Err()
		}
	}
	if j.fails != nil {
		return arena.Verdict{}, j.fails
	}
	best := slices.MaxFunc(in.Answers, func(a, b arena.JudgedAnswer) int { return len(a.Text) - len(b.Text) })
	v := arena.Verdict{Judge: in.Spec.Kind, Version: "jury-1"}
	for _, a := range in.Answers {
		s := arena.SeatVerdict{AgentID: a.AgentID}
		if a.AgentID == best.AgentID {
			s.Points = arena.OnePoint
		}
		v.Seats = append(v.Seats, s)
	}
	if len(in.Answers) > 1 {
		v.Ballots = []arena.Ballot{{Judge: "ag_judge", First: in.Answers[0].AgentID, Second: in.Answers[1].AgentID, Choice: best.AgentID}}
	}
	if j.change != nil {
		j.change(&v)
	}
	return v, nil
}

func (j *jury) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.asked)
}

func (j *jury) join(o *engine.Options) { o.Judges = j }

func asked(kind string) func(*arena.Settings) {
	return func(s *arena.Settings) {
		s.Judge = arena.JudgeSpec{Kind: kind, Criteria: "the longer the better"}
		if kind == arena.JudgeCrowd {
			s.Judge.Window = time.Hour
		}
		s.Rounds = 2
	}
}

func long(context.Context, arena.Attempt) arena.Reply { return says("a long answer") }

// An external judge decides the points; its verdict is kept with its
// ballots, and shown with the round.
func TestEngine_AskedJudge(t *testing.T) {
	t.Parallel()
	b := newBench(t, wrong, long)
	j := &jury{}
	b.node("n1", j.join)
	m, events := b.over(b.match(asked(arena.JudgePanel)))
	if m.Seats[1].Points != 2*arena.OnePoint || m.Seats[0].Points != 0 || *m.Seats[1].Delta != 20_000 {
		t.Errorf("seats %+v", m.Seats)
	}
	want := []arena.JudgedAnswer{
		{AgentID: "ag_0", OwnerID: "ow_0", Text: "wrong"}, {AgentID: "ag_1", OwnerID: "ow_1", Text: "a long answer"},
	}
	if d := cmp.Diff(want, j.asked[0].Answers); d != "" || j.asked[0].Task.Description != "question 1" || j.asked[1].Round != 2 {
		t.Errorf("it was asked %+v: %s", j.asked, d)
	}
	verdicts, err := b.store.Matches.Verdicts(t.Context(), m.ID)
	b.ok(err)
	if len(verdicts) != 2 || verdicts[0].Version != "jury-1" || len(verdicts[0].Ballots) != 1 {
		t.Errorf("verdicts %+v", verdicts)
	}
	closed := events[slices.IndexFunc(events, func(e arena.Event) bool { return e.Type == arena.EventRoundClosed })]
	if !strings.Contains(string(closed.Body), `"ballots":[{"judge":"ag_judge"`) {
		t.Errorf("round closed: %s", closed.Body)
	}
}

// The verdict of a pure judge is kept with its version.
func TestEngine_PureVerdict(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	b.node("n1")
	m, _ := b.over(b.match())
	verdicts, err := b.store.Matches.Verdicts(t.Context(), m.ID)
	b.ok(err)
	want := arena.Verdict{
		MatchID: m.ID, Round: 1, Judge: "exact", Version: "exact-2",
		Seats: []arena.SeatVerdict{{AgentID: "ag_0", Points: arena.OnePoint}, {AgentID: "ag_1"}}, At: verdicts[0].At,
	}
	if d := cmp.Diff(want, verdicts[0]); d != "" || len(verdicts) != 3 {
		t.Error(d)
	}
}

// A judge that fails voids the round: nobody loses it. With all rounds void
// nothing is rated.
func TestEngine_JudgeFails(t *testing.T) {
	t.Parallel()
	for name, join := range map[string]func(*engine.Options){
		"error":    (&jury{fails: errors.New("the model is away")}).join,
		"no judge": func(*engine.Options) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, wrong, long)
			b.node("n1", join)
			m, _ := b.over(b.match(asked(arena.JudgeModel)))
			if m.Status != arena.MatchFinished || m.Seats[0].Delta != nil || m.Seats[0].Points+m.Seats[1].Points != 0 {
				t.Errorf("match %+v", m)
			}
			all, err := b.store.Matches.Answers(t.Context(), m.ID)
			b.ok(err)
			for _, a := range all {
				if a.Outcome != arena.OutcomeVoid || a.Reason != "judge_failed" || a.Body == nil {
					t.Errorf("answer %+v", a)
				}
			}
		})
	}
}

// The seat that did answer takes the round, and nobody is asked (docs/rules.md,
// section 3).
func TestEngine_AskedJudge_oneAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, always(bad(arena.OutcomeTimeout, "late")), long)
	j := &jury{}
	b.node("n1", j.join)
	m, _ := b.over(b.match(asked(arena.JudgePanel)))
	if len(j.asked) != 0 || m.Seats[1].Points != 2*arena.OnePoint || *m.Seats[0].Delta != -20_000 {
		t.Errorf("asked %d times, seats %+v", len(j.asked), m.Seats)
	}
}

// A lone answer of the judge code does not take the round: it is judged. What
// exceeded the limits of its judge process keeps the reason in answer, verdict
// and event.
func TestEngine_CodeJudge(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, always(bad(arena.OutcomeTimeout, "late")))
	j := &jury{change: func(v *arena.Verdict) {
		v.Seats = []arena.SeatVerdict{{AgentID: "ag_0", Reason: arena.ReasonJudgeLimit}}
	}}
	b.node("n1", j.join)
	m, events := b.over(b.match(coded))
	want := []arena.JudgedAnswer{{AgentID: "ag_0", OwnerID: "ow_0", Text: j.asked[0].Answers[0].Text}}
	if d := cmp.Diff(want, j.asked[0].Answers); d != "" || len(j.asked) != 1 || !j.asked[0].Rated || j.asked[0].Rescore {
		t.Errorf("asked %d times: %s", len(j.asked), d)
	}
	if m.Status != arena.MatchFinished || m.Seats[0].Points+m.Seats[1].Points != 0 {
		t.Errorf("match %+v", m)
	}
	answers, err := b.store.Matches.Answers(t.Context(), m.ID)
	b.ok(err)
	if a := answers[0]; a.Outcome != arena.OutcomeAnswered || a.Reason != arena.ReasonJudgeLimit || !a.Judged {
		t.Errorf("answer %+v", a)
	}
	verdicts, err := b.store.Matches.Verdicts(t.Context(), m.ID)
	b.ok(err)
	if d := cmp.Diff([]arena.SeatVerdict{{AgentID: "ag_0", Reason: arena.ReasonJudgeLimit}, {AgentID: "ag_1"}}, verdicts[0].Seats); d != "" {
		t.Error(d)
	}
	closed := events[slices.IndexFunc(events, func(e arena.Event) bool { return e.Type == arena.EventRoundClosed })]
	if !strings.Contains(string(closed.Body), `"reason":"judge_limit"`) || strings.Contains(string(closed.Body), "late") {
		t.Errorf("round closed: %s", closed.Body)
	}
}

// The crowd receives the answers to vote on, without names; a node that dies while it
// votes is followed by one that opens the vote again.
func TestEngine_Crowd(t *testing.T) {
	t.Parallel()
	b := newBench(t, wrong, long)
	j := &jury{hold: make(chan struct{})}
	first := b.node("n1", j.join, func(o *engine.Options) { o.Grace = time.Millisecond })
	id := b.match(asked(arena.JudgeCrowd))
	votes := func(n int) func() bool {
		return func() bool {
			count := 0
			for _, e := range b.published {
				if e.Type == arena.EventVoteOpened {
					count++
				}
			}
			return count >= n
		}
	}
	b.wait("the vote opens", votes(1))
	first.stop()
	b.node("n2", j.join)
	b.wait("the vote opens again", votes(2))
	close(j.hold)
	m, events := b.over(id)
	if m.Seats[1].Points != 2*arena.OnePoint {
		t.Errorf("seats %+v", m.Seats)
	}
	vote := events[slices.IndexFunc(events, func(e arena.Event) bool { return e.Type == arena.EventVoteOpened })]
	body := string(vote.Body)
	if strings.Contains(body, "ag_") || !strings.Contains(body, `"label":"A"`) || !strings.Contains(body, "a long answer") || !strings.Contains(body, `"until":"`) {
		t.Errorf("vote opened: %s", body)
	}
}

// A debate: each seat receives its side and its opponent's speeches, and each half
// is judged once, on all its speeches.
func TestEngine_Debate(t *testing.T) {
	t.Parallel()
	debater := func(name string) script {
		return func(_ context.Context, a arena.Attempt) arena.Reply {
			return says(fmt.Sprintf("%s in turn %d", name, a.Round))
		}
	}
	b := newBench(t, debater("Annabel"), debater("Bob"))
	j := &jury{}
	b.node("n1", j.join)
	m, events := b.over(b.match(asked(arena.JudgePanel), func(s *arena.Settings) {
		s.Debate, s.Rounds = &arena.DebateSpec{Turns: 2}, 4
	}))
	if m.Seats[0].Points != 2*arena.OnePoint || *m.Seats[0].Delta != 20_000 {
		t.Errorf("seats %+v", m.Seats)
	}
	if len(j.asked) != 2 || j.asked[0].Round != 2 || j.asked[1].Round != 4 {
		t.Fatalf("judged %+v", j.asked)
	}
	if d := cmp.Diff("Annabel in turn 3\n\nAnnabel in turn 4", j.asked[1].Answers[0].Text); d != "" {
		t.Error(d)
	}
	received := func(seat, round int) string {
		for _, a := range b.asked {
			if a.Seat.No == seat && a.Round == round {
				return a.Task.Description
			}
		}
		return ""
	}
	for _, tt := range []struct {
		seat, round int
		has, hasNot string
	}{
		{0, 1, "argue FOR", "Bob"},
		{1, 1, "argue AGAINST", "Annabel"},
		{0, 2, `"speaker":"opponent","words":"Bob in turn 1"`, "turn 3"},
		{1, 3, "argue FOR", "turn 1\""},
		{0, 4, "Bob in turn 3", "Bob in turn 1"},
	} {
		if got := received(tt.seat, tt.round); !strings.Contains(got, tt.has) || strings.Contains(got, tt.hasNot) {
			t.Errorf("seat %d, round %d received %q", tt.seat, tt.round, got)
		}
	}
	started := events[slices.IndexFunc(events, func(e arena.Event) bool { return e.Type == arena.EventRoundStarted })]
	if !strings.Contains(string(started.Body), "For: ag_0. Against: ag_1.") {
		t.Errorf("round started: %s", started.Body)
	}
	if want := `"debate":{"half":1,"turn":1,"turns":2,"for":"ag_0","against":"ag_1","motion":"question 1"}`; !strings.Contains(string(started.Body), want) {
		t.Errorf("round started: %s, want %s", started.Body, want)
	}
}
