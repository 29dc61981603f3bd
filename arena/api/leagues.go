package api

import (
	"context"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
)

// SlugParam is the path parameter {slug}. Huma reads embedded parameters of
// exported types only.
type SlugParam struct {
	Slug string `path:"slug" maxLength:"40"`
}

func (a *API) listLeagues(ctx context.Context, in *PartParams) (*output[listOf[leagueView]], error) {
	leagues, err := a.Store.Leagues(ctx)
	if err != nil {
		return nil, err
	}
	var items []leagueView
	for _, l := range leagues {
		items = append(items, viewLeague(l))
	}
	return answerPart(*in, items)
}

func (a *API) getLeague(ctx context.Context, in *SlugParam) (*output[leagueView], error) {
	l, err := a.Store.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	return answer(viewLeague(l))
}

type createLeagueInput struct{ Body leagueBody }

func (a *API) createLeague(ctx context.Context, in *createLeagueInput) (*output[leagueView], error) {
	b := &in.Body
	l := arena.League{
		Slug: b.Slug, Title: b.Title, Status: arena.LeagueOpen, Settings: a.Defaults(b.settings()),
		Entry: b.Entry.rules(arena.EntryRules{}), Schedule: b.Schedule, CreatedAt: a.now(),
	}
	if err := a.checkLeague(ctx, l); err != nil {
		return nil, err
	}
	if err := a.Store.CreateLeague(ctx, l); err != nil {
		return nil, err
	}
	made, err := a.Store.League(ctx, l.Slug)
	if err != nil {
		return nil, err
	}
	did(ctx, made.Slug, nil, viewLeague(made))
	return answer(viewLeague(made))
}

type updateLeagueInput struct {
	SlugParam
	Body updateLeagueBody
}

func (a *API) updateLeague(ctx context.Context, in *updateLeagueInput) (*output[leagueView], error) {
	change := func(l *arena.League) error {
		if l.Status == arena.LeagueFinished {
			return arena.Errorf(arena.CodeConflict, "league %s is finished", l.Slug)
		}
		in.Body.apply(l)
		l.Settings = a.Defaults(l.Settings)
		return nil
	}
	l, err := a.Store.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	before := viewLeague(l)
	if err := change(&l); err != nil {
		return nil, err
	}
	// The checks ask the store, so they stand before its transaction.
	if err := a.checkLeague(ctx, l); err != nil {
		return nil, err
	}
	l, err = a.Store.UpdateLeague(ctx, in.Slug, change)
	if err != nil {
		return nil, err
	}
	did(ctx, l.Slug, before, viewLeague(l))
	return answer(viewLeague(l))
}

// checkLeague refuses a league that could not be played.
func (a *API) checkLeague(ctx context.Context, l arena.League) error {
	if err := plaintext.CheckLine("title", l.Title); err != nil {
		return err
	}
	for _, rule := range l.Settings.Rules {
		if err := plaintext.CheckText("rules", rule); err != nil {
			return err
		}
	}
	if fields := a.CheckSettings(l.Settings); len(fields) > 0 {
		return &arena.Error{Code: arena.CodeInvalid, Message: "the request breaks a rule", Fields: fields}
	}
	if l.Schedule != "" {
		if err := a.CheckSchedule(l.Schedule); err != nil {
			return arena.Invalid("schedule", "must be a cron expression: %v", err)
		}
	}
	if l.Settings.PackID == "" {
		return nil
	}
	p, err := a.Store.Pack(ctx, l.Settings.PackID)
	if err != nil {
		return arena.AtField("pack_id", err)
	}
	if p.Tasks == 0 {
		return arena.Invalid("pack_id", "pack %s has no tasks", p.ID)
	}
	return a.Store.EachTask(ctx, p.ID, func(n int, task arena.Task) error {
		if why := a.FitsJudge(l.Settings.Judge, task); why != "" {
			return arena.Invalid("judge", "%s cannot judge task %d of pack %s (%.60q): %s", l.Settings.Judge.Kind, n+1, p.ID, task.Description, why)
		}
		return nil
	})
}

// The acts that move a league from state to state.
const (
	actionOpen   = "open"
	actionStart  = "start"
	actionPause  = "pause"
	actionResume = "resume"
	actionFreeze = "freeze"
	actionFinish = "finish"
)

