package api

import (
	"bytes"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
)

// roundsInput is a number of rounds that may be null, and tells a member that
// is null from one that was left out.
type roundsInput struct {
	given bool
	n     int // 0: open end
}

// UnmarshalJSON reads a number or null.
func (r *roundsInput) UnmarshalJSON(data []byte) error {
	r.given, r.n = true, 0
	if string(bytes.TrimSpace(data)) == "null" {
		return nil
	}
	return json.Unmarshal(data, &r.n)
}

const maxRounds = 1000

// Schema is a number or null.
func (roundsInput) Schema(huma.Registry) *huma.Schema {
	one, most := 1.0, float64(maxRounds)
	return &huma.Schema{
		Type: huma.TypeInteger, Nullable: true, Minimum: &one, Maximum: &most,
		Description: "Rounds of a match; null is an open end.",
	}
}

// generatorBody is a source that makes tasks from a seed.
type generatorBody struct {
	Name       string `json:"name" maxLength:"40" example:"arithmetic"`
	Difficulty int    `json:"difficulty,omitempty" minimum:"1" maximum:"5"`
}

// leagueBody is the League body of the contract.
type leagueBody struct {
	Slug             string         `json:"slug" minLength:"1" maxLength:"40" pattern:"^[a-z0-9]+(-[a-z0-9]+)*$" patternDescription:"lower-case letters, digits and single hyphens"`
	Title            string         `json:"title" minLength:"1" maxLength:"80"`
	Format           string         `json:"format,omitempty" maxLength:"40" doc:"ladder when left out."`
	PackID           string         `json:"pack_id,omitempty" maxLength:"64" doc:"The pack that tasks come from; or generator."`
	Generator        *generatorBody `json:"generator,omitempty" doc:"What makes the tasks; or pack_id."`
	Judge            judgeInput     `json:"judge,omitzero" doc:"Left out: the one that fits the generator, and choice for a pack."`
	Rounds           roundsInput    `json:"rounds,omitzero"`
	MaxRounds        int            `json:"max_rounds,omitempty" minimum:"1" maximum:"1000" doc:"The cap of an open end."`
	TimeLimitSeconds float64        `json:"time_limit_seconds" minimum:"1" maximum:"600" doc:"For each round."`
	BreakSeconds     float64        `json:"break_seconds,omitempty" minimum:"0" maximum:"60" doc:"Between the close of a round and the next task."`
	MaxTokens        int            `json:"max_tokens,omitempty" minimum:"0" maximum:"10000000"`
	Rules            []string       `json:"rules,omitempty" maxItems:"50" maxLength:"500"`
	MinSeats         int            `json:"min_seats,omitempty" minimum:"2" maximum:"128"`
	MaxSeats         int            `json:"max_seats,omitempty" minimum:"2" maximum:"128"`
	Rated            bool           `json:"rated"`
	Visibility       string         `json:"visibility,omitempty" maxLength:"16" doc:"live, sealed, or delayed:<seconds> with 1 to 3600. Left out: sealed when rated, else live."`
	Schedule         string         `json:"schedule,omitempty" maxLength:"100" doc:"A cron expression in UTC."`
	Entry            *entryBody     `json:"entry,omitempty"`
	ScoreMode        string         `json:"score_mode,omitempty" enum:"match,rounds"`
	FormatOptions    *optionsBody   `json:"format_options,omitempty"`
	Debate           *debateBody    `json:"debate,omitempty" doc:"Makes every match a debate of two seats."`
	Canary           int            `json:"canary,omitempty" minimum:"0" maximum:"1000" doc:"One round in so many asks what nobody can know, with every option right, to find copied answers; 0: none. Judges exact and choice only."`
}

