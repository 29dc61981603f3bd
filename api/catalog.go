package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/league/settings"
	"github.com/agora-arena/arena/scoring"
)

// catalogView is what this version of the arena knows: the rows of its tables with
// the properties that clients use. Only another version changes it, so the pages
// embed it as it was when they were built.
type catalogView struct {
	Formats      []formatKindView     `json:"formats"`
	Judges       []judgeKindView      `json:"judges"`
	Generators   []generatorKindView  `json:"generators"`
	Protocols    []arena.ProtocolKind `json:"protocols"`
	BuiltIn      []arena.BuiltInKind  `json:"built_in" doc:"Opponents that come with the program, which the field built_in of leagues names."`
	Marks        arena.Marks          `json:"marks"`
	Visibilities []string             `json:"visibilities" doc:"delayed is followed by a colon and the seconds."`
	PauseReasons []arena.PauseKind    `json:"pause_reasons" doc:"Strongest first."`
	VoidCodes    []arena.VoidCode     `json:"void_codes"`
	NoteCodes    []arena.NoteCode     `json:"note_codes"`
	Rating       ratingRulesView      `json:"rating"`
	Limits       limitsView           `json:"limits"`
	Defaults     defaultsView         `json:"defaults"`
}

type formatKindView struct {
	Format          arena.Format `json:"format"`
	Options         []string     `json:"options" doc:"The fields of format_options that belong to it, beside duration_seconds and schedule_starts."`
	Starts          []string     `json:"starts" doc:"The values of schedule_starts, the default first."`
	DurationSeconds float64      `json:"duration_seconds" doc:"Of a season, unless its league sets another; 0: as long as it takes."`
	MinSeats        int          `json:"min_seats" doc:"Of a match that asks questions."`
	MaxSeats        int          `json:"max_seats" doc:"Of a match that asks questions."`
	MinEntrants     int          `json:"min_entrants" doc:"A season begins with this many."`
	Pace            *paceBody    `json:"pace,omitempty" doc:"Of a league that is created without one; absent: no limits."`
	Table           bool         `json:"table" doc:"Its seasons have a table of their own. Else the ratings are the table."`
	Bracket         bool         `json:"bracket" doc:"Its rounds are a tree."`
	Continuous      bool         `json:"continuous" doc:"It pairs idle agents at any time."`
	LateJoin        bool         `json:"late_join" doc:"Agents may join a season that has begun."`
}

type judgeKindView struct {
	Kind     string   `json:"kind"`
	Version  string   `json:"version" doc:"Changes whenever the same answers could be judged differently."`
	Fields   []string `json:"fields" doc:"The fields of judge that belong to it."`
	Compares bool     `json:"compares" doc:"It compares answers in pairs."`
	External bool     `json:"external" doc:"It takes time and may fail, which voids the round."`
}

type generatorKindView struct {
	Name   string   `json:"name"`
	Judges []string `json:"judges" doc:"Kinds of judges that fit its tasks, the default first."`
}

type ratingRulesView struct {
	Start              arena.MilliElo `json:"start"`
	Scale              int            `json:"scale" doc:"The expected score is 1 / (1 + 10^(−difference/scale))."`
	KProvisional       int            `json:"k_provisional"`
	K                  int            `json:"k"`
	KTop               int            `json:"k_top"`
	Top                arena.MilliElo `json:"top" doc:"From this peak on K is k_top."`
	ProvisionalMatches int            `json:"provisional_matches" doc:"Rated matches with K = k_provisional."`
	NewVersionMatches  int            `json:"new_version_matches" doc:"The same after a declared new version."`
	RankedMatches      int            `json:"ranked_matches" doc:"Rated matches that a rank needs."`
	RankedGroups       int            `json:"ranked_groups" doc:"Groups of owners that it needs among the opponents."`
}

// limitsView are the greatest values of fields of requests.
type limitsView struct {
	Rounds           int     `json:"rounds"`
	TimeLimitSeconds float64 `json:"time_limit_seconds"`
	TimeBankSeconds  float64 `json:"time_bank_seconds"`
	BreakSeconds     float64 `json:"break_seconds"`
	DelaySeconds     float64 `json:"delay_seconds" doc:"Of the visibility delayed."`
	GamesPerMatch    int     `json:"games_per_match"`
	GameSeats        int     `json:"game_seats" doc:"Of a match of a game."`
	ComparedSeats    int     `json:"compared_seats" doc:"Of a match whose judge compares answers in pairs."`
	DebateTurns      int     `json:"debate_turns"`
	MaxTokens        int     `json:"max_tokens"`
	MaxCostUSD       int     `json:"max_cost_usd"`
	Canary           int     `json:"canary"`
	Tolerance        float64 `json:"tolerance"`
	WindowSeconds    float64 `json:"window_seconds"`
	MinVotes         int     `json:"min_votes"`
	MatchesPerDay    int     `json:"matches_per_day"`
	TokensPerDay     int64   `json:"tokens_per_day"`
	PauseSeconds     float64 `json:"pause_seconds" doc:"Between two matches of an agent."`
	PauseAfter       int     `json:"pause_after"`
}

