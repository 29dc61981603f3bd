package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// The sizes of the lobby.
const (
	lobbyLive   = 32
	lobbyNext   = 20
	lobbyRecent = 12
	lobbyUpsets = 3
	lobbyMovers = 6
	lobbyLooked = 100 // matches, for upsets
)

// highlightsKept is how old what changes slowly in the lobby may be.
const highlightsKept = 10 * time.Second

// highlights is the part of the lobby that changes slowly. One read of it
// serves all requests for highlightsKept.
type highlights struct {
	mu      sync.Mutex
	at      time.Time
	podiums map[string]arena.Season
	movers  []arena.Mover
	upsets  []upsetView
}

// lobbyHandlers serve the route of the lobby.
type lobbyHandlers struct {
	rows       Rows
	visible    Visible
	matches    *matchViews
	now        func() time.Time
	highlights highlights
}

type lobbyView struct {
	Live    []matchView                          `json:"live" doc:"Running matches, newest first, at most 32."`
	Next    []matchView                          `json:"next" doc:"Scheduled matches, newest first, at most 20."`
	Recent  []matchView                          `json:"recent" doc:"Finished matches, newest first, at most 12."`
	Ratings map[string]map[string]arena.MilliElo `json:"ratings" doc:"Of the agents in live matches, by league and agent."`
	Leagues []lobbyLeagueView                    `json:"leagues"`
	Upsets  []upsetView                          `json:"upsets" doc:"Rated duels among the last 100 matches that the lower rated agent won beyond the error of the ratings, the least likely first."`
	Movers  []moverView                          `json:"movers" doc:"The largest rating changes within a day."`
	Banner  bannerView                           `json:"banner"`
}

type lobbyLeagueView struct {
	League leagueView  `json:"league"`
	Podium *SeasonView `json:"podium,omitempty" doc:"The last finished season."`
}

type upsetView struct {
	Match  matchView `json:"match"`
	Winner string    `json:"winner" doc:"Agent id."`
	Chance float64   `json:"chance" doc:"Its expected score before the match, 0 to 1."`
}

type moverView struct {
	AgentID string           `json:"agent_id"`
	Name    string           `json:"name"`
	League  string           `json:"league"`
	Rating  arena.MilliElo   `json:"rating"`
	Rated   int              `json:"rated_matches"`
	Change  arena.MilliElo   `json:"change" doc:"Within the last day."`
	Matches int              `json:"matches" doc:"Rated ones within the last day."`
	Recent  []arena.MilliElo `json:"recent" doc:"Ratings after the last matches, oldest first."`
}

func (h *lobbyHandlers) get(ctx context.Context, _ *struct{}) (*output[lobbyView], error) {
	v := lobbyView{Ratings: map[string]map[string]arena.MilliElo{}, Leagues: []lobbyLeagueView{}}
	for _, part := range []struct {
		into   *[]matchView
		status arena.MatchStatus
		limit  int
	}{{&v.Live, arena.MatchRunning, lobbyLive}, {&v.Next, arena.MatchScheduled, lobbyNext}, {&v.Recent, arena.MatchFinished, lobbyRecent}} {
		matches, _, err := h.matches.page(ctx, arena.MatchFilter{Statuses: []arena.MatchStatus{part.status}}, arena.Page{Limit: part.limit})
		if err != nil {
			return nil, err
		}
		*part.into = orEmpty(matches)
	}
	if err := h.rateSeats(ctx, v.Live, v.Ratings); err != nil {
		return nil, err
	}
	leagues, err := h.rows.Leagues.Leagues(ctx)
	if err != nil {
		return nil, err
	}
	podiums, err := h.fillHighlights(ctx, &v)
	if err != nil {
		return nil, err
	}
	for _, l := range arena.ListedLeagues(leagues) {
		line := lobbyLeagueView{League: viewLeague(l)}
		if s, ok := podiums[l.Slug]; ok {
			season := viewSeason(s)
			line.Podium = &season
		}
		v.Leagues = append(v.Leagues, line)
	}
	banner, err := h.rows.Operations.Banner(ctx)
	if err != nil {
		return nil, err
	}
	v.Banner = viewBanner(banner)
	return answer(v)
}

// rateSeats looks up the ratings of the agents in small matches: which of the
// big ones is worth watching is not decided by ratings.
func (h *lobbyHandlers) rateSeats(ctx context.Context, live []matchView, into map[string]map[string]arena.MilliElo) error {
	plays := map[string][]string{} // leagues by agent
	for _, m := range live {
		if len(m.Seats) > 8 {
			continue
		}
		for _, s := range m.Seats {
			plays[s.AgentID] = append(plays[s.AgentID], m.League)
		}
	}
	if len(plays) == 0 {
		return nil
	}
	ratings, err := h.rows.Ratings.AgentRatings(ctx, sortedKeys(plays))
	if err != nil {
		return err
	}
	for id, leagues := range plays {
		for _, r := range ratings[id] {
			if !slices.Contains(leagues, r.League) {
				continue
			}
			if into[r.League] == nil {
				into[r.League] = map[string]arena.MilliElo{}
			}
			into[r.League][id] = r.MilliElo
		}
	}
	return nil
}

// fillHighlights adds the parts that change slowly and returns the last
// seasons by league. It reads them again when they are too old; concurrent
// requests wait for that read.
func (h *lobbyHandlers) fillHighlights(ctx context.Context, v *lobbyView) (podiums map[string]arena.Season, err error) {
	kept := &h.highlights
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if now := h.now(); kept.podiums == nil || now.Sub(kept.at) >= highlightsKept {
		podiums, err := h.rows.Leagues.LastSeasons(ctx)
		if err != nil {
			return nil, err
		}
		movers, err := h.rows.Ratings.Movers(ctx, now.Add(-24*time.Hour), lobbyMovers)
		if err != nil {
			return nil, err
		}
		matches, _, err := h.visible.Matches(ctx, arena.MatchFilter{Statuses: []arena.MatchStatus{arena.MatchFinished}}, arena.Page{Limit: lobbyLooked})
		if err != nil {
			return nil, err
		}
		upsets, err := h.upsets(ctx, matches)
		if err != nil {
			return nil, err
		}
		kept.at, kept.podiums, kept.movers, kept.upsets = now, podiums, movers, upsets
	}
	v.Upsets, v.Movers = kept.upsets, []moverView{}
	for _, m := range kept.movers {
		v.Movers = append(v.Movers, moverView{
			AgentID: m.AgentID, Name: m.Name, League: m.League, Rating: m.Rating, Rated: m.Rated, Change: m.Change, Matches: m.Matches, Recent: orEmpty(m.Recent),
		})
	}
	return kept.podiums, nil
}

// upsets returns the upsets among matches, the least likely first.
func (h *lobbyHandlers) upsets(ctx context.Context, matches []visibility.Match) ([]upsetView, error) {
	found, err := upsetsOf(ctx, h.rows, wonMatches(matches))
	views := []upsetView{}
	for _, u := range found[:min(len(found), lobbyUpsets)] {
		views = append(views, upsetView{Match: h.matches.one(u.Match), Winner: u.seats[0].AgentID, Chance: u.chance})
	}
	return views, err
}
