package league

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// The bounds and defaults of settings.
const (
	minSeats         = 2
	maxSeats         = 128
	minElimination   = 3
	maxRounds        = 200
	defaultMaxRounds = 50
	minTimeLimit     = time.Second
	maxTimeLimit     = 10 * time.Minute
	maxBreak         = time.Minute
	maxTokens        = 1_000_000
	defaultMaxTokens = 500
	maxRules         = 20
	maxRuleLength    = 64 // characters
)

// Formats lists the formats that leagues may have.
func Formats() []arena.Format {
	return []arena.Format{arena.FormatLadder, arena.FormatElimination}
}

// Defaults fills in what a league's settings leave out: format ladder; judge
// number for generated tasks, else choice; sealed when rated, else live; two
// seats on a ladder, 3 to 128 in an elimination; a cap of 50 rounds for an
// open end; 500 tokens; points summed over the match. Rounds, the time limit
// and the source of tasks have no default.
func Defaults(s arena.Settings) arena.Settings {
	s.Rules = slices.Clone(s.Rules)
	if s.Format == "" {
		s.Format = arena.FormatLadder
	}
	if s.Generator != nil {
		g := *s.Generator
		if g.Difficulty == 0 {
			g.Difficulty = defaultDifficulty
		}
		s.Generator = &g
	}
	if s.Judge.Kind == "" {
		s.Judge.Kind = arena.JudgeChoice
		if s.Generator != nil {
			s.Judge.Kind = arena.JudgeNumber
		}
	}
	if s.Visibility == "" {
		s.Visibility = arena.VisibilityLive
		if s.Rated {
			s.Visibility = arena.VisibilitySealed
		}
	}
	least, most := minSeats, minSeats
	if s.Format == arena.FormatElimination {
		least, most = minElimination, maxSeats
	}
	if s.MinSeats == 0 {
		s.MinSeats = least
	}
	if s.MaxSeats == 0 {
		s.MaxSeats = max(most, s.MinSeats)
	}
	if s.MaxRounds == 0 {
		s.MaxRounds = defaultMaxRounds
	}
	if s.MaxTokens == 0 {
		s.MaxTokens = defaultMaxTokens
	}
	if s.ScoreMode == "" {
		s.ScoreMode = arena.ScoreMatch
	}
	return s
}

// CheckSettings says what is wrong with settings after Defaults; nil when a
// league can be made of them. Whether the pack exists is for the caller.
func CheckSettings(s arena.Settings) []arena.FieldError {
	c := checker{}
	c.format(s)
	if s.Generator == nil {
		c.require(s.PackID != "", "pack_id", "is missing: a league needs pack_id or generator")
	} else {
		c.require(s.PackID == "", "pack_id", "is one source of tasks too many: choose pack_id or generator")
		c.wrong = append(c.wrong, checkGenerator(*s.Generator)...)
	}
	c.wrong = append(c.wrong, scoring.CheckJudge(s.Judge)...)
	c.between("rounds", s.Rounds, 0, maxRounds, " (0 or null: open end)")
	c.between("max_rounds", s.MaxRounds, 1, maxRounds, "")
	c.require(s.TimeLimit >= minTimeLimit && s.TimeLimit <= maxTimeLimit,
		"time_limit_seconds", "must be %g to %g", minTimeLimit.Seconds(), maxTimeLimit.Seconds())
	c.require(s.Break >= 0 && s.Break <= maxBreak, "break_seconds", "must be 0 to %g", maxBreak.Seconds())
	c.between("max_tokens", s.MaxTokens, 1, maxTokens, "")
	c.wrong = append(c.wrong, checkRules(s.Rules)...)
	c.require(s.Visibility == arena.VisibilityLive || s.Visibility == arena.VisibilitySealed,
		"visibility", "must be live or sealed, not %q", s.Visibility)
	c.require(s.ScoreMode == arena.ScoreMatch || s.ScoreMode == arena.ScoreRounds,
		"score_mode", "must be match or rounds, not %q", s.ScoreMode)
	return c.wrong
}

// checker collects what is wrong.
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
	switch s.Format {
	case arena.FormatLadder:
		c.require(s.MinSeats == 2, "min_seats", "must be 2: a ladder plays duels")
		c.require(s.MaxSeats == 2, "max_seats", "must be 2: a ladder plays duels")
		return
	case arena.FormatElimination:
		c.between("min_seats", s.MinSeats, minElimination, maxSeats, "")
	case arena.FormatRoundRobin, arena.FormatSwiss, arena.FormatKnockout, arena.FormatDoubleElimination,
		arena.FormatArena, arena.FormatGauntlet:
		c.require(false, "format", "%s is not yet available; choose one of %s", s.Format, formatNames())
		return
	default:
		c.require(false, "format", "%q is not a format; choose one of %s", s.Format, formatNames())
		return
	}
	c.between("max_seats", s.MaxSeats, minSeats, maxSeats, "")
	c.require(s.MaxSeats >= s.MinSeats, "max_seats", "must not be below min_seats")
}

func formatNames() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// checkRules checks the rules that an agent is told with a task.
func checkRules(rules []string) []arena.FieldError {
	c := checker{}
	c.require(len(rules) <= maxRules, "rules", "%d rules, the limit is %d", len(rules), maxRules)
	for i, r := range rules {
		field := fmt.Sprintf("rules[%d]", i)
		n := utf8.RuneCountInString(r)
		c.require(n >= 1 && n <= maxRuleLength, field, "must have 1 to %d characters", maxRuleLength)
		c.require(utf8.ValidString(r) && !strings.ContainsFunc(r, unicode.IsControl), field, "must be plain text")
	}
	return c.wrong
}
