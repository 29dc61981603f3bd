package api

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/visibility"
)

// Store is what this room asks of storage. Errors are *arena.Error; times are
// UTC with milliseconds.
type Store interface {
	agentStore
	leagueStore
	voteStore
	judgeReads
	auditStore
	operationStore
	lobbyReads
	bannerStore
}

type agentStore interface {
	Agent(ctx context.Context, id string) (arena.Agent, error)
	Agents(ctx context.Context, f arena.AgentFilter, p arena.Page) ([]arena.Agent, string, error)
	AgentsByID(ctx context.Context, ids []string) (map[string]arena.Agent, error)
	Uptime(ctx context.Context, id string, since time.Time) ([]arena.UptimeDay, error)
	AgentRatings(ctx context.Context, ids []string) (map[string][]arena.Rating, error)
	Conformance(ctx context.Context, agentID string) (arena.Conformance, error)
	Conformances(ctx context.Context, ids []string) (map[string]arena.Conformance, error)
	AgentCauses(ctx context.Context, id string) (map[arena.Outcome]int, error)
	Opponents(ctx context.Context, id string) ([]arena.OpponentRecord, error)
	RatingHistory(ctx context.Context, id, league string, limit int) ([]arena.RatingPoint, error)
	AgentResults(ctx context.Context, agentID string, matches int) ([]arena.ResultCount, error)
	AgentClaims(ctx context.Context, agentID, league string, limit int) ([]arena.Claim, error)
	Dodges(ctx context.Context, league string, agentIDs []string) ([]arena.Dodge, error)
	Deliveries(ctx context.Context, f arena.DeliveryFilter, p arena.Page) ([]arena.Delivery, string, error)
}

type leagueStore interface {
	League(ctx context.Context, slug string) (arena.League, error)
	Leagues(ctx context.Context) ([]arena.League, error)
	Standings(ctx context.Context, league string, now time.Time) ([]arena.Standing, error)
	Fit(ctx context.Context, league string) (arena.Fit, error)
	Evidence(ctx context.Context, league string, limit int) (arena.Evidence, error)
	Season(ctx context.Context, league string, no int) (arena.Season, []arena.Pairing, error)
	Seasons(ctx context.Context, league string, p arena.Page) ([]arena.Season, string, error)
	SeasonDays(ctx context.Context, from, to time.Time) ([]arena.SeasonDay, error)
	Pack(ctx context.Context, id string) (arena.Pack, error)
	Packs(ctx context.Context, p arena.Page) ([]arena.Pack, string, error)
}

type auditStore interface {
	Audit(ctx context.Context, e arena.AuditEntry) error
	AuditLog(ctx context.Context, f arena.AuditFilter, p arena.Page) ([]arena.AuditEntry, string, error)
}

type operationStore interface {
	Counts(ctx context.Context) (arena.Counts, error)
	Operations(ctx context.Context) (arena.Operations, error)
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
