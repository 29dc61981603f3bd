package api

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/league/format"
)

// roundsInput is a number of rounds that may be null. It distinguishes null from
// a missing member.
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
	return strictjson.UnmarshalWhole(data, &r.n)
}

const maxRounds = 200

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
	Name        string `json:"name" maxLength:"40" example:"arithmetic"`
	Difficulty  int    `json:"difficulty,omitempty" minimum:"1" maximum:"5" doc:"Default 2."`
	HarderEvery int    `json:"harder_every,omitempty" minimum:"0" maximum:"200" doc:"Rounds after which the difficulty rises by one, up to 5; 0: it stays."`
}

// leagueBody is the League body of the contract.
type leagueBody struct {
	Slug             string         `json:"slug" minLength:"1" maxLength:"40" pattern:"^[a-z0-9]+(-[a-z0-9]+)*$" patternDescription:"lower-case letters, digits and single hyphens"`
	Title            string         `json:"title" minLength:"1" maxLength:"80"`
	Format           string         `json:"format,omitempty" maxLength:"40" doc:"ladder when left out."`
	PackID           string         `json:"pack_id,omitempty" maxLength:"64" doc:"The pack that tasks come from; or generator or game."`
	Generator        *generatorBody `json:"generator,omitempty" doc:"The generator of the tasks; or pack_id or game."`
	Game             *gameBody      `json:"game,omitempty"`
	Judge            judgeInput     `json:"judge,omitzero" doc:"Left out: the one that fits the generator, and choice for a pack."`
	Rounds           roundsInput    `json:"rounds,omitzero"`
	MaxRounds        int            `json:"max_rounds,omitempty" minimum:"1" maximum:"200" doc:"The cap of an open end."`
	TimeLimitSeconds float64        `json:"time_limit_seconds" minimum:"1" maximum:"600" doc:"For each round."`
	BreakSeconds     float64        `json:"break_seconds,omitempty" minimum:"0" maximum:"60" doc:"Between the close of a round and the next task."`
	MaxTokens        int            `json:"max_tokens,omitempty" minimum:"0" maximum:"1000000"`
	MaxTokensPolicy  string         `json:"max_tokens_policy,omitempty" enum:"note,zero_points" doc:"Of answers over max_tokens: note marks them, zero_points also gives them no points. note when left out."`
	MaxCostUSD       float64        `json:"max_cost_usd,omitempty" minimum:"0" maximum:"1000000" doc:"The highest price that an agent of protocol envelope may offer for a round. The arena declines a higher one. Nothing is charged."`
	Rules            []string       `json:"rules,omitempty" maxItems:"20" maxLength:"64"`
	MinSeats         int            `json:"min_seats,omitempty" minimum:"2" maximum:"128"`
	MaxSeats         int            `json:"max_seats,omitempty" minimum:"2" maximum:"128"`
	Rated            bool           `json:"rated"`
	Visibility       string         `json:"visibility,omitempty" maxLength:"16" doc:"live, sealed, or delayed:<seconds> with 1 to 3600. Left out: sealed when rated, else live."`
	Schedule         string         `json:"schedule,omitempty" maxLength:"100" doc:"A cron expression in UTC, or in the zone of a CRON_TZ=Area/City before it."`
	Entry            *entryBody     `json:"entry,omitempty"`
	ScoreMode        string         `json:"score_mode,omitempty" enum:"match,rounds,result" doc:"result is the mode of games."`
	FormatOptions    *optionsBody   `json:"format_options,omitempty"`
	Debate           *debateBody    `json:"debate,omitempty" doc:"Makes every match a debate of two seats."`
	Canary           int            `json:"canary,omitempty" minimum:"0" maximum:"1000" doc:"One round in this many asks a trap question, with every option right, to find copied answers; 0: none. Judges exact and choice only."`
	Description      string         `json:"description,omitempty" maxLength:"2000" doc:"Describes the league to people."`
	Prize            string         `json:"prize,omitempty" maxLength:"200"`
	RulesText        string         `json:"rules_text,omitempty" maxLength:"4000" doc:"Rules for people. rules are sent to agents."`
	SignupUntil      deadlineInput  `json:"signup_until,omitzero"`
	Pace             *paceBody      `json:"pace,omitempty" doc:"How often the league calls each agent."`
	BuiltIn          []string       `json:"built_in,omitempty" maxItems:"8" maxLength:"16" doc:"Opponents that come with the program and play in the ladder: random, greedy and search in games, p05 to p95 for questions. See built_in in /v1/catalog."`
}