// settings are the rules that the body asks for, defaults not yet filled in.
func (b *leagueBody) settings() arena.Settings {
	return arena.Settings{
		Format: arena.Format(b.Format), PackID: b.PackID, Generator: b.Generator.spec(), Judge: b.Judge.spec(),
		Rounds: b.Rounds.n, MaxRounds: b.MaxRounds, TimeLimit: limitOf(b.TimeLimitSeconds),
		Break: limitOf(b.BreakSeconds), MaxTokens: b.MaxTokens,
		Rules: b.Rules, MinSeats: b.MinSeats, MaxSeats: b.MaxSeats, Rated: b.Rated,
		Visibility: arena.Visibility(b.Visibility), ScoreMode: b.ScoreMode,
		Options: b.FormatOptions.options(), Debate: b.Debate.spec(), Canary: b.Canary,
	}
}

func (g *generatorBody) spec() *arena.GeneratorSpec {
	if g == nil {
		return nil
	}
	return &arena.GeneratorSpec{Name: g.Name, Difficulty: g.Difficulty}
}

// updateLeagueBody is what may change in a league. Matches that are scheduled keep
// the settings that they were made with.
type updateLeagueBody struct {
	Title            *string        `json:"title,omitempty" minLength:"1" maxLength:"80"`
	PackID           *string        `json:"pack_id,omitempty" minLength:"1" maxLength:"64" doc:"Replaces a generator."`
	Generator        *generatorBody `json:"generator,omitempty" doc:"Replaces a pack."`
	Judge            *judgeInput    `json:"judge,omitempty"`
	Rounds           roundsInput    `json:"rounds,omitzero"`
	MaxRounds        *int           `json:"max_rounds,omitempty" minimum:"1" maximum:"1000"`
	TimeLimitSeconds *float64       `json:"time_limit_seconds,omitempty" minimum:"1" maximum:"600"`
	BreakSeconds     *float64       `json:"break_seconds,omitempty" minimum:"0" maximum:"60"`
	MaxTokens        *int           `json:"max_tokens,omitempty" minimum:"0" maximum:"10000000"`
	Rules            *[]string      `json:"rules,omitempty" maxItems:"50"`
	MinSeats         *int           `json:"min_seats,omitempty" minimum:"2" maximum:"128"`
	MaxSeats         *int           `json:"max_seats,omitempty" minimum:"2" maximum:"128"`
	Rated            *bool          `json:"rated,omitempty"`
	Visibility       *string        `json:"visibility,omitempty" maxLength:"16" doc:"live, sealed, or delayed:<seconds> with 1 to 3600."`
	Schedule         *string        `json:"schedule,omitempty" maxLength:"100" doc:"A cron expression in UTC; empty for none."`
	Entry            *entryBody     `json:"entry,omitempty"`
	ScoreMode        *string        `json:"score_mode,omitempty" enum:"match,rounds"`
	FormatOptions    *optionsBody   `json:"format_options,omitempty" doc:"Replaces all of them, from the next season on."`
	Debate           *debateBody    `json:"debate,omitempty"`
	Canary           *int           `json:"canary,omitempty" minimum:"0" maximum:"1000"`
}

// apply changes what the patch names.
func (b *updateLeagueBody) apply(l *arena.League) {
	s := &l.Settings
	l.Title = orElse(b.Title, l.Title)
	l.Schedule = orElse(b.Schedule, l.Schedule)
	if b.Entry != nil {
		l.Entry = b.Entry.rules(l.Entry)
	}
	if b.PackID != nil {
		s.PackID, s.Generator = *b.PackID, nil
	}
	if b.Generator != nil {
		s.Generator = b.Generator.spec()
		s.PackID = orElse(b.PackID, "") // both at once is for the check to refuse
	}
	if b.Judge != nil {
		s.Judge = b.Judge.spec()
	}
	if b.FormatOptions != nil {
		s.Options = b.FormatOptions.options()
	}
	if b.Debate != nil {
		s.Debate = b.Debate.spec()
	}
	if b.Rounds.given {
		s.Rounds = b.Rounds.n
	}
	if b.TimeLimitSeconds != nil {
		s.TimeLimit = limitOf(*b.TimeLimitSeconds)
	}
	if b.BreakSeconds != nil {
		s.Break = limitOf(*b.BreakSeconds)
	}
	s.MaxRounds = orElse(b.MaxRounds, s.MaxRounds)
	s.MaxTokens = orElse(b.MaxTokens, s.MaxTokens)
	s.Rules = orElse(b.Rules, s.Rules)
	s.MinSeats = orElse(b.MinSeats, s.MinSeats)
	s.MaxSeats = orElse(b.MaxSeats, s.MaxSeats)
	s.Rated = orElse(b.Rated, s.Rated)
	s.Visibility = arena.Visibility(orElse(b.Visibility, string(s.Visibility)))
	s.ScoreMode = orElse(b.ScoreMode, s.ScoreMode)
	s.Canary = orElse(b.Canary, s.Canary)
}

