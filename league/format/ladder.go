package format

import (
	"cmp"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/matching"
)

// The terms of a ladder's pairing (docs/rules.md, section 7 and 8).
const (
	meetingCost     = 200_000 // milli-Elo per meeting in the window
	waitingBonus    = 5       // milli-Elo per millisecond waited, of each of the two
	maxWaiting      = 10 * time.Minute
	maxRatedInADay  = 3
	exactCandidates = 300 // up to this number, every pair is a candidate
	neighbors       = 64  // considered on either side in rating order, above that number
)

// MeetingWindow is how long a ladder remembers a meeting.
const MeetingWindow = 24 * time.Hour

// Candidate is an idle agent of a league.
type Candidate struct {
	AgentID      string
	OwnerID      string // or the group of the owner: see arena.OwnerGroups
	Rating       arena.MilliElo
	IdleSince    time.Time // zero: just now
	LastOpponent string    // agent id, "" none
	BuiltIn      bool      // it comes with the program, and only fills in for other agents
}

// LadderInput is the input of a ladder's pairing.
type LadderInput struct {
	Idle     []Candidate
	Meetings []arena.Meeting // of the league; the last 24 h count
	Rated    bool            // whether the league is rated
	Filler   bool            // whether a rated league pairs agents that can meet only unrated
	Now      time.Time
	// Busy is the number of other agents that may become idle. While it is not
	// 0, an immediate rematch or an unrated duel has to wait until both agents
	// have waited for Patience, because a better opponent may become idle.
	Busy     int
	Patience time.Duration
}

// PairLadder pairs idle agents for duels (docs/rules.md, section 8). In a rated
// league, agents that can meet only unrated (UnratedPair) are not paired without
// Filler. Built-in opponents are not paired with each other. In this order: as many duels
// as possible, first between other agents, as few as possible that cannot be rated, as few as possible between last opponents, least cost. The cost
// of a duel in Elo is the rating gap, plus 200 per meeting in 24 h, minus 5 per
// second that each has waited (at most ten minutes).
//
// Up to 300 agents the result is optimal. Above that, only the 64 agents on
// either side in rating order are candidates. The result does not depend on the
// order of Idle. The agent of a pair comes first that had the first seat of its duels
// in 24 h less often, else the one with the lower rating. starved is the reason why no agents were paired.
func PairLadder(in LadderInput) (pairs [][2]string, starved arena.Note) {
	if len(in.Idle) < 2 {
		return nil, arena.NeedsAgentsNote(2, len(in.Idle))
	}
	l := newLadder(in)
	for i, j := range matching.Max(len(l.idle), l.edges()) {
		if i < j {
			pairs = append(pairs, l.first.seats(l.idle[i].AgentID, l.idle[j].AgentID))
		}
	}
	if len(pairs) == 0 && l.onlyUnrated() {
		return nil, arena.OnlyUnratedNote(len(in.Idle), maxRatedInADay)
	}
	if len(pairs) == 0 {
		return nil, arena.WaitsForOpponentNote(len(in.Idle), in.Patience.Seconds())
	}
	return pairs, arena.Note{}
}

// UnratedPair returns why a ladder duel of two agents is not rated, or "" if it
// is. Agents of the same owner group are not rated against each other, nor are
// more than three duels of a pair in 24 h (docs/rules.md, section 7; threat F4).
func UnratedPair(a, b Candidate, meetings []arena.Meeting, now time.Time) arena.UnratedReason {
	met := 0
	for _, m := range meetings {
		if now.Sub(m.At) < MeetingWindow && pairOf(m.A, m.B) == pairOf(a.AgentID, b.AgentID) {
			met++
		}
	}
	switch {
	case sameOwner(a, b):
		return arena.UnratedSameOwner
	case met >= maxRatedInADay:
		return arena.UnratedPairLimit
	}
	return ""
}

func sameOwner(a, b Candidate) bool { return a.OwnerID != "" && a.OwnerID == b.OwnerID }

// pairOf returns the key of a pair, regardless of the order of its agents.
func pairOf(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// ladder is one pairing.
type ladder struct {
	in   LadderInput
	idle []Candidate // by rating, then id
	met  map[[2]string]int

	first firstMoves
}

func newLadder(in LadderInput) *ladder {
	l := &ladder{in: in, idle: slices.Clone(in.Idle), met: make(map[[2]string]int), first: firstMoves{}}
	slices.SortFunc(l.idle, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.Rating, b.Rating), cmp.Compare(a.AgentID, b.AgentID))
	})
	for _, m := range in.Meetings {
		if in.Now.Sub(m.At) < MeetingWindow {
			l.met[pairOf(m.A, m.B)]++
			l.first.add(m.A, m.B)
		}
	}
	return l
}

func (l *ladder) waited(c Candidate) time.Duration {
	if c.IdleSince.IsZero() {
		return 0
	}
	return min(max(l.in.Now.Sub(c.IdleSince), 0), maxWaiting)
}

// unrated reports whether a rated league could not rate a duel of two agents.
func (l *ladder) unrated(a, b Candidate) bool {
	return l.in.Rated && (sameOwner(a, b) || l.met[pairOf(a.AgentID, b.AgentID)] >= maxRatedInADay)
}

// onlyUnrated reports whether every pair waits because it could not be rated.
func (l *ladder) onlyUnrated() bool {
	if l.in.Filler {
		return false
	}
	for i, a := range l.idle {
		if slices.ContainsFunc(l.idle[i+1:], func(b Candidate) bool { return !l.unrated(a, b) }) {
			return false
		}
	}
	return true
}

// edges returns the duels that may be ordered, with their weights.
func (l *ladder) edges() []matching.Edge {
	reach := len(l.idle)
	if reach > exactCandidates {
		reach = neighbors
	}
	var edges []matching.Edge
	for i := range l.idle {
		for j := i + 1; j < min(len(l.idle), i+1+reach); j++ {
			if w, ok := l.weight(i, j); ok {
				edges = append(edges, matching.Edge{I: i, J: j, Weight: w})
			}
		}
	}
	return edges
}

// weight returns the weight of a duel. Its members are, in order: three for the
// duel itself, or one if an opponent is built in, so that two of these are not better
// than one of the others; whether it is rated, whether it is not a rematch, and its
// negative cost. ok is false while the two should wait for other opponents, as an agent
// does before it meets a built-in one, and if they cannot be rated and must be.
func (l *ladder) weight(i, j int) (w matching.Weight, ok bool) {
	a, b := l.idle[i], l.idle[j]
	met := l.met[pairOf(a.AgentID, b.AgentID)]
	waitA, waitB := l.waited(a), l.waited(b)
	w.A = 3
	fills := a.BuiltIn || b.BuiltIn
	switch { // a built-in opponent is always there: only the other one waits
	case a.BuiltIn && b.BuiltIn:
		return w, false
	case a.BuiltIn:
		w.A, waitA = 1, waitB
	case b.BuiltIn:
		w.A, waitB = 1, waitA
	}
	if l.unrated(a, b) {
		if !l.in.Filler {
			return w, false
		}
		w.B = -1
	}
	if a.LastOpponent == b.AgentID || b.LastOpponent == a.AgentID {
		w.C = -1
	}
	gap := a.Rating - b.Rating
	w.D = waitingBonus*(waitA+waitB).Milliseconds() - int64(max(gap, -gap)) - meetingCost*int64(met)
	ok = w.B+w.C == 0 && !fills || l.in.Busy == 0 || min(waitA, waitB) >= min(l.in.Patience, maxWaiting)
	return w, ok
}
