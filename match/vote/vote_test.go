package vote_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/match/vote"
	"github.com/agora-arena/arena/visibility"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// votes are open votes by match, and the rows that were stored.
type votes struct {
	open   map[string]visibility.Vote
	stored []arena.Vote
	err    error

	last    map[string]visibility.Match // by id
	guessed []string
}

func (v *votes) Last(_ context.Context, matchID string) (visibility.Match, arena.Round, error) {
	m, ok := v.last[matchID]
	if !ok {
		return m, arena.Round{}, arena.Errorf(arena.CodeNotFound, "no match %s", matchID)
	}
	return m, arena.Round{Task: arena.Task{Description: "?", Options: []string{"x", "y", "z"}}}, nil
}

func (v *votes) AddGuess(_ context.Context, _ string, _ int, answer string) error {
	v.guessed = append(v.guessed, answer)
	return nil
}

func (*votes) Guesses(context.Context, string) ([]arena.GuessCount, error) {
	return []arena.GuessCount{{Round: 1, Answer: "A", N: 3}, {Round: 2, Answer: "B", N: 1}}, nil
}

func (v *votes) Open(_ context.Context, matchID string) (visibility.Vote, bool, error) {
	open, ok := v.open[matchID]
	return open, ok, nil
}

func (v *votes) SaveVote(_ context.Context, cast arena.Vote, _ int) error {
	v.stored = append(v.stored, cast)
	return v.err
}

func newVotes(t *testing.T) (*vote.Service, *votes) {
	t.Helper()
	v := &votes{open: map[string]visibility.Vote{}}
	for id, accounts := range map[string]bool{"m_open": false, "m_accounts": true} {
		o := visibility.Vote{Until: start.Add(90 * time.Second), Entries: []arena.BlindAnswer{{Label: "A", AgentID: "ag_2"}, {Label: "B", AgentID: "ag_1"}, {Label: "C", AgentID: "ag_3"}}}
		o.Match.ID, o.Match.Round, o.Match.Settings.Judge.VoterAccounts = id, 2, accounts
		o.Match.Seats = []arena.Seat{{AgentID: "ag_1", OwnerID: "ow_alice"}}
		v.open[id] = o
	}
	s := vote.New(v, v, nil, quota.New(quota.Options{Now: func() time.Time { return start }}).Crowd, func() time.Time { return start })
	return s, v
}

func TestService_Cast(t *testing.T) {
	t.Parallel()
	visitor, bob := arena.Caller{}, arena.Caller{OwnerID: "ow_bob"}
	s, v := newVotes(t)
	for _, c := range []struct {
		name          string
		caller        arena.Caller
		match         string
		round         int
		better, other string
		code          arena.Code // "": it counts
	}{
		{"no such vote", visitor, "m_none", 2, "A", "B", arena.CodeConflict},
		{"another round", visitor, "m_open", 1, "A", "B", arena.CodeConflict},
		{"own agents", arena.Caller{OwnerID: "ow_alice"}, "m_open", 2, "A", "B", arena.CodeForbidden},
		{"no account", visitor, "m_accounts", 2, "A", "B", arena.CodeUnauthorized},
		{"no such label", visitor, "m_open", 2, "D", "B", arena.CodeInvalid},
		{"against itself", visitor, "m_open", 2, "A", "A", arena.CodeInvalid},
		{"against one of three", visitor, "m_open", 2, "A", "", arena.CodeInvalid},
		{"a tie of one", visitor, "m_open", 2, "tie", "A", arena.CodeInvalid},
		{"a winner", visitor, "m_open", 2, "A", "B", ""},
		{"a tie", visitor, "m_open", 2, "tie", "A B", ""},
		{"by an account", bob, "m_accounts", 2, "C", "A", ""},
	} {
		counted, err := s.Cast(t.Context(), c.caller, arena.CastVote{MatchID: c.match, Round: c.round, Better: c.better, Other: c.other, Voter: "v", Address: "192.0.2.1"})
		if arena.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %q", c.name, err, c.code)
		}
		if err == nil && (counted.Other != c.other || counted.ByName != (c.match == "m_open")) {
			t.Errorf("%s: %+v", c.name, counted)
		}
	}
	if len(v.stored) != 3 {
		t.Fatalf("stored %+v", v.stored)
	}
	winner, tie, account := v.stored[0], v.stored[1], v.stored[2]
	if winner.Choice != "ag_2" || winner.Other != "ag_1" || tie.Choice != "" || tie.Other != "ag_1 ag_2" || account.Choice != "ag_3" {
		t.Errorf("stored %+v", v.stored)
	}
	if winner.Voter != tie.Voter || winner.Voter == account.Voter || winner.Address == account.Address {
		t.Error("a voter is the same in one match and unknown in the other")
	}

	v.err = arena.Errorf(arena.CodeRateLimited, "too many")
	_, err := s.Cast(t.Context(), bob, arena.CastVote{MatchID: "m_open", Round: 2, Better: "A", Other: "B", Voter: "v", Address: "192.0.2.1"})
	if e, ok := errors.AsType[*arena.Error](err); !ok || e.Code != arena.CodeRateLimited || e.RetrySeconds() != 90 {
		t.Errorf("%v", err)
	}
}
