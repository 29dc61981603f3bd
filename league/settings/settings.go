package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
	"github.com/agora-arena/arena/league/game/players"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/scoring"
)

// The bounds and defaults of settings.
const (
	MaxRounds        = 200
	DefaultMaxRounds = 50
	minTimeLimit     = time.Second
	MaxBreak         = time.Minute
	MaxTurns         = 5
	MaxAskedSeats    = 8
	DefaultMaxTokens = 500
	MaxCostUSD       = 1_000_000
	DefaultGames     = 2 // so that each seat begins once
	MaxGames         = 20
	MaxGameSeats     = 16
	MaxPause         = 24 * time.Hour
)

// Defaults returns the settings of a league with defaults filled in:
//
//   - the format ladder;
//   - the judge of the generator, else choice;
//   - sealed if the league is rated and not a debate or if the crowd votes, else live;
//   - 3 to 128 seats in an elimination, 2 in other formats;
//   - a cap of 50 rounds for an open end;
//   - 500 tokens, with longer answers marked;
//   - points summed over the match, results in games;
//   - two games a match;
//   - the pace and the options of its format.
//
// The rounds of a debate are its turns. Otherwise rounds, the time limit and the
// source of tasks have no default.
func Defaults(s arena.Settings) arena.Settings {
	s.Rules, s.BuiltIn = slices.Clone(s.Rules), slices.Clone(s.BuiltIn)
	if s.Format == "" {
		s.Format = arena.FormatLadder
	}
	if s.Generator != nil {
		g := *s.Generator
		if g.Difficulty == 0 {
			g.Difficulty = pack.DefaultDifficulty
		}
		s.Generator = &g
	}
	if s.Game != nil {
		g := *s.Game
		if g.Games == 0 {
			g.Games = DefaultGames
		}
		s.Game, s.ScoreMode = &g, cmp.Or(s.ScoreMode, arena.ScoreResult)
	}
	if s.Judge.Kind == "" && s.Game == nil {
		s.Judge.Kind = arena.JudgeChoice
		if s.Generator != nil {
			s.Judge.Kind = pack.GeneratorJudge(s.Generator.Name)
		}
	}
	if s.Visibility == "" {
		s.Visibility = arena.VisibilityLive
		hidden := s.Game != nil && s.Game.Hidden
		if s.Rated && s.Debate == nil || hidden || s.Judge.Kind == arena.JudgeCrowd { // voters must not see the authors of answers
			s.Visibility = arena.VisibilitySealed
		}
	}
	if s.Debate != nil {
		s.Rounds = 2 * s.Debate.Turns
	}
	s.Options = format.Defaults(s.Options, s.Format)
	kind := format.Of(s.Format)
	if s.MinSeats == 0 {
		s.MinSeats = kind.MinSeats
	}
	if s.MaxSeats == 0 {
		s.MaxSeats = max(kind.MaxSeats, s.MinSeats)
	}
	if s.MaxRounds == 0 {
		s.MaxRounds = DefaultMaxRounds
	}
	if s.MaxTokens == 0 {
		s.MaxTokens = DefaultMaxTokens
	}
	if s.MaxTokensPolicy == "" {
		s.MaxTokensPolicy = arena.NoteTokens
	}
	if s.ScoreMode == "" {
		s.ScoreMode = arena.ScoreMatch
	}
	if pace := kind.Pace; s.Pace == nil && pace != (arena.Pace{}) {
		s.Pace = &pace
	}
	return s
}

