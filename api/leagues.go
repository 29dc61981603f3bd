package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// SlugParam is the path parameter {slug}. Huma reads embedded parameters of
// exported types only.
type SlugParam struct {
	Slug string `path:"slug" maxLength:"40"`
}

// Leagues is the service for leagues, their entries, packs of tasks and games.
type Leagues interface {
	Create(ctx context.Context, caller arena.Caller, l arena.League) (arena.League, error)
	Update(ctx context.Context, caller arena.Caller, slug string, edit func(*arena.League)) (arena.League, error)
	Act(ctx context.Context, caller arena.Caller, slug string, action arena.LeagueAction) (arena.League, error)
	Enter(ctx context.Context, caller arena.Caller, slug, agentID, password string) error
	Withdraw(ctx context.Context, caller arena.Caller, slug, agentID string) error
	Delete(ctx context.Context, caller arena.Caller, slug string) error
	Audit(ctx context.Context, caller arena.Caller, slug string) (arena.AuditReport, error)
	ImportPack(ctx context.Context, caller arena.Caller, in arena.PackImport) (arena.Pack, arena.PackContents, error)
	CheckPack(caller arena.Caller, in arena.PackImport) (found arena.PackContents, problem string, err error)
	RenamePack(ctx context.Context, caller arena.Caller, id, name string) (arena.Pack, error)
	EditTask(ctx context.Context, caller arena.Caller, packID string, n int, edit arena.TaskEdit) (arena.PackTask, error)
	AddGame(ctx context.Context, caller arena.Caller, source string) (arena.GameScript, error)
}

// leagueHandlers serve the routes of leagues.
type leagueHandlers struct {
	leagues Leagues
	rows    Rows
	matches *matchViews
	now     func() time.Time
}

type listLeaguesInput struct {
	PartParams

	Archived bool `query:"archived" doc:"List archived leagues too."`
}

func (h *leagueHandlers) list(ctx context.Context, in *listLeaguesInput) (*output[listOf[leagueView]], error) {
	leagues, err := h.rows.Leagues.Leagues(ctx)
	if err != nil {
		return nil, err
	}
	if !in.Archived {
		leagues = arena.ListedLeagues(leagues)
	}
	var items []leagueView
	for _, l := range leagues {
		items = append(items, viewLeague(l))
	}
	return answerPart(in.PartParams, items)
}

func (h *leagueHandlers) get(ctx context.Context, in *SlugParam) (*output[leagueView], error) {
	l, err := h.rows.Leagues.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	return answer(viewLeague(l))
}

type createLeagueInput struct{ Body leagueBody }

func (h *leagueHandlers) create(ctx context.Context, in *createLeagueInput) (*output[leagueView], error) {
	b := &in.Body
	l, err := h.leagues.Create(ctx, callerOf(ctx), arena.League{
		Slug: b.Slug, Title: b.Title, Settings: b.settings(), Entry: b.Entry.rules(arena.EntryRules{}), Schedule: b.Schedule,
		Description: b.Description, Prize: b.Prize, RulesText: b.RulesText, SignupUntil: b.SignupUntil.at,
	})
	return showLeague(l, err)
}

// showLeague answers with a league that an operation returned.
func showLeague(l arena.League, err error) (*output[leagueView], error) {
	if err != nil {
		return nil, err
	}
	return answer(viewLeague(l))
}

type updateLeagueInput struct {
	SlugParam
	Body updateLeagueBody
}

func (h *leagueHandlers) update(ctx context.Context, in *updateLeagueInput) (*output[leagueView], error) {
	return showLeague(h.leagues.Update(ctx, callerOf(ctx), in.Slug, in.Body.apply))
}

func (h *leagueHandlers) remove(ctx context.Context, in *SlugParam) (*empty, error) {
	return &empty{}, h.leagues.Delete(ctx, callerOf(ctx), in.Slug)
}

