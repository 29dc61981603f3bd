package api

import (
	"bytes"
	"crypto/rand"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// judgeBody is a judge with its settings.
type judgeBody struct {
	Kind          string   `json:"kind" maxLength:"20" example:"number" doc:"exact, choice, number, regex, set, json, code, panel, crowd or model."`
	Tolerance     float64  `json:"tolerance,omitempty" minimum:"0" maximum:"1000000000" doc:"number, json: the difference that is still right."`
	Partial       bool     `json:"partial,omitempty" doc:"set, code: points for what is right in part."`
	Agents        []string `json:"agents,omitempty" maxItems:"9" maxLength:"64" doc:"panel: the judge agents."`
	Criteria      string   `json:"criteria,omitempty" maxLength:"2000" doc:"panel, crowd, model: what to judge by."`
	WindowSeconds float64  `json:"window_seconds,omitempty" minimum:"0" maximum:"600" doc:"crowd: how long votes are taken."`
	MinVotes      int      `json:"min_votes,omitempty" minimum:"0" maximum:"1000" doc:"crowd: fewer void the round."`
}

func (b judgeBody) spec() arena.JudgeSpec {
	return arena.JudgeSpec{
		Kind: b.Kind, Tolerance: b.Tolerance, Partial: b.Partial, Agents: b.Agents, Criteria: b.Criteria,
		Window: limitOf(b.WindowSeconds), MinVotes: b.MinVotes,
	}
}

func viewJudge(s arena.JudgeSpec) judgeBody {
	return judgeBody{
		Kind: s.Kind, Tolerance: s.Tolerance, Partial: s.Partial, Agents: s.Agents, Criteria: s.Criteria,
		WindowSeconds: s.Window.Seconds(), MinVotes: s.MinVotes,
	}
}

// judgeInput is a judge in a request: an object {kind, …}, or the kind alone.
type judgeInput struct{ judgeBody }

// UnmarshalJSON reads either form.
func (j *judgeInput) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		return strictjson.Unmarshal(data, &j.Kind)
	}
	return strictjson.Unmarshal(data, &j.judgeBody)
}

// Schema is either form.
func (judgeInput) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "How answers are judged: an object, or the kind alone.",
		OneOf: []*huma.Schema{
			{Type: huma.TypeString, Examples: []any{arena.JudgeChoice}},
			r.Schema(reflect.TypeFor[judgeBody](), true, "Judge"),
		},
	}
}

// optionsBody are the settings of one format or of its schedule.
type optionsBody struct {
	Double          bool    `json:"double,omitempty" doc:"round_robin: every pair meets twice."`
	Rounds          int     `json:"rounds,omitempty" minimum:"0" maximum:"30" doc:"swiss: 0 is enough for one winner."`
	BestOf          int     `json:"best_of,omitempty" enum:"0,1,3,5,7" doc:"knockout, double_elimination: games of a series."`
	DurationSeconds float64 `json:"duration_seconds,omitempty" minimum:"0" maximum:"31622400" doc:"How long a season lasts; arena: 1800 when left out."`
	Champion        string  `json:"champion,omitempty" maxLength:"64" doc:"gauntlet: the agent that meets all others; else the highest rated."`
	ForfeitSeconds  float64 `json:"forfeit_seconds,omitempty" minimum:"0" maximum:"86400" doc:"How long a paired agent is waited for; 120 when left out."`
	ScheduleStarts  string  `json:"schedule_starts,omitempty" enum:",season,round,match" doc:"What an occurrence of the schedule starts."`
}

func (b *optionsBody) options() arena.FormatOptions {
	if b == nil {
		return arena.FormatOptions{}
	}
	return arena.FormatOptions{
		Double: b.Double, Rounds: b.Rounds, BestOf: b.BestOf, Duration: limitOf(b.DurationSeconds),
		Champion: b.Champion, Forfeit: limitOf(b.ForfeitSeconds), Starts: b.ScheduleStarts,
	}
}

func viewOptions(o arena.FormatOptions) *optionsBody {
	if o == (arena.FormatOptions{}) {
		return nil
	}
	return &optionsBody{
		Double: o.Double, Rounds: o.Rounds, BestOf: o.BestOf, DurationSeconds: o.Duration.Seconds(),
		Champion: o.Champion, ForfeitSeconds: o.Forfeit.Seconds(), ScheduleStarts: o.Starts,
	}
}

// debateBody makes matches debates.
type debateBody struct {
	Turns int `json:"turns" minimum:"1" maximum:"5" doc:"Speeches of each seat for each side."`
}

func (b *debateBody) spec() *arena.DebateSpec {
	if b == nil {
		return nil
	}
	return &arena.DebateSpec{Turns: b.Turns}
}

