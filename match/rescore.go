package match

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// Rescorer judges finished matches again and rebuilds the ratings of their
// league (docs/rules.md, section 6).
type Rescorer interface {
	Match(ctx context.Context, id string) (arena.RescoreReport, error)
	League(ctx context.Context, slug string) (arena.RescoreReport, error)
	// Matches judges finished matches of one league again.
	Matches(ctx context.Context, slug string, ids []string) (arena.RescoreReport, error)
	// Preview reports what Matches would change if tasks had other answers, by their
	// source.
	Preview(ctx context.Context, slug string, ids []string, answers map[string][]string) (arena.RescoreReport, error)
	// Rebuild replays the settlements of a league, stores the audit entry that
	// audit returns with the ratings, and returns how many settlements changed.
	Rebuild(ctx context.Context, slug string, audit ...func(changed int) (arena.AuditEntry, error)) (changed int, err error)
}

// Rescore judges one finished match again, for an admin or the league's
// organizer.
func (s *Service) Rescore(ctx context.Context, caller arena.Caller, id string) (arena.RescoreReport, error) {
	league := ""
	if caller.Runs().Scope == arena.ScopeOrganizer { // the only one whose rights depend on the league
		m, err := s.o.Store.Matches.Match(ctx, id)
		if err != nil {
			return arena.RescoreReport{}, err
		}
		league = m.League
	}
	if err := caller.Require(league, arena.RightOrganize); err != nil {
		return arena.RescoreReport{}, err
	}
	return s.rescore(ctx, caller, "rescore-match", id, s.o.Rescorer.Match)
}

// RescoreLeague judges all finished matches of a league again, for an admin or
// its organizer.
func (s *Service) RescoreLeague(ctx context.Context, caller arena.Caller, slug string) (arena.RescoreReport, error) {
	if err := caller.Require(slug, arena.RightOrganize); err != nil {
		return arena.RescoreReport{}, err
	}
	return s.rescore(ctx, caller, "rescore-league", slug, s.o.Rescorer.League)
}

// rescore judges matches again. Each is a transaction of its own, and so are
// the ratings; the audit entry follows the last one and is stored for those
// that were judged before a failure, too.
func (s *Service) rescore(ctx context.Context, caller arena.Caller, action, target string, run func(context.Context, string) (arena.RescoreReport, error)) (arena.RescoreReport, error) {
	report, err := run(ctx, target)
	if report.Matches == 0 && err != nil {
		return report, err
	}
	audit, failed := caller.Audit(s.now(), action, target, nil, report)
	if failed == nil {
		failed = s.o.Store.Operations.Audit(context.WithoutCancel(ctx), audit)
	}
	if failed != nil {
		err = errors.Join(err, fmt.Errorf("audit %s: %w", action, failed))
	}
	if len(report.Changed) == 0 && len(report.Failed) == 0 {
		report.Note = "No points changed: the league's judge gives the stored answers the points that they have. " +
			"An answer that was corrected in a pack counts for played rounds once POST /v1/packs/{id}/tasks/{n}/correct has applied it."
	}
	return report, err
}

// RemoveTask removes a question from its pack, for an admin, and judges the
// finished matches that used it again, so that its rounds are void. The audit entry
// commits with the removal. Matches that could not be judged again are reported;
// they can be rescored later.
func (s *Service) RemoveTask(ctx context.Context, caller arena.Caller, packID string, n int) (arena.TaskRemoval, error) {
	removal := arena.TaskRemoval{Failed: []string{}, Leagues: []string{}}
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return removal, err
	}
	at := s.now()
	audit, err := caller.Audit(at, "remove-task", packID, map[string]int{"task": n}, nil)
	if err != nil {
		return removal, err
	}
	used, err := s.o.Store.Packs.RemoveTask(ctx, packID, n, at, audit)
	if err != nil {
		return removal, err
	}
	removal.Leagues = slices.AppendSeq(removal.Leagues, maps.Keys(used))
	slices.Sort(removal.Leagues)
	for _, slug := range removal.Leagues {
		if len(used[slug]) == 0 {
			continue
		}
		report, err := s.o.Rescorer.Matches(ctx, slug, used[slug])
		if err != nil {
			return removal, fmt.Errorf("question %d of pack %s is removed, but not all matches are scored again: %w", n, packID, err)
		}
		removal.Matches += report.Matches
		removal.Changed += len(report.Changed)
		removal.Failed = append(removal.Failed, report.Failed...)
		removal.Settlements += report.Settlements
	}
	return removal, nil
}

// CorrectTask judges the finished matches that used a question again by its corrected
// answer, for an admin, and running matches when they are scored again. With preview it
// stores nothing and reports what would change. conflict: the question was not changed,
// or in more than its answer.
func (s *Service) CorrectTask(ctx context.Context, caller arena.Caller, packID string, n int, preview bool) (arena.TaskCorrection, error) {
	correction := arena.TaskCorrection{Preview: preview, Leagues: []arena.LeagueRescore{}}
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return correction, err
	}
	tasks, answers, err := s.o.Store.Packs.Correction(ctx, packID, n)
	if err != nil {
		return correction, err
	}
	used, err := s.o.Store.Packs.TaskMatches(ctx, packID, tasks...)
	if err != nil {
		return correction, err
	}
	leagues := slices.AppendSeq([]string{}, maps.Keys(used))
	slices.Sort(leagues)
	if !preview {
		at := s.now()
		audit, err := caller.Audit(at, "correct-task", packID, map[string]int{"task": n}, map[string]any{"answer": answers, "leagues": leagues})
		if err != nil {
			return correction, err
		}
		if err := s.o.Store.Packs.CorrectTasks(ctx, packID, tasks, used, at, audit); err != nil {
			return correction, err
		}
	}
	corrected := map[string][]string{}
	for _, task := range tasks {
		corrected[arena.SourceOf(packID, task)] = answers
	}
	for _, slug := range leagues {
		var report arena.RescoreReport
		if preview {
			report, err = s.o.Rescorer.Preview(ctx, slug, used[slug], corrected)
		} else {
			report, err = s.o.Rescorer.Matches(ctx, slug, used[slug])
		}
		if err != nil {
			return correction, fmt.Errorf("judge the rounds of question %d of pack %s again: %w", n, packID, err)
		}
		correction.Leagues = append(correction.Leagues, arena.LeagueRescore{League: slug, Report: report})
	}
	return correction, nil
}

// RebuildRatings computes a league's ratings again from its stored answers, for
// an admin, and returns how many settlements changed.
func (s *Service) RebuildRatings(ctx context.Context, caller arena.Caller, slug string) (int, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return 0, err
	}
	return s.o.Rescorer.Rebuild(ctx, slug, func(changed int) (arena.AuditEntry, error) {
		return caller.Audit(s.now(), "rebuild-ratings", slug, nil, map[string]any{"league": slug, "settlements": changed})
	})
}