// leagueAuditView is an audit of a league.
type leagueAuditView struct {
	Status    string                  `json:"status" enum:"none,pending,done" doc:"none: the league was never audited. pending: it waits for an audit, or is being audited, before it opens; an older report may be there."`
	Reason    string                  `json:"reason,omitempty" doc:"Why the league cannot be audited, or its last audit came to nothing."`
	Stale     bool                    `json:"stale,omitempty" doc:"The report is of earlier settings."`
	At        *jsonTime               `json:"at,omitempty" doc:"Absent: the league was never audited."`
	Cheats    []arena.AuditedCheat    `json:"cheats" nullable:"false"`
	Opponents []arena.AuditedOpponent `json:"opponents" nullable:"false" doc:"Built-in opponents that played beside the cheats: what shares mean. Empty with a judge that compares answers or runs them."`
	Findings  []arena.AuditFinding    `json:"findings" nullable:"false"`
}

func viewAudit(l arena.League) leagueAuditView {
	r := arena.AuditReport{}
	if l.Audit != nil {
		r = *l.Audit
	}
	return leagueAuditView{
		Status: auditStatus(r), Reason: cmp.Or(l.Settings.RefusesAudit(), r.Reason), Stale: l.AuditStale(),
		At: optionalTime(r.At), Cheats: orEmpty(r.Cheats), Opponents: orEmpty(r.Opponents), Findings: orEmpty(r.Findings),
	}
}

func auditStatus(r arena.AuditReport) string {
	switch {
	case r.Waits():
		return "pending"
	case r.At.IsZero():
		return "none"
	}
	return "done"
}

func (h *leagueHandlers) audit(ctx context.Context, in *SlugParam) (*output[leagueAuditView], error) {
	if _, err := h.leagues.Audit(ctx, callerOf(ctx), in.Slug); err != nil {
		return nil, err
	}
	return h.getAudit(ctx, in)
}

func (h *leagueHandlers) getAudit(ctx context.Context, in *SlugParam) (*output[leagueAuditView], error) {
	l, err := h.rows.Leagues.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	return answer(viewAudit(l))
}

// deadlineInput is a time that may be null. It distinguishes null from a missing
// member.
type deadlineInput struct {
	given bool
	at    time.Time // zero: none
}

// UnmarshalJSON reads a time or null.
func (d *deadlineInput) UnmarshalJSON(data []byte) error {
	var at *time.Time
	if err := json.Unmarshal(data, &at); err != nil {
		return err
	}
	d.given, d.at = true, time.Time{}
	if at != nil {
		d.at = at.UTC().Truncate(time.Millisecond)
	}
	return nil
}

// Schema is a time or null.
func (deadlineInput) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Format: "date-time", Nullable: true,
		Description: "Entries close at this time; null: they do not.",
	}
}

// leagueAction mounts one action of the state machine.
func leagueAction(action arena.LeagueAction) func(*API, route) {
	return handleOn(leagues, func(h *leagueHandlers, ctx context.Context, in *SlugParam) (*output[leagueView], error) {
		return showLeague(h.leagues.Act(ctx, callerOf(ctx), in.Slug, action))
	})
}

// EntryParam is an agent in a league, in the path.
type EntryParam struct {
	SlugParam
	AgentID string `path:"agent_id" maxLength:"64"`
}

// PasswordHeader opens leagues that ask for a password.
type PasswordHeader struct {
	Password string `header:"X-League-Password" maxLength:"128" doc:"Of leagues that ask for one."`
}

type enterInput struct {
	EntryParam
	PasswordHeader
}

type enterAgentsInput struct {
	SlugParam
	PasswordHeader
	Body struct {
		Agents []string `json:"agents" nullable:"false" minItems:"1" maxItems:"100" doc:"Their ids."`
	}
}

type entryView struct {
	AgentID string `json:"agent_id"`
	Entered bool   `json:"entered" doc:"It is in the league."`
	Code    string `json:"code,omitempty" doc:"Why it is not, as in errors."`
	Message string `json:"message,omitempty"`
}

