package format

import (
	"fmt"
	"slices"
	"strings"
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
	maxFaster      = time.Minute
)

// Next returns the next step of a season. A ladder has no pairings and only
// waits for its end. After a season's EndsAt nothing more is ordered, and the
// season is done when no pairing is open. An unknown format is an error.
//
// The order of State.Pairings has no meaning. Next never orders a pairing that
// is already in the state.
func Next(s State) (Step, error) {
	step := Of(s.Season.Format).step
	if step == nil {
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

// Table returns the current table of a season, best first. It returns nil for a
// ladder, which is ranked by its ratings.
func Table(s State) []arena.TableRow {
	if k := Of(s.Season.Format); k.Tabled() {
		return k.table(s)
	}
	return nil
}

// Defaults returns the options of a format with defaults filled in: a series is
// one game, an arena lasts 30 minutes, the scheduler waits 2 minutes for a
// paired agent, and a schedule starts seasons, or the matches of an
// elimination.
func Defaults(o arena.FormatOptions, f arena.Format) arena.FormatOptions {
	k := Of(f)
	if o.BestOf == 0 && k.Has("best_of") {
		o.BestOf = 1
	}
	if o.Duration == 0 {
		o.Duration = k.Duration
	}
	if o.Forfeit == 0 && k.Has("forfeit_seconds") {
		o.Forfeit = defaultForfeit
	}
	if o.Starts == "" && len(k.Starts) > 0 {
		o.Starts = k.Starts[0]
	}
	return o
}

// Check returns an error for each format option, after Defaults, that does not
// fit the format of the settings, or nil for an unknown format. The caller checks
// whether the champion exists.
func Check(s arena.Settings) []arena.FieldError {
	c := checker{kind: Of(s.Format)}
	if c.kind.Format == "" {
		return nil
	}
	o := s.Options

	c.only(o.Double, "double")
	c.only(o.Rounds != 0, "rounds")
	c.require(o.Rounds >= 0 && o.Rounds <= maxSwissRounds,
		"rounds", "must be 1 to %d, or 0: enough for one winner", maxSwissRounds)
	c.only(o.BestOf != 0, "best_of")
	c.require(slices.Contains([]int{0, 1, 3, 5, 7}, o.BestOf), "best_of", "must be 1, 3, 5 or 7")
	c.only(o.Champion != "", "champion")

	least, most, zero := minDuration, maxDuration, ", or 0: as long as it takes"
	if c.kind.Duration > 0 {
		most, zero = maxArena, ""
	}
	c.require(o.Duration == 0 && zero != "" || o.Duration >= least && o.Duration <= most,
		"duration_seconds", "must be %.0f to %.0f%s", least.Seconds(), most.Seconds(), zero)

	c.only(o.Forfeit != 0, "forfeit_seconds")
	c.require(o.Forfeit == 0 || o.Forfeit >= minForfeit && o.Forfeit <= maxForfeit,
		"forfeit_seconds", "must be %.0f to %.0f", minForfeit.Seconds(), maxForfeit.Seconds())

	c.only(o.Faster != 0, "faster_seconds")
	c.require(o.Faster >= 0 && o.Faster <= maxFaster, "faster_seconds", "must be 0 to %.0f", maxFaster.Seconds())

	c.starts(o.Starts)
	return c.wrong
}

// checker collects the errors of format options.
type checker struct {
	kind  Kind
	wrong []arena.FieldError
}

func (c *checker) require(ok bool, field, format string, args ...any) {
	field = "format_options." + field
	named := slices.ContainsFunc(c.wrong, func(e arena.FieldError) bool { return e.Field == field })
	if !ok && !named { // one error for each is enough
		c.wrong = append(c.wrong, arena.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// only rejects an option that is set but does not apply to the format.
func (c *checker) only(set bool, field string) {
	if !set || c.kind.Has(field) {
		return
	}
	var formats []string
	for _, k := range Kinds() {
		if k.Has(field) {
			formats = append(formats, string(k.Format))
		}
	}
	c.require(false, field, "is only for %s, not for %s", strings.Join(formats, ", "), c.kind.Format)
}

func (c *checker) starts(what string) {
	c.require(what == "" || slices.Contains(c.kind.Starts, what),
		"schedule_starts", "must be %s with format %s, not %q", strings.Join(c.kind.Starts, " or "), c.kind.Format, what)
}
