package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/store"
)

// Rescorer judges the answers of finished matches again, with the current judge
// of their league, and rebuilds the ratings (docs/rules.md, section 6).
type Rescorer struct {
	Store  *store.Store
	Judges Judges // nil: matches with an external judge fail
	Games  game.Library
	Now    func() time.Time
	Logger *slog.Logger
}

// Match rescores one finished match.
func (r *Rescorer) Match(ctx context.Context, id string) (arena.RescoreReport, error) {
	m, err := r.Store.Matches.Match(ctx, id)
	if err != nil {
		return arena.RescoreReport{}, fmt.Errorf("score match %s again: %w", id, err)
	}
	if m.Status != arena.MatchFinished {
		return arena.RescoreReport{}, arena.Errorf(arena.CodeConflict, "only a finished match can be scored again, this one is %s", m.Status)
	}
	return r.matches(ctx, m.League, func(yield func(arena.Match) error) error { return yield(m) }, nil)
}

// Matches rescores finished matches of one league.
func (r *Rescorer) Matches(ctx context.Context, slug string, ids []string) (arena.RescoreReport, error) {
	return r.matches(ctx, slug, r.listed(ctx, ids), nil)
}

// listed yields matches by their ids.
func (r *Rescorer) listed(ctx context.Context, ids []string) func(yield func(arena.Match) error) error {
	return func(yield func(arena.Match) error) error {
		for _, id := range ids {
			m, err := r.Store.Matches.Match(ctx, id)
			if err != nil {
				return fmt.Errorf("read match %s: %w", id, err)
			}
			if err := yield(m); err != nil {
				return err
			}
		}
		return nil
	}
}

// League rescores all finished matches of a league.
func (r *Rescorer) League(ctx context.Context, slug string) (arena.RescoreReport, error) {
	return r.matches(ctx, slug, func(yield func(arena.Match) error) error {
		f := arena.MatchFilter{League: slug, Statuses: []arena.MatchStatus{arena.MatchFinished}}
		for p := (arena.Page{Limit: 100}); ; {
			matches, next, err := r.Store.Matches.Matches(ctx, f, p)
			if err != nil {
				return fmt.Errorf("list matches: %w", err)
			}
			for _, m := range matches {
				if err := yield(m); err != nil {
					return err
				}
			}
			if p.Cursor = next; next == "" {
				return nil
			}
		}
	}, nil)
}

// Rebuild replays the settled matches of a league from their stored answers
// and returns the number of settlements that changed. The audit entries that
// audit returns are stored with the ratings.
func (r *Rescorer) Rebuild(ctx context.Context, slug string, audit ...func(changed int) (arena.AuditEntry, error)) (int, error) {
	done, err := r.rebuild(ctx, slug, nil, audit...)
	return done.Settlements, err
}

func (r *Rescorer) rebuild(ctx context.Context, slug string, p *preview, audit ...func(changed int) (arena.AuditEntry, error)) (arena.Rebuilt, error) {
	if p != nil {
		audit = append(audit, func(int) (arena.AuditEntry, error) { return arena.AuditEntry{}, store.ErrPreview })
	}
	done, err := r.Store.Ratings.RebuildRatings(ctx, slug, func(m arena.Match, answers []arena.Answer, ratings map[string]arena.Rating) []arena.RatingChange {
		m, answers = p.of(m, answers)
		return scoring.Rate(m.Settings, m.Seats, answers, ratings)
	}, audit...)
	if err != nil {
		return done, fmt.Errorf("rebuild ratings: %w", err)
	}
	return done, nil
}

// preview scores matches again as if tasks had other answers, and stores nothing.
type preview struct {
	answers map[string][]string // by the source of a task
	scored  map[string]arena.Rescore
}