type entriesView struct {
	Items []entryView `json:"items" nullable:"false" doc:"One for each agent, in the order of the request."`
}

// enterAgents enters each agent that may be entered, and says why others may not.
func (h *leagueHandlers) enterAgents(ctx context.Context, in *enterAgentsInput) (*output[entriesView], error) {
	v := entriesView{Items: make([]entryView, 0, len(in.Body.Agents))}
	for _, id := range in.Body.Agents {
		err := h.leagues.Enter(ctx, callerOf(ctx), in.Slug, id, in.Password)
		refused, ok := errors.AsType[*arena.Error](err)
		if err != nil && (!ok || refused.Code == arena.CodeUnavailable) {
			return nil, err
		}
		entry := entryView{AgentID: id, Entered: err == nil}
		if err != nil {
			entry.Code, entry.Message = string(refused.Code), refused.Message
		}
		v.Items = append(v.Items, entry)
	}
	return answer(v)
}

func (h *leagueHandlers) enter(ctx context.Context, in *enterInput) (*empty, error) {
	return &empty{}, h.leagues.Enter(ctx, callerOf(ctx), in.Slug, in.AgentID, in.Password)
}

func (h *leagueHandlers) withdraw(ctx context.Context, in *EntryParam) (*empty, error) {
	return &empty{}, h.leagues.Withdraw(ctx, callerOf(ctx), in.Slug, in.AgentID)
}

type standingView struct {
	Rank         int               `json:"rank,omitempty" minimum:"1" doc:"By live rating. Absent: not ranked yet."`
	Tier         int               `json:"tier,omitempty" minimum:"1" doc:"1 + the number of owner groups with a significantly better agent. That two agents cannot be told apart is not transitive. Absent: it has met too few opponents to be compared."`
	TierRange    *[2]int           `json:"tier_range,omitempty" doc:"The places that the results allow, counted in owner groups: the tier, and the number of groups minus those whose agents are all significantly worse. Absent without a tier."`
	AgentID      string            `json:"agent_id"`
	Name         string            `json:"name"`
	OwnerID      string            `json:"owner_id"`
	OwnerName    string            `json:"owner_name"`
	Status       arena.AgentStatus `json:"status" enum:"pending,active,paused,retired"`
	Protocol     string            `json:"protocol" enum:"aap,agora,envelope,agentprotocol,a2a,built_in"`
	BuiltIn      bool              `json:"built_in,omitempty" doc:"It comes with the program and has no rank."`
	Pull         bool              `json:"pull,omitempty" doc:"An aap agent without an endpoint: it fetches its tasks."`
	Version      string            `json:"version,omitempty"`
	Model        string            `json:"model,omitempty" doc:"The language model or framework that answers, as its owner declares it. Absent: none was declared."`
	Rating       arena.MilliElo    `json:"rating"`
	RatedMatches int               `json:"rated_matches"`
	Provisional  bool              `json:"provisional"`
	Wins         int               `json:"wins"`
	Draws        int               `json:"draws"`
	Losses       int               `json:"losses"`
	Opponents    int               `json:"opponents" doc:"Distinct ones in rated matches."`
	Groups       int               `json:"opponent_groups" doc:"Distinct groups of owners among the opponents, counted to the 5 that a rank needs."`
	LastRatedAt  *jsonTime         `json:"last_rated_at,omitempty"`
	Recent       []arena.MilliElo  `json:"recent" doc:"Ratings after the last matches, oldest first."`
	Fit          *fitView          `json:"fit,omitempty" doc:"The refit of all results at once; absent: not computed yet."`
	Games        *gameTallyView    `json:"games,omitempty" doc:"How its games ended; absent: none has. Ratings and rank are by matches and do not depend on it."`
}

