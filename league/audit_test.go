package league_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
)

// An audit is stored with its league and stays when the league changes.
func TestService_Audit(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	l, err := o.service.Create(ctx, admin, sums())
	o.ok(err)
	if l.Audit != nil {
		t.Errorf("audited before: %+v", l.Audit)
	}
	report, err := o.service.Audit(ctx, admin, l.Slug)
	o.ok(err)
	if len(report.Cheats) != 1 || report.Cheats[0].Tried < 50 || len(report.Findings) != 0 || !report.At.Equal(noon) {
		t.Errorf("%+v", report)
	}
	l, err = o.service.Update(ctx, admin, l.Slug, func(l *arena.League) { l.Title = "More sums" })
	o.ok(err)
	if l.Audit == nil || cmp.Diff(report, *l.Audit) != "" {
		t.Errorf("stored %+v, want %+v", l.Audit, report)
	}
	if _, err := o.service.Audit(ctx, alice, l.Slug); arena.CodeOf(err) != arena.CodeForbidden {
		t.Error(err)
	}
	if _, err := o.service.Audit(ctx, admin, "none"); arena.CodeOf(err) != arena.CodeNotFound {
		t.Error(err)
	}
}

// auditOffice is an office whose rated leagues wait for audits, with these results.
func auditOffice(t *testing.T, play func(of arena.Settings) (arena.AuditReport, error)) *office {
	t.Helper()
	o := newOffice(t)
	options := officeOptions(t, o.store, league.NewEntries(o.store, &tries{}, o.now))
	options.AuditsRated = true
	options.Cheats = func(_ context.Context, of arena.Settings, _ []arena.Task) (arena.AuditReport, error) { return play(of) }
	o.service = league.NewService(options)
	return o
}

func succeeds(cheats ...string) arena.AuditReport {
	r := arena.AuditReport{}
	for _, name := range arena.Cheats() {
		r.Cheats = append(r.Cheats, arena.AuditedCheat{Name: name, Tried: 20, Passed: !slices.Contains(cheats, name)})
	}
	return r
}

func rated(l *arena.League) { l.Settings.Rated = true }

// A rated league in which cheats succeed does not open, and one that runs pauses, until
// an organizer opens or resumes it all the same.
func TestService_AuditDue(t *testing.T) {
	t.Parallel()
	live := func(l *arena.League) { l.Settings.Visibility = arena.VisibilityLive }
	short := func(l *arena.League) { l.Settings.Visibility, l.Settings.TimeLimit = "delayed:1", time.Minute }
	for name, tt := range map[string]struct {
		change []func(*arena.League)
		act    arena.LeagueAction // before the audit
		cheats []string
		want   arena.LeagueStatus
		found  string
		anyway arena.LeagueAction
	}{
		"sound":           {change: []func(*arena.League){rated}, want: arena.LeagueOpen},
		"sound and runs":  {change: []func(*arena.League){rated}, act: arena.StartLeague, want: arena.LeagueRunning},
		"cheats":          {change: []func(*arena.League){rated}, cheats: []string{arena.CheatEcho, arena.CheatLate, arena.CheatSilence}, want: arena.LeagueDraft, found: "silence, late", anyway: arena.OpenLeague},
		"a guess":         {change: []func(*arena.League){rated}, cheats: []string{arena.CheatConstant, arena.CheatFirst, arena.CheatEcho, arena.CheatInjection}, want: arena.LeagueOpen},
		"it runs already": {change: []func(*arena.League){rated}, act: arena.StartLeague, cheats: []string{arena.CheatClones}, want: arena.LeaguePaused, found: "clones", anyway: arena.ResumeLeague},
		"it is over":      {change: []func(*arena.League){rated}, act: arena.FinishLeague, cheats: []string{arena.CheatLate}, want: arena.LeagueFinished},
		"live by choice":  {change: []func(*arena.League){rated, live}, cheats: []string{arena.CheatCopier}, want: arena.LeagueOpen},
		"sealed, a leak":  {change: []func(*arena.League){rated}, cheats: []string{arena.CheatCopier}, want: arena.LeagueDraft, found: "copier", anyway: arena.OpenLeague},
		"a short delay":   {change: []func(*arena.League){rated, short}, cheats: []string{arena.CheatCopier}, want: arena.LeagueOpen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := auditOffice(t, func(arena.Settings) (arena.AuditReport, error) { return succeeds(tt.cheats...), nil })
			ctx := t.Context()
			l, err := o.service.Create(ctx, admin, sums(tt.change...))
			o.ok(err)
			if l.Status != arena.LeagueOpen || !l.Audit.Waits() {
				t.Fatalf("created %s, audit %+v", l.Status, l.Audit)
			}
			if tt.act != "" {
				_, err = o.service.Act(ctx, admin, l.Slug, tt.act)
				o.ok(err)
			}
			o.ok(o.service.AuditDue(ctx))
			l, err = o.store.Leagues.League(ctx, l.Slug)
			o.ok(err)
			if l.Status != tt.want || l.Audit.Waits() || l.Audit.At.IsZero() || l.AuditStale() || (tt.found != "") != (l.Note.Code == arena.NoteAudit) ||
				tt.found != "" && *l.Note.Params.Cheats != tt.found {
				t.Fatalf("%s: %s; audit %+v", l.Status, l.Note, l.Audit)
			}
			if tt.anyway == "" {
				return
			}
			if _, err := o.service.Act(ctx, admin, l.Slug, arena.StartLeague); arena.CodeOf(err) != arena.CodeConflict {
				t.Error(err)
			}
			l, err = o.service.Act(ctx, admin, l.Slug, tt.anyway)
			o.ok(err)
			if l.Note.Code != "" || l.Audit.Waits() {
				t.Errorf("%s: %s; audit %+v", l.Status, l.Note, l.Audit)
			}
			o.ok(o.service.AuditDue(ctx)) // not again
		})
	}
}