type transition struct {
	from []arena.LeagueStatus
	to   arena.LeagueStatus
}

// transitions is the whole state machine of a league (rulebook, section 8).
// Nothing else changes its state.
func transitions() map[string]transition {
	const draft, open, running, paused, frozen, finished = arena.LeagueDraft, arena.LeagueOpen, arena.LeagueRunning,
		arena.LeaguePaused, arena.LeagueFrozen, arena.LeagueFinished
	return map[string]transition{
		actionOpen:   {[]arena.LeagueStatus{draft, finished}, open}, // once more, for another season
		actionStart:  {[]arena.LeagueStatus{open}, running},
		actionPause:  {[]arena.LeagueStatus{running, frozen}, paused},
		actionResume: {[]arena.LeagueStatus{paused, frozen}, running},
		actionFreeze: {[]arena.LeagueStatus{running}, frozen},
		actionFinish: {[]arena.LeagueStatus{open, running, paused, frozen}, finished},
	}
}

// move mounts one act of the state machine.
func move(action string) func(*API, route) {
	return handle(func(a *API, ctx context.Context, in *SlugParam) (*output[leagueView], error) {
		t := transitions()[action]
		l, err := a.Store.UpdateLeague(ctx, in.Slug, func(l *arena.League) error {
			if !slices.Contains(t.from, l.Status) {
				return arena.Errorf(arena.CodeConflict, "league %s is %s; %s needs it to be %s", l.Slug, l.Status, action, anyOf(t.from))
			}
			did(ctx, l.Slug, l.Status, t.to)
			l.Status = t.to
			return nil
		})
		if err != nil {
			return nil, err
		}
		return answer(viewLeague(l))
	})
}

// anyOf names states: "running or frozen".
func anyOf[S ~string](states []S) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	return strings.Join(words, " or ")
}

// EntryParam is an agent in a league, in the path.
type EntryParam struct {
	SlugParam
	AgentID string `path:"agent_id" maxLength:"64"`
}

type enterInput struct {
	EntryParam
	Password string `header:"X-League-Password" maxLength:"128" doc:"Of leagues that ask for one."`
}

func (a *API) enterLeague(ctx context.Context, in *enterInput) (*empty, error) {
	g, err := a.Agents.Own(ctx, callerOf(ctx), in.AgentID)
	if err != nil {
		return nil, err
	}
	if err := g.NotRetired(); err != nil {
		return nil, err
	}
	if slices.Contains(g.Leagues, in.Slug) {
		return &empty{}, nil
	}
	if err := a.Entries.MayEnter(ctx, in.Slug, g, in.Password); err != nil {
		return nil, err
	}
	did(ctx, in.Slug, nil, g.ID)
	return &empty{}, a.Store.Enter(ctx, in.Slug, g.ID, a.now())
}

func (a *API) withdrawFromLeague(ctx context.Context, in *EntryParam) (*empty, error) {
	g, err := a.Agents.Own(ctx, callerOf(ctx), in.AgentID)
	if err != nil {
		return nil, err
	}
	did(ctx, in.Slug, g.ID, nil)
	return &empty{}, a.Store.Withdraw(ctx, in.Slug, g.ID, a.now())
}

type standingView struct {
	Rank         int               `json:"rank,omitempty" minimum:"1" doc:"Absent: not ranked yet."`
	AgentID      string            `json:"agent_id"`
	Name         string            `json:"name"`
	OwnerID      string            `json:"owner_id"`
	OwnerName    string            `json:"owner_name"`
	Status       arena.AgentStatus `json:"status" enum:"pending,active,paused,retired"`
	Version      string            `json:"version,omitempty"`
	Rating       arena.Melo        `json:"rating"`
	RatedMatches int               `json:"rated_matches"`
	Provisional  bool              `json:"provisional"`
	Wins         int               `json:"wins"`
	Draws        int               `json:"draws"`
	Losses       int               `json:"losses"`
	Opponents    int               `json:"opponents" doc:"Distinct ones in rated matches."`
	LastRatedAt  *jsonTime         `json:"last_rated_at,omitempty"`
	Recent       []arena.Melo      `json:"recent" doc:"Ratings after the last matches, oldest first."`
	Fit          *fitView          `json:"fit,omitempty" doc:"The refit of all results at once; absent: not computed yet."`
}

