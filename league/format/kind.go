package format

import (
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Kind is a row of the table of formats. An unknown format has the zero Kind.
type Kind struct {
	Format arena.Format
	// Options are the format options that belong to it, by their names in the API.
	// Those that belong to every format are left out.
	Options []string
	// Starts are the values of FormatOptions.Starts, the default first.
	Starts []string
	// Duration is the duration of a season whose options leave it out; 0: as long as
	// it takes.
	Duration time.Duration
	// MinSeats and MaxSeats bound the seats of a match that asks questions.
	MinSeats, MaxSeats int
	// MinEntrants is the number of entrants that a season needs to begin.
	MinEntrants int
	// Pace is the pace of a league that is created without one.
	Pace arena.Pace

	Bracket    bool // rounds are a tree
	Continuous bool // idle agents are paired at any time
	NeedsIdle  bool // only idle agents are paired, so that State.Idle is needed
	LateJoin   bool // agents may join a season that has begun; else they wait for the next one

	step  func(State) Step
	table func(State) []arena.TableRow // nil: the ratings are the table
}

// The formats belong to docs/rules.md, section 8.
var kinds = []Kind{
	{
		Format: arena.FormatLadder, Starts: []string{arena.StartsSeason}, MinSeats: 2, MaxSeats: 2,
		Pace: arena.Pace{MatchesPerDay: 24, Pause: 10 * time.Minute}, Continuous: true, step: func(State) Step { return Step{} },
	},
	{
		Format: arena.FormatRoundRobin, Options: []string{"double", "forfeit_seconds"}, Starts: []string{arena.StartsSeason, arena.StartsRound},
		MinSeats: 2, MaxSeats: 2, MinEntrants: 2, step: roundRobinStep, table: roundRobinTable,
	},
	{
		Format: arena.FormatSwiss, Options: []string{"rounds", "forfeit_seconds"}, Starts: []string{arena.StartsSeason, arena.StartsRound},
		MinSeats: 2, MaxSeats: 2, MinEntrants: 2, LateJoin: true, step: swissStep, table: swissTable,
	},
	{
		Format: arena.FormatKnockout, Options: []string{"best_of", "forfeit_seconds"}, Starts: []string{arena.StartsSeason, arena.StartsRound},
		MinSeats: 2, MaxSeats: 2, MinEntrants: 2, Bracket: true, step: knockoutStep, table: knockoutTable,
	},
	{
		Format: arena.FormatDoubleElimination, Options: []string{"best_of", "forfeit_seconds"}, Starts: []string{arena.StartsSeason, arena.StartsRound},
		MinSeats: 2, MaxSeats: 2, MinEntrants: 2, Bracket: true, step: doubleEliminationStep, table: doubleEliminationTable,
	},
	{
		Format: arena.FormatArena, Options: []string{"forfeit_seconds"}, Starts: []string{arena.StartsSeason}, Duration: 30 * time.Minute,
		MinSeats: 2, MaxSeats: 2, MinEntrants: 2, Continuous: true, NeedsIdle: true, LateJoin: true, step: arenaStep, table: arenaTable,
	},
	{
		Format: arena.FormatElimination, Options: []string{"faster_seconds"}, Starts: []string{arena.StartsMatch}, MinSeats: 3, MaxSeats: 128,
		NeedsIdle: true, LateJoin: true, step: eliminationStep, table: eliminationTable,
	},
	{
		Format: arena.FormatGauntlet, Options: []string{"champion", "forfeit_seconds"}, Starts: []string{arena.StartsSeason, arena.StartsRound},
		MinSeats: 2, MaxSeats: 2, MinEntrants: 2, LateJoin: true, step: gauntletStep, table: gauntletTable,
	},
}

// Kinds returns the table of formats.
func Kinds() []Kind { return slices.Clone(kinds) }

// Of returns the row of a format.
func Of(f arena.Format) Kind {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Format == f })
	if i < 0 {
		return Kind{}
	}
	return kinds[i]
}

// Has reports whether a format option belongs to the format.
func (k Kind) Has(option string) bool { return slices.Contains(k.Options, option) }

// Tabled reports whether seasons have a table of their own. Else the ratings are it.
func (k Kind) Tabled() bool { return k.table != nil }