// defaultsView are the values of fields that a new league leaves out.
type defaultsView struct {
	MaxRounds     int `json:"max_rounds"`
	MaxTokens     int `json:"max_tokens"`
	GamesPerMatch int `json:"games_per_match"`
	Difficulty    int `json:"difficulty"`
}

func newCatalog() catalogView {
	v := catalogView{
		Protocols: arena.Protocols(), BuiltIn: arena.BuiltInKinds(), Marks: arena.AllMarks(), Visibilities: []string{string(arena.VisibilityLive), string(arena.VisibilitySealed), "delayed"},
		PauseReasons: arena.PauseKinds(), VoidCodes: arena.VoidCodes(), NoteCodes: arena.NoteCodes(),
		Rating: ratingRulesView{
			Start: arena.StartRating, Scale: scoring.Scale, KProvisional: scoring.NewcomerK, K: scoring.SettledK, KTop: scoring.MasterK,
			Top: scoring.MasterPeak, ProvisionalMatches: arena.ProvisionalMatches, NewVersionMatches: arena.NewVersionMatches,
			RankedMatches: arena.RankedMatches, RankedGroups: arena.RankedGroups,
		},
		Limits: limitsView{
			Rounds: settings.MaxRounds, TimeLimitSeconds: arena.MaxTimeLimit.Seconds(), TimeBankSeconds: arena.MaxTimeBank.Seconds(),
			BreakSeconds: settings.MaxBreak.Seconds(), DelaySeconds: arena.MaxDelay.Seconds(), GamesPerMatch: settings.MaxGames,
			GameSeats: settings.MaxGameSeats, ComparedSeats: settings.MaxAskedSeats, DebateTurns: settings.MaxTurns, MaxTokens: pack.MaxTokens,
			MaxCostUSD: settings.MaxCostUSD, Canary: pack.MaxCanary, Tolerance: scoring.MaxTolerance, WindowSeconds: scoring.MaxWindow.Seconds(),
			MinVotes: scoring.MaxMinVotes, MatchesPerDay: arena.MaxMatchesPerDay, TokensPerDay: arena.MaxTokensPerDay,
			PauseSeconds: settings.MaxPause.Seconds(), PauseAfter: arena.MaxPauseAfter,
		},
		Defaults: defaultsView{
			MaxRounds: settings.DefaultMaxRounds, MaxTokens: settings.DefaultMaxTokens, GamesPerMatch: settings.DefaultGames,
			Difficulty: pack.DefaultDifficulty,
		},
	}
	for _, k := range format.Kinds() {
		v.Formats = append(v.Formats, formatKindView{
			Format: k.Format, Options: orEmpty(k.Options), Starts: k.Starts, DurationSeconds: k.Duration.Seconds(), MinSeats: k.MinSeats,
			MaxSeats: k.MaxSeats, MinEntrants: k.MinEntrants,
			Pace: viewPace(k.Pace), Table: k.Tabled(), Bracket: k.Bracket, Continuous: k.Continuous, LateJoin: k.LateJoin,
		})
	}
	for _, k := range scoring.JudgeKinds() {
		spec := arena.JudgeSpec{Kind: k.Kind}
		v.Judges = append(v.Judges, judgeKindView{
			Kind: k.Kind, Version: k.Version, Fields: orEmpty(k.Members), Compares: spec.Compares(), External: spec.External(),
		})
	}
	for _, name := range pack.Generators() {
		made := generatorKindView{Name: name, Judges: []string{pack.GeneratorJudge(name)}}
		for _, k := range scoring.JudgeKinds() {
			spec := arena.JudgeSpec{Kind: k.Kind}
			if k.Kind != made.Judges[0] && !spec.Compares() && pack.FitsGenerator(spec, arena.GeneratorSpec{Name: name}) {
				made.Judges = append(made.Judges, k.Kind)
			}
		}
		v.Generators = append(v.Generators, made)
	}
	return v
}

type catalogOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         catalogView
}

// getCatalog serves the catalog.
func getCatalog() func(*API, route) {
	out := &catalogOutput{CacheControl: "public, max-age=60", Body: newCatalog()}
	return handleOn(func(*API) *catalogOutput { return out }, func(out *catalogOutput, _ context.Context, _ *struct{}) (*catalogOutput, error) {
		return out, nil
	})
}
