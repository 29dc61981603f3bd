package registry_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// play is a rehearsal in which one round cost 40 tokens.
func (s *service) play(_ context.Context, r arena.Rehearsal) (arena.RehearsalReport, error) {
	s.rehearsed = r
	answer := "4"
	return arena.RehearsalReport{Rounds: []arena.RehearsedRound{{No: 1, Answer: &answer, Tokens: 40}}}, s.full
}

func TestService_Rehearse(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	rehearse := func(caller arena.Caller, in arena.RehearsalRequest) error {
		_, _, err := s.Rehearse(t.Context(), caller, g.ID, in)
		return err
	}
	quiz := arena.RehearsalRequest{League: "quiz"}
	s.fails(rehearse(bob(), quiz), arena.CodeNotFound)
	s.fails(rehearse(alice(), arena.RehearsalRequest{League: "poetry"}), arena.CodeInvalid)
	s.fails(rehearse(alice(), arena.RehearsalRequest{League: "quiz", Rounds: 6}), arena.CodeInvalid)
	if s.checks > 0 || len(s.audited()) > 0 {
		t.Errorf("counted %d, audited %v", s.checks, s.audited())
	}

	s.ok(rehearse(alice(), quiz))
	if r := s.rehearsed; r.Agent.ID != g.ID || r.League.Slug != "quiz" || r.Rounds != 0 || !slices.Equal(r.Faults, arena.Faults()) {
		t.Errorf("played %+v", r)
	}
	s.ok(rehearse(admin(), arena.RehearsalRequest{League: "quiz", Faults: []arena.Fault{}, Rounds: 3}))
	if r := s.rehearsed; r.Rounds != 3 || len(r.Faults) != 0 {
		t.Errorf("played %+v", r)
	}
	s.full = arena.Errorf(arena.CodeInternal, "broken")
	s.fails(rehearse(alice(), quiz), arena.CodeInternal)
	want := []string{"admin to_admin rehearse ag_ant  ", "ow_alice to_alice rehearse ag_ant  "}
	if got := s.audited(); !slices.Equal(got, want) {
		t.Errorf("audited %q, want %q", got, want)
	}
	s.most = s.checks
	s.fails(rehearse(alice(), quiz), arena.CodeRateLimited)
}

// An agent that plays as much as it can is left alone.
func TestService_Rehearse_busy(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	m := arena.Match{ID: "m_1", League: "quiz", Status: arena.MatchScheduled, Seats: []arena.Seat{{AgentID: g.ID}}, CreatedAt: start, StartsAt: start}
	_, err := s.store.Matches.CreateMatch(t.Context(), m, arena.Event{MatchID: m.ID, At: start, Type: arena.EventMatchScheduled, Body: []byte("{}")})
	s.ok(err)
	_, err = s.store.Matches.ClaimMatches(t.Context(), "nd_1", time.Minute, 1, nil)
	s.ok(err)
	_, _, err = s.Rehearse(t.Context(), alice(), g.ID, arena.RehearsalRequest{League: "quiz"})
	s.fails(err, arena.CodeAgentNotReady)
}