// settings are the rules that the body asks for, defaults not yet filled in.
func (b *leagueBody) settings() arena.Settings {
	s := arena.Settings{
		Format: arena.Format(b.Format), PackID: b.PackID, Generator: b.Generator.spec(), Judge: b.Judge.spec(),
		Rounds: b.Rounds.n, MaxRounds: b.MaxRounds, TimeLimit: limitOf(b.TimeLimitSeconds),
		Break: limitOf(b.BreakSeconds), MaxTokens: b.MaxTokens,
		MaxTokensPolicy: arena.TokenPolicy(b.MaxTokensPolicy), MaxCostUSD: b.MaxCostUSD,
		Rules: b.Rules, MinSeats: b.MinSeats, MaxSeats: b.MaxSeats, Rated: b.Rated,
		Visibility: arena.Visibility(b.Visibility), ScoreMode: b.ScoreMode,
		Options: b.FormatOptions.options(), Debate: b.Debate.spec(), Game: b.Game.spec(), Canary: b.Canary, BuiltIn: b.BuiltIn,
	}
	if b.Pace != nil {
		s.Pace = b.Pace.apply(format.Of(cmp.Or(s.Format, arena.FormatLadder)).Pace)
	}
	return s
}

func (g *generatorBody) spec() *arena.GeneratorSpec {
	if g == nil {
		return nil
	}
	return &arena.GeneratorSpec{Name: g.Name, Difficulty: g.Difficulty, HarderEvery: g.HarderEvery}
}

// updateLeagueBody is what may change in a league. Matches that are scheduled keep
// the settings that they were made with.
type updateLeagueBody struct {
	Title            *string        `json:"title,omitempty" minLength:"1" maxLength:"80"`
	PackID           *string        `json:"pack_id,omitempty" minLength:"1" maxLength:"64" doc:"Replaces a generator."`
	Generator        *generatorBody `json:"generator,omitempty" doc:"Replaces a pack."`
	Game             *gameBody      `json:"game,omitempty" doc:"Replaces all settings of the game, from the next match on."`
	Judge            *judgeInput    `json:"judge,omitempty"`
	Rounds           roundsInput    `json:"rounds,omitzero"`
	MaxRounds        *int           `json:"max_rounds,omitempty" minimum:"1" maximum:"200"`
	TimeLimitSeconds *float64       `json:"time_limit_seconds,omitempty" minimum:"1" maximum:"600"`
	BreakSeconds     *float64       `json:"break_seconds,omitempty" minimum:"0" maximum:"60"`
	MaxTokens        *int           `json:"max_tokens,omitempty" minimum:"0" maximum:"1000000"`
	MaxTokensPolicy  *string        `json:"max_tokens_policy,omitempty" enum:"note,zero_points"`
	MaxCostUSD       *float64       `json:"max_cost_usd,omitempty" minimum:"0" maximum:"1000000"`
	Rules            *[]string      `json:"rules,omitempty" maxItems:"20" maxLength:"64"`
	MinSeats         *int           `json:"min_seats,omitempty" minimum:"2" maximum:"128"`
	MaxSeats         *int           `json:"max_seats,omitempty" minimum:"2" maximum:"128"`
	Rated            *bool          `json:"rated,omitempty"`
	Visibility       *string        `json:"visibility,omitempty" maxLength:"16" doc:"live, sealed, or delayed:<seconds> with 1 to 3600."`
	Schedule         *string        `json:"schedule,omitempty" maxLength:"100" doc:"A cron expression in UTC, or in the zone of a CRON_TZ=Area/City before it; empty for none."`
	Entry            *entryBody     `json:"entry,omitempty"`
	ScoreMode        *string        `json:"score_mode,omitempty" enum:"match,rounds,result" doc:"result is the mode of games."`
	FormatOptions    *optionsBody   `json:"format_options,omitempty" doc:"Replaces all of them, from the next season on."`
	Debate           *debateBody    `json:"debate,omitempty"`
	Canary           *int           `json:"canary,omitempty" minimum:"0" maximum:"1000"`
	Description      *string        `json:"description,omitempty" maxLength:"2000"`
	Prize            *string        `json:"prize,omitempty" maxLength:"200"`
	RulesText        *string        `json:"rules_text,omitempty" maxLength:"4000"`
	SignupUntil      deadlineInput  `json:"signup_until,omitzero"`
	Pace             *paceBody      `json:"pace,omitempty" doc:"Fields that are left out stay as they are."`
	BuiltIn          *[]string      `json:"built_in,omitempty" maxItems:"8" maxLength:"16" doc:"Replaces the opponents that come with the program; empty: none play."`
}

