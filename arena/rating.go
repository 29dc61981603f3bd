package arena

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MilliElo is a rating, or a difference of ratings, in thousandths of an Elo
// point. Whole numbers make every settlement exact and replayable bit for bit.
type MilliElo int64

// The bounds of "agora-elo-1" (docs/rules.md, section 7).
const (
	StartRating MilliElo = 1_500_000
	FloorRating MilliElo = 100_000
)

// MarshalJSON writes Elo with three decimals: 1500.000, -20.000.
func (m MilliElo) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// AppendJSON appends the output of MarshalJSON.
func (m MilliElo) AppendJSON(b []byte) []byte { return appendThousandths(b, int64(m), 3) }

// Points is a number of points in thousandths, so that sums are exact and equal
// totals compare equal.
type Points int64

// OnePoint is the maximum for one answer.
const OnePoint Points = 1000

// MarshalJSON writes points as a plain number: 1, 0.5, 0.333.
func (p Points) MarshalJSON() ([]byte, error) { return appendThousandths(nil, int64(p), 0), nil }

// UnmarshalJSON reads a decimal number of at most three decimals.
func (m *MilliElo) UnmarshalJSON(b []byte) error { return readThousandths(b, (*int64)(m)) }

// UnmarshalJSON reads a decimal number of at most three decimals.
func (p *Points) UnmarshalJSON(b []byte) error { return readThousandths(b, (*int64)(p)) }

// maxWhole bounds the numbers that readThousandths accepts. It exceeds every sum
// of ratings.
const maxWhole = 1_000_000_000

func readThousandths(b []byte, into *int64) error {
	text, negative := strings.CutPrefix(string(b), "-")
	whole, frac, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(whole, 10, 32)
	if err != nil || n > maxWhole || len(frac) > 3 {
		return fmt.Errorf("%q is not a decimal number of at most three decimals below %d", b, maxWhole)
	}
	f, err := strconv.ParseUint((frac + "000")[:3], 10, 32)
	if err != nil {
		return fmt.Errorf("%q is not a decimal number", b)
	}
	*into = int64(n*1000 + f)
	if negative {
		*into = -*into
	}
	return nil
}

// appendThousandths appends v/1000 with at least minDecimals decimals. It does
// not use floats.
func appendThousandths(b []byte, v int64, minDecimals int) []byte {
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
	MilliElo    MilliElo
	Matches     int // rated matches
	Peak        MilliElo
	NewVersion  int // rated matches left with K = 40 after a declared new version
	Wins        int
	Draws       int
	Losses      int
	LastRatedAt time.Time
}

// StartK is the K factor of provisional ratings and of newly declared versions
// (docs/rules.md, section 7).
const StartK = 40

// ProvisionalMatches is the number of rated matches below which a rating is
// marked "?" and K is 40.
const ProvisionalMatches = 30

// NewVersionMatches is the number of rated matches with K = 40 after a
// declared new version (docs/rules.md, section 7).
const NewVersionMatches = 10

// Provisional reports whether the rating is based on too few matches.
func (r Rating) Provisional() bool { return r.Matches < ProvisionalMatches }

// NewRating returns the rating of an agent that has not been rated in a league.
func NewRating(league, agentID string) Rating {
	return Rating{League: league, AgentID: agentID, MilliElo: StartRating, Peak: StartRating}
}

// RatingChange is the change of one rating by one settlement.
type RatingChange struct {
	AgentID string   `json:"agent_id"`
	Before  MilliElo `json:"rating_before"`
	After   MilliElo `json:"rating_after"`
	Delta   MilliElo `json:"rating_delta"`
	K       int      `json:"k"`
	Score   Points   `json:"score"`   // mean of S over the opponents, thousandths
	Matches int      `json:"matches"` // rated matches after this one
}

// Before returns the rating as it was before a settlement that is computed again,
// which had this change. NewVersion is 1 if a new version had been declared: K shows it.
func (r Rating) Before(c RatingChange) Rating {
	if r.NewVersion = 0; c.K == StartK && r.Matches >= ProvisionalMatches {
		r.NewVersion = 1
	}
	return r
}

// WithUnmoved returns the changes of a settlement that is computed again, in the order
// of those that it had, with a draw that moves no rating for each agent that has no
// counted round left: a question that was removed voids rounds that it was based on.
// Changes of other agents than those of before are returned as they are.
func WithUnmoved(changes, before []RatingChange, ratings map[string]Rating) []RatingChange {
	if len(changes) >= len(before) {
		return changes
	}
	moved := make(map[string]RatingChange, len(changes))
	for _, c := range changes {
		moved[c.AgentID] = c
	}
	all := make([]RatingChange, 0, len(before))
	for _, was := range before {
		c, ok := moved[was.AgentID]
		if delete(moved, was.AgentID); !ok {
			r := ratings[was.AgentID]
			c = RatingChange{AgentID: was.AgentID, Before: r.MilliElo, After: r.MilliElo, K: was.K, Score: OnePoint / 2, Matches: r.Matches + 1}
		}
		all = append(all, c)
	}
	if len(moved) > 0 { // the caller rejects agents that were not moved before
		return changes
	}
	return all
}

