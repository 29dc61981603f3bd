package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// agentView is the Agent object of the contract.
type agentView struct {
	AgentID     string                     `json:"agent_id"`
	Name        string                     `json:"name"`
	OwnerID     string                     `json:"owner_id"`
	OwnerName   string                     `json:"owner_name"`
	Protocol    string                     `json:"protocol" enum:"aap,agora,envelope,agentprotocol,a2a"`
	Endpoint    string                     `json:"endpoint,omitempty" doc:"Only for its owner and admins."`
	Pull        bool                       `json:"pull,omitempty" doc:"An aap agent without an endpoint: it fetches its tasks."`
	Concurrent  int                        `json:"max_concurrent,omitempty" doc:"Of an agent that fetches its tasks: how many it works on at once, as it was registered."`
	PublicKey   string                     `json:"public_key,omitempty"`
	Challenge   string                     `json:"key_challenge,omitempty" doc:"The text to sign for POST /v1/agents/{id}/key; only for its owner and admins, until the key is proved."`
	PauseAfter  *int                       `json:"pause_after,omitempty" doc:"Failed rounds in a row that pause it, 0: none do; only for its owner and admins."`
	Leagues     []string                   `json:"leagues" doc:"Slugs of the leagues it has entered."`
	Version     string                     `json:"version" doc:"Its owner's word; empty: none was declared."`
	Description string                     `json:"description,omitempty"`
	Status      arena.AgentStatus          `json:"status" enum:"pending,active,paused,retired"`
	Pause       *pauseView                 `json:"pause,omitempty" doc:"Present while paused."`
	Health      healthView                 `json:"health"`
	Ratings     map[string]agentRatingView `json:"ratings" doc:"By league."`
	Outcomes    map[arena.Outcome]int      `json:"outcomes,omitempty" doc:"Rounds of matches that are over, by outcome; only in the answer for one agent."`
	Dodges      []dodgeView                `json:"dodges,omitempty" doc:"Rounds it skipped without a loss, in its last 20 matches of each league; only in the answer for one agent."`
	Manifest    json.RawMessage            `json:"manifest,omitempty" doc:"The capability manifest that an agent of protocol envelope published last, as it signed it; only in the answer for one agent."`
	Conformance *conformanceView           `json:"conformance,omitempty" doc:"Its last full check. Absent: there was none."`
	Running     int                        `json:"running" doc:"Seats it holds in running matches."`
	CreatedAt   jsonTime                   `json:"created_at"`
	RetiredAt   *jsonTime                  `json:"retired_at,omitempty"`
}

type pauseView struct {
	Reason arena.PauseReason `json:"reason" enum:"admin,owner,expired,health,failing,rate_limit"`
	Since  jsonTime          `json:"since"`
	Until  *jsonTime         `json:"until,omitempty" doc:"Absent: until it is lifted."`
}

type dodgeView struct {
	League         string    `json:"league"`
	Count          int       `json:"count" doc:"Answers of 503, and of 429 after the first counted round."`
	SuspendedUntil *jsonTime `json:"suspended_until,omitempty" doc:"Until then the league's own pairing leaves it out. Absent: it does not."`
}

type healthView struct {
	OK            bool      `json:"ok"`
	CheckedAt     *jsonTime `json:"checked_at,omitempty" doc:"Absent: never checked."`
	LatencyMS     float64   `json:"latency_ms" doc:"Measured by the last check."`
	DeclaredMS    float64   `json:"declared_latency_ms,omitempty" doc:"Self-reported, its avg_latency_ms. Absent: nothing."`
	Reason        string    `json:"reason,omitempty" doc:"A stable code of the fault."`
	Detail        string    `json:"detail,omitempty" doc:"One sentence; only for its owner and admins."`
	Capabilities  []string  `json:"capabilities" doc:"Leagues that the agent says it plays."`
	MaxConcurrent int       `json:"max_concurrent"`
}

type agentRatingView struct {
	Rating       arena.MilliElo `json:"rating"`
	RatedMatches int            `json:"rated_matches"`
	Provisional  bool           `json:"provisional"`
	Rank         int            `json:"rank,omitempty" minimum:"1" doc:"Absent: not ranked, or the league is frozen."`
	Wins         int            `json:"wins"`
	Draws        int            `json:"draws"`
	Losses       int            `json:"losses"`
}

// agentViews makes agentViews of agents, as the caller may see them.
type agentViews struct {
	rows   viewReads
	agents Agents
	clock  func() time.Time
	ranks  rankCache
}

// viewReads are the rows that agentViews read.
type viewReads interface {
	AgentRatings(ctx context.Context, ids []string) (map[string][]arena.Rating, error)
	Conformances(ctx context.Context, ids []string) (map[string]arena.Conformance, error)
	League(ctx context.Context, slug string) (arena.League, error)
	Standings(ctx context.Context, league string, now time.Time) ([]arena.Standing, error)
}

// now is the clock in the form that is stored.
func (v *agentViews) now() time.Time { return v.clock().UTC().Truncate(time.Millisecond) }

