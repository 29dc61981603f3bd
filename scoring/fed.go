package scoring

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// The thresholds of the report on receivers.
const (
	maxGivers      = 8  // of one receiver
	minGiven       = 3  // duels of a giver against the receiver
	minReceived    = 12 // duels of all givers against the receiver
	maxFedRefits   = 20 // receivers that are examined closely
	minGivenGroups = 2  // fewer are one_sided
)

// giver is an owner whose agents lose nearly all duels against a receiver's.
type giver struct {
	owner string
	duels []int // in all duels
	wins  int   // of the receiver
}

// receiver is an owner with several givers.
type receiver struct {
	owner     string
	opponents int // owners with enough duels to be givers
	givers    []giver
	guess     float64 // chance by a fit of all duels; smaller is odder
}

// fed returns receivers: owners whose agents win nearly all duels against a few
// others, each of which may have too few duels to be one_sided. The givers of a
// receiver are those with the most duels. The expectation comes from a fit of all
// duels but these (see Fit), from the upper end of the interval of the difference of
// two agents. The chance is multiplied by the number of
// receivers, of sizes, and of sets of that many opponents (threat G6). The result
// without the giver with most duels must be unlikely too, so that one pair is not
// reported twice.
func fed(duels []arena.RatedResult, rivals map[[2]string]*rivalry) ([]arena.Anomaly, error) {
	found, err := receivers(duels, rivals)
	if err != nil {
		return nil, err
	}
	tests := float64(countReceivers(rivals)) * float64(maxGivers)
	var anomalies []arena.Anomaly
	for _, r := range found[:min(len(found), maxFedRefits)] {
		if r.guess*tests > 1e9*AnomalyChance {
			break
		}
		a, err := r.anomaly(duels, tests)
		if err != nil {
			return nil, err
		}
		anomalies = append(anomalies, a...)
	}
	return anomalies, nil
}

func countReceivers(rivals map[[2]string]*rivalry) int {
	owners := map[string]bool{}
	for key := range rivals {
		owners[key[0]], owners[key[1]] = true, true
	}
	return len(owners)
}

