package rules

// The forms of a public state (docs/games.md, "What spectators see"). Kind chooses
// the view of the page, so that a new game needs no new page. Each form may have
//
//   - caption: one line about the position in plain English;
//   - evaluation: for each player how the game stands, 0 (lost) to 1 (won), where
//     the game can evaluate it: material, pot, territory.

// The kinds of public states.
const (
	KindGrid       = "grid"
	KindCards      = "cards"
	KindTable      = "table"
	KindTranscript = "transcript"
)

// Grid is a board of cells.
type Grid struct {
	Kind    string           `json:"kind"`
	Rows    int              `json:"rows"`
	Columns int              `json:"columns"`
	Cells   []string         `json:"cells"`           // row by row from the top: the name of a piece, "": empty
	Pieces  map[string]Piece `json:"pieces"`          // by name
	Last    []int            `json:"last,omitempty"`  // cells of the last move
	Line    []int            `json:"line,omitempty"`  // cells that decided the game
	Board   string           `json:"board,omitempty"` // "chess": the page has a board of its own; then FEN is set
	FEN     string           `json:"fen,omitempty"`
	Summary
}

// Piece is what stands on a cell.
type Piece struct {
	Player int    `json:"player"`
	Symbol string `json:"symbol"` // one character
}

// Cards is a table with hands of cards or dice.
type Cards struct {
	Kind  string   `json:"kind"`
	Hands []Hand   `json:"hands"` // by player
	Table []string `json:"table,omitempty"`
	Pot   int      `json:"pot,omitempty"`
	Log   []Said   `json:"log,omitempty"` // what was said or bet in this hand, oldest first
	Hand  int      `json:"hand,omitempty"`
	Total int      `json:"hands_total,omitempty"`
	Summary
}

// Hand is what a player holds. A card that spectators must not see is "?".
type Hand struct {
	Player int      `json:"player"`
	Cards  []string `json:"cards"`
	Dice   bool     `json:"dice,omitempty"`
	Chips  int      `json:"chips,omitempty"`
	Bet    int      `json:"bet,omitempty"` // of this hand, in the pot
	Out    bool     `json:"out,omitempty"`
}

// Said is a line of a player, or of the game itself if Player is −1.
type Said struct {
	Player int    `json:"player"`
	Text   string `json:"text"`
}

// Table is a table of numbers for games of choices: a row for each player.
type Table struct {
	Kind    string   `json:"kind"`
	Columns []string `json:"columns"` // e.g. "Round 1"
	Rows    []Row    `json:"rows"`    // by player
	Unit    string   `json:"unit,omitempty"`
	Bars    bool     `json:"bars,omitempty"` // the page draws the values as bars
	Summary
}

// Row is the row of a player.
type Row struct {
	Player int      `json:"player"`
	Values []string `json:"values"` // as shown; "": not played yet
	Total  string   `json:"total,omitempty"`
	Won    []int    `json:"won,omitempty"` // columns that the player won
}

// Transcript is a conversation with offers.
type Transcript struct {
	Kind  string `json:"kind"`
	Lines []Line `json:"lines"` // oldest first
	Facts []Said `json:"facts,omitempty"`
	Summary
}

// Line is what a player said in a turn.
type Line struct {
	Player int    `json:"player"`
	Text   string `json:"text"`
	Offer  string `json:"offer,omitempty"` // the structured part in words
}

// Summary is what all forms may have.
type Summary struct {
	Caption    string    `json:"caption,omitempty"`
	Evaluation []float64 `json:"evaluation,omitempty"`
}
