package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// agentView is the Agent object of the contract.
type agentView struct {
	AgentID     string                     `json:"agent_id"`
	Name        string                     `json:"name"`
	OwnerID     string                     `json:"owner_id"`
	OwnerName   string                     `json:"owner_name"`
	Protocol    string                     `json:"protocol" enum:"aap,agora,envelope,agentprotocol,a2a,built_in"`
	BuiltIn     bool                       `json:"built_in,omitempty" doc:"It comes with the program: it has no owner and no rank."`
	Endpoint    string                     `json:"endpoint,omitempty" doc:"Only for its owner and admins."`
	Pull        bool                       `json:"pull,omitempty" doc:"An aap agent without an endpoint: it fetches its tasks."`
	Concurrent  int                        `json:"max_concurrent,omitempty" doc:"Of an agent that fetches its tasks: how many it works on at once, as it was registered."`
	PublicKey   string                     `json:"public_key,omitempty"`
	Challenge   string                     `json:"key_challenge,omitempty" doc:"The text to sign for POST /v1/agents/{id}/key; only for its owner and admins, until the key is proved."`
	PauseAfter  *int                       `json:"pause_after,omitempty" doc:"Failed rounds in a row that pause it, 0: none do; only for its owner and admins."`
	Leagues     []string                   `json:"leagues" doc:"Slugs of the leagues it has entered."`
	Version     string                     `json:"version" doc:"Its owner's word; empty: none was declared."`
	Model       string                     `json:"model,omitempty" doc:"The language model or framework that answers, as its owner declares it. Absent: none was declared."`
	Mark        string                     `json:"mark,omitempty" doc:"The shape and color of its avatar, such as star-teal, as its owner chose them. Absent: they are made from its id."`
	Description string                     `json:"description,omitempty"`
	Status      arena.AgentStatus          `json:"status" enum:"pending,active,paused,retired"`
	Pause       *pauseView                 `json:"pause,omitempty" doc:"Present while paused."`
	Cooldown    string                     `json:"cooldown,omitempty" enum:"budget,hours" doc:"Why an active agent takes no seats now: its owner's budget is used, or it is outside its playing hours."`
	Budget      *budgetView                `json:"budget,omitempty" doc:"Only for its owner and admins. Absent: it has no limits."`
	Health      healthView                 `json:"health"`
	Ratings     map[string]agentRatingView `json:"ratings" doc:"By league."`
	Outcomes    map[arena.Outcome]int      `json:"outcomes,omitempty" doc:"Rounds of matches that are over, by outcome; only in the answer for one agent."`
	NoShows     []noShowView               `json:"dodges,omitempty" doc:"Rounds it skipped without a loss, and matches that its owner withdrew it from after the pairing, in its last 20 matches of each league; only in the answer for one agent."`
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

type noShowView struct {
	League         string    `json:"league"`
	Count          int       `json:"count" doc:"Answers of 503 and first answers of 429 in a match, and matches that its owner withdrew it from between pairing and start."`
	SuspendedUntil *jsonTime `json:"suspended_until,omitempty" doc:"Until then the league's own pairing leaves it out. Absent: it does not."`
}

type healthView struct {
	OK            bool      `json:"ok"`
	CheckedAt     *jsonTime `json:"checked_at,omitempty" doc:"Absent: never checked."`
	LatencyMS     float64   `json:"latency_ms" doc:"Measured by the last check."`
	DeclaredMS    float64   `json:"declared_latency_ms,omitempty" doc:"Self-reported, its avg_latency_ms. Absent: nothing."`
	Reason        string    `json:"reason,omitempty" doc:"A stable code of the fault."`
	Detail        string    `json:"detail,omitempty" doc:"One sentence; only for its owner and admins."`
	Capabilities  []string  `json:"capabilities" doc:"Leagues that the agent says it plays. Empty: all that it enters."`
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
	rows   Rows
	agents Agents
	clock  func() time.Time
	ranks  rankCache
}

// now returns the current time in UTC, truncated to milliseconds.
func (v *agentViews) now() time.Time { return v.clock().UTC().Truncate(time.Millisecond) }

// of returns agents with their ratings and ranks.
func (v *agentViews) of(ctx context.Context, agents []arena.Agent) ([]agentView, error) {
	ids := make([]string, len(agents))
	for i, g := range agents {
		ids[i] = g.ID
	}
	ratings, err := v.rows.Ratings.AgentRatings(ctx, ids)
	if err != nil {
		return nil, err
	}
	conformance, err := v.rows.Agents.Conformances(ctx, ids)
	if err != nil {
		return nil, err
	}
	cooldowns, err := v.agents.Cooldowns(ctx, agents)
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
		if c, ok := cooldowns[g.ID]; ok && views[i].Status == arena.AgentActive {
			views[i].Cooldown = c.Reason.Public()
		}
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
		AgentID: g.ID, Name: g.Name, OwnerID: g.OwnerID, OwnerName: g.OwnerName, Protocol: g.Protocol, BuiltIn: g.BuiltIn(),
		Pull: g.Pulls(), PublicKey: g.PublicKey, Leagues: orEmpty(g.Leagues), Version: g.Version, Model: g.Model, Mark: g.Mark, Description: g.Description,
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
		view.PauseAfter, view.Budget = &g.PauseAfter, viewBudget(g.Budget)
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
	l, err := v.rows.Leagues.League(ctx, slug)
	if err != nil {
		return nil, err
	}
	ranks := map[string]int{}
	if l.Status != arena.LeagueFrozen {
		standings, err := v.rows.Leagues.Standings(ctx, slug, now)
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

// budgetView is a budget as its owner writes and reads it.
type budgetView struct {
	MatchesPerDay int        `json:"matches_per_day,omitempty" minimum:"0" maximum:"10000" doc:"0: no limit."`
	TokensPerDay  int64      `json:"tokens_per_day,omitempty" minimum:"0" maximum:"1000000000000" doc:"0: no limit. Tokens are those that the agent declares, else estimated by the length of what it writes."`
	Hours         *hoursView `json:"hours,omitempty"`
}

type hoursView struct {
	Zone string   `json:"zone,omitempty" maxLength:"64" example:"Europe/Madrid" doc:"Of the hours and of the calendar days that the budget counts; UTC when left out."`
	From string   `json:"from,omitempty" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" doc:"00:00 when left out."`
	To   string   `json:"to,omitempty" pattern:"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$" doc:"24:00 when left out. Not later than from: on the next day."`
	Days []string `json:"days,omitempty" maxItems:"7" uniqueItems:"true" enum:"mon,tue,wed,thu,fri,sat,sun" doc:"On which the hours begin; left out: every day."`
}

// days are the names of the days of the week, from Sunday.
func days() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

const midnight = 24 * 60 // minutes

func (v budgetView) budget() arena.Budget {
	b := arena.Budget{MatchesPerDay: v.MatchesPerDay, TokensPerDay: v.TokensPerDay}
	if v.Hours == nil {
		return b
	}
	h := arena.PlayingHours{Zone: v.Hours.Zone, From: minutesOf(v.Hours.From, 0), To: minutesOf(v.Hours.To, midnight)}
	for _, day := range v.Hours.Days {
		h.Days = append(h.Days, time.Weekday(slices.Index(days(), day)))
	}
	b.Hours = &h
	return b
}

// minutesOf reads a time of the day, which the schema has checked.
func minutesOf(text string, otherwise int) int {
	var hours, minutes int
	if _, err := fmt.Sscanf(text, "%d:%d", &hours, &minutes); err != nil {
		return otherwise
	}
	return hours*60 + minutes
}

func viewBudget(b arena.Budget) *budgetView {
	if b.IsZero() {
		return nil
	}
	v := &budgetView{MatchesPerDay: b.MatchesPerDay, TokensPerDay: b.TokensPerDay}
	if h := b.Hours; h != nil {
		clock := func(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }
		v.Hours = &hoursView{Zone: b.Zone(), From: clock(h.From), To: clock(h.To)}
		for _, day := range h.Days {
			v.Hours.Days = append(v.Hours.Days, days()[day])
		}
	}
	return v
}

// budgetInput is a budget that may be null. nil: it was left out.
type budgetInput struct{ budget *arena.Budget }

// UnmarshalJSON reads a budget or null.
func (b *budgetInput) UnmarshalJSON(data []byte) error {
	b.budget = &arena.Budget{}
	if string(bytes.TrimSpace(data)) == "null" {
		return nil
	}
	var v budgetView
	if err := strictjson.UnmarshalWhole(data, &v); err != nil {
		return err
	}
	*b.budget = v.budget()
	return nil
}

// Schema is that of a budget, or null.
func (budgetInput) Schema(r huma.Registry) *huma.Schema {
	s := *huma.SchemaFromType(r, reflect.TypeFor[budgetView]())
	s.Nullable, s.Description = true, "Replaces the whole budget: the most that the agent plays. null: no limits."
	return &s
}

type budgetUseView struct {
	Budget      *budgetView   `json:"budget,omitempty" doc:"Absent: no limits."`
	Zone        string        `json:"zone" doc:"Of the calendar day."`
	From        jsonTime      `json:"from" doc:"When the day began."`
	To          jsonTime      `json:"to" doc:"When the next day begins."`
	Matches     int           `json:"matches" doc:"Of today, those included that run or wait for their start."`
	Open        int           `json:"open_matches" doc:"Those that run or wait for their start."`
	Tokens      int64         `json:"tokens" doc:"Of the matches that have ended today."`
	Reserved    int64         `json:"reserved_tokens" doc:"Of the matches that run or wait for their start: what they have cost so far, or are estimated to cost if that is more."`
	MatchTokens int64         `json:"tokens_per_match,omitempty" doc:"Estimate of a match: the largest one of the last 7 days plus 25 %, or twice as much while there were fewer than ten; else twice what the last rehearsal suggests; else as much as max_tokens of its league allows. A match starts only if the estimate fits what is left of the day."`
	Cooldown    *cooldownView `json:"cooldown,omitempty" doc:"Absent: the budget lets it play now."`
	Forecast    forecastView  `json:"forecast" doc:"Of 30 days like the last 7."`
}

type cooldownView struct {
	Reason arena.CooldownReason `json:"reason" enum:"matches,tokens,hours"`
	Until  *jsonTime            `json:"until,omitempty" doc:"Absent: until the budget is changed, because one match could exceed it."`
}

type forecastView struct {
	Matches int   `json:"matches"`
	Tokens  int64 `json:"tokens"`
}

// budget answers what an agent has used of its budget today.
func (h *agentHandlers) budget(ctx context.Context, in *IDParam) (*output[budgetUseView], error) {
	u, err := h.agents.BudgetUse(ctx, callerOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	v := budgetUseView{
		Budget: viewBudget(u.Agent.Budget), Zone: u.Agent.Budget.Zone(), From: jsonTime(u.Day.From), To: jsonTime(u.Day.To),
		Matches: u.Use.AllMatches(), Open: len(u.Use.Reserved), Tokens: u.Use.Tokens, Reserved: u.Use.AllTokens(0) - u.Use.Tokens, MatchTokens: u.MatchTokens,
	}
	v.Forecast.Matches, v.Forecast.Tokens = u.Forecast(h.views.now())
	if u.Cooldown != nil {
		v.Cooldown = &cooldownView{Reason: u.Cooldown.Reason, Until: optionalTime(u.Cooldown.Until)}
	}
	return answer(v)
}