// Settlement is the record of a rated match's effect on ratings.
type Settlement struct {
	Seq     int64 // per arena, without gaps in commit order
	MatchID string
	League  string
	At      time.Time
	Changes []RatingChange
	Drift   MilliElo // the league's drift after it
}

// RatingPoint is one point of an agent's rating graph.
type RatingPoint struct {
	MatchID string
	At      time.Time
	Rating  MilliElo
	Delta   MilliElo
	Version string // of the agent in that match; "": it named none
	// LeftOut is set if the agent won the match and its rating fell. It is the
	// number of rounds that counted for one side only and so were not compared
	// (docs/rules.md, section 7), or 0 if the league compares round by round.
	LeftOut *int
}

// SettledMatches summarizes the settled matches of a league.
type SettledMatches struct {
	Matches     int
	Rounds      int
	Unrated     int   // finished matches without a settlement
	Last        int64 // seq of the newest settlement
	First, Till time.Time
}

// Standing is one line of a league's table.
type Standing struct {
	Rank      int // 1 is best; 0: not ranked yet
	Agent     Agent
	Rating    Rating
	Opponents int        // distinct opponents in rated matches
	Groups    int        // distinct groups of owners among them, counted to RankedGroups
	Recent    []MilliElo // ratings after the last matches, oldest first, at most 20
}

// The conditions for a rank (docs/rules.md, section 7).
const (
	RankedMatches = 10
	RankedGroups  = 5 // of owners, among the opponents
	RankedWithin  = 30 * 24 * time.Hour
)

// Ranked reports whether the standing has a rank at now. Opponents that come with the
// program never have one.
func (s Standing) Ranked(now time.Time) bool {
	return !s.Agent.BuiltIn() && s.Rating.Matches >= RankedMatches && s.Groups >= RankedGroups &&
		now.Sub(s.Rating.LastRatedAt) <= RankedWithin
}

// RatedResult is the result of a settled match as the input of a refit.
type RatedResult struct {
	Seq     int64 // of its settlement
	MatchID string
	At      time.Time
	Seats   []RatedSeat // those whose rating it changed
}

// RatedSeat is one participant of a rated match.
type RatedSeat struct {
	AgentID string
	OwnerID string // or the group of the owner: see Seat.Group
	Place   int
	After   MilliElo // the agent's rating after the match; 0: not read
}

// FitLine is the result of a league's refit for one agent (docs/rules.md, section
// 7): a strength from all its results at once, with its uncertainty.
//
// Ranks count groups of owners. They say which agents the results of this league
// tell apart at this look: they hold for its tasks, and a table that is watched
// until it shows a difference shows one more often than one table errs. Agents of
// one tier need not be equal: that two cannot be told apart is not transitive
// (docs/rules/board.md).
type FitLine struct {
	AgentID string   `json:"agent_id"`
	Rating  MilliElo `json:"rating"`
	Low     MilliElo `json:"low"` // of the 95 % interval
	High    MilliElo `json:"high"`
	// Tier is 1 + the number of groups with a significantly better agent; 0: the
	// agent was compared with no other, because it has met too few groups.
	Tier      int `json:"tier,omitempty"`
	RankLow   int `json:"rank_low"`  // the tier; 1 without a tier
	RankHigh  int `json:"rank_high"` // the number of groups minus those whose agents are all significantly worse
	Component int `json:"island"`    // connected component of the graph of matches
}

// NoTiers is why no agent of a league has a tier.
type NoTiers string

// The reasons why no agent has a tier.
const (
	NoTiersPending       NoTiers = "pending"         // the next refit follows
	NoTiersTooFewMatches NoTiers = "too_few_matches" // no two agents have met enough opponents
	NoTiersTooFewOwners  NoTiers = "too_few_owners"  // nobody can have met enough groups of owners
	NoTiersTooManyAgents NoTiers = "too_many_agents" // more than a refit takes
	NoTiersAllDraws      NoTiers = "all_draws"       // no match has a winner
)

// FitPair is two agents of which one is significantly better.
type FitPair struct {
	Better string `json:"better"`
	Worse  string `json:"worse"`
}

// Fit is the newest refit of a league.
type Fit struct {
	League     string
	Settlement int64 // the last one that is in it
	At         time.Time
	Lines      []FitLine
	Board      FitBoard
}

// FitBoard is what a refit says of a table as a whole.
type FitBoard struct {
	NoTiers NoTiers `json:"no_tiers,omitempty"` // "": some line has a tier
	Groups  int     `json:"groups"`             // of owners
	// Conflicts are pairs whose better agent had the lower live rating, at most 20.
	Conflicts []FitPair `json:"conflicts,omitempty"`
	// Cycles are triples of agents of which each beats the next, and the last the
	// first, in their own matches; at most 20.
	Cycles [][3]string `json:"cycles,omitempty"`
}

// RatingsReport summarizes the ratings of one league.
type RatingsReport struct {
	League      string   `json:"league"`
	Agents      int      `json:"agents"`
	Settlements int      `json:"settlements"`
	Sum         MilliElo `json:"sum"`
	Drift       MilliElo `json:"drift"`
}