type standingsView struct {
	Items      []standingView `json:"items" doc:"By tier, then rating; then those without a tier: the ranked ones by rating, then the others by rating."`
	NextCursor string         `json:"next_cursor" doc:"As in other lists; empty when no limit is asked for."`
	League     string         `json:"league"`
	Frozen     bool           `json:"frozen" doc:"The table is hidden from everyone but admins and its organizers."`
	Drift      arena.MilliElo `json:"drift"`

	FitSettlement int64 `json:"fit_settlement,omitempty" doc:"The newest settlement in the refit of all items; absent: not computed yet."`

	FirstMover *firstMoversView `json:"first_mover,omitempty" doc:"How much moving first is worth; absent: no game with a first mover has ended."`
	Tiers      *tiersView       `json:"tiers,omitempty" doc:"The refit of the table as a whole; absent: the table is hidden."`
}

// tiersView is what a refit says of a table as a whole (docs/rules/board.md).
type tiersView struct {
	Reason    arena.NoTiers   `json:"reason,omitempty" enum:"pending,too_few_matches,too_few_owners,too_many_agents,all_draws" doc:"Why no agent has a tier; absent: some have one. pending: the next refit follows. too_few_matches: no two agents have met enough owner groups. too_few_owners: the league has too few. too_many_agents: more than max_agents. all_draws: no match has a winner."`
	Groups    int             `json:"owner_groups" doc:"Owner groups in the refit: ranks of the fit count these."`
	Needed    int             `json:"needed_opponents" doc:"Owner groups that an agent must have met to be compared."`
	MaxAgents int             `json:"max_agents" doc:"The largest number of agents that are compared."`
	Conflicts []arena.FitPair `json:"conflicts" doc:"Pairs of agents of which the significantly better one has the lower live rating, the largest differences first; at most 20."`
	Cycles    [][3]string     `json:"cycles" doc:"Triples of agent ids: in their own matches the first beats the second, the second the third, and the third the first, each significantly. At most 20."`
}

type standingsQuery struct {
	SlugParam
	PartParams
}

func (h *leagueHandlers) standings(ctx context.Context, in *standingsQuery) (*output[standingsView], error) {
	l, err := h.rows.Leagues.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	table := standingsView{Items: []standingView{}, League: l.Slug, Frozen: l.Status == arena.LeagueFrozen, Drift: l.Drift}
	if table.Frozen && !callerOf(ctx).May(l.Slug, arena.RightOrganize) {
		return answer(table)
	}
	now := h.now()
	standings, err := h.rows.Leagues.Standings(ctx, l.Slug, now)
	if err != nil {
		return nil, err
	}
	fit, err := h.rows.Leagues.Fit(ctx, l.Slug)
	if err != nil {
		return nil, err
	}
	lines := make(map[string]*arena.FitLine, len(fit.Lines))
	for i := range fit.Lines {
		lines[fit.Lines[i].AgentID] = &fit.Lines[i]
	}
	table.FitSettlement = fit.Settlement
	table.Tiers = viewTiers(fit.Board, standings)
	games := map[string]*gameTallyView{}
	if l.Settings.Game != nil {
		records, err := h.rows.Games.LeagueGames(ctx, l.Slug)
		if err != nil {
			return nil, err
		}
		for id, tally := range arena.TallyGames(records) {
			games[id] = viewTally(tally)
		}
		table.FirstMover = viewFirstMovers(records)
	}
	items := make([]standingView, 0, len(standings))
	for _, s := range standings {
		line := lines[s.Agent.ID]
		if line != nil && s.Agent.BuiltIn() { // it has a strength, and no place
			unplaced := *line
			unplaced.Tier = 0
			line = &unplaced
		}
		items = append(items, standingView{
			Rank: s.Rank, Tier: tierOf(line), TierRange: tierRange(line), AgentID: s.Agent.ID, Name: s.Agent.Name, OwnerID: s.Agent.OwnerID, OwnerName: s.Agent.OwnerName,
			Status: s.Agent.StatusAt(now), Protocol: s.Agent.Protocol, BuiltIn: s.Agent.BuiltIn(), Pull: s.Agent.Pulls(), Version: s.Agent.Version, Model: s.Agent.Model,
			Rating: s.Rating.MilliElo, RatedMatches: s.Rating.Matches, Provisional: s.Rating.Provisional(),
			Wins: s.Rating.Wins, Draws: s.Rating.Draws, Losses: s.Rating.Losses,
			Opponents: s.Opponents, Groups: s.Groups, LastRatedAt: optionalTime(s.Rating.LastRatedAt), Recent: orEmpty(s.Recent),
			Fit: viewFit(line), Games: games[s.Agent.ID],
		})
	}
	slices.SortStableFunc(items, byTier)
	if table.Items, table.NextCursor, err = partOf(in.PartParams, items); err != nil {
		return nil, err
	}
	return answer(table)
}

