package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/record"
)

func (b *bench) rescorer(j engine.Judges) *engine.Rescorer {
	return &engine.Rescorer{Store: b.store, Judges: j, Games: game.Builtin{}, Now: time.Now, Logger: b.log}
}

func (b *bench) setJudge(spec arena.JudgeSpec) {
	b.t.Helper()
	_, err := b.store.Leagues.UpdateLeague(b.t.Context(), slug, func(l *arena.League) error { l.Settings.Judge = spec; return nil })
	b.ok(err)
}

func (b *bench) ratings() map[string]arena.MilliElo {
	b.t.Helper()
	table, err := b.store.Leagues.Standings(b.t.Context(), slug, time.Now())
	b.ok(err)
	now := map[string]arena.MilliElo{}
	for _, s := range table {
		now[s.Agent.ID] = s.Rating.MilliElo
	}
	return now
}

// The same judge gives the same table; another one gives another, and the
// ratings are as if it had judged from the start.
func TestRescorer_League(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, always(says("Right, 2.5 times")))
	b.node("n1")
	first, _ := b.over(b.match())
	b.over(b.match(func(s *arena.Settings) { s.Rated = false }))
	before := b.ratings()
	r := b.rescorer(nil)
	report, err := r.League(t.Context(), slug)
	b.ok(err)
	if d := cmp.Diff(arena.RescoreReport{Matches: 2, Changed: []arena.RescoredMatch{}, Failed: []string{}, Kept: []arena.KeptMatch{}, Ratings: []arena.RatingMove{}}, report); d != "" {
		t.Error(d)
	}
	// Nobody's answer is a number: both get nothing, and it is a draw.
	b.setJudge(arena.JudgeSpec{Kind: arena.JudgeNumber})
	report, err = r.Match(t.Context(), first.ID)
	b.ok(err)
	want := arena.RescoredMatch{MatchID: first.ID, Seats: []arena.RescoredSeat{
		{AgentID: "ag_0", PointsBefore: 3000, PlaceBefore: 1, Place: 1}, {AgentID: "ag_1", PlaceBefore: 2, Place: 1},
	}}
	if d := cmp.Diff([]arena.RescoredMatch{want}, report.Changed); d != "" || report.Settlements != 1 {
		t.Errorf("%d settlements changed, %s", report.Settlements, d)
	}
	if d := cmp.Diff(map[string]arena.MilliElo{"ag_0": arena.StartRating, "ag_1": arena.StartRating}, b.ratings()); d != "" {
		t.Error(d)
	}
	// And back again.
	b.setJudge(arena.JudgeSpec{Kind: arena.JudgeExact})
	_, err = r.League(t.Context(), slug)
	b.ok(err)
	if d := cmp.Diff(before, b.ratings()); d != "" {
		t.Error(d)
	}
	if _, err := b.store.Ratings.CheckRatings(t.Context()); err != nil {
		t.Error(err)
	}
	verdicts, err := b.store.Matches.Verdicts(t.Context(), first.ID)
	b.ok(err)
	if len(verdicts) != 12 || verdicts[2].Judge != "number" { // four looks at three rounds
		t.Errorf("%d verdicts: %+v", len(verdicts), verdicts)
	}
}

// A judge that fails leaves a match as it was.
func TestRescorer_judgeFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, wrong, long)
	b.node("n1", (&jury{}).join)
	m, _ := b.over(b.match(asked(arena.JudgePanel)))
	b.setJudge(arena.JudgeSpec{Kind: arena.JudgePanel})
	report, err := b.rescorer(&jury{fails: errors.New("away")}).Match(t.Context(), m.ID)
	b.ok(err)
	if d := cmp.Diff([]string{m.ID}, report.Failed); d != "" || len(report.Changed) != 0 {
		t.Errorf("report %+v", report)
	}
	after, err := b.store.Matches.Match(t.Context(), m.ID)
	b.ok(err)
	if d := cmp.Diff(m.Seats, after.Seats); d != "" {
		t.Error(d)
	}
}

func TestRescorer_onlyFinished(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	id := b.match()
	if _, err := b.rescorer(nil).Match(t.Context(), id); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("error %v", err)
	}
	if _, err := b.rescorer(nil).League(t.Context(), "none"); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("error %v", err)
	}
}

