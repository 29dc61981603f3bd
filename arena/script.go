package arena

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"
)

// Script is an untrusted JavaScript program and the calls to make of one of
// its functions. A pool of worker processes runs it (internal/script).
type Script struct {
	Source   string            // at most 32 KiB, of a game 256 KiB
	Function string            // the function that the source must define
	Calls    []json.RawMessage // arguments of each call, a JSON array
	// Budget is what all calls together may use, as a multiple of what one call
	// may use at most.
	Budget int
	// StopOnError skips the remaining calls after the first one that fails.
	StopOnError bool
	// Game means that the source is a game (docs/games.md). Function is one of
	// those that its library has for the arena: describe, setup, position, parse,
	// move or sample. A worker keeps the games that it has run.
	Game bool

	// Owner is whose program it is; "": it is the arena's own. Its processor time
	// counts for the owner's quota, and the owners of a group take turns with other
	// groups. Rated scripts run before others.
	Owner      string
	OwnerGroup string
	Rated      bool

	Used *atomic.Int64 // gets the processor time of the script added, in nanoseconds; nil: nobody asks
}

// CallResult is the result of one call of a Script.
type CallResult struct {
	Value string // JSON; "" when Error is set
	Error string // why the call returned nothing: the program's fault
}

// ErrScriptLimit is returned when a script killed its worker process or
// exceeded the memory or time of one. It is the script's fault and must not be
// retried.
var ErrScriptLimit = errors.New("the script exceeded the limits of its process")

// ReasonJudgeLimit is the reason of an answer that got no points because
// judging it ended in ErrScriptLimit. Such an answer is never judged again.
const ReasonJudgeLimit = "judge_limit"

// GameScript is a version of a game in JavaScript that an admin has uploaded.
// Versions are kept for ever, because matches pin them.
type GameScript struct {
	Name      string
	Version   string // unique for the name
	SHA256    string // hex, of Source
	Title     string
	Source    string          // "" in lists
	Report    json.RawMessage // of its check at the upload (league/game/playout)
	CreatedAt time.Time
	CreatedBy string // the owner or the admin token
}

// ListedGame is a game that leagues may play.
type ListedGame struct {
	Name     string
	Title    string
	Version  string
	MinSeats int
	MaxSeats int
	Deals    bool // the seed decides something
	Hidden   bool // players know what others must not see
	MaxTurns int
	Options  []GameOption
	Notation string       // the form in which its games are written down, e.g. "pgn"; "": none
	Uploaded []GameScript // versions of an uploaded game, the latest first; none: it is part of the arena
}

// Notation is the games of a match as people write them down.
type Notation struct {
	Name      string // of the form, with which its files end, e.g. "pgn"
	MediaType string
	Text      string
}

// GameOption is a setting of a game with an integer value.
type GameOption struct {
	Name    string `json:"name"`
	Help    string `json:"help" doc:"One sentence for people."`
	Default int    `json:"default"`
	Min     int    `json:"min"`
	Max     int    `json:"max"`
}