// LeagueDocument returns a league as everyone sees it, for audit entries.
func LeagueDocument(l arena.League) any { return viewLeague(l) }

// leagueView is a league as everyone sees it.
type leagueView struct {
	Slug             string             `json:"slug"`
	Title            string             `json:"title"`
	Status           arena.LeagueStatus `json:"status" enum:"draft,open,running,paused,frozen,finished"`
	Format           arena.Format       `json:"format"`
	PackID           string             `json:"pack_id,omitempty"`
	Generator        *generatorBody     `json:"generator,omitempty"`
	Judge            judgeBody          `json:"judge"`
	Rounds           *int               `json:"rounds" doc:"null: open end"`
	MaxRounds        int                `json:"max_rounds,omitempty" doc:"The cap of an open end."`
	TimeLimitSeconds float64            `json:"time_limit_seconds"`
	BreakSeconds     float64            `json:"break_seconds,omitempty"`
	MaxTokens        int                `json:"max_tokens,omitempty"`
	Rules            []string           `json:"rules"`
	MinSeats         int                `json:"min_seats"`
	MaxSeats         int                `json:"max_seats"`
	Rated            bool               `json:"rated"`
	Visibility       arena.Visibility   `json:"visibility"`
	ScoreMode        string             `json:"score_mode" enum:"match,rounds"`
	Schedule         string             `json:"schedule,omitempty"`
	Entry            entryBody          `json:"entry"`
	FormatOptions    *optionsBody       `json:"format_options,omitempty"`
	Debate           *debateBody        `json:"debate,omitempty"`
	Canary           int                `json:"canary,omitempty" doc:"One round in so many asks a canary."`
	Agents           int                `json:"agents" doc:"Entered and not withdrawn."`
	Drift            arena.Melo         `json:"drift" doc:"Sum of all ratings minus agents × 1500."`
	CreatedAt        jsonTime           `json:"created_at"`
	NextRunAt        *jsonTime          `json:"next_run_at,omitempty" doc:"When it pairs next; absent when not known."`
	Note             string             `json:"note,omitempty" doc:"Why it is not pairing."`
}

func viewLeague(l arena.League) leagueView {
	s := l.Settings
	v := leagueView{
		Slug: l.Slug, Title: l.Title, Status: l.Status, Format: s.Format, PackID: s.PackID,
		Judge: viewJudge(s.Judge), Rounds: roundsOrOpen(s.Rounds), MaxRounds: s.MaxRounds,
		TimeLimitSeconds: s.TimeLimit.Seconds(), BreakSeconds: s.Break.Seconds(), MaxTokens: s.MaxTokens, Rules: orEmpty(s.Rules),
		MinSeats: s.MinSeats, MaxSeats: s.MaxSeats, Rated: s.Rated, Visibility: s.Visibility, ScoreMode: s.ScoreMode,
		Schedule: l.Schedule, Entry: viewEntry(l.Entry), FormatOptions: viewOptions(s.Options), Canary: s.Canary, Agents: l.Agents, Drift: l.Drift,
		CreatedAt: jsonTime(l.CreatedAt), NextRunAt: optionalTime(l.NextRunAt), Note: l.Note,
	}
	if g := s.Generator; g != nil {
		v.Generator = &generatorBody{Name: g.Name, Difficulty: g.Difficulty}
	}
	if s.Debate != nil {
		v.Debate = &debateBody{Turns: s.Debate.Turns}
	}
	return v
}

// roundsOrOpen is nil for an open end.
func roundsOrOpen(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