// Threat J1: what exceeded the limits of its judge process is never judged
// again: it keeps its reason and no points, under any judge.
func TestRescorer_KeepsJudgeLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, right)
	j := &jury{change: func(v *arena.Verdict) {
		v.Seats = []arena.SeatVerdict{{AgentID: "ag_0", Reason: arena.ReasonJudgeLimit}, {AgentID: "ag_1", Points: 500}}
	}}
	b.node("n1", j.join)
	m, _ := b.over(b.match(coded))
	j.change = func(v *arena.Verdict) { v.Seats = []arena.SeatVerdict{{AgentID: "ag_1", Points: arena.OnePoint}} }
	for _, kind := range []string{arena.JudgeCode, arena.JudgeExact, arena.JudgeCode} {
		b.setJudge(arena.JudgeSpec{Kind: kind})
		if _, err := b.rescorer(j).Match(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
		answers, err := b.store.Matches.Answers(t.Context(), m.ID)
		b.ok(err)
		if a := answers[0]; a.Reason != arena.ReasonJudgeLimit || a.Points != 0 {
			t.Errorf("%s: answer %+v", kind, a)
		}
		if a := answers[1]; a.Points != arena.OnePoint || a.Reason != "" {
			t.Errorf("%s: the other answer %+v", kind, a)
		}
	}
	for _, again := range j.asked[1:] {
		if len(again.Answers) != 1 || again.Answers[0].AgentID != "ag_1" {
			t.Errorf("the judge was asked about %+v", again.Answers)
		}
	}
	verdicts, err := b.store.Matches.Verdicts(t.Context(), m.ID)
	b.ok(err)
	for _, v := range verdicts {
		if v.Seats[0].Reason != arena.ReasonJudgeLimit || v.Seats[0].Points != 0 {
			t.Errorf("verdict %+v", v)
		}
	}
}

// A timeout loses a tie on points, on the table and in the ratings, and a
// re-score keeps it.
func TestEngine_TimeoutLosesTheTie(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{arena.ScoreMatch, arena.ScoreRounds} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, wrong, always(bad(arena.OutcomeTimeout, "deadline")))
			b.node("n1")
			m, log := b.over(b.match(func(s *arena.Settings) { s.ScoreMode = mode }))
			type result struct {
				Points      arena.Points
				Lost, Place int
				Delta       arena.MilliElo
			}
			check := func(m arena.Match) {
				t.Helper()
				var got []result
				for _, s := range m.Seats {
					if s.Delta == nil {
						t.Fatalf("seat %s is not rated", s.AgentID)
					}
					got = append(got, result{s.Points, s.LostRounds, s.Place, *s.Delta})
				}
				if d := cmp.Diff([]result{{Place: 1, Delta: 20_000}, {Lost: 3, Place: 2, Delta: -20_000}}, got); d != "" {
					t.Error(d)
				}
			}
			check(m)
			var last arena.MatchFinishedBody
			b.ok(json.Unmarshal(log[len(log)-1].Body, &last))
			if s := last.Seats[1]; s.LostRounds != 3 || s.Place != 2 {
				t.Errorf("the last event has the seat %+v", s)
			}
			b.setJudge(arena.JudgeSpec{Kind: arena.JudgeNumber})
			_, err := b.rescorer(nil).Match(t.Context(), m.ID)
			b.ok(err)
			_, err = b.rescorer(nil).Rebuild(t.Context(), slug)
			b.ok(err)
			again, err := b.store.Matches.Match(t.Context(), m.ID)
			b.ok(err)
			check(again)
		})
	}
}

// An answer over the token limit is marked in its event, when the round is
// revealed, and in round_closed. Under the policy zero_points it gets no points,
// also when it is judged again.
func TestEngine_MaxTokens(t *testing.T) {
	t.Parallel()
	for policy, want := range map[arena.TokenPolicy]arena.Points{arena.NoteTokens: 3 * arena.OnePoint, arena.ZeroPointsTokens: 0} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			verbose := func(ctx context.Context, a arena.Attempt) arena.Reply {
				r := right(ctx, a)
				r.Answer.Tokens = new(int64(a.MaxTokens + 1))
				return r
			}
			b := newBench(t, verbose, right)
			b.node("n1")
			m, events := b.over(b.match(func(s *arena.Settings) { s.MaxTokens, s.MaxTokensPolicy = 100, policy }))
			if m.Seats[0].Points != want || m.Seats[1].Points != 3*arena.OnePoint {
				t.Errorf("seats %+v", m.Seats)
			}
			if m.Seats[0].Tokens != 3*101 || m.Seats[1].Tokens != 3*2 { // declared, and estimated by "right 1"
				t.Errorf("the answers cost %d and %d tokens", m.Seats[0].Tokens, m.Seats[1].Tokens)
			}
			marks := map[arena.EventType]int{}
			for _, e := range events {
				marks[e.Type] += strings.Count(string(e.Body), `"over_max_tokens":true`)
			}
			if d := cmp.Diff(map[arena.EventType]int{arena.EventReveal: 3, arena.EventRoundClosed: 3}, marks, cmpopts.IgnoreMapEntries(func(_ arena.EventType, n int) bool { return n == 0 })); d != "" {
				t.Errorf("marks: %s", d)
			}
			if _, err := b.rescorer(nil).Match(t.Context(), m.ID); err != nil {
				t.Fatal(err)
			}
			answers, err := b.store.Matches.Answers(t.Context(), m.ID)
			b.ok(err)
			reason := map[arena.TokenPolicy]string{arena.ZeroPointsTokens: arena.ReasonTokenLimit}[policy]
			for _, a := range answers {
				if over := a.AgentID == "ag_0"; a.OverTokens != over || over && (a.Reason != reason || a.Points != want/3) {
					t.Errorf("answer %+v", a)
				}
			}
		})
	}
}

