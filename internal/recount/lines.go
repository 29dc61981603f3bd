package recount

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// The files of an export.
const (
	Matches   = "matches.jsonl"
	Answers   = "answers.jsonl"
	Ratings   = "ratings.jsonl"
	Standings = "standings.json"
)

// maxLine is the longest line that is read, in bytes: a match of the most seats has
// some hundred KiB.
const maxLine = 16 << 20

// match is a line of Matches.
type match struct {
	Settlement           int64        `json:"settlement"`
	MatchID              string       `json:"match_id"`
	League               string       `json:"league"`
	Format               arena.Format `json:"format"`
	Game                 any          `json:"game"` // nil: it asks questions
	ScoreMode            string       `json:"score_mode"`
	ZeroPointsOverTokens bool         `json:"zero_points_over_tokens"`
	Seats                []seat       `json:"seats"`
}

type seat struct {
	AgentID    string          `json:"agent_id"`
	Name       string          `json:"name"`
	OwnerID    string          `json:"owner_id"`
	OwnerGroup string          `json:"owner_group"`
	State      arena.SeatState `json:"state"`
	OutRound   int             `json:"out_round"`
	Points     arena.Points    `json:"points"`
	LostRounds int             `json:"lost_rounds"`
	Place      int             `json:"place"`
	Before     *arena.MilliElo `json:"rating_before"`
	Delta      *arena.MilliElo `json:"rating_delta"`
}

// answer is a line of Answers.
type answer struct {
	Settlement int64         `json:"settlement"`
	MatchID    string        `json:"match_id"`
	Round      int           `json:"round"`
	AgentID    string        `json:"agent_id"`
	Answer     *string       `json:"answer"`
	Points     arena.Points  `json:"points"`
	Outcome    arena.Outcome `json:"outcome"`
	OverTokens bool          `json:"over_max_tokens"`
	Reason     string        `json:"reason"`
	ElapsedMS  int64         `json:"elapsed_ms"`
}

// settlement is a line of Ratings.
type settlement struct {
	Settlement int64                `json:"settlement"`
	MatchID    string               `json:"match_id"`
	Drift      arena.MilliElo       `json:"drift"`
	Changes    []arena.RatingChange `json:"changes"`
}

// Table is the table of a league as the arena shows it.
type Table struct {
	League        string      `json:"league"`
	FitSettlement int64       `json:"fit_settlement"` // 0: there is no refit
	Items         []TableLine `json:"items"`
}

// TableLine is an agent in a Table.
type TableLine struct {
	AgentID      string         `json:"agent_id"`
	Rating       arena.MilliElo `json:"rating"`
	RatedMatches int            `json:"rated_matches"`
	Fit          *Fit           `json:"fit"`
}

// Fit is the refit of an agent.
type Fit struct {
	Rating    arena.MilliElo `json:"rating"`
	Low       arena.MilliElo `json:"low"`
	High      arena.MilliElo `json:"high"`
	RankLow   int            `json:"rank_low"`
	RankHigh  int            `json:"rank_high"`
	Component int            `json:"island"`
}

// ReadTable reads the file Standings.
func ReadTable(data []byte) (*Table, error) {
	t := &Table{}
	if err := strictjson.UnmarshalOpen(data, t, "league", "fit_settlement", "items"); err != nil {
		return nil, fmt.Errorf("%s: %w", Standings, err)
	}
	return t, nil
}

// reader reads the lines of a file.
type reader[T any] struct {
	file  string
	lines *bufio.Scanner
	no    int // of the line read last
	held  *T  // it was read and not taken
}

func newReader[T any](file string, r io.Reader) *reader[T] {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	return &reader[T]{file: file, lines: lines}
}

// peek returns the next line without taking it; nil at the end.
func (r *reader[T]) peek() (*T, error) {
	if r.held != nil {
		return r.held, nil
	}
	if !r.lines.Scan() {
		if err := r.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			return nil, r.fault("", "has more than %d bytes", maxLine)
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", r.file, err)
		}
		return nil, nil //nolint:nilnil // the end is no error
	}
	r.no++
	line := new(T)
	if err := strictjson.UnmarshalOpen(r.lines.Bytes(), line, "settlement", "match_id"); err != nil {
		return nil, r.fault("", "%v", err)
	}
	r.held = line
	return line, nil
}

// take returns the next line; nil at the end.
func (r *reader[T]) take() (*T, error) {
	line, err := r.peek()
	r.held = nil
	return line, err
}

// DifferenceError is the first place where an export differs from what it leads to.
type DifferenceError struct {
	File   string
	Line   int    // 0: the whole file
	Match  string // "": none
	Reason string
}

// Error names the place.
func (d *DifferenceError) Error() string {
	place := d.File
	if d.Line > 0 {
		place += fmt.Sprintf(", line %d", d.Line)
	}
	if d.Match != "" {
		place += ", match " + d.Match
	}
	return place + ": " + d.Reason
}

// fault returns a *DifferenceError at the line that was read last.
func (r *reader[T]) fault(match, format string, args ...any) error {
	n := r.no
	if r.lines.Err() != nil {
		n++
	}
	return &DifferenceError{File: r.file, Line: n, Match: match, Reason: fmt.Sprintf(format, args...)}
}
