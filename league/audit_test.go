package league_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
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