// of returns a match and its answers as they would be.
func (p *preview) of(m arena.Match, answers []arena.Answer) (arena.Match, []arena.Answer) {
	if p == nil {
		return m, answers
	}
	scored, ok := p.scored[m.ID]
	if !ok {
		return m, answers
	}
	m.Seats, answers = scored.Seats, slices.Clone(answers)
	for _, a := range scored.Answers {
		if i := slices.IndexFunc(answers, func(b arena.Answer) bool { return b.Round == a.Round && b.AgentID == a.AgentID }); i >= 0 {
			answers[i] = a
		}
	}
	return m, answers
}

// Preview reports what Matches would change if tasks had other answers, by their
// source.
func (r *Rescorer) Preview(ctx context.Context, slug string, ids []string, answers map[string][]string) (arena.RescoreReport, error) {
	return r.matches(ctx, slug, r.listed(ctx, ids), &preview{answers: answers, scored: map[string]arena.Rescore{}})
}

// matches rescores some matches of a league. With a preview it stores nothing.
func (r *Rescorer) matches(ctx context.Context, slug string, each func(func(arena.Match) error) error, p *preview) (arena.RescoreReport, error) {
	report := arena.RescoreReport{Changed: []arena.RescoredMatch{}, Failed: []string{}, Kept: []arena.KeptMatch{}, Ratings: []arena.RatingMove{}}
	l, err := r.Store.Leagues.League(ctx, slug)
	if err != nil {
		return report, fmt.Errorf("score league %s again: %w", slug, err)
	}
	err = each(func(m arena.Match) error {
		report.Matches++
		m.Settings.Judge = l.Settings.Judge
		changed, err := r.rescoreMatch(ctx, m, &report, p)
		if failed, ok := errors.AsType[*judgeError](err); ok {
			r.Logger.WarnContext(ctx, "match could not be judged again", "match_id", m.ID, "error", failed)
			report.Failed = append(report.Failed, m.ID)
			return nil
		}
		if changed != nil {
			report.Changed = append(report.Changed, *changed)
		}
		return err
	})
	if err != nil {
		return report, fmt.Errorf("score league %s again: %w", slug, err)
	}
	if len(report.Changed) == 0 {
		return report, nil
	}
	if p == nil {
		if err := r.decideAgain(ctx, l.Settings.Format, report.Changed); err != nil {
			return report, err
		}
	}
	done, err := r.rebuild(ctx, slug, p)
	report.Settlements = done.Settlements
	report.Ratings = append(report.Ratings, done.Ratings...)
	return report, err
}

