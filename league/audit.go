package league

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/audit"
	"github.com/agora-arena/arena/league/pack"
)

// generatedTasks is the number of generated tasks that an audit looks at.
const generatedTasks = 300

// Audit has cheats play on a copy of a league, looks for what its tasks give away,
// and stores the report, for an admin or the league's organizer. conflict: the league
// plays a game or debates, its pack is empty, or this node is at work on another
// audit.
func (s *Service) Audit(ctx context.Context, caller arena.Caller, slug string) (arena.AuditReport, error) {
	if err := caller.Require(slug, arena.RightOrganize); err != nil {
		return arena.AuditReport{}, err
	}
	l, err := s.o.Store.Leagues.League(ctx, slug)
	switch {
	case err != nil:
		return arena.AuditReport{}, err
	case l.Settings.Game != nil || l.Settings.Debate != nil:
		return arena.AuditReport{}, arena.Errorf(arena.CodeConflict, "league %s asks no questions that have an answer: only leagues of questions are audited", slug)
	case !s.auditing.TryLock():
		return arena.AuditReport{}, arena.Errorf(arena.CodeConflict, "another audit is under way: try again in a minute")
	}
	defer s.auditing.Unlock()
	tasks, numbers, err := s.auditedTasks(ctx, l.Settings)
	if err != nil {
		return arena.AuditReport{}, err
	}
	if len(tasks) == 0 {
		return arena.AuditReport{}, arena.Errorf(arena.CodeConflict, "the pack of league %s has no tasks", slug)
	}
	report := arena.AuditReport{Findings: audit.Tasks(tasks)}
	for _, f := range report.Findings {
		for i, at := range f.Numbers {
			f.Numbers[i] = numbers[at]
		}
	}
	if v := l.Settings.Visibility; v.HoldsBack() && v.Delay() < l.Settings.TimeLimit {
		report.Findings = append(report.Findings, arena.AuditFinding{Kind: arena.FoundDelay})
	}
	if report.Cheats, err = s.o.Cheats(ctx, l.Settings, tasks); err != nil {
		return arena.AuditReport{}, fmt.Errorf("audit league %s: %w", slug, err)
	}
	report.At = s.now()
	entry, err := caller.Audit(report.At, "audit-league", slug, nil, report)
	if err != nil {
		return arena.AuditReport{}, err
	}
	return report, s.o.Store.Leagues.SaveAudit(ctx, slug, report, entry)
}

// auditedTasks returns the tasks of a league in use, and their numbers in its pack.
// Of a generator it returns different ones.
func (s *Service) auditedTasks(ctx context.Context, of arena.Settings) (tasks []arena.Task, numbers []int, err error) {
	if of.Generator == nil {
		err = s.o.Store.Packs.EachTask(ctx, of.PackID, func(n int, t arena.Task) error {
			tasks, numbers = append(tasks, t), append(numbers, n)
			return nil
		})
		return tasks, numbers, err
	}
	seen := map[string]bool{}
	for seed := range uint64(generatedTasks) {
		t, err := pack.Generate(*of.Generator, rand.Uint64(), int(seed)%max(of.Rounds, 1)+1) //nolint:gosec // G404: no match has this seed
		if err != nil {
			return nil, nil, err
		}
		if !seen[t.Description] {
			seen[t.Description] = true
			tasks, numbers = append(tasks, t), append(numbers, len(tasks))
		}
	}
	return tasks, numbers, nil
}