// Only rated leagues of questions wait for an audit, and changes are audited until the
// league runs. Later ones make the report stale.
func TestService_AuditDue_again(t *testing.T) {
	t.Parallel()
	audits := 0
	o := auditOffice(t, func(arena.Settings) (arena.AuditReport, error) { audits++; return succeeds(), nil })
	ctx := t.Context()
	change := func(edit func(*arena.League)) arena.League {
		t.Helper()
		l, err := o.service.Update(ctx, admin, "sums", edit)
		o.ok(err)
		return l
	}
	played := func(want int) {
		t.Helper()
		o.ok(o.service.AuditDue(ctx))
		if audits != want {
			t.Errorf("%d audits, want %d", audits, want)
		}
	}
	l, err := o.service.Create(ctx, admin, sums())
	o.ok(err)
	if l.Audit != nil {
		t.Errorf("an unrated league waits: %+v", l.Audit)
	}
	played(0)
	change(rated)
	if l = change(func(l *arena.League) { l.Settings.Rated = false }); l.Audit != nil {
		t.Errorf("a league that is unrated again waits: %+v", l.Audit)
	}
	if l = change(rated); !l.Audit.Waits() {
		t.Error("a league that became rated does not wait")
	}
	played(1)
	if l = change(func(l *arena.League) { l.Title = "More sums" }); l.Audit.Waits() || l.AuditStale() {
		t.Errorf("a title changes an audit: %+v", l.Audit)
	}
	strict := func(l *arena.League) { l.Settings.Judge.Match = ""; l.Settings.Judge.Tolerance = 0.5 }
	if l = change(strict); !l.Audit.Waits() || !l.AuditStale() {
		t.Errorf("another judge: %+v", l.Audit)
	}
	played(2)
	_, err = o.service.Act(ctx, admin, "sums", arena.StartLeague)
	o.ok(err)
	if l = change(func(l *arena.League) { l.Settings.TimeLimit = time.Minute }); l.Audit.Waits() || !l.AuditStale() {
		t.Errorf("a league that runs: %+v", l.Audit)
	}
	played(2)
	_, err = o.service.Act(ctx, admin, "sums", arena.FinishLeague)
	o.ok(err)
	if l, err = o.service.Act(ctx, admin, "sums", arena.OpenLeague); err != nil || !l.Audit.Waits() {
		t.Errorf("opened again: %+v, %v", l.Audit, err)
	}
	played(3)
}

// A league whose audit comes to nothing opens, and has the reason. One that changes
// meanwhile waits on. One whose node stops is audited when its claim has ended.
func TestService_AuditDue_fails(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var o *office
	var play func() error
	o = auditOffice(t, func(arena.Settings) (arena.AuditReport, error) { return succeeds(arena.CheatLate), play() })
	league := func() arena.League {
		t.Helper()
		l, err := o.store.Leagues.League(t.Context(), "sums")
		o.ok(err)
		return l
	}
	_, err := o.service.Create(ctx, admin, sums(rated))
	o.ok(err)
	play = func() error {
		if l := league(); !l.Audit.Due.After(noon) {
			t.Errorf("not claimed: %+v", l.Audit)
		}
		_, err := o.service.Update(ctx, admin, "sums", func(l *arena.League) { l.Settings.TimeLimit = time.Minute })
		return err
	}
	o.ok(o.service.AuditDue(ctx))
	if l := league(); l.Status != arena.LeagueOpen || !l.Audit.Due.Equal(noon) || !l.AuditStale() {
		t.Errorf("changed meanwhile: %s, %+v", l.Status, l.Audit)
	}
	broken := errors.New("no port is free")
	play = func() error { return broken }
	if err := o.service.AuditDue(ctx); !errors.Is(err, broken) {
		t.Error(err)
	}
	if l := league(); l.Status != arena.LeagueOpen || l.Audit.Waits() || l.Audit.Reason == "" {
		t.Errorf("failed: %s, %+v", l.Status, l.Audit)
	}
	_, err = o.service.Update(ctx, admin, "sums", func(l *arena.League) { l.Settings.TimeLimit = 30 * time.Second })
	o.ok(err)
	play = func() error { stop(); return context.Canceled }
	if err := o.service.AuditDue(ctx); err == nil {
		t.Error("stopped without an error")
	}
	if l := league(); !l.Audit.Due.After(noon) {
		t.Errorf("stopped: %+v", l.Audit)
	}
	play = func() error { return errors.New("audited under the claim") }
	o.ok(o.service.AuditDue(t.Context()))
}
