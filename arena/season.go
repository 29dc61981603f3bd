package arena

import "time"

// SeasonStatus is the state of one season of a league.
type SeasonStatus string

// The states of a season. Its league can also be paused or frozen.
const (
	SeasonRunning  SeasonStatus = "running"
	SeasonFinished SeasonStatus = "finished"
)

// Season is one run of a league's format, from start to podium. Its next pairing
// depends only on the season and its pairings, so that any node may continue it
// at any point.
type Season struct {
	ID         string
	League     string
	No         int // 1, 2, 3 … within the league
	Status     SeasonStatus
	Format     Format
	Options    FormatOptions
	Seed       uint64 // of all draws
	Entrants   []Entrant
	StartedAt  time.Time
	EndsAt     time.Time // zero: the format decides
	FinishedAt time.Time
	Table      []TableRow // final, once finished; best first
	Version    int64      // increases with each change; a change of an old version is rejected
}

// Entrant is an agent in a season.
type Entrant struct {
	AgentID string   `json:"agent_id"`
	OwnerID string   `json:"owner_id"`
	Name    string   `json:"name"`
	Rating  MilliElo `json:"rating"` // when it joined: seeds go by it
	// Round is the first round in which it may play: 1 for those that were
	// there at the start, more for late joiners.
	Round int `json:"round"`
	// WithdrawnRound is the first round in which it no longer plays; 0: it plays.
	WithdrawnRound int `json:"withdrawn_round,omitempty"`
}

// Plays reports whether the entrant takes part in a round.
func (e Entrant) Plays(round int) bool {
	return e.Round <= round && (e.WithdrawnRound == 0 || round < e.WithdrawnRound)
}

// PairingResult is the result of a pairing.
type PairingResult string

// The results.
const (
	PairingOpen    PairingResult = ""        // not decided yet
	PairingPlayed  PairingResult = "played"  // by its match
	PairingBye     PairingResult = "bye"     // one agent, no match
	PairingForfeit PairingResult = "forfeit" // an agent was absent; see Scores
	PairingVoid    PairingResult = "void"    // its match was void: the format orders a replay; in formats without a bracket the third one is a draw
)

// Pairing is a meeting that a season has ordered. It is identified by season,
// round, slot and game.
type Pairing struct {
	SeasonID string
	Round    int    // 1-based
	Slot     int    // 1-based: the board, or the place in the bracket
	Game     int    // 1-based: replays and games of a best-of-n
	Bracket  string // double elimination: "winners", "losers" or "final"; else ""
	Agents   []string
	Result   PairingResult
	// Scores holds the score of each agent, in the order of Agents: a win is
	// 1000, a draw 500, a loss 0. With more than two seats it is the share of the
	// others that the agent beat, with half for a tie. Nil while open or void.
	Scores    []Points
	MatchID   string // "" before its match exists, and for byes and forfeits
	CreatedAt time.Time
	DecidedAt time.Time
}

// Open reports whether the pairing waits for a result.
func (p Pairing) Open() bool { return p.Result == PairingOpen }

// TableRow is one line of a season's table.
type TableRow struct {
	Rank      int        `json:"rank"` // 1 is best; equals share the better rank
	AgentID   string     `json:"agent_id"`
	Name      string     `json:"name"`
	Played    int        `json:"played"` // decided pairings with an opponent, forfeits among them
	Wins      int        `json:"wins"`
	Draws     int        `json:"draws"`
	Losses    int        `json:"losses"`
	Byes      int        `json:"byes,omitempty"`
	Forfeits  int        `json:"forfeits,omitempty"` // lost by absence
	Score     Points     `json:"score"`
	TieBreaks []TieBreak `json:"tie_breaks,omitempty"` // in order of precedence
	Withdrawn bool       `json:"withdrawn,omitempty"`
}

// TieBreak is one figure that orders equal scores; more is better.
type TieBreak struct {
	Name  string `json:"name"` // "buchholz_cut_1", "buchholz", "direct", "sonneborn_berger", "wins", "matches", "rating"
	Value Points `json:"value"`
}

// FormatOptions are the settings of one format or of its schedule. Zero fields
// mean the format's default.
type FormatOptions struct {
	Double   bool          `json:"double,omitempty"`   // round robin: every pair meets twice
	Rounds   int           `json:"rounds,omitempty"`   // Swiss: 1..30; 0: enough for one winner
	BestOf   int           `json:"best_of,omitempty"`  // knockout, double elimination: 1, 3, 5 or 7
	Duration time.Duration `json:"duration,omitempty"` // arena: 1 min to 24 h, default 30 min; others: how long a season lasts, 0 as long as it takes
	Champion string        `json:"champion,omitempty"` // gauntlet: the agent that meets all others; "": the highest rated
	Forfeit  time.Duration `json:"forfeit,omitempty"`  // time to wait for a paired agent, 10 s to 24 h, default 2 min
	Starts   string        `json:"starts,omitempty"`   // what the schedule starts: "season", "round" or "match"
}

// The values of FormatOptions.Starts.
const (
	StartsSeason = "season" // ladder, arena and tournaments: ends the season that runs, begins the next
	StartsRound  = "round"  // tournaments: the next round
	StartsMatch  = "match"  // elimination: the next match
)

// SeasonChange is an atomic change of a season.
type SeasonChange struct {
	Join     []Entrant // new, or with another WithdrawnRound
	Pairings []Pairing // new, or with a result or a match
	Finish   *SeasonEnd
}

// SeasonEnd ends a season.
type SeasonEnd struct {
	At    time.Time
	Table []TableRow
}

// Empty reports whether the change changes nothing.
func (c SeasonChange) Empty() bool {
	return len(c.Join) == 0 && len(c.Pairings) == 0 && c.Finish == nil
}

// SeasonDay sums up the seasons of a league that began on one day in UTC.
type SeasonDay struct {
	League      string
	Day         int // 0-based, from the start of the requested period; seasons that began before it are on day 0
	First, Last int // their numbers
	StartedAt   time.Time
	FinishedAt  time.Time // of the last one; zero: it runs
	EndsAt      time.Time // of the running season; zero: none runs, or its format decides
}
