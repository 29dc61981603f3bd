package rules

import (
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Written is implemented by rules whose games have a notation, in which other
// programs read them.
type Written interface {
	// Notation returns the name of the notation, with which its files end, and its
	// media type.
	Notation() (name, mediaType string)
	// Write returns a game in the notation, so that games can follow each other in
	// a file.
	Write(g WrittenGame) string
}

// WrittenGame is a game to be written down.
type WrittenGame struct {
	Event   string // for people: the league
	Site    string // the address of the match
	Date    time.Time
	Number  int            // in the match, 1-based
	Players []string       // their names
	Moves   []string       // canonical ones, in order
	Points  []arena.Points // by player; nil: the game is not over
}

// Notation returns PGN.
func (chessGame) Notation() (name, mediaType string) { return "pgn", "application/vnd.chess-pgn" }

// Write returns a game in PGN.
func (chessGame) Write(g WrittenGame) string {
	tags := map[string]string{
		"Event": g.Event, "Site": g.Site, "Date": g.Date.UTC().Format("2006.01.02"), "Round": strconv.Itoa(g.Number), "White": g.Players[0], "Black": g.Players[1],
	}
	score := make([]string, len(g.Points))
	for i, p := range g.Points {
		score[i] = map[arena.Points]string{0: "0", arena.OnePoint / 2: "1/2", arena.OnePoint: "1"}[p]
	}
	return FormatPGN(tags, g.Moves, strings.Join(score, "-"))
}
