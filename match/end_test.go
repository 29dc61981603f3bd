package match_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

func TestService_end(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service()
	agents := []arena.Agent{f.agent("ann", "alice"), f.agent("bob", "bob")}
	schedule := func(id string) arena.Match {
		m, err := s.Schedule(t.Context(), arena.MatchPlan{ID: id, League: "quiz", Agents: agents})
		f.ok(err)
		return m
	}
	waiting, running := schedule("m_waiting"), schedule("m_running")
	f.ok(s.Cancel(t.Context(), admin, waiting.ID, ""))
	claimed, err := f.store.Matches.ClaimMatches(t.Context(), "nd_1", time.Hour, 10, nil)
	f.ok(err)
	if len(claimed) != 1 || claimed[0].ID != running.ID {
		t.Fatalf("claimed %+v", claimed)
	}
	unneeded := schedule("m_unneeded")
	f.published()

	for name, err := range map[string]error{
		"canceling twice":           s.Cancel(t.Context(), admin, waiting.ID, ""),
		"canceling a running match": s.Cancel(t.Context(), admin, running.ID, ""),
		"voiding a canceled match":  s.Void(t.Context(), admin, waiting.ID, ""),
	} {
		if arena.CodeOf(err) != arena.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, err := range map[arena.Code]error{
		arena.CodeForbidden: s.Void(t.Context(), alice, running.ID, ""),
		arena.CodeNotFound:  s.Void(t.Context(), admin, "m_none", ""),
		arena.CodeInvalid:   s.Void(t.Context(), admin, running.ID, "two\nlines"),
	} {
		if arena.CodeOf(err) != want {
			t.Errorf("want %s: %v", want, err)
		}
	}
	f.ok(s.CancelUnstarted(t.Context(), running, arena.VoidSeasonFinished)) // stays
	if got := f.published(); got != nil {
		t.Errorf("published %q", got)
	}
	f.ok(s.Void(t.Context(), admin, running.ID, "power cut"))
	f.ok(s.CancelUnstarted(t.Context(), unneeded, arena.VoidSeasonFinished))
	want := []string{
		`quiz m_running 2 match_void {"league":"quiz","reason":"power cut","void_code":"operator"}`,
		`quiz m_unneeded 2 match_void {"league":"quiz","reason":"the season was finished","void_code":"season_finished"}`,
	}
	if d := cmp.Diff(want, f.published()); d != "" {
		t.Error(d)
	}
	for id, want := range map[string]arena.MatchStatus{waiting.ID: arena.MatchCancelled, running.ID: arena.MatchVoid, unneeded.ID: arena.MatchCancelled} {
		if m := f.stored(id); m.Status != want || !m.FinishedAt.Equal(start) {
			t.Errorf("%s is %s since %v, want %s", id, m.Status, m.FinishedAt, want)
		}
	}
	if m := f.stored(waiting.ID); m.VoidReason.Code != arena.CancelledByAdmin {
		t.Errorf("reason %q", m.VoidReason)
	}
	log := f.audited()
	if want := []string{"admin cancel-match m_waiting ", "admin void-match m_running "}; len(log) != 2 ||
		cmp.Diff(want, log) != "" && cmp.Diff(want, []string{log[1], log[0]}) != "" { // of one millisecond: in any order
		t.Errorf("audited %q", log)
	}
}
