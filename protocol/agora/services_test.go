package agora_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
	"github.com/agora-arena/arena/visibility/visibilitytest"
)

// services stand in for accounts, agents and public reads.
type services struct {
	t    *testing.T
	mu   sync.Mutex
	seen []string // what was asked that changes something
	down bool
	busy bool // the quotas are used up
}

// Identify holds the tokens aro_1 and aro_fresh.
func (s *services) Identify(_ context.Context, c arena.Credentials) (arena.Caller, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Address != "192.0.2.7" {
		s.t.Errorf("a request counts for %s", c.Address)
	}
	switch {
	case s.down:
		return arena.Caller{}, errors.New("broken")
	case s.busy:
		return arena.Caller{}, arena.Errorf(arena.CodeRateLimited, "slow down")
	case !c.Given:
		return arena.Caller{}, nil
	case c.Secret == "aro_1":
		return arena.Caller{TokenID: "to_1", OwnerID: "ow_1", Scope: arena.ScopeOwner}, nil
	case c.Secret == "aro_fresh":
		return arena.Caller{TokenID: "to_9", OwnerID: "ow_9", Scope: arena.ScopeOwner}, nil
	}
	return arena.Caller{}, arena.Errorf(arena.CodeUnauthorized, "no such token")
}

func (s *services) SignUp(_ context.Context, caller arena.Caller, in arena.SignUp) (arena.Owner, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, fmt.Sprintf("sign-up by %q: %+v", caller.OwnerID, in))
	return arena.Owner{ID: "ow_9", Name: in.Name}, "aro_fresh", nil
}

func (s *services) Register(_ context.Context, caller arena.Caller, in arena.Registration) (g arena.Agent, key string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, fmt.Sprintf("register by %q: %+v", caller.OwnerID, in))
	if in.Name == "taken" {
		return g, "", &arena.Error{Code: arena.CodeNameTaken, Message: "the owner has an agent of that name", Fields: []arena.FieldError{{Field: "name", Message: "bad"}}}
	}
	return arena.Agent{ID: "ag_9", OwnerID: caller.OwnerID, Protocol: in.Protocol}, "", nil
}

func (s *services) Own(_ context.Context, caller arena.Caller, id string) (arena.Agent, error) {
	g := arena.Agent{ID: id, OwnerID: "ow_1", Protocol: arena.ProtocolAgora}
	switch id {
	case "ag_a", "ag_b":
	case "ag_old":
		g.RetiredAt = time.Now()
	case "ag_aap":
		g.Protocol = arena.ProtocolAAP
	default:
		return arena.Agent{}, arena.Errorf(arena.CodeNotFound, "you have no agent %s", id)
	}
	if !caller.Owns(g.OwnerID) {
		return arena.Agent{}, arena.Errorf(arena.CodeNotFound, "you have no agent %s", id)
	}
	return g, nil
}

func (s *services) Leagues(context.Context) ([]arena.League, error) {
	return []arena.League{
		{Slug: "trivia", Title: "General Trivia", Status: arena.LeagueRunning, Settings: arena.Settings{
			Format: arena.FormatLadder, Judge: arena.JudgeSpec{Kind: arena.JudgeExact}, Rated: true, Rounds: 5, TimeLimit: 30 * time.Second, Rules: []string{"be kind"},
		}},
		{Slug: "sums", Title: "Sums", Status: arena.LeagueFrozen, Settings: arena.Settings{
			Format: arena.FormatSwiss, Judge: arena.JudgeSpec{Kind: arena.JudgeNumber}, TimeLimit: 10 * time.Second,
		}},
	}, nil
}

func (s *services) League(ctx context.Context, slug string) (arena.League, error) {
	leagues, _ := s.Leagues(ctx)
	for _, l := range leagues {
		if l.Slug == slug {
			return l, nil
		}
	}
	return arena.League{}, arena.Errorf(arena.CodeNotFound, "there is no league %s", slug)
}

func (s *services) Standings(_ context.Context, slug string, _ time.Time) ([]arena.Standing, error) {
	if slug != "trivia" {
		s.t.Errorf("the hidden table of %s was read", slug)
	}
	return []arena.Standing{
		{Rank: 1, Agent: arena.Agent{ID: "ag_a", Name: "Ann"}, Rating: arena.Rating{MilliElo: 1_620_500, Matches: 12, Wins: 9, Draws: 1, Losses: 2}},
		{Agent: arena.Agent{ID: "ag_b", Name: "Bob"}, Rating: arena.Rating{MilliElo: arena.StartRating, Matches: 30}},
	}, nil
}

// Match returns a match as spectators see it.
func (s *services) Match(_ context.Context, id string) (visibility.Match, error) {
	if id != "m_1" {
		return visibility.Match{}, arena.Errorf(arena.CodeNotFound, "there is no match %s", id)
	}
	return visibilitytest.Match(arena.Match{
		ID: "m_1", League: "trivia", Status: arena.MatchRunning, Settings: arena.Settings{Rated: true}, Round: 2,
		CreatedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Seats:     []arena.Seat{{AgentID: "ag_a", Name: "Ann", Points: 1500}, {AgentID: "ag_b", Name: "Bob", Points: 500}},
	}), nil
}

func (s *services) Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) ([]visibility.Match, string, error) {
	m, err := s.Match(ctx, "m_1")
	if f.League != "sums" && slices.Contains(f.Statuses, arena.MatchScheduled) && slices.Contains(f.Statuses, arena.MatchReady) {
		at := time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)
		later := arena.Match{ID: "m_3", League: "trivia", Status: arena.MatchScheduled, StartsAt: at.Add(time.Hour)}
		first := arena.Match{ID: "m_2", League: "trivia", Status: arena.MatchScheduled, StartsAt: at, Seats: []arena.Seat{{AgentID: "ag_a", Name: "Ann"}, {AgentID: "ag_b", Name: "Bob"}}}
		return []visibility.Match{visibilitytest.Match(later), visibilitytest.Match(first)}, "", nil
	}
	if p.Limit < 1 || f.League == "sums" || len(f.Statuses) == 1 && f.Statuses[0] != arena.MatchRunning {
		return nil, "", err
	}
	return []visibility.Match{m}, "", err
}
