package playout

import (
	"fmt"
	"time"
)

// The kinds of problems.
const (
	KindFault            = "fault"            // the rules returned an error, or what they must not return
	KindNondeterministic = "nondeterministic" // equal calls returned different results
	KindMoves            = "moves"            // a listed move is refused, or another one is accepted
	KindEndless          = "endless"          // a game did not end within max_turns
	KindInfo             = "info"             // the description of the game is wrong
	KindSlow             = "slow"             // too few games ended in the time of the check
)

// maxProblems is how many problems a report lists.
const maxProblems = 20

// Report is the result of a check.
type Report struct {
	Game     string    `json:"game"`
	Version  string    `json:"version"`
	Games    int       `json:"games"` // that were played to their end
	Turns    int       `json:"turns"`
	Moves    int       `json:"moves"`
	Longest  int       `json:"longest_game"`        // in turns
	Branches float64   `json:"branching"`           // listed moves of a player, on average
	Most     int       `json:"most_moves"`          // listed moves of a player, at most
	State    int       `json:"largest_state"`       // in bytes
	Cost     Cost      `json:"cost_of_a_move"`      // to find out what a state means, to read a move and to make it
	Points   []float64 `json:"points"`              // of each player on average, over games with all players
	Problems []Problem `json:"problems"`            // the first 20; one that many games show is listed once
	Found    int       `json:"problems_found"`      // in all games; a check ends after 20
	Checked  time.Time `json:"checked_at,omitzero"` // set by the caller
}

// Cost is the duration of a move.
type Cost struct {
	Mean   time.Duration `json:"mean_ns"`
	Median time.Duration `json:"median_ns"` // to 3 %
	Most   time.Duration `json:"most_ns"`
}

// OK reports whether there are no problems.
func (r *Report) OK() bool { return r.Found == 0 }

// Problem is what is wrong with a game, and where to see it.
type Problem struct {
	Kind    string         `json:"kind"`
	Seed    uint64         `json:"seed"`              // of the game that shows it
	Players int            `json:"players,omitempty"` // in it
	Options map[string]int `json:"options,omitempty"`
	Turn    int            `json:"turn,omitempty"` // 1-based; 0: before the first
	Message string         `json:"message"`
}

// String returns the problem as a line.
func (p Problem) String() string {
	where := fmt.Sprintf("seed %d", p.Seed)
	if p.Players > 0 {
		where += fmt.Sprintf(", %d players", p.Players)
	}
	if p.Turn > 0 {
		where += fmt.Sprintf(", turn %d", p.Turn)
	}
	return fmt.Sprintf("%s (%s): %s", p.Kind, where, p.Message)
}