// apply changes what the patch names.
func (b *updateLeagueBody) apply(l *arena.League) {
	s := &l.Settings
	l.Title = orElse(b.Title, l.Title)
	l.Schedule = orElse(b.Schedule, l.Schedule)
	l.Description = orElse(b.Description, l.Description)
	l.Prize = orElse(b.Prize, l.Prize)
	l.RulesText = orElse(b.RulesText, l.RulesText)
	if b.SignupUntil.given {
		l.SignupUntil = b.SignupUntil.at
	}
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
	if b.Game != nil {
		s.Game = b.Game.spec()
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
	s.MaxTokensPolicy = arena.TokenPolicy(orElse(b.MaxTokensPolicy, string(s.MaxTokensPolicy)))
	s.MaxCostUSD = orElse(b.MaxCostUSD, s.MaxCostUSD)
	s.Rules = orElse(b.Rules, s.Rules)
	s.MinSeats = orElse(b.MinSeats, s.MinSeats)
	s.MaxSeats = orElse(b.MaxSeats, s.MaxSeats)
	s.Rated = orElse(b.Rated, s.Rated)
	s.Visibility = arena.Visibility(orElse(b.Visibility, string(s.Visibility)))
	s.ScoreMode = orElse(b.ScoreMode, s.ScoreMode)
	s.Canary = orElse(b.Canary, s.Canary)
	s.BuiltIn = orElse(b.BuiltIn, s.BuiltIn)
	if b.Pace != nil {
		s.Pace = b.Pace.apply(s.PaceInForce())
	}
}

// paceBody is how often a league calls each agent.
type paceBody struct {
	MatchesPerDay *int     `json:"matches_per_day,omitempty" minimum:"0" maximum:"10000" doc:"Of each agent in any 24 hours; 0: no limit. Left out: 24 in a ladder, no limit in other formats."`
	PauseSeconds  *float64 `json:"pause_seconds,omitempty" minimum:"0" maximum:"86400" doc:"Between two matches of an agent. Left out: 600 in a ladder, 0 in other formats."`
	UnratedFiller *bool    `json:"unrated_filler,omitempty" doc:"In the ladder of a rated league: pair agents that can meet only unrated, because they are of one owner or have met three times in 24 hours. false when left out."`
}

// apply returns a pace with what the body names.
func (b *paceBody) apply(to arena.Pace) *arena.Pace {
	to.MatchesPerDay = orElse(b.MatchesPerDay, to.MatchesPerDay)
	if b.PauseSeconds != nil {
		to.Pause = limitOf(*b.PauseSeconds)
	}
	to.UnratedFiller = orElse(b.UnratedFiller, to.UnratedFiller)
	return &to
}

func viewPace(p arena.Pace) *paceBody {
	if p == (arena.Pace{}) {
		return nil
	}
	seconds := p.Pause.Seconds()
	return &paceBody{MatchesPerDay: &p.MatchesPerDay, PauseSeconds: &seconds, UnratedFiller: &p.UnratedFiller}
}

// LeagueDocument returns the public view of a league, for audit entries.
func LeagueDocument(l arena.League) any { return viewLeague(l) }

// leagueView is the public view of a league.
type leagueView struct {
	Slug             string             `json:"slug"`
	Title            string             `json:"title"`
	Status           arena.LeagueStatus `json:"status" enum:"draft,open,running,paused,frozen,finished"`
	Format           arena.Format       `json:"format"`
	PackID           string             `json:"pack_id,omitempty"`
	Generator        *generatorBody     `json:"generator,omitempty"`
	Game             *gameBody          `json:"game,omitempty" doc:"The game that its matches play; absent: they ask questions."`
	Judge            judgeBody          `json:"judge"`
	Rounds           *int               `json:"rounds" doc:"null: open end"`
	MaxRounds        int                `json:"max_rounds,omitempty" doc:"The cap of an open end."`
	TimeLimitSeconds float64            `json:"time_limit_seconds"`
	BreakSeconds     float64            `json:"break_seconds,omitempty"`
	MaxTokens        int                `json:"max_tokens,omitempty"`
	MaxTokensPolicy  arena.TokenPolicy  `json:"max_tokens_policy" enum:"note,zero_points"`
	MaxCostUSD       float64            `json:"max_cost_usd,omitempty" doc:"The highest price of an offer that is accepted, for a round. Absent: 0."`
	Rules            []string           `json:"rules"`
	MinSeats         int                `json:"min_seats"`
	MaxSeats         int                `json:"max_seats"`
	Rated            bool               `json:"rated"`
	Visibility       arena.Visibility   `json:"visibility"`
	ScoreMode        string             `json:"score_mode" enum:"match,rounds,result"`
	Schedule         string             `json:"schedule,omitempty"`
	Entry            entryBody          `json:"entry"`
	FormatOptions    *optionsBody       `json:"format_options,omitempty"`
	Debate           *debateBody        `json:"debate,omitempty"`
	Canary           int                `json:"canary,omitempty" doc:"One round in this many asks a trap question."`
	Agents           int                `json:"agents" doc:"Entered and not withdrawn."`
	Drift            arena.MilliElo     `json:"drift" doc:"Sum of all ratings minus agents × 1500."`
	CreatedAt        jsonTime           `json:"created_at"`
	NextRunAt        *jsonTime          `json:"next_run_at,omitempty" doc:"When it pairs next; absent when not known."`
	Note             string             `json:"note,omitempty" doc:"Why it is not pairing, in English."`
	NoteCode         arena.NoteCode     `json:"note_code,omitempty" enum:"needs_agents,budgets_stop,just_met,waits_for_opponent,only_unrated,waits_for_budget,waits_for_agent,gathers,plays_elsewhere,not_offered,game_failed,judge_order,judge_length,judge_family,judge_gold,audit" doc:"The kind of note."`
	NoteParams       *arena.NoteParams  `json:"note_params,omitempty" doc:"The values in the note."`
	Description      string             `json:"description,omitempty" doc:"Describes the league to people."`
	Prize            string             `json:"prize,omitempty"`
	RulesText        string             `json:"rules_text,omitempty" doc:"Rules for people. rules are sent to agents."`
	SignupUntil      *jsonTime          `json:"signup_until,omitempty" doc:"Entries close at this time; absent: they do not."`
	ArchivedAt       *jsonTime          `json:"archived_at,omitempty" doc:"Absent: not archived. An archived league is not listed, starts no matches and takes no entries."`
	Pace             *paceBody          `json:"pace,omitempty" doc:"How often it calls each agent. Absent: as often as its format wants."`
	BuiltIn          []string           `json:"built_in,omitempty" doc:"Opponents that come with the program and play in it."`
	CorrectedTasks   int                `json:"corrected_tasks,omitempty" doc:"Questions whose answer was corrected after its matches had used them. Their rounds were judged again; brackets, eliminations and finished seasons stay."`
	RemovedTasks     int                `json:"removed_tasks,omitempty" doc:"Questions removed from its pack after its matches had used them. Their rounds are void; eliminations and finished seasons stay."`
	Audit            *auditSummary      `json:"audit,omitempty" doc:"The newest audit; absent: there was none, and the league waits for none. All of it: GET /v1/leagues/{slug}/audit."`
}

func viewLeague(l arena.League) leagueView {
	s := l.Settings
	v := leagueView{
		Slug: l.Slug, Title: l.Title, Status: l.Status, Format: s.Format, PackID: s.PackID, Game: viewGame(s.Game),
		Judge: viewJudge(s.Judge), Rounds: roundsOrOpen(s.Rounds), MaxRounds: s.MaxRounds,
		TimeLimitSeconds: s.TimeLimit.Seconds(), BreakSeconds: s.Break.Seconds(), MaxTokens: s.MaxTokens,
		MaxTokensPolicy: cmp.Or(s.MaxTokensPolicy, arena.NoteTokens), MaxCostUSD: s.MaxCostUSD, Rules: orEmpty(s.Rules),
		MinSeats: s.MinSeats, MaxSeats: s.MaxSeats, Rated: s.Rated, Visibility: s.Visibility, ScoreMode: s.ScoreMode,
		Schedule: l.Schedule, Entry: viewEntry(l.Entry), FormatOptions: viewOptions(s.Options), Canary: s.Canary, Agents: l.Agents, Drift: l.Drift,
		CreatedAt: jsonTime(l.CreatedAt), NextRunAt: optionalTime(l.NextRunAt), Note: l.Note.String(), NoteCode: l.Note.Code,
		Description: l.Description, Prize: l.Prize, RulesText: l.RulesText, SignupUntil: optionalTime(l.SignupUntil),
		ArchivedAt: optionalTime(l.ArchivedAt), RemovedTasks: l.RemovedTasks, CorrectedTasks: l.CorrectedTasks,
		Pace: viewPace(s.PaceInForce()), BuiltIn: s.BuiltIn,
	}
	if l.Note.Code != "" {
		v.NoteParams = &l.Note.Params
	}
	if g := s.Generator; g != nil {
		v.Generator = &generatorBody{Name: g.Name, Difficulty: g.Difficulty, HarderEvery: g.HarderEvery}
	}
	if s.Debate != nil {
		v.Debate = &debateBody{Turns: s.Debate.Turns}
	}
	if l.Audit != nil {
		v.Audit = summaryOf(l)
	}
	return v
}

// auditSummary is what the page of a league says of an audit.
type auditSummary struct {
	Status   string    `json:"status" enum:"none,pending,done" doc:"none: the last audit came to nothing, for the reason. pending: the league waits for an audit, or is being audited."`
	Reason   string    `json:"reason,omitempty" doc:"Why the last audit came to nothing."`
	Stale    bool      `json:"stale,omitempty" doc:"The report is of earlier settings."`
	At       *jsonTime `json:"at,omitempty" doc:"Absent: no audit has ended yet."`
	Passed   int       `json:"passed" doc:"Cheats that got no more than chance gives."`
	Tried    int       `json:"tried" doc:"Cheats."`
	Findings int       `json:"findings" doc:"Ways in which the questions or settings reveal answers."`
}

func summaryOf(l arena.League) *auditSummary {
	r := *l.Audit
	v := &auditSummary{Status: auditStatus(r), Reason: r.Reason, Stale: l.AuditStale(), At: optionalTime(r.At), Findings: len(r.Findings)}
	for _, c := range r.Cheats {
		if c.Tried > 0 {
			v.Tried++
		}
		if c.Passed {
			v.Passed++
		}
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

// optionsBody are the settings of one format or of its schedule.
type optionsBody struct {
	Double          bool    `json:"double,omitempty" doc:"round_robin: every pair meets twice."`
	Rounds          int     `json:"rounds,omitempty" minimum:"0" maximum:"30" doc:"swiss: 0 is enough for one winner."`
	BestOf          int     `json:"best_of,omitempty" enum:"0,1,3,5,7" doc:"knockout, double_elimination: games of a series."`
	DurationSeconds float64 `json:"duration_seconds,omitempty" minimum:"0" maximum:"31622400" doc:"How long a season lasts; arena: 1800 when left out."`
	Champion        string  `json:"champion,omitempty" maxLength:"64" doc:"gauntlet: the agent that meets all others; else the highest rated."`
	ForfeitSeconds  float64 `json:"forfeit_seconds,omitempty" minimum:"0" maximum:"86400" doc:"How long a paired agent is waited for; 120 when left out."`
	FasterSeconds   float64 `json:"faster_seconds,omitempty" minimum:"0" maximum:"60" doc:"elimination: how much less time each round has than the one before, down to a third of time_limit_seconds and to 2 s; 0: all rounds have the same."`
	ScheduleStarts  string  `json:"schedule_starts,omitempty" enum:",season,round,match" doc:"The event that the schedule starts."`
}

func (b *optionsBody) options() arena.FormatOptions {
	if b == nil {
		return arena.FormatOptions{}
	}
	return arena.FormatOptions{
		Double: b.Double, Rounds: b.Rounds, BestOf: b.BestOf, Duration: limitOf(b.DurationSeconds),
		Champion: b.Champion, Forfeit: limitOf(b.ForfeitSeconds), Faster: limitOf(b.FasterSeconds), Starts: b.ScheduleStarts,
	}
}

func viewOptions(o arena.FormatOptions) *optionsBody {
	if o == (arena.FormatOptions{}) {
		return nil
	}
	return &optionsBody{
		Double: o.Double, Rounds: o.Rounds, BestOf: o.BestOf, DurationSeconds: o.Duration.Seconds(),
		Champion: o.Champion, ForfeitSeconds: o.Forfeit.Seconds(), FasterSeconds: o.Faster.Seconds(), ScheduleStarts: o.Starts,
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
	Allow          []string        `json:"allow,omitempty" maxItems:"1000" maxLength:"64" doc:"Ids of the agents that may enter; empty: everyone."`
	AgentsPerOwner int             `json:"agents_per_owner,omitempty" minimum:"0" maximum:"100" doc:"0: no limit."`
	Password       *string         `json:"password,omitempty" maxLength:"128" doc:"Required to enter; empty: none. Never shown: a league that has one shows password_required."`
	Required       bool            `json:"password_required,omitempty" readOnly:"true"`
	MinRating      *arena.MilliElo `json:"min_rating,omitempty" doc:"In this league, Elo."`
	MaxRating      *arena.MilliElo `json:"max_rating,omitempty"`
	MinMatches     int             `json:"min_matches,omitempty" minimum:"0" maximum:"100000" doc:"Rated matches in any league."`
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

// SeasonView is the public view of a season. Huma reads embedded members of
// exported types only.
type SeasonView struct {
	Season      int                `json:"season" doc:"1, 2, 3 … within the league."`
	SeasonID    string             `json:"season_id"`
	Status      arena.SeasonStatus `json:"status" enum:"running,finished"`
	Format      arena.Format       `json:"format"`
	StartedAt   jsonTime           `json:"started_at"`
	EndsAt      *jsonTime          `json:"ends_at,omitempty"`
	FinishedAt  *jsonTime          `json:"finished_at,omitempty"`
	CorrectedAt *jsonTime          `json:"corrected_at,omitempty" doc:"When the answer of a question that its matches had used was last corrected, after its end. Its table and podium stayed as they were."`
	Podium      []arena.TableRow   `json:"podium" doc:"The first three places of a finished season."`
}

func viewSeason(s arena.Season) SeasonView {
	v := SeasonView{
		Season: s.No, SeasonID: s.ID, Status: s.Status, Format: s.Format, StartedAt: jsonTime(s.StartedAt),
		EndsAt: optionalTime(s.EndsAt), FinishedAt: optionalTime(s.FinishedAt), CorrectedAt: optionalTime(s.CorrectedAt), Podium: []arena.TableRow{},
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

// limitOf returns a time to the millisecond.
func limitOf(seconds float64) time.Duration {
	return time.Duration(seconds*1000+0.5) * time.Millisecond
}
