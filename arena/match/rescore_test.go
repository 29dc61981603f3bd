package match_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// rescorer is a judge that has looked at one match when it fails.
type rescorer struct {
	f    *fixture
	fail error
}

func (r *rescorer) Match(_ context.Context, id string) (arena.RescoreReport, error) {
	return arena.RescoreReport{Matches: 1, Changed: []arena.RescoredMatch{{MatchID: id}}, Failed: []string{}}, r.fail
}

func (r *rescorer) League(context.Context, string) (arena.RescoreReport, error) {
	if r.fail != nil {
		return arena.RescoreReport{}, r.fail
	}
	return arena.RescoreReport{Matches: 2, Changed: []arena.RescoredMatch{}, Failed: []string{}}, nil
}

func (r *rescorer) Rebuild(ctx context.Context, slug string, audit ...func(int) (arena.AuditEntry, error)) (int, error) {
	return r.f.store.RebuildRatings(ctx, slug, nil, audit...)
}

func TestService_Rescore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service()
	ctx := t.Context()
	for name, act := range map[string]func(arena.Caller) error{
		"match":   func(c arena.Caller) error { _, err := s.Rescore(ctx, c, "m_1"); return err },
		"league":  func(c arena.Caller) error { _, err := s.RescoreLeague(ctx, c, "quiz"); return err },
		"ratings": func(c arena.Caller) error { _, err := s.RebuildRatings(ctx, c, "quiz"); return err },
	} {
		if err := act(alice); arena.CodeOf(err) != arena.CodeForbidden {
			t.Errorf("%s, by an owner: %v", name, err)
		}
		if err := act(admin); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.RebuildRatings(ctx, admin, "none"); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("ratings of no league: %v", err)
	}
	// What was judged before a failure is audited; nothing is not.
	f.rescorer.fail = errors.New("disk on fire")
	if report, err := s.Rescore(ctx, admin, "m_2"); !errors.Is(err, f.rescorer.fail) || report.Matches != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := s.RescoreLeague(ctx, admin, "quiz"); !errors.Is(err, f.rescorer.fail) {
		t.Error(err)
	}
	want := []string{
		`admin rebuild-ratings quiz {"league":"quiz","settlements":0}`,
		`admin rescore-league quiz {"matches":2,"changed":[],"failed":[],"settlements":0}`,
		`admin rescore-match m_1 {"matches":1,"changed":[{"match_id":"m_1","seats":null}],"failed":[],"settlements":0}`,
		`admin rescore-match m_2 {"matches":1,"changed":[{"match_id":"m_2","seats":null}],"failed":[],"settlements":0}`,
	}
	log := f.audited()
	slices.Sort(log)
	if d := cmp.Diff(want, log); d != "" {
		t.Error(d)
	}
}
