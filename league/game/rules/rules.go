package rules

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agora-arena/arena/arena"
)

// OutputJSON is the output format of games whose moves are JSON.
const OutputJSON = "json"

// Limits on what the rules of a game return.
const (
	MaxState = 256 << 10 // of a state, in bytes
	MaxText  = 16 << 10  // of the task of a player, in bytes
	MaxMove  = 4 << 10   // of a move, in bytes
	MaxLegal = 1024      // listed moves of a player
)

// State is a state of a game as JSON, at most MaxState bytes. Only the rules that
// made it read it. Equal states are equal byte for byte.
type State = json.RawMessage

// Rules are the rules of one game. Implementations keep nothing between two calls
// and return the same results for the same arguments on every machine. ctx bounds
// rules that run in another process. Errors other than *IllegalError are faults of the
// game.
type Rules interface {
	// Info describes the game. It is the same at every call.
	Info() Info
	// Setup returns the state in which a game begins.
	Setup(ctx context.Context, s Start) (State, error)
	// Position returns what a state means to players and spectators.
	Position(ctx context.Context, st State) (Position, error)
	// Parse returns the move that a player's text stands for, in its one canonical
	// form. A text that is no legal move is an *IllegalError.
	Parse(ctx context.Context, st State, player int, text string) (string, error)
	// Move returns the state after one canonical move of every player who had to
	// act, in the order of Position.ToAct.
	Move(ctx context.Context, st State, moves []Move) (State, error)
}

// Info describes a game.
type Info struct {
	Name       string   `json:"name"`    // snake_case, at most 40 characters
	Title      string   `json:"title"`   // for people
	Version    string   `json:"version"` // of the rules; a change that alters any game changes it
	MinPlayers int      `json:"min_seats"`
	MaxPlayers int      `json:"max_seats"`
	Deals      bool     `json:"deals"`     // the seed decides something, so that games can repeat a deal with other seats
	Hidden     bool     `json:"hidden"`    // a player knows what others must not see before the end
	MaxTurns   int      `json:"max_turns"` // every game ends within this many turns
	Options    []Option `json:"options"`
	// OutputFormat is the output format of tasks: with "json" a move may be an object or
	// a list, which Parse gets as compact JSON. "": text.
	OutputFormat string `json:"output_format,omitempty"`
}

// Option is a setting of a game with an integer value. A yes-or-no option is 0 or 1.
type Option struct {
	Name    string `json:"name"`
	Help    string `json:"help"` // one sentence for people
	Default int    `json:"default"`
	Min     int    `json:"min"`
	Max     int    `json:"max"`
}

// Check returns the errors of the values of options. field is the name of the
// object that holds them.
func (i Info) Check(field string, values map[string]int) (wrong []arena.FieldError) {
	for name, v := range values {
		o, known := i.option(name)
		switch {
		case !known:
			wrong = append(wrong, arena.FieldError{Field: field + "." + name, Message: fmt.Sprintf("is no option of %s", i.Name)})
		case v < o.Min || v > o.Max:
			wrong = append(wrong, arena.FieldError{Field: field + "." + name, Message: fmt.Sprintf("must be %d to %d", o.Min, o.Max)})
		}
	}
	return wrong
}

// RepeatsDeals reports whether the games of a match may repeat a deal with other
// places. Agents remember a deal, so nothing of it may be hidden: the second time
// they would know the hands of their opponents.
func (i Info) RepeatsDeals() bool { return i.Deals && !i.Hidden }

// Pin returns the game of a match that is created now, with what the rules say
// about it. They may have been replaced since the league was created, by rules that
// repeat no deals.
func (i Info) Pin(spec arena.GameSpec) arena.GameSpec {
	spec.Version, spec.Hidden, spec.Duplicate = i.Version, i.Hidden, spec.Duplicate && i.RepeatsDeals()
	return spec
}

func (i Info) option(name string) (Option, bool) {
	for _, o := range i.Options {
		if o.Name == name {
			return o, true
		}
	}
	return Option{}, false
}

// Start is how a game begins.
type Start struct {
	Seed    uint64         `json:"seed"`
	Players int            `json:"players"`
	Options map[string]int `json:"options"` // checked; those not named have their defaults
}

// Option returns the value of an option.
func (s Start) Option(i Info, name string) int {
	if v, set := s.Options[name]; set {
		return v
	}
	o, _ := i.option(name)
	return o.Default
}

// Position is what a state means.
type Position struct {
	ToAct  []ToAct         // the players who must move now, by number; none: the game is over
	Public json.RawMessage // what spectators and all players may see: one of the forms of public.go
	Points []arena.Points  // of a game that is over: 0 to 1 for each player
}

// Over reports whether the game is over.
func (p Position) Over() bool { return len(p.ToAct) == 0 }

// ToAct is a player who must move, with this player's private information.
type ToAct struct {
	Player      int             `json:"player"` // 0-based
	Text        string          `json:"text"`   // the task: rules in short, position, what to answer
	Observation json.RawMessage `json:"observation"`
	Legal       []string        `json:"legal,omitempty"`   // every legal move; none if there are too many to list
	Grammar     string          `json:"grammar,omitempty"` // what a move looks like; needed if Legal is empty
	Default     string          `json:"default,omitempty"` // the move of a player who gives none; "": that player loses the game
}

// Move is a move in its canonical form.
type Move struct {
	Player int    `json:"player"`
	Move   string `json:"move"`
}

// IllegalError is the error of a text that is no legal move. Reason is shown to the
// player, e.g. "column 3 is full".
type IllegalError struct{ Reason string }

func (e *IllegalError) Error() string { return e.Reason }

// Illegalf returns an *IllegalError.
func Illegalf(format string, args ...any) *IllegalError {
	return &IllegalError{Reason: fmt.Sprintf(format, args...)}
}