// Check returns the errors of settings after Defaults, or nil if they are valid.
// hasModel reports that the arena has a language model. The caller checks whether
// the pack exists.
func Check(s arena.Settings, hasModel bool) []arena.FieldError {
	c := checker{}
	c.format(s)
	switch {
	case s.Game != nil:
		c.game(s)
	case s.Generator != nil:
		c.require(s.PackID == "", "pack_id", "is one source of tasks too many: choose pack_id or generator")
		c.wrong = append(c.wrong, pack.CheckGenerator(*s.Generator)...)
	default:
		c.require(s.PackID != "", "pack_id", "is missing: a league needs pack_id, generator or game")
	}
	if s.Game == nil {
		c.wrong = append(c.wrong, scoring.CheckJudge(s.Judge)...)
		c.require(hasModel || s.Judge.Kind != arena.JudgeModel, "judge.kind", "this arena has no language model: ARENA_JUDGE_URL is not set")
	}
	if s.Generator != nil && len(c.wrong) == 0 {
		c.require(pack.FitsGenerator(s.Judge, *s.Generator), "judge.kind",
			"%s cannot judge what the generator %s makes; choose %s", s.Judge.Kind, s.Generator.Name, pack.GeneratorJudge(s.Generator.Name))
	}
	c.between("rounds", s.Rounds, 0, MaxRounds, " (0 or null: open end)")
	c.between("max_rounds", s.MaxRounds, 1, MaxRounds, "")
	c.require(s.TimeLimit >= minTimeLimit && s.TimeLimit <= arena.MaxTimeLimit,
		"time_limit_seconds", "must be %g to %g", minTimeLimit.Seconds(), arena.MaxTimeLimit.Seconds())
	c.require(s.Break >= 0 && s.Break <= MaxBreak, "break_seconds", "must be 0 to %g", MaxBreak.Seconds())
	c.between("max_tokens", s.MaxTokens, 1, pack.MaxTokens, "")
	c.require(s.MaxTokensPolicy == arena.NoteTokens || s.MaxTokensPolicy == arena.ZeroPointsTokens,
		"max_tokens_policy", "must be note or zero_points, not %q", s.MaxTokensPolicy)
	c.require(s.MaxCostUSD >= 0 && s.MaxCostUSD <= MaxCostUSD, "max_cost_usd", "must be 0 to %d", MaxCostUSD)
	c.wrong = append(c.wrong, pack.CheckRules(s.Rules)...)
	c.require(s.Visibility.Valid(), "visibility", "must be %s, not %q", arena.VisibilityForms, s.Visibility)
	c.require(!s.Visibility.HoldsBack() || s.Judge.Kind != arena.JudgeCrowd, "visibility", "must be live or sealed: the crowd votes while the round is open")
	c.require(!s.Rated || s.Judge.Kind != arena.JudgeCrowd || s.Judge.VoterAccounts, "judge.voter_accounts",
		"must be true in a rated league: without accounts one person may vote many times")
	c.between("canary", s.Canary, 0, pack.MaxCanary, " (0: none)")
	c.require(s.Canary == 0 || s.Debate == nil && (s.Judge.Kind == arena.JudgeExact || s.Judge.Kind == arena.JudgeChoice),
		"canary", "must be 0 unless the judge is exact or choice: the answer to a canary is a text among options")
	c.wrong = append(c.wrong, format.Check(s)...)
	c.pace(s)
	c.asking(s)
	c.builtIn(s)
	c.require(s.Game != nil || s.ScoreMode == arena.ScoreMatch || s.ScoreMode == arena.ScoreRounds,
		"score_mode", "must be match or rounds, not %q", s.ScoreMode)
	return c.wrong
}

// CheckGame returns the errors of the settings of a game with these rules, in
// addition to the errors of Check.
func CheckGame(s arena.Settings, rules rules.Info) []arena.FieldError {
	c := checker{}
	c.wrong = rules.Check("game", s.Game.Options)
	c.require(s.MinSeats >= rules.MinPlayers, "min_seats", "must be at least %d: %s has so many players", rules.MinPlayers, rules.Name)
	c.require(s.MaxSeats <= rules.MaxPlayers, "max_seats", "must be at most %d: %s has no more players", rules.MaxPlayers, rules.Name)
	c.require(!s.Game.Duplicate || rules.Deals, "game.duplicate", "must be false: %s deals nothing", rules.Name)
	c.require(!s.Game.Duplicate || !rules.Hidden, "game.duplicate", "must be false: agents of %s would know the hidden hands of a deal that they play again", rules.Name)
	c.require(!rules.Hidden || s.Visibility != arena.VisibilityLive, "visibility", "must be sealed or delayed: the players of %s know different things", rules.Name)
	return c.wrong
}

// FitsJudge returns why a judge could accept no answer to a task, or "" if it
// could accept one.
func FitsJudge(spec arena.JudgeSpec, task arena.Task) string {
	wrong := scoring.CheckTask(spec, task)
	if len(wrong) == 0 {
		return ""
	}
	return wrong[0].Field + " " + wrong[0].Message
}

// checker collects errors.
type checker struct{ wrong []arena.FieldError }