// rescoreMatch judges a match again and stores the result. It returns nil if no
// points changed. Rounds whose question was removed become void. Eliminations stay:
// the later rounds were played without the eliminated seats. A match of which texts
// were erased is not judged again.
func (r *Rescorer) rescoreMatch(ctx context.Context, m arena.Match, report *arena.RescoreReport, p *preview) (*arena.RescoredMatch, error) {
	rounds, err := r.Store.Matches.Rounds(ctx, m.ID)
	if err != nil {
		return nil, fmt.Errorf("read rounds: %w", err)
	}
	rescore := arena.Rescore{MatchID: m.ID}
	answers, err := r.Store.Matches.Answers(ctx, m.ID)
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	before := pointsOf(answers)
	packs, err := r.changedPacks(ctx, rounds, p)
	if err != nil {
		return nil, err
	}
	rescore.Answers = packs.void(rounds, answers)
	erased, err := r.Store.Matches.ErasedTexts(ctx, m.ID)
	if err != nil {
		return nil, fmt.Errorf("read erased texts: %w", err)
	}
	if len(erased) > 0 {
		report.Kept = append(report.Kept, arena.KeptMatch{MatchID: m.ID, Reason: arena.KeptErased})
		return r.keepResult(ctx, m, rescore, before, pointsOf(answers), p)
	}
	byRound, points := game.Answers(answers), map[string]arena.Points{}
	g, err := game.For(ctx, r.Games, m.Settings)
	if err != nil {
		return nil, err
	}
	state, err := g.Init(ctx, game.NewPosition(m, arena.Round{No: 1}, nil))
	if err != nil {
		return nil, fmt.Errorf("begin the game again: %w", err)
	}
	stored := sync.OnceValues(func() ([]arena.Verdict, error) { return r.Store.Matches.Verdicts(ctx, m.ID) })
	for _, round := range rounds {
		if corrected, ok := packs.answers[round.Task.Source]; ok {
			round.Task.Answers = corrected
		}
		at := game.NewPosition(m, round, state)
		replies := at.Replies(byRound.In(round.No))
		v, err := r.verdict(ctx, g, m, at, replies, stored)
		if err != nil {
			return nil, err
		}
		result, err := g.Close(ctx, at, replies, v)
		if err != nil {
			return nil, fmt.Errorf("close round %d again: %w", round.No, err)
		}
		state = result.State
		for i, award := range result.Awards {
			points[at.Seats[i].AgentID] += award
		}
		if result.Verdict.Judge == "" {
			continue
		}
		rescore.Verdicts = append(rescore.Verdicts, stamped(result.Verdict, m.ID, round.No, r.Now()))
		for i, reply := range replies {
			if reply.Outcome == arena.OutcomeVoid {
				continue // the round stays void
			}
			a, _ := byRound.In(round.No)(at.Seats[reply.Seat].AgentID)
			if a.Points = result.Scores[i].Points; result.Scores[i].Reason != "" {
				a.Reason = result.Scores[i].Reason
			}
			rescore.Answers = append(rescore.Answers, a)
			points[a.AgentID] += a.Points
		}
	}
	return r.save(ctx, m, rescore, points, p)
}

// pointsOf returns the points of answers by agent.
func pointsOf(answers []arena.Answer) map[string]arena.Points {
	points := map[string]arena.Points{}
	for _, a := range answers {
		points[a.AgentID] += a.Points
	}
	return points
}

// keepResult stores the result of a match without judging it again. Its answers or
// moves are not all there any more; only rounds that became void lose their points.
func (r *Rescorer) keepResult(ctx context.Context, m arena.Match, rescore arena.Rescore, before, after map[string]arena.Points, p *preview) (*arena.RescoredMatch, error) {
	if len(rescore.Answers) == 0 {
		return nil, nil //nolint:nilnil // nothing changed: not an error
	}
	points := map[string]arena.Points{}
	for _, s := range m.Seats {
		points[s.AgentID] = s.Points + after[s.AgentID] - before[s.AgentID]
	}
	return r.save(ctx, m, rescore, points, p)
}

// save stores the new points of a match by agent, or keeps them for the preview. It returns nil if none changed.
func (r *Rescorer) save(ctx context.Context, m arena.Match, rescore arena.Rescore, points map[string]arena.Points, p *preview) (*arena.RescoredMatch, error) {
	changed := arena.RescoredMatch{MatchID: m.ID}
	for _, s := range m.Seats {
		s.Points = points[s.AgentID]
		rescore.Seats = append(rescore.Seats, s)
	}
	rescore.Seats = scoring.PlaceSeats(m.Settings, rescore.Seats)
	same := true
	for i, s := range rescore.Seats {
		was := m.Seats[i]
		same = same && was.Points == s.Points && was.Place == s.Place
		changed.Seats = append(changed.Seats, arena.RescoredSeat{
			AgentID: s.AgentID, PointsBefore: was.Points, Points: s.Points, PlaceBefore: was.Place, Place: s.Place,
		})
	}
	if p != nil {
		p.scored[m.ID] = rescore
	} else if err := r.Store.Matches.SaveRescore(ctx, rescore); err != nil {
		return nil, fmt.Errorf("store the new score: %w", err)
	}
	if same {
		return nil, nil //nolint:nilnil // nothing changed: not an error
	}
	return &changed, nil
}

// changedPacks is what has changed in the packs of a match since its rounds were
// played, by the source of a task.
type changedPacks struct {
	removed map[string]bool
	answers map[string][]string // corrected ones
}

