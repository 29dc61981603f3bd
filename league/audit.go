package league

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/audit"
	"github.com/agora-arena/arena/league/pack"
)

// generatedTasks is the number of generated tasks that an audit looks at.
const generatedTasks = 300

// auditClaim is longer than an audit takes. One whose node died begins again after it.
const auditClaim = 5 * time.Minute

// Audit has cheats play on a copy of a league, looks for what its tasks give away,
// and stores the report, for an admin or the league's organizer. conflict: the league
// plays a game or debates, its pack is empty, or this node is at work on another
// audit.
func (s *Service) Audit(ctx context.Context, caller arena.Caller, slug string) (arena.AuditReport, error) {
	if err := caller.Require(slug, arena.RightOrganize); err != nil {
		return arena.AuditReport{}, err
	}
	l, err := s.o.Store.Leagues.League(ctx, slug)
	if err != nil {
		return arena.AuditReport{}, err
	}
	if why := l.Settings.RefusesAudit(); why != "" {
		return arena.AuditReport{}, arena.Errorf(arena.CodeConflict, "league %s cannot be audited: %s", slug, why)
	}
	if !s.auditing.TryLock() {
		return arena.AuditReport{}, arena.Errorf(arena.CodeConflict, "another audit is under way: try again in a minute")
	}
	defer s.auditing.Unlock()
	report, err := s.audit(ctx, l)
	if err != nil {
		return arena.AuditReport{}, err
	}
	return report, s.saveAudit(ctx, report, slug, func(arena.League, arena.League) (arena.AuditEntry, error) {
		return caller.Audit(report.At, "audit-league", slug, nil, report)
	})
}

// AuditDue audits the rated leagues that wait for it, one after the other. It closes a
// league again if audit.Stops names a cheat. A league whose audit fails stays open, and
// its report has the reason. Nodes may call it at the same time.
func (s *Service) AuditDue(ctx context.Context) error {
	leagues, err := s.o.Store.Leagues.Leagues(ctx)
	if err != nil || !s.auditing.TryLock() {
		return err
	}
	defer s.auditing.Unlock()
	for _, l := range leagues {
		if !l.Audit.Waits() || l.Audit.Due.After(s.now()) {
			continue
		}
		if err := s.auditWaiting(ctx, l.Slug); err != nil {
			return err
		}
	}
	return nil
}

// auditWaiting audits a league, unless another node does.
func (s *Service) auditWaiting(ctx context.Context, slug string) error {
	mine := false
	l, err := s.o.Store.Leagues.UpdateLeague(ctx, slug, func(l *arena.League) error {
		if mine = l.Audit.Waits() && !l.Audit.Due.After(s.now()); mine {
			r := *l.Audit
			r.Due = s.now().Add(auditClaim)
			l.Audit = &r
		}
		return nil
	})
	if err != nil || !mine {
		return err
	}
	report, err := s.audit(ctx, l)
	if ctx.Err() != nil {
		return err // it begins again
	}
	if err == nil {
		return s.saveAudit(ctx, report, slug)
	}
	reason := "the server could not complete it; its log has the error"
	if known, ok := errors.AsType[*arena.Error](err); ok && known.Code == arena.CodeConflict {
		reason, err = known.Message, nil
	}
	_, stored := s.o.Store.Leagues.UpdateLeague(ctx, slug, func(l *arena.League) error {
		if l.Audit.Waits() {
			r := *l.Audit
			r.Due, r.Reason = time.Time{}, reason
			l.Audit = &r
		}
		return nil
	})
	return errors.Join(err, stored)
}

// requireAudit has a league wait for its audit if it is rated and was not audited with
// its settings. One that cannot be audited does not wait.
func (s *Service) requireAudit(l *arena.League) {
	r := arena.AuditReport{}
	if l.Audit != nil {
		r = *l.Audit
	}
	switch {
	case s.o.AuditsRated && l.Settings.Rated && l.Settings.RefusesAudit() == "" && r.Of != l.AuditedSettings():
		r.Due = s.now()
	case r.At.IsZero():
		l.Audit = nil
		return
	default:
		r.Due = time.Time{}
	}
	r.Reason = ""
	l.Audit = &r
}

// audit returns the report on a league. The caller holds s.auditing.
func (s *Service) audit(ctx context.Context, l arena.League) (report arena.AuditReport, err error) {
	tasks, numbers, err := s.auditedTasks(ctx, l.Settings)
	if err != nil {
		return report, err
	}
	if len(tasks) == 0 {
		return report, arena.Errorf(arena.CodeConflict, "the pack of league %s has no tasks", l.Slug)
	}
	if report, err = s.o.Cheats(ctx, l.Settings, tasks); err != nil {
		return report, fmt.Errorf("audit league %s: %w", l.Slug, err)
	}
	report.Findings = audit.Tasks(tasks)
	for _, f := range report.Findings {
		for i, at := range f.Numbers {
			f.Numbers[i] = numbers[at]
		}
	}
	if v := l.Settings.Visibility; v.HoldsBack() && v.Delay() < l.Settings.TimeLimit {
		report.Findings = append(report.Findings, arena.AuditFinding{Kind: arena.FoundDelay})
	}
	report.At, report.Of = s.now(), l.AuditedSettings()
	return report, nil
}

// saveAudit stores the report of a league's audit. A league that waited for it does not
// open if the report is against it, and waits on if it has other settings now.
func (s *Service) saveAudit(ctx context.Context, report arena.AuditReport, slug string, entries ...arena.LeagueAudit) error {
	_, err := s.o.Store.Leagues.UpdateLeague(ctx, slug, func(l *arena.League) error {
		waits, r := l.Audit.Waits(), report
		l.Audit = &r
		switch {
		case !waits:
		case l.AuditedSettings() != r.Of:
			s.requireAudit(l)
		default:
			refuse(l, audit.Stops(r, l.Settings))
		}
		return nil
	}, entries...)
	return err
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
