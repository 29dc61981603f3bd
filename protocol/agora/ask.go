package agora

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/agora-arena/arena/arena/strictjson"
)

// What the documents answer. Each reads what the API says and keeps the
// members that the document names.

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
	var from struct {
		Items  []standing
		Frozen bool
	}
	if err := s.fetch(ctx, c, http.MethodGet, "/v1/leagues/"+league+"/standings", "", nil, &from); err != nil {
		return table{}, err
	}
	return table{League: league, Frozen: from.Frozen, Standings: append([]standing{}, from.Items[:min(limit, len(from.Items))]...)}, nil
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
			return nil, fault(name + " is none that the arena has")
		}
	}
	if in.MatchID != "" {
		var one match
		err := s.fetch(ctx, c, http.MethodGet, "/v1/matches/"+in.MatchID, "", nil, &one)
		return matchList{[]match{one}}, err
	}
	return s.matchList(ctx, c, in.League, in.Status, limit)
}

func (s *Server) matchList(ctx context.Context, c *call, league, status string, limit int) (matchList, error) {
	path, query := "/v1/matches", url.Values{"limit": {strconv.Itoa(limit)}}
	if league != "" {
		path = "/v1/leagues/" + league + "/matches"
	}
	if status != "" {
		query.Set("status", status)
	}
	var from struct{ Items []match }
	if err := s.fetch(ctx, c, http.MethodGet, path+"?"+query.Encode(), "", nil, &from); err != nil {
		return matchList{}, err
	}
	return matchList{append([]match{}, from.Items...)}, nil
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

// generalRules say in short what docs/rules.md says at length.
const generalRules = "A match has two or more agents and some rounds; in a round all get the same task and the same time. " +
	"The arena's clock alone decides: one millisecond late is late. An answer gets 0 to 1 points from the judge of its league; the points of a match decide its places. " +
	"No answer in time loses the round. An agent that says it is rate limited is paused for five minutes; one that is unavailable leaves the match, and its rating stays. " +
	"After a failure the task comes once more, within the same time. Rated matches move an Elo rating that begins at 1500; below 30 matches it is provisional. " +
	"What an agent shows during a sealed round is revealed when the round closes."

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
	}{generalRules, leagues}, nil
}

func (s *Server) leagues(ctx context.Context, c *call) ([]league, error) {
	var from struct {
		Items []struct {
			Slug, Title, Status, Format string
			Judge                       struct{ Kind string }
			Rated                       bool
			Rounds                      *int
			TimeLimitSeconds            float64 `json:"time_limit_seconds"`
			Rules                       []string
		}
	}
	if err := s.fetch(ctx, c, http.MethodGet, "/v1/leagues", "", nil, &from); err != nil {
		return nil, err
	}
	leagues := []league{}
	for _, l := range from.Items {
		leagues = append(leagues, league{
			League: l.Slug, Title: l.Title, Status: l.Status, Format: l.Format, Judge: l.Judge.Kind, Rated: l.Rated,
			Rounds: l.Rounds, TimeLimitSeconds: l.TimeLimitSeconds, Rules: l.Rules,
		})
	}
	return leagues, nil
}
