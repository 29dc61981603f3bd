package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/visibility"
)

// Store is what the handlers read and write. Errors are *arena.Error; times are
// UTC with milliseconds.
type Store interface {
	agentReads
	viewReads
	historyReads
	leagueReads
	seasonReads
	packReads
	judgeReads
	evidenceReads
	calendarReads
	lobbyReads
	operationReads
	auditStore
	bannerStore
	voteStore
}

// Visible reads matches as spectators may see them. There is no other way from
// here to a match, its rounds, answers, verdicts or events.
type Visible interface {
	Match(ctx context.Context, id string) (visibility.Match, error)
	Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) ([]visibility.Match, string, error)
	Rounds(ctx context.Context, m visibility.Match) ([]arena.Round, error)
	ClosedRounds(ctx context.Context, m visibility.Match) ([]visibility.ClosedRound, error)
	Verdicts(ctx context.Context, m visibility.Match) ([]arena.Verdict, error)
	Events(ctx context.Context, l visibility.Log, since int64, limit int) ([]arena.Event, error)
}

// Votes reads the open votes of spectators.
type Votes interface {
	// Open returns the vote that is open on a match; ok is false when none is.
	Open(ctx context.Context, matchID string) (v visibility.Vote, ok bool, err error)
}
