package vote

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/visibility"
)

const (
	votersPerAddress = 20 // in one round: those behind one router
	tieWord          = "tie"
)

// Opener reads the open votes of matches.
type Opener interface {
	// Open returns the vote that is open on a match; ok is false when none is.
	Open(ctx context.Context, matchID string) (v visibility.Vote, ok bool, err error)
	// Last returns a match with its last round.
	Last(ctx context.Context, matchID string) (visibility.Match, arena.Round, error)
}

// Store keeps votes and guesses.
type Store interface {
	// SaveVote counts a vote; the last one of a voter counts. conflict: the round is
	// not open. rate_limited: perAddress others have voted from its address, or
	// arena.SiteFactor times as many from its site.
	SaveVote(ctx context.Context, v arena.Vote, perAddress int) error
	// AddGuess adds one to the spectators who gave an answer to a round.
	AddGuess(ctx context.Context, matchID string, round int, answer string) error
	// Guesses returns how many spectators gave each answer to the rounds of a match.
	Guesses(ctx context.Context, matchID string) ([]arena.GuessCount, error)
}

// Service is the service for votes.
type Service struct {
	Opener
	store  Store
	shared arena.SharedNetworks
	once   *quota.Quota // guesses
	now    func() time.Time
}

// New makes a Service. From a network that is not shared, one visitor without an
// account votes. once allows one guess on a round from each address.
func New(open Opener, store Store, shared arena.SharedNetworks, once *quota.Quota, now func() time.Time) *Service {
	return &Service{Opener: open, store: store, shared: shared, once: once, now: now}
}

// Cast stores one vote; the last one of an owner counts, or of a browser without an
// account (threat G5).
func (s *Service) Cast(ctx context.Context, caller arena.Caller, in arena.CastVote) (arena.CountedVote, error) {
	v, err := s.openTo(ctx, caller, in)
	if err != nil {
		return arena.CountedVote{}, err
	}
	counted := arena.CountedVote{ByName: caller.OwnerID == ""}
	cast := arena.Vote{MatchID: v.Match.ID, Round: v.Match.Round, At: s.now().UTC().Truncate(time.Millisecond)}
	if cast.Choice, cast.Other, counted.Other, err = read(v.Entries, in.Better, in.Other); err != nil {
		return arena.CountedVote{}, err
	}
	voter, group, most := in.Voter, "", votersPerAddress
	reason := fmt.Sprintf("%d people have voted on this round from your address, or %d from its site", most, most*arena.SiteFactor)
	switch {
	case !counted.ByName: // counted apart from visitors
		voter, group = caller.OwnerID, "account "
	case s.shared.Network(in.Address) != "":
		most, reason = 1, "someone without an account has voted on this round from your network; sign in to vote as well"
	}
	// Hashed with the match, so that votes on two matches cannot be linked.
	cast.Voter = sha256.Sum256([]byte(voter + " " + v.Match.ID))
	network, site := arena.AddressKeys(in.Address)
	cast.Address = sha256.Sum256([]byte(group + network + " " + v.Match.ID))
	if site != "" {
		cast.Site = sha256.Sum256([]byte(group + site + " " + v.Match.ID))
	}
	err = s.store.SaveVote(ctx, cast, most)
	if arena.CodeOf(err) == arena.CodeRateLimited {
		return arena.CountedVote{}, quota.Exceeded(int(math.Ceil(v.Until.Sub(cast.At).Seconds())), reason)
	}
	return counted, err
}

// openTo returns the open vote that the caller may take part in.
func (s *Service) openTo(ctx context.Context, caller arena.Caller, in arena.CastVote) (visibility.Vote, error) {
	v, ok, err := s.Open(ctx, in.MatchID)
	if err != nil {
		return v, err
	}
	if !ok || in.Round != v.Match.Round {
		return v, arena.Errorf(arena.CodeConflict, "no vote is open on round %d of match %s", in.Round, in.MatchID)
	}
	own := func(s arena.Seat) bool { return s.OwnerID == caller.OwnerID }
	if caller.OwnerID != "" && slices.ContainsFunc(v.Match.Seats, own) {
		return v, arena.Errorf(arena.CodeForbidden, "you cannot vote on a match of your own agents")
	}
	if v.Match.Settings.Judge.VoterAccounts && caller.OwnerID == "" {
		return v, arena.Errorf(arena.CodeUnauthorized, "a vote on this match needs the token of an owner")
	}
	return v, nil
}

// read returns the agents that the labels of a vote stand for. shown is the
// label of the answer that it was compared with, both of a tie.
func read(entries []arena.BlindAnswer, better, other string) (choice, against, shown string, err error) {
	var labels []string
	for _, e := range entries {
		labels = append(labels, e.Label)
	}
	agent := func(label string) (string, bool) {
		i := slices.Index(labels, label)
		if i < 0 {
			return "", false
		}
		return entries[i].AgentID, true
	}
	said := strings.Fields(other)
	if better == tieWord {
		if len(said) == 0 && len(labels) == 2 {
			said = labels
		}
		if len(said) != 2 || said[0] == said[1] || !slices.Contains(labels, said[0]) || !slices.Contains(labels, said[1]) {
			return "", "", "", arena.Invalid("other", "must name the two answers that are equal, of %s", strings.Join(labels, ", "))
		}
		one, _ := agent(said[0])
		two, _ := agent(said[1])
		return "", min(one, two) + " " + max(one, two), strings.Join(said, " "), nil
	}
	choice, ok := agent(better)
	if !ok {
		return "", "", "", arena.Invalid("better", "must be one of %s or %s", strings.Join(labels, ", "), tieWord)
	}
	rest := slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return l == better })
	if len(said) == 0 && len(rest) == 1 {
		said = rest
	}
	if len(said) != 1 || !slices.Contains(rest, said[0]) {
		return "", "", "", arena.Invalid("other", "must be one of %s: what the better answer was compared with", strings.Join(rest, ", "))
	}
	against, _ = agent(said[0])
	return choice, against, said[0], nil
}