// fitView is an agent in the refit of its league (docs/rules.md, section 7).
type fitView struct {
	Rating    arena.MilliElo `json:"rating" doc:"By the Bradley-Terry model; the mean of all agents is 1500."`
	Low       arena.MilliElo `json:"low" doc:"Of the 95 % interval, clustered by match."`
	High      arena.MilliElo `json:"high"`
	RankLow   int            `json:"rank_low" minimum:"1" doc:"The tier: 1 + the number of owner groups with a significantly better agent; 1 without a tier."`
	RankHigh  int            `json:"rank_high" minimum:"1" doc:"The number of owner groups minus those whose agents are all significantly worse; all of them without a tier."`
	Component int            `json:"island" minimum:"1" doc:"Connected component. Agents of different ones have no chain of matches between them; 1 is the largest."`
}

func viewFit(l *arena.FitLine) *fitView {
	if l == nil {
		return nil
	}
	return &fitView{Rating: l.Rating, Low: l.Low, High: l.High, RankLow: l.RankLow, RankHigh: l.RankHigh, Component: l.Component}
}

func tierOf(l *arena.FitLine) int {
	if l == nil {
		return 0
	}
	return l.Tier
}

func tierRange(l *arena.FitLine) *[2]int {
	if tierOf(l) == 0 {
		return nil
	}
	return &[2]int{l.RankLow, l.RankHigh}
}

// byTier orders agents with a tier by it and by their live rating, and before
// those without, which keep their order.
func byTier(a, b standingView) int {
	if a.Tier == 0 || b.Tier == 0 {
		return cmp.Compare(min(b.Tier, 1), min(a.Tier, 1))
	}
	return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(b.Rating, a.Rating))
}

// viewTiers returns what a fit says of its table. Live ratings have moved since
// the fit, so that a conflict may have ended.
func viewTiers(board arena.FitBoard, standings []arena.Standing) *tiersView {
	v := &tiersView{
		Reason: board.NoTiers, Groups: board.Groups, Needed: scoring.MinOpponentGroups, MaxAgents: scoring.MaxFitAgents,
		Conflicts: []arena.FitPair{}, Cycles: orEmpty(board.Cycles),
	}
	if board.Groups == 0 { // none yet, or of an earlier version
		v.Reason = arena.NoTiersTooFewMatches
		if slices.ContainsFunc(standings, func(s arena.Standing) bool { return s.Rating.Matches > 0 }) {
			v.Reason = arena.NoTiersPending
		}
	}
	if len(board.Conflicts) == 0 {
		return v
	}
	live := make(map[string]arena.MilliElo, len(standings))
	for _, s := range standings {
		live[s.Agent.ID] = s.Rating.MilliElo
	}
	for _, c := range board.Conflicts {
		if live[c.Better] < live[c.Worse] {
			v.Conflicts = append(v.Conflicts, c)
		}
	}
	return v
}

type leagueMatchesInput struct {
	SlugParam
	PageParams
	StatusParam
}

func (h *leagueHandlers) listMatches(ctx context.Context, in *leagueMatchesInput) (*output[listOf[matchView]], error) {
	if _, err := h.rows.Leagues.League(ctx, in.Slug); err != nil {
		return nil, err
	}
	return h.matches.answerPage(ctx, arena.MatchFilter{League: in.Slug, Statuses: in.statuses()}, in.page())
}