// usePack has the matches that follow take their questions from a pack.
func (b *bench) usePack() {
	b.t.Helper()
	b.pack = "pk_1"
	tasks := make([]arena.Task, 5)
	for i := range tasks {
		tasks[i] = arena.Task{Description: fmt.Sprint("question ", i), Answers: []string{"x"}}
	}
	b.ok(b.store.Packs.CreatePack(b.t.Context(), arena.Pack{ID: b.pack, Name: "Questions", CreatedAt: time.Now()}, tasks))
}

// remove removes a question of the pack.
func (b *bench) remove(n int) {
	b.t.Helper()
	_, err := b.store.Packs.RemoveTask(b.t.Context(), b.pack, n, time.Now())
	b.ok(err)
}

// The round of a removed question is void: it has no points, and the ratings are
// as if it had not been played. It stays void.
func TestRescorer_removedQuestion(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	b.usePack()
	b.node("n1")
	m, _ := b.over(b.match())
	r := b.rescorer(nil)
	b.remove(2)
	report, err := r.Matches(t.Context(), slug, []string{m.ID})
	b.ok(err)
	want := []arena.RescoredMatch{{MatchID: m.ID, Seats: []arena.RescoredSeat{
		{AgentID: "ag_0", PointsBefore: 3000, Points: 2000, PlaceBefore: 1, Place: 1}, {AgentID: "ag_1", PlaceBefore: 2, Place: 2},
	}}}
	if d := cmp.Diff(want, report.Changed); d != "" {
		t.Error(d)
	}
	answers, err := b.store.Matches.Answers(t.Context(), m.ID)
	b.ok(err)
	for _, a := range answers {
		if void := a.Outcome == arena.OutcomeVoid && a.Reason == arena.ReasonRemoved && a.Points == 0; void != (a.Round == 2) {
			t.Errorf("round %d of %s: %s %q %d", a.Round, a.AgentID, a.Outcome, a.Reason, a.Points)
		}
	}
	b.remove(1)
	b.remove(3)
	_, err = r.Matches(t.Context(), slug, []string{m.ID})
	b.ok(err)
	if d := cmp.Diff(map[string]arena.MilliElo{"ag_0": arena.StartRating, "ag_1": arena.StartRating}, b.ratings()); d != "" {
		t.Error(d)
	}
	if _, err := b.store.Ratings.CheckRatings(t.Context()); err != nil {
		t.Error(err)
	}
	if report, err = r.Match(t.Context(), m.ID); err != nil || len(report.Changed) != 0 {
		t.Errorf("scored once more: %+v, %v", report, err)
	}
}

// correct changes the answer of a question of the pack and returns the sources of
// those whose rounds that reaches.
func (b *bench) correct(n int, to string) (tasks []int, answers map[string][]string) {
	b.t.Helper()
	_, err := b.store.Packs.ReplaceTask(b.t.Context(), b.pack, n, func(t *arena.Task) error { t.Answers = []string{to}; return nil })
	b.ok(err)
	tasks, key, err := b.store.Packs.Correction(b.t.Context(), b.pack, n)
	b.ok(err)
	answers = map[string][]string{}
	for _, task := range tasks {
		answers[arena.SourceOf(b.pack, task)] = key
	}
	return tasks, answers
}

