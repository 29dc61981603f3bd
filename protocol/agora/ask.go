package agora

import (
	"context"
	"encoding/json"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// The answers of the documents, with the members that each document names.

type standing struct {
	Rank         int         `json:"rank"`
	AgentID      string      `json:"agent_id"`
	Name         string      `json:"name"`
	Rating       json.Number `json:"rating"`
	RatedMatches int         `json:"rated_matches"`
	Provisional  bool        `json:"provisional"`
	Wins         int         `json:"wins"`
	Draws        int         `json:"draws"`
	Losses       int         `json:"losses"`
}

type table struct {
	League    string     `json:"league"`
	Frozen    bool       `json:"frozen"`
	Standings []standing `json:"standings"`
}

func (s *Server) standings(ctx context.Context, c *call, body []byte) (any, error) {
	var in struct {
		League string            `json:"league"`
		Limit  *strictjson.Whole `json:"limit"`
	}
	if err := readBody(body, &in, "league", "limit"); err != nil {
		return nil, err
	}
	limit, err := limitOf(in.Limit, 20)
	if err != nil {
		return nil, err
	}
	return s.table(ctx, c, in.League, limit)
}

func (s *Server) table(ctx context.Context, c *call, league string, limit int) (table, error) {
	if !isName(league) {
		return table{}, fault("league must be the slug of a league")
	}
	if err := s.count(ctx, c); err != nil {
		return table{}, err
	}
	return s.tableOf(ctx, league, limit)
}

// tableOf is table for a request that was counted.
func (s *Server) tableOf(ctx context.Context, league string, limit int) (table, error) {
	l, err := s.o.Reads.League(ctx, league)
	if err != nil {
		return table{}, faultOf(err)
	}
	t := table{League: league, Frozen: l.Status == arena.LeagueFrozen, Standings: []standing{}}
	if t.Frozen {
		return t, nil
	}
	lines, err := s.o.Reads.Standings(ctx, league, s.o.Now().UTC())
	if err != nil {
		return table{}, faultOf(err)
	}
	for _, line := range lines[:min(limit, len(lines))] {
		r := line.Rating
		t.Standings = append(t.Standings, standing{
			Rank: line.Rank, AgentID: line.Agent.ID, Name: line.Agent.Name, Rating: number(r.MilliElo), RatedMatches: r.Matches,
			Provisional: r.Provisional(), Wins: r.Wins, Draws: r.Draws, Losses: r.Losses,
		})
	}
	return t, nil
}

type seat struct {
	AgentID string      `json:"agent_id"`
	Name    string      `json:"name"`
	Points  json.Number `json:"points"`
	Place   int         `json:"place,omitempty"`
}

type match struct {
	MatchID     string `json:"match_id"`
	League      string `json:"league"`
	Status      string `json:"status"`
	Rated       bool   `json:"rated"`
	Round       int    `json:"round"`
	TotalRounds *int   `json:"total_rounds"`
	CreatedAt   string `json:"created_at"`
	FinishedAt  string `json:"finished_at,omitempty"`
	Seats       []seat `json:"seats"`
}

type matchList struct {
	Matches []match `json:"matches"`
}

func (s *Server) matches(ctx context.Context, c *call, body []byte) (any, error) {
	var in struct {
		MatchID string            `json:"match_id"`
		League  string            `json:"league"`
		Status  string            `json:"status"`
		Limit   *strictjson.Whole `json:"limit"`
	}
	if err := readBody(body, &in, "match_id", "league", "status", "limit"); err != nil {
		return nil, err
	}
	limit, err := limitOf(in.Limit, 10)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"match_id": in.MatchID, "league": in.League, "status": in.Status} {
		if value != "" && !isName(value) {
			return nil, fault(name + " is not valid")
		}
	}
	if in.MatchID != "" {
		one, err := s.visibleMatch(ctx, c, in.MatchID)
		return matchList{[]match{one}}, err
	}
	return s.matchList(ctx, c, in.League, in.Status, limit)
}

func (s *Server) matchList(ctx context.Context, c *call, league, status string, limit int) (matchList, error) {
	selected, err := statuses(status)
	if err != nil {
		return matchList{}, err
	}
	found, err := s.visibleMatches(ctx, c, arena.MatchFilter{League: league, Statuses: selected}, limit)
	return matchList{found}, err
}

type league struct {
	League           string   `json:"league"`
	Title            string   `json:"title"`
	Status           string   `json:"status"`
	Format           string   `json:"format"`
	Judge            string   `json:"judge"`
	Rated            bool     `json:"rated"`
	Rounds           *int     `json:"rounds"`
	TimeLimitSeconds float64  `json:"time_limit_seconds"`
	Rules            []string `json:"rules"`
}

func (s *Server) rules(ctx context.Context, c *call, body []byte) (any, error) {
	var in struct {
		League string `json:"league"`
	}
	if err := readBody(body, &in, "league"); err != nil {
		return nil, err
	}
	leagues, err := s.leagues(ctx, c)
	if err != nil {
		return nil, err
	}
	if in.League != "" {
		found := false
		for _, l := range leagues {
			if found = l.League == in.League; found {
				leagues = []league{l}
				break
			}
		}
		if !found {
			return nil, fault("Unknown league")
		}
	}
	return struct {
		Rules   string   `json:"rules"`
		Leagues []league `json:"leagues"`
	}{s.books[0].say("rules"), leagues}, nil
}

func (s *Server) leagues(ctx context.Context, c *call) ([]league, error) {
	if err := s.count(ctx, c); err != nil {
		return nil, err
	}
	found, err := s.o.Reads.Leagues(ctx)
	if err != nil {
		return nil, faultOf(err)
	}
	leagues := []league{}
	for _, l := range arena.ListedLeagues(found) {
		in := l.Settings
		leagues = append(leagues, league{
			League: l.Slug, Title: l.Title, Status: string(l.Status), Format: string(in.Format), Judge: in.Judge.Kind, Rated: in.Rated,
			Rounds: rounds(in), TimeLimitSeconds: in.TimeLimit.Seconds(), Rules: append([]string{}, in.Rules...),
		})
	}
	return leagues, nil
}