type standingsView struct {
	Items      []standingView `json:"items" doc:"By rating; ranked or not."`
	NextCursor string         `json:"next_cursor" doc:"As in other lists; empty when no limit is asked for."`
	League     string         `json:"league"`
	Frozen     bool           `json:"frozen" doc:"The table is hidden from everyone but admins."`
	Drift      arena.Melo     `json:"drift"`
}

type standingsQuery struct {
	SlugParam
	PartParams
}

func (a *API) listStandings(ctx context.Context, in *standingsQuery) (*output[standingsView], error) {
	l, err := a.Store.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	table := standingsView{Items: []standingView{}, League: l.Slug, Frozen: l.Status == arena.LeagueFrozen, Drift: l.Drift}
	if table.Frozen && !callerOf(ctx).IsAdmin() {
		return answer(table)
	}
	now := a.now()
	standings, err := a.Store.Standings(ctx, l.Slug, now)
	if err != nil {
		return nil, err
	}
	fits, err := a.fitsOf(ctx, l.Slug)
	if err != nil {
		return nil, err
	}
	if standings, table.NextCursor, err = partOf(in.PartParams, standings); err != nil {
		return nil, err
	}
	for _, s := range standings {
		table.Items = append(table.Items, standingView{
			Rank: s.Rank, AgentID: s.Agent.ID, Name: s.Agent.Name, OwnerID: s.Agent.OwnerID, OwnerName: s.Agent.OwnerName,
			Status: s.Agent.StatusAt(now), Version: s.Agent.Version,
			Rating: s.Rating.Melo, RatedMatches: s.Rating.Matches, Provisional: s.Rating.Provisional(),
			Wins: s.Rating.Wins, Draws: s.Rating.Draws, Losses: s.Rating.Losses,
			Opponents: s.Opponents, LastRatedAt: optionalTime(s.Rating.LastRatedAt), Recent: orEmpty(s.Recent),
			Fit: fits[s.Agent.ID],
		})
	}
	return answer(table)
}

// fitView is an agent in the refit of its league (rulebook, section 7).
type fitView struct {
	Rating   arena.Melo  `json:"rating" doc:"By the Bradley-Terry model; the mean of all agents is 1500."`
	Low      arena.Melo  `json:"low" doc:"Of the 95 % interval, clustered by match."`
	High     arena.Melo  `json:"high"`
	RankLow  int         `json:"rank_low" minimum:"1" doc:"1 + those who are surely better: their interval lies above."`
	RankHigh int         `json:"rank_high" minimum:"1" doc:"How many are not surely worse, itself among them."`
	Island   int         `json:"island" minimum:"1" doc:"Agents of different islands have no chain of matches between them; 1 is the largest."`
	Glicko   *arena.Melo `json:"glicko,omitempty" doc:"By Glicko-2, in periods of a day; only for comparison."`
	GlickoRD *arena.Melo `json:"glicko_rd,omitempty" doc:"Its rating deviation."`
}

// fitsOf gives the newest refit of a league by agent.
func (a *API) fitsOf(ctx context.Context, slug string) (map[string]*fitView, error) {
	f, err := a.Store.Fit(ctx, slug)
	if err != nil {
		return nil, err
	}
	fits := make(map[string]*fitView, len(f.Lines))
	for _, l := range f.Lines {
		fits[l.AgentID] = &fitView{
			Rating: l.Rating, Low: l.Low, High: l.High, RankLow: l.RankLow, RankHigh: l.RankHigh,
			Island: l.Island, Glicko: l.Glicko, GlickoRD: l.GlickoRD,
		}
	}
	return fits, nil
}

type leagueMatchesInput struct {
	SlugParam
	PageParams
	StatusParam
}

func (a *API) listLeagueMatches(ctx context.Context, in *leagueMatchesInput) (*output[listOf[matchView]], error) {
	if _, err := a.Store.League(ctx, in.Slug); err != nil {
		return nil, err
	}
	return a.matchPage(ctx, arena.MatchFilter{League: in.Slug, Statuses: in.statuses()}, in.page())
}
