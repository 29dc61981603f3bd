package match_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// rescorer is a judge that has looked at one match when it fails.
type rescorer struct {
	f      *fixture
	fail   error
	judged []string // by Matches
}

func (r *rescorer) Match(_ context.Context, id string) (arena.RescoreReport, error) {
	return arena.RescoreReport{Matches: 1, Changed: []arena.RescoredMatch{{MatchID: id}}, Failed: []string{}, Ratings: []arena.RatingMove{}, Kept: []arena.KeptMatch{}}, r.fail
}

func (r *rescorer) Matches(_ context.Context, slug string, ids []string) (arena.RescoreReport, error) {
	r.judged = append(r.judged, slug+" "+strings.Join(ids, " "))
	return arena.RescoreReport{Matches: len(ids), Changed: make([]arena.RescoredMatch, 1), Kept: []arena.KeptMatch{}, Settlements: 2}, r.fail
}

func (r *rescorer) Preview(_ context.Context, slug string, ids []string, answers map[string][]string) (arena.RescoreReport, error) {
	r.judged = append(r.judged, fmt.Sprintf("preview %s %s %v", slug, strings.Join(ids, " "), answers))
	return arena.RescoreReport{Matches: len(ids)}, r.fail
}

func (r *rescorer) League(context.Context, string) (arena.RescoreReport, error) {
	if r.fail != nil {
		return arena.RescoreReport{}, r.fail
	}
	return arena.RescoreReport{Matches: 2, Changed: []arena.RescoredMatch{}, Failed: []string{}, Ratings: []arena.RatingMove{}, Kept: []arena.KeptMatch{}}, nil
}

func (r *rescorer) Rebuild(ctx context.Context, slug string, audit ...func(int) (arena.AuditEntry, error)) (int, error) {
	done, err := r.f.store.Ratings.RebuildRatings(ctx, slug, nil, audit...)
	return done.Settlements, err
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
		`admin rescore-league quiz {"matches":2,"changed":[],"failed":[],"settlements":0,"ratings":[],"kept":[]}`,
		`admin rescore-match m_1 {"matches":1,"changed":[{"match_id":"m_1","seats":null}],"failed":[],"settlements":0,"ratings":[],"kept":[]}`,
		`admin rescore-match m_2 {"matches":1,"changed":[{"match_id":"m_2","seats":null}],"failed":[],"settlements":0,"ratings":[],"kept":[]}`,
	}
	log := f.audited()
	slices.Sort(log)
	if d := cmp.Diff(want, log); d != "" {
		t.Error(d)
	}
}

// The audit entry commits with the removal; matches that fail do not undo it.
func TestService_CorrectTask(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service()
	ctx := t.Context()
	f.ok(f.store.Packs.CreatePack(ctx, arena.Pack{ID: "pk_1", Name: "P", CreatedAt: start}, make([]arena.Task, 2)))
	if _, err := s.CorrectTask(ctx, alice, "pk_1", 0, true); arena.CodeOf(err) != arena.CodeForbidden {
		t.Errorf("an owner: %v", err)
	}
	if _, err := s.CorrectTask(ctx, admin, "pk_1", 0, true); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("a question that was not changed: %v", err)
	}
	_, err := f.store.Packs.ReplaceTask(ctx, "pk_1", 0, func(task *arena.Task) error { task.Answers = []string{"x"}; return nil })
	f.ok(err)
	for _, preview := range []bool{true, false} {
		correction, err := s.CorrectTask(ctx, admin, "pk_1", 0, preview)
		f.ok(err)
		if d := cmp.Diff(arena.TaskCorrection{Preview: preview, Leagues: []arena.LeagueRescore{}}, correction); d != "" {
			t.Errorf("preview %t, unused: %s", preview, d)
		}
		corrected, err := f.store.Packs.CorrectedAnswers(ctx, "pk_1")
		f.ok(err)
		if applied := len(corrected) == 1; applied == preview {
			t.Errorf("preview %t, applied %t", preview, applied)
		}
	}
	if d := cmp.Diff([]string{`admin correct-task pk_1 {"task":0}{"answer":["x"],"leagues":[]}`}, f.audited()); d != "" {
		t.Error(d)
	}
}

func TestService_RemoveTask(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service()
	ctx := t.Context()
	f.ok(f.store.Packs.CreatePack(ctx, arena.Pack{ID: "pk_1", Name: "P", CreatedAt: start}, make([]arena.Task, 2)))
	if _, err := s.RemoveTask(ctx, alice, "pk_1", 0); arena.CodeOf(err) != arena.CodeForbidden {
		t.Errorf("an owner: %v", err)
	}
	if _, err := s.RemoveTask(ctx, admin, "pk_1", 2); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("no such question: %v", err)
	}
	removal, err := s.RemoveTask(ctx, admin, "pk_1", 0)
	f.ok(err)
	if d := cmp.Diff(arena.TaskRemoval{Failed: []string{}, Leagues: []string{}}, removal); d != "" || len(f.rescorer.judged) != 0 {
		t.Errorf("unused: %s, %v", d, f.rescorer.judged)
	}
	if _, err := s.RemoveTask(ctx, admin, "pk_1", 1); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("the last question: %v", err)
	}
	if d := cmp.Diff([]string{`admin remove-task pk_1 {"task":0}`}, f.audited()); d != "" {
		t.Error(d)
	}
}