func (r *Rescorer) changedPacks(ctx context.Context, rounds []arena.Round, p *preview) (changedPacks, error) {
	c := changedPacks{map[string]bool{}, map[string][]string{}}
	read := map[string]bool{}
	for _, round := range rounds {
		packID, _, ok := strings.Cut(round.Task.Source, "/")
		if !ok || read[packID] {
			continue
		}
		read[packID] = true
		removed, err := r.Store.Packs.RemovedTasks(ctx, packID)
		if err != nil {
			return c, fmt.Errorf("read removed tasks: %w", err)
		}
		for _, n := range removed {
			c.removed[arena.SourceOf(packID, n)] = true
		}
		corrected, err := r.Store.Packs.CorrectedAnswers(ctx, packID)
		if err != nil {
			return c, fmt.Errorf("read corrected answers: %w", err)
		}
		for n, answers := range corrected {
			c.answers[arena.SourceOf(packID, n)] = answers
		}
	}
	if p != nil {
		maps.Copy(c.answers, p.answers)
	}
	return c, nil
}

// void makes the answers of rounds whose question was removed void, and returns them.
// Outcomes that did not count stay.
func (c changedPacks) void(rounds []arena.Round, answers []arena.Answer) (voided []arena.Answer) {
	gone := map[int]bool{}
	for _, round := range rounds {
		gone[round.No] = c.removed[round.Task.Source]
	}
	for i := range answers {
		if a := &answers[i]; gone[a.Round] && a.Outcome.Counted() {
			a.Outcome, a.Reason, a.Points = arena.OutcomeVoid, arena.ReasonRemoved, 0
			voided = append(voided, *a)
		}
	}
	return voided
}

// decideAgain updates the results of pairings of a running season after their matches
// were scored again. Brackets keep the old results, which decided who played the next
// round, and finished seasons keep their tables.
func (r *Rescorer) decideAgain(ctx context.Context, f arena.Format, changed []arena.RescoredMatch) error {
	if format.Of(f).Bracket {
		return nil
	}
	for _, c := range changed {
		m, err := r.Store.Matches.Match(ctx, c.MatchID)
		if err != nil {
			return fmt.Errorf("decide pairings again: %w", err)
		}
		result, scores := format.Result(m)
		if err := r.Store.Leagues.DecideAgain(ctx, m.ID, result, scores); err != nil {
			return fmt.Errorf("decide pairings again: %w", err)
		}
	}
	return nil
}

// verdict has the external judge of a round judge it again, and returns nil if
// there is none. The verdict of spectators stays: it is in stored.
func (r *Rescorer) verdict(ctx context.Context, g game.Game, m arena.Match, p game.Position, replies []game.Reply, stored func() ([]arena.Verdict, error)) (*arena.Verdict, error) {
	q, err := g.Ask(ctx, p, replies)
	switch {
	case err != nil:
		return nil, fmt.Errorf("judge round %d again: %w", p.Round, err)
	case q == nil:
		return nil, nil //nolint:nilnil // no question: not an error
	case q.Window > 0:
		return storedVerdict(stored, p.Round)
	case r.Judges == nil:
		return nil, &judgeError{fmt.Errorf("this arena has no judge %q", p.Settings.Judge.Kind)}
	}
	j := judging(m, p, *q)
	j.Rescore = true
	v, err := r.Judges.Judge(ctx, j)
	if err != nil {
		return nil, &judgeError{err}
	}
	return &v, nil
}

// storedVerdict returns the last stored verdict on a round, or nil.
func storedVerdict(stored func() ([]arena.Verdict, error), round int) (last *arena.Verdict, err error) {
	verdicts, err := stored()
	if err != nil {
		return nil, fmt.Errorf("read verdicts: %w", err)
	}
	for i := range verdicts {
		if verdicts[i].Round == round {
			last = &verdicts[i]
		}
	}
	return last, nil
}