// entryBody are the entry rules of a league.
type entryBody struct {
	Allow          []string    `json:"allow,omitempty" maxItems:"1000" maxLength:"64" doc:"Ids of the agents that may enter; empty: everyone."`
	AgentsPerOwner int         `json:"agents_per_owner,omitempty" minimum:"0" maximum:"100" doc:"0: no limit."`
	Password       *string     `json:"password,omitempty" maxLength:"128" doc:"Asked of whoever enters; empty: none. Never shown: a league that has one shows password_required."`
	Required       bool        `json:"password_required,omitempty" readOnly:"true"`
	MinRating      *arena.Melo `json:"min_rating,omitempty" doc:"In this league, Elo."`
	MaxRating      *arena.Melo `json:"max_rating,omitempty"`
	MinMatches     int         `json:"min_matches,omitempty" minimum:"0" maximum:"100000" doc:"Rated matches in any league."`
}

// rules are what the body asks for. A password that is left out stays as it
// was.
func (b *entryBody) rules(was arena.EntryRules) arena.EntryRules {
	if b == nil {
		return was
	}
	r := arena.EntryRules{
		Allow: b.Allow, AgentsPerOwner: b.AgentsPerOwner, MinMatches: b.MinMatches, PasswordHash: was.PasswordHash,
		MinRating: orElse(b.MinRating, 0), MaxRating: orElse(b.MaxRating, 0),
	}
	if b.Password != nil {
		if r.PasswordHash = ""; *b.Password != "" {
			r.PasswordHash = arena.HashPassword(rand.Text(), *b.Password)
		}
	}
	return r
}

func viewEntry(r arena.EntryRules) entryBody {
	b := entryBody{Allow: r.Allow, AgentsPerOwner: r.AgentsPerOwner, MinMatches: r.MinMatches, Required: r.PasswordHash != ""}
	if r.MinRating != 0 {
		b.MinRating = &r.MinRating
	}
	if r.MaxRating != 0 {
		b.MaxRating = &r.MaxRating
	}
	return b
}

// SeasonView is a season as everyone sees it. Huma reads embedded members of
// exported types only.
type SeasonView struct {
	Season     int                `json:"season" doc:"1, 2, 3 … within the league."`
	SeasonID   string             `json:"season_id"`
	Status     arena.SeasonStatus `json:"status" enum:"running,finished"`
	Format     arena.Format       `json:"format"`
	StartedAt  jsonTime           `json:"started_at"`
	EndsAt     *jsonTime          `json:"ends_at,omitempty"`
	FinishedAt *jsonTime          `json:"finished_at,omitempty"`
	Podium     []arena.TableRow   `json:"podium" doc:"The first three places of a finished season."`
}

func viewSeason(s arena.Season) SeasonView {
	v := SeasonView{
		Season: s.No, SeasonID: s.ID, Status: s.Status, Format: s.Format, StartedAt: jsonTime(s.StartedAt),
		EndsAt: optionalTime(s.EndsAt), FinishedAt: optionalTime(s.FinishedAt), Podium: []arena.TableRow{},
	}
	for _, r := range s.Table {
		if r.Rank <= 3 {
			v.Podium = append(v.Podium, r)
		}
	}
	return v
}

// pairingView is a meeting that a season has ordered.
type pairingView struct {
	Slot      int                 `json:"slot" doc:"The board, or the place in the bracket."`
	Game      int                 `json:"game" doc:"Counts replays and the games of a series."`
	Bracket   string              `json:"bracket,omitempty" enum:"winners,losers,final"`
	Agents    []pairedView        `json:"agents"`
	Result    arena.PairingResult `json:"result,omitempty" enum:"played,bye,forfeit,void" doc:"Absent: not decided yet."`
	MatchID   string              `json:"match_id,omitempty"`
	DecidedAt *jsonTime           `json:"decided_at,omitempty"`
}

type pairedView struct {
	AgentID string        `json:"agent_id"`
	Name    string        `json:"name"`
	Score   *arena.Points `json:"score,omitempty" doc:"A win 1, a draw 0.5; of many seats the share that was beaten."`
}

type leagueRoundView struct {
	Round    int           `json:"round"`
	Pairings []pairingView `json:"pairings"`
}

// viewRounds groups pairings, which come by round.
func viewRounds(s arena.Season, pairings []arena.Pairing, hidden bool) []leagueRoundView {
	names := make(map[string]string, len(s.Entrants))
	for _, e := range s.Entrants {
		names[e.AgentID] = e.Name
	}
	rounds := []leagueRoundView{}
	for _, p := range pairings {
		if n := len(rounds); n == 0 || rounds[n-1].Round != p.Round {
			rounds = append(rounds, leagueRoundView{Round: p.Round})
		}
		v := pairingView{Slot: p.Slot, Game: p.Game, Bracket: p.Bracket, MatchID: p.MatchID}
		if !hidden {
			v.Result, v.DecidedAt = p.Result, optionalTime(p.DecidedAt)
		}
		for i, id := range p.Agents {
			a := pairedView{AgentID: id, Name: names[id]}
			if !hidden && i < len(p.Scores) {
				a.Score = &p.Scores[i]
			}
			v.Agents = append(v.Agents, a)
		}
		last := &rounds[len(rounds)-1]
		last.Pairings = append(last.Pairings, v)
	}
	return rounds
}

// limitOf gives a time to the millisecond.
func limitOf(seconds float64) time.Duration {
	return time.Duration(seconds*1000+0.5) * time.Millisecond
}