func (c *checker) require(ok bool, field, format string, args ...any) {
	if !ok {
		c.wrong = append(c.wrong, arena.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) between(field string, n, least, most int, note string) {
	c.require(n >= least && n <= most, field, "must be %d to %d%s", least, most, note)
}

// format checks the format and the seats that it allows.
func (c *checker) format(s arena.Settings) {
	kind := format.Of(s.Format)
	switch many := kind.MaxSeats > 2; {
	case kind.Format == "":
		c.require(false, "format", "%q is not a format; choose one of %s", s.Format, formatNames())
	case s.Game != nil:
		c.require(!many, "format", "must not be %s: games do not eliminate agents", s.Format)
		c.require(s.MinSeats == 2, "min_seats", "must be 2: a %s plays duels", s.Format)
		c.between("max_seats", s.MaxSeats, 2, MaxGameSeats, " (more than 2 only in matches that an admin schedules)")
	case many:
		c.between("min_seats", s.MinSeats, kind.MinSeats, kind.MaxSeats, "")
		c.between("max_seats", s.MaxSeats, 2, kind.MaxSeats, "")
		c.require(s.MaxSeats >= s.MinSeats, "max_seats", "must not be below min_seats")
	default:
		c.require(s.MinSeats == 2, "min_seats", "must be 2: a %s plays duels", s.Format)
		c.require(s.MaxSeats == 2, "max_seats", "must be 2: a %s plays duels", s.Format)
	}
}

// game checks the settings of a league that plays a game.
func (c *checker) game(s arena.Settings) {
	c.require(s.PackID == "" && s.Generator == nil, "game", "takes the place of pack_id and generator: leave them out")
	c.require(s.Judge.Kind == "", "judge", "must be left out: the rules of a game decide")
	c.require(s.Debate == nil, "debate", "must be left out: the league plays a game")
	c.require(s.Rounds == 0, "rounds", "must be null: a game ends by its rules")
	c.require(s.ScoreMode == arena.ScoreResult, "score_mode", "must be result or left out: a game is rated by its result")
	c.between("game.games_per_match", s.Game.Games, 1, MaxGames, "")
	c.require(s.Game.TimeBank >= 0 && s.Game.TimeBank <= arena.MaxTimeBank, "game.time_bank_seconds", "must be 0 to %g", arena.MaxTimeBank.Seconds())
}

// pace checks how often a league may call its agents.
func (c *checker) pace(s arena.Settings) {
	if s.Pace == nil {
		return
	}
	c.between("pace.matches_per_day", s.Pace.MatchesPerDay, 0, arena.MaxMatchesPerDay, " (0: no limit)")
	c.require(s.Pace.Pause >= 0 && s.Pace.Pause <= MaxPause, "pace.pause_seconds", "must be 0 to %g", MaxPause.Seconds())
	c.require(!s.Pace.UnratedFiller || s.Format == arena.FormatLadder, "pace.unrated_filler", "must be false: only a ladder fills time with unrated matches")
}

// builtIn checks the opponents that come with the program.
func (c *checker) builtIn(s arena.Settings) {
	if len(s.BuiltIn) == 0 {
		return
	}
	c.require(len(s.BuiltIn) <= arena.MaxBuiltIn, "built_in", "must name at most %d opponents", arena.MaxBuiltIn)
	c.require(s.Format == arena.FormatLadder, "built_in", "must be empty in a %s: its seasons have a table, and built-in opponents are never ranked; a ladder may have them", s.Format)
	seen := map[string]bool{}
	for i, name := range s.BuiltIn {
		field := fmt.Sprintf("built_in[%d]", i)
		k, known := arena.BuiltInOf(name)
		switch {
		case !known:
			c.require(false, field, "%q is no built-in opponent; choose %s for games, p05 to p95 in steps of 5 for questions", name, strings.Join(gamePlayers(), ", "))
		case seen[name]:
			c.require(false, field, "%s is there twice", name)
		case s.Game != nil:
			c.require(k.Fits == arena.BuiltInGames, field, "%s answers questions; in games play %s", name, strings.Join(gamePlayers(), ", "))
			c.require(k.Fits != arena.BuiltInGames || players.Plays(name, s.Game.Name), field, "%s does not play %s", name, s.Game.Name)
		default:
			c.require(k.Fits == arena.BuiltInQuestions, field, "%s plays games; questions are for p05 to p95 in steps of 5", name)
			c.require(s.Debate == nil && slices.Contains(players.Judges(), s.Judge.Kind), field,
				"%s cannot answer for the judge %s; it needs one of %s", name, s.Judge.Kind, strings.Join(players.Judges(), ", "))
		}
		seen[name] = true
	}
}

// gamePlayers returns the names of the opponents for games.
func gamePlayers() (names []string) {
	for _, k := range arena.BuiltInKinds() {
		if k.Fits == arena.BuiltInGames {
			names = append(names, k.Name)
		}
	}
	return names
}

// asking checks the settings of debates and of judges that compare answers.
func (c *checker) asking(s arena.Settings) {
	if s.Debate != nil {
		c.between("debate.turns", s.Debate.Turns, 1, MaxTurns, "")
		c.require(s.MaxSeats == 2, "max_seats", "must be 2: a debate has two sides")
		c.require(s.Judge.Compares(), "judge.kind", "must be panel, crowd or model: a debate has no right answer")
		c.require(s.PackID != "", "pack_id", "is missing: a debate needs a pack of motions")
	}
	c.require(s.Debate == nil || s.Judge.Gold == "", "judge.gold", "must be left out: the judge of a debate compares speeches, not pairs of answers")
	if s.Judge.Compares() {
		c.require(s.MaxSeats <= MaxAskedSeats, "max_seats", "must be at most %d: a judge that is asked compares all pairs", MaxAskedSeats)
		c.require(s.Generator == nil, "generator", "makes tasks with a right answer: let a pure judge judge them")
	}
}

func formatNames() string {
	var names []string
	for _, k := range format.Kinds() {
		names = append(names, string(k.Format))
	}
	return strings.Join(names, ", ")
}