// receivers returns the owners that have enough givers, the oddest first, each
// with its oddest set.
func receivers(duels []arena.RatedResult, rivals map[[2]string]*rivalry) ([]receiver, error) {
	all := map[string]*receiver{}
	of := func(owner string) *receiver {
		if all[owner] == nil {
			all[owner] = &receiver{owner: owner}
		}
		return all[owner]
	}
	for key, r := range rivals {
		if len(r.duels) < minGiven {
			continue
		}
		first, second := of(key[0]), of(key[1])
		first.opponents++
		second.opponents++
		switch n := float64(len(r.duels)); {
		case float64(r.wins) >= oneSidedShare*n:
			first.givers = append(first.givers, giver{key[1], r.duels, r.wins})
		case float64(r.loss) >= oneSidedShare*n:
			second.givers = append(second.givers, giver{key[0], r.duels, r.loss})
		}
	}
	var lines map[string]arena.FitLine
	var found []receiver
	for _, r := range all {
		if len(r.givers) < minGivenGroups {
			continue
		}
		if lines == nil {
			var err error
			if lines, err = linesWithout(duels, nil); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(r.givers, func(a, b giver) int {
			return cmp.Or(cmp.Compare(len(b.duels), len(a.duels)), cmp.Compare(a.owner, b.owner))
		})
		if r.choose(duels, lines) {
			found = append(found, *r)
		}
	}
	slices.SortFunc(found, func(a, b receiver) int { return cmp.Or(cmp.Compare(a.guess, b.guess), cmp.Compare(a.owner, b.owner)) })
	return found, nil
}

// choose keeps the givers that are oddest together. It returns false if no set
// is large enough.
func (r *receiver) choose(duels []arena.RatedResult, lines map[string]arena.FitLine) bool {
	best := 0
	for k := minGivenGroups; k <= min(len(r.givers), maxGivers); k++ {
		set := r.givers[:k]
		if n, _ := given(set); n < minReceived {
			continue
		}
		chance, ok := r.chance(duels, set, func(own, other string) (arena.MilliElo, bool) {
			a, known := lines[own]
			b, too := lines[other]
			return a.Rating - b.Rating, known && too
		})
		if ok && (best == 0 || chance < r.guess) {
			best, r.guess = k, chance
		}
	}
	r.givers = r.givers[:best]
	return best > 0
}

func given(set []giver) (duels, wins int) {
	for _, g := range set {
		duels += len(g.duels)
		wins += g.wins
	}
	return duels, wins
}

// chance bounds the chance of the receiver's wins against a set of givers, times
// the number of such sets. gap returns how much stronger the receiver's agent is.
func (r *receiver) chance(duels []arena.RatedResult, set []giver, gap func(own, other string) (arena.MilliElo, bool)) (chance float64, ok bool) {
	sum := 0.0
	for _, g := range set {
		for _, i := range g.duels {
			own, other := r.sides(duels[i])
			by, known := gap(own.AgentID, other.AgentID)
			if !known {
				return 1, false
			}
			sum += expectedAhead(by)
		}
	}
	n, wins := given(set)
	return math.Exp(logChoose(r.opponents, len(set))) * atLeast(float64(wins), n, sum), true
}

func (r *receiver) sides(d arena.RatedResult) (own, other arena.RatedSeat) {
	if d.Seats[0].OwnerID == r.owner {
		return d.Seats[0], d.Seats[1]
	}
	return d.Seats[1], d.Seats[0]
}

// anomaly compares the wins with the expectation from all other duels.
func (r *receiver) anomaly(duels []arena.RatedResult, tests float64) ([]arena.Anomaly, error) {
	without := map[int]bool{}
	for _, g := range r.givers {
		for _, i := range g.duels {
			without[i] = true
		}
	}
	lines, err := linesWithout(duels, without)
	if err != nil {
		return nil, err
	}
	gap := func(own, other string) (arena.MilliElo, bool) {
		a, known := lines[own]
		b, too := lines[other]
		above, below := float64(a.High-a.Rating), float64(b.Rating-b.Low)
		return a.Rating - b.Rating + arena.MilliElo(math.Hypot(above, below)), known && too
	}
	chance, ok := r.chance(duels, r.givers, gap)
	if !ok || chance*tests > AnomalyChance {
		return nil, nil
	}
	if rest, _ := r.chance(duels, r.givers[1:], gap); rest*tests > 1 {
		return nil, nil // one giver alone: see trades
	}
	n, wins := given(r.givers)
	a := arena.Anomaly{Kind: arena.AnomalyFed, Trials: n, Observed: wins, Chance: min(1, chance*tests), AgentIDs: []string{""}}
	for _, g := range r.givers {
		newest := duels[g.duels[len(g.duels)-1]]
		own, other := r.sides(newest)
		a.AgentIDs[0] = own.AgentID
		a.AgentIDs = append(a.AgentIDs, other.AgentID)
		a.Places = place(a.Places, newest.MatchID, 0)
		for _, i := range g.duels {
			own, other := r.sides(duels[i])
			by, _ := gap(own.AgentID, other.AgentID)
			a.Expected += expectedAhead(by)
		}
	}
	return []arena.Anomaly{a}, nil
}

// linesWithout fits all duels but some and returns the lines by agent.
func linesWithout(duels []arena.RatedResult, without map[int]bool) (map[string]arena.FitLine, error) {
	f := NewRefit()
	for i, d := range duels {
		if !without[i] {
			f.Add(d)
		}
	}
	lines, err := f.strengths()
	if err != nil {
		return nil, fmt.Errorf("anomalies: %w", err)
	}
	known := make(map[string]arena.FitLine, len(lines))
	for _, l := range lines {
		known[l.AgentID] = l
	}
	return known, nil
}
