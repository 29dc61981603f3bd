package format

import (
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// The bounds and defaults of format options.
const (
	maxSwissRounds = 30
	minDuration    = time.Minute
	maxArena       = 24 * time.Hour
	maxDuration    = 366 * 24 * time.Hour
	minForfeit     = 10 * time.Second
	maxForfeit     = 24 * time.Hour
	defaultForfeit = 2 * time.Minute
)

// Next returns the next step of a season. A ladder has no pairings and only
// waits for its end. After a season's EndsAt nothing more is ordered, and the
// season is done when no pairing is open. An unknown format is an error.
//
// The order of State.Pairings has no meaning. Next never orders a pairing that
// is already in the state.
func Next(s State) (Step, error) {
	step, ok := steps(s.Season.Format)
	if !ok {
		return Step{}, fmt.Errorf("%q is not a format", s.Season.Format)
	}
	ends := s.Season.EndsAt
	if !ends.IsZero() && !s.Now.Before(ends) {
		return Step{Done: !anyOpen(s.Pairings)}, nil
	}
	next := step(s)
	if !next.Done && next.NextAt.IsZero() {
		next.NextAt = ends
	}
	return next, nil
}

func steps(f arena.Format) (step func(State) Step, ok bool) {
	switch f {
	case arena.FormatLadder:
		return func(State) Step { return Step{} }, true
	case arena.FormatRoundRobin:
		return roundRobinStep, true
	case arena.FormatSwiss:
		return swissStep, true
	case arena.FormatKnockout:
		return knockoutStep, true
	case arena.FormatDoubleElimination:
		return doubleEliminationStep, true
	case arena.FormatArena:
		return arenaStep, true
	case arena.FormatElimination:
		return eliminationStep, true
	case arena.FormatGauntlet:
		return gauntletStep, true
	}
	return nil, false
}

// Table returns the current table of a season, best first. It returns nil for a
// ladder, which is ranked by its ratings.
func Table(s State) []arena.TableRow {
	switch s.Season.Format {
	case arena.FormatRoundRobin:
		return roundRobinTable(s)
	case arena.FormatSwiss:
		return swissTable(s)
	case arena.FormatKnockout:
		return knockoutTable(s)
	case arena.FormatDoubleElimination:
		return doubleEliminationTable(s)
	case arena.FormatArena:
		return arenaTable(s)
	case arena.FormatElimination:
		return eliminationTable(s)
	case arena.FormatGauntlet:
		return gauntletTable(s)
	case arena.FormatLadder:
	}
	return nil
}

// Tournament reports whether a format orders duels between named agents, so
// that a no-show forfeits.
func Tournament(f arena.Format) bool {
	switch f {
	case arena.FormatRoundRobin, arena.FormatSwiss, arena.FormatKnockout, arena.FormatDoubleElimination,
		arena.FormatArena, arena.FormatGauntlet:
		return true
	case arena.FormatLadder, arena.FormatElimination:
	}
	return false
}

// Defaults returns the options of a format with defaults filled in: a series is
// one game, an arena lasts 30 minutes, the scheduler waits 2 minutes for a
// paired agent, and a schedule starts seasons, or the matches of an
// elimination.
func Defaults(o arena.FormatOptions, f arena.Format) arena.FormatOptions {
	if o.BestOf == 0 && bracketed(f) {
		o.BestOf = 1
	}
	if o.Duration == 0 && f == arena.FormatArena {
		o.Duration = defaultArena
	}
	if o.Forfeit == 0 && Tournament(f) {
		o.Forfeit = defaultForfeit
	}
	if o.Starts == "" {
		o.Starts = arena.StartsSeason
		if f == arena.FormatElimination {
			o.Starts = arena.StartsMatch
		}
	}
	return o
}

func bracketed(f arena.Format) bool {
	return f == arena.FormatKnockout || f == arena.FormatDoubleElimination
}

// Check returns an error for each format option, after Defaults, that does not
// fit the format of the settings. The caller checks whether the champion exists.
func Check(s arena.Settings) []arena.FieldError {
	c := checker{format: s.Format}
	o, f := s.Options, s.Format

	c.only(f == arena.FormatRoundRobin, o.Double, "double", "round_robin")
	c.only(f == arena.FormatSwiss, o.Rounds != 0, "rounds", "swiss")
	c.require(o.Rounds >= 0 && o.Rounds <= maxSwissRounds,
		"rounds", "must be 1 to %d, or 0: enough for one winner", maxSwissRounds)
	c.only(bracketed(f), o.BestOf != 0, "best_of", "knockout and double_elimination")
	c.require(slices.Contains([]int{0, 1, 3, 5, 7}, o.BestOf), "best_of", "must be 1, 3, 5 or 7")
	c.only(f == arena.FormatGauntlet, o.Champion != "", "champion", "gauntlet")

	least, most, zero := minDuration, maxDuration, ", or 0: as long as it takes"
	if f == arena.FormatArena {
		most, zero = maxArena, ""
	}
	c.require(o.Duration == 0 && zero != "" || o.Duration >= least && o.Duration <= most,
		"duration_seconds", "must be %.0f to %.0f%s", least.Seconds(), most.Seconds(), zero)

	c.only(Tournament(f), o.Forfeit != 0, "forfeit_seconds", "formats that order duels by name")
	c.require(o.Forfeit == 0 || o.Forfeit >= minForfeit && o.Forfeit <= maxForfeit,
		"forfeit_seconds", "must be %.0f to %.0f", minForfeit.Seconds(), maxForfeit.Seconds())

	c.starts(o.Starts)
	return c.wrong
}

// checker collects the errors of format options.
type checker struct {
	format arena.Format
	wrong  []arena.FieldError
}

func (c *checker) require(ok bool, field, format string, args ...any) {
	field = "format_options." + field
	named := slices.ContainsFunc(c.wrong, func(e arena.FieldError) bool { return e.Field == field })
	if !ok && !named { // one error for each is enough
		c.wrong = append(c.wrong, arena.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// only rejects an option that is set but does not apply to the format.
func (c *checker) only(fits, set bool, field, formats string) {
	c.require(fits || !set, field, "is only for %s, not for %s", formats, c.format)
}

func (c *checker) starts(what string) {
	rounds := Tournament(c.format) && c.format != arena.FormatArena
	switch {
	case what == "":
	case c.format == arena.FormatElimination:
		c.require(what == arena.StartsMatch, "schedule_starts", "must be match with format elimination, not %q", what)
	case rounds:
		c.require(what == arena.StartsSeason || what == arena.StartsRound,
			"schedule_starts", "must be season or round with format %s, not %q", c.format, what)
	default:
		c.require(what == arena.StartsSeason, "schedule_starts", "must be season with format %s, not %q", c.format, what)
	}
}