// Played rounds are judged by a corrected answer once that is asked for. A preview
// shows what would change and changes nothing.
func TestRescorer_correctedAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, always(says("y")))
	b.usePack()
	b.node("n1")
	m, _ := b.over(b.match())
	before := b.ratings()
	r := b.rescorer(nil)
	var tasks []int
	answers := map[string][]string{}
	for n := range 5 { // whichever were asked
		reached, key := b.correct(n, "y")
		tasks = append(tasks, reached...)
		maps.Copy(answers, key)
	}
	if report, err := r.Match(t.Context(), m.ID); err != nil || len(report.Changed) != 0 {
		t.Errorf("scored by a correction that was not applied: %+v, %v", report, err)
	}
	preview, err := r.Preview(t.Context(), slug, []string{m.ID}, answers)
	b.ok(err)
	want := []arena.RescoredMatch{{MatchID: m.ID, Seats: []arena.RescoredSeat{
		{AgentID: "ag_0", PointsBefore: 3000, PlaceBefore: 1, Place: 2}, {AgentID: "ag_1", Points: 3000, PlaceBefore: 2, Place: 1},
	}}}
	if d := cmp.Diff(want, preview.Changed); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, b.ratings()); d != "" {
		t.Errorf("the preview moved ratings: %s", d)
	}
	b.ok(b.store.Packs.CorrectTasks(t.Context(), b.pack, tasks, map[string][]string{slug: nil}, time.Now()))
	report, err := r.Matches(t.Context(), slug, []string{m.ID})
	b.ok(err)
	if d := cmp.Diff(preview, report); d != "" {
		t.Errorf("the preview said otherwise: %s", d)
	}
	if d := cmp.Diff(map[string]arena.MilliElo{"ag_0": before["ag_1"], "ag_1": before["ag_0"]}, b.ratings()); d != "" {
		t.Error(d)
	}
	if report, err := r.League(t.Context(), slug); err != nil || len(report.Changed) != 0 {
		t.Errorf("scored once more: %+v, %v", report, err)
	}
	if _, err := b.store.Ratings.CheckRatings(t.Context()); err != nil {
		t.Error(err)
	}
}

// eraseTexts erases the texts of both agents of a match.
func (b *bench) eraseTexts(id string) {
	b.t.Helper()
	for i := range 2 {
		rows, _, _ := b.record(id)
		erasure, err := record.NewErasure(rows, agentID(i))
		b.ok(err)
		b.ok(b.store.Matches.EraseTexts(b.t.Context(), erasure))
	}
}

// A result stands when the answers or moves that it came from were erased. The
// report names the match with the reason.
func TestRescorer_erasedTexts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		a, b   script
		change func(*arena.Settings)
	}{
		"questions": {right, wrong, func(s *arena.Settings) { s.Rated = true }},
		"game":      {column(1), column(2), connectFour(2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.a, tt.b)
			id := b.playRecorded(tt.change)
			before, err := b.store.Matches.Match(t.Context(), id)
			b.ok(err)
			ratings := b.ratings()
			b.eraseTexts(id)
			for range 2 {
				report, err := b.rescorer(nil).League(t.Context(), slug)
				b.ok(err)
				want := arena.RescoreReport{Matches: 1, Changed: []arena.RescoredMatch{}, Failed: []string{}, Kept: []arena.KeptMatch{{MatchID: id, Reason: arena.KeptErased}}, Ratings: []arena.RatingMove{}}
				if d := cmp.Diff(want, report); d != "" {
					t.Error(d)
				}
			}
			_, err = b.rescorer(nil).Rebuild(t.Context(), slug)
			b.ok(err)
			after, err := b.store.Matches.Match(t.Context(), id)
			b.ok(err)
			for i, s := range after.Seats {
				if was := before.Seats[i]; s.Points != was.Points || s.Place != was.Place {
					t.Errorf("seat %d has %d points and place %d, not %d and %d", i, s.Points, s.Place, was.Points, was.Place)
				}
			}
			if d := cmp.Diff(ratings, b.ratings()); d != "" {
				t.Error(d)
			}
		})
	}
}

// The round of a removed question is void also in a match of which texts were
// erased; the other rounds keep their points.
func TestRescorer_removedQuestionOfErasedTexts(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	b.usePack()
	id := b.playRecorded(func(s *arena.Settings) { s.Rated = true })
	b.eraseTexts(id)
	b.remove(2)
	r := b.rescorer(nil)
	report, err := r.Match(t.Context(), id)
	b.ok(err)
	if len(report.Kept) != 1 || len(report.Changed) != 1 || report.Changed[0].Seats[0].PointsBefore-report.Changed[0].Seats[0].Points != arena.OnePoint {
		t.Errorf("report %+v", report)
	}
	if report, err = r.Match(t.Context(), id); err != nil || len(report.Changed) != 0 {
		t.Errorf("scored once more: %+v, %v", report, err)
	}
}