// of returns agents with their ratings and ranks.
func (v *agentViews) of(ctx context.Context, agents []arena.Agent) ([]agentView, error) {
	ids := make([]string, len(agents))
	for i, g := range agents {
		ids[i] = g.ID
	}
	ratings, err := v.rows.AgentRatings(ctx, ids)
	if err != nil {
		return nil, err
	}
	conformance, err := v.rows.Conformances(ctx, ids)
	if err != nil {
		return nil, err
	}
	leagues := map[string]map[string]int{} // slug -> agent -> rank
	for _, list := range ratings {
		for _, r := range list {
			leagues[r.League] = nil
		}
	}
	for slug := range leagues {
		if leagues[slug], err = v.ranksOf(ctx, slug); err != nil {
			return nil, err
		}
	}
	views := make([]agentView, len(agents))
	for i, g := range agents {
		views[i] = v.one(ctx, g)
		if c, ok := conformance[g.ID]; ok {
			views[i].Conformance = viewConformance(c)
		}
		for _, r := range ratings[g.ID] {
			rating := ratingView(r)
			rating.Rank = leagues[r.League][g.ID]
			views[i].Ratings[r.League] = rating
		}
	}
	return views, nil
}

func (v *agentViews) one(ctx context.Context, g arena.Agent) agentView {
	now := v.now()
	view := agentView{
		AgentID: g.ID, Name: g.Name, OwnerID: g.OwnerID, OwnerName: g.OwnerName, Protocol: g.Protocol,
		Pull: g.Pulls(), PublicKey: g.PublicKey, Leagues: orEmpty(g.Leagues), Version: g.Version, Description: g.Description,
		Status: g.StatusAt(now), Running: g.Running,
		CreatedAt: jsonTime(g.CreatedAt), RetiredAt: optionalTime(g.RetiredAt),
		Ratings: map[string]agentRatingView{},
		Health: healthView{
			OK: g.Health.OK, CheckedAt: optionalTime(g.Health.CheckedAt), LatencyMS: milliseconds(g.Health.Latency),
			DeclaredMS: milliseconds(g.Health.DeclaredLatency),
			Reason:     g.Health.Reason, Capabilities: orEmpty(g.Health.Capabilities), MaxConcurrent: max(1, g.Health.MaxConcurrent),
		},
	}
	if view.Pull {
		view.Concurrent = max(1, g.PullConcurrent)
	}
	if p, paused := g.PauseAt(now); paused && view.Status == arena.AgentPaused {
		view.Pause = &pauseView{Reason: p.Reason, Since: jsonTime(p.Since), Until: optionalTime(p.Until)}
	}
	if callerOf(ctx).Owns(g.OwnerID) {
		view.Endpoint, view.Health.Detail, view.Challenge = g.Endpoint, g.Health.Detail, v.agents.KeyChallenge(g)
		view.PauseAfter = &g.PauseAfter
	}
	return view
}

func ratingView(r arena.Rating) agentRatingView {
	return agentRatingView{
		Rating: r.MilliElo, RatedMatches: r.Matches, Provisional: r.Provisional(),
		Wins: r.Wins, Draws: r.Draws, Losses: r.Losses,
	}
}

// answer answers with one agent.
func (v *agentViews) answer(ctx context.Context, g arena.Agent) (*output[agentView], error) {
	views, err := v.of(ctx, []arena.Agent{g})
	if err != nil {
		return nil, err
	}
	return answer(views[0])
}

// rankCache holds the ranks of each league for a moment: an agent's page and
// lists of agents need them, and a whole table is much to compute for that.
// The table itself is never cached.
type rankCache struct {
	mu      sync.Mutex
	leagues map[string]cachedRanks
}

type cachedRanks struct {
	until time.Time
	ranks map[string]int // agent id -> rank
}

const ranksFor = 3 * time.Second

// ranksOf returns the ranks of a league's ranked agents; none while its table
// is frozen.
func (v *agentViews) ranksOf(ctx context.Context, slug string) (map[string]int, error) {
	now := v.now()
	v.ranks.mu.Lock()
	cached, ok := v.ranks.leagues[slug]
	v.ranks.mu.Unlock()
	if ok && now.Before(cached.until) {
		return cached.ranks, nil
	}
	l, err := v.rows.League(ctx, slug)
	if err != nil {
		return nil, err
	}
	ranks := map[string]int{}
	if l.Status != arena.LeagueFrozen {
		standings, err := v.rows.Standings(ctx, slug, now)
		if err != nil {
			return nil, err
		}
		for _, s := range standings {
			if s.Rank > 0 {
				ranks[s.Agent.ID] = s.Rank
			}
		}
	}
	v.ranks.mu.Lock()
	defer v.ranks.mu.Unlock()
	if v.ranks.leagues == nil {
		v.ranks.leagues = map[string]cachedRanks{}
	}
	v.ranks.leagues[slug] = cachedRanks{until: now.Add(ranksFor), ranks: ranks}
	return ranks, nil
}

// orEmpty makes a nil list an empty one: the contract knows no null lists.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// sortedKeys returns the keys of a map in order, for stable answers.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func orElse[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
