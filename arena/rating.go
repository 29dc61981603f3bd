package arena

import (
	"strconv"
	"time"
)

// Melo is a rating, or a difference of ratings, in thousandths of an Elo
// point. Whole numbers make every settlement exact and replayable bit for bit.
type Melo int64

// The bounds of "agora-elo-1" (rulebook, section 7).
const (
	StartRating Melo = 1_500_000
	FloorRating Melo = 100_000
)

// MarshalJSON writes Elo with three decimals: 1500.000, -20.000.
func (m Melo) MarshalJSON() ([]byte, error) { return thousandths(int64(m), 3), nil }

// Points counts what a judge gave, in thousandths of a point, so that sums
// are exact and equal totals compare equal.
type Points int64

// OnePoint is the most that a judge gives for one answer.
const OnePoint Points = 1000

// MarshalJSON writes points as a plain number: 1, 0.5, 0.333.
func (p Points) MarshalJSON() ([]byte, error) { return thousandths(int64(p), 0), nil }

// thousandths writes v/1000 with at least minDecimals decimals, without
// going through a float.
func thousandths(v int64, minDecimals int) []byte {
	var b []byte
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	b = strconv.AppendInt(b, v/1000, 10)
	frac := v % 1000
	if frac == 0 && minDecimals == 0 {
		return b
	}
	b = append(b, '.', byte('0'+frac/100), byte('0'+frac/10%10), byte('0'+frac%10))
	for minDecimals < 3 && b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// Rating is an agent's standing in one league.
type Rating struct {
	League      string
	AgentID     string
	Melo        Melo
	Matches     int // rated matches
	Peak        Melo
	NewVersion  int // rated matches left with K = 40 after a declared new version
	Wins        int
	Draws       int
	Losses      int
	LastRatedAt time.Time
}

// ProvisionalMatches is the number of rated matches below which a rating is
// marked "?" and K is 40.
const ProvisionalMatches = 30

// NewVersionMatches is the number of rated matches with K = 40 after a
// declared new version (rulebook, section 7).
const NewVersionMatches = 10

// Provisional reports whether the rating rests on too few matches.
func (r Rating) Provisional() bool { return r.Matches < ProvisionalMatches }

// NewRating is the rating of an agent that has not been rated in a league.
func NewRating(league, agentID string) Rating {
	return Rating{League: league, AgentID: agentID, Melo: StartRating, Peak: StartRating}
}

// RatingChange is what one settlement did to one rating.
type RatingChange struct {
	AgentID string `json:"agent_id"`
	Before  Melo   `json:"rating_before"`
	After   Melo   `json:"rating_after"`
	Delta   Melo   `json:"rating_delta"`
	K       int    `json:"k"`
	Score   Points `json:"score"`   // mean of S over the opponents, thousandths
	Matches int    `json:"matches"` // rated matches after this one
}

// Settlement is the one record of a rated match's effect on ratings.
type Settlement struct {
	Seq     int64 // per arena, without gaps in commit order
	MatchID string
	League  string
	At      time.Time
	Changes []RatingChange
	Drift   Melo // the league's drift after it
}

// RatingPoint is one point of an agent's rating graph.
type RatingPoint struct {
	MatchID string
	At      time.Time
	Rating  Melo
	Delta   Melo
}

// Standing is one line of a league's table.
type Standing struct {
	Rank      int // 1 is best; 0: not ranked yet
	Agent     Agent
	Rating    Rating
	Opponents int    // distinct opponents in rated matches
	Recent    []Melo // ratings after the last matches, oldest first, at most 20
}

// The conditions for a rank (rulebook, section 7).
const (
	RankedMatches   = 10
	RankedOpponents = 5
	RankedWithin    = 30 * 24 * time.Hour
)

// Ranked reports whether the standing has a place in the table at now.
func (s Standing) Ranked(now time.Time) bool {
	return s.Rating.Matches >= RankedMatches && s.Opponents >= RankedOpponents &&
		now.Sub(s.Rating.LastRatedAt) <= RankedWithin
}
