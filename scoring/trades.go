package scoring

import (
	"fmt"
	"math"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// rivalry is the duels of two owners' agents, oldest first.
type rivalry struct {
	duels []int  // in all duels
	won   []bool // with a winner: by the first owner's agent
	wins  int    // of the first owner
	loss  int
}

// trades returns duels whose results look prearranged:
//
//   - one_sided: one owner's agents win nine of ten of at least 8 duels against
//     the other's, contrary to all other results of both. The expectation comes
//     from a fit of all duels but these (see Fit), from the upper end of the
//     winner's interval and the lower end of the loser's. An agent that beats all
//     opponents, or one with few results, is therefore not reported.
//   - arranged: wins come in blocks or alternate, unlike the wins of independent
//     duels. For at least 10 duels with a winner, 4 for either side, the number
//     of runs is compared with all orders of the same wins (Wald–Wolfowitz test,
//     two-sided).
//   - fed: see fed.
func trades(duels []arena.RatedResult) ([]arena.Anomaly, error) {
	rivals := map[[2]string]*rivalry{}
	for i, d := range duels {
		if len(d.Seats) != 2 {
			return nil, fmt.Errorf("anomalies: match %s has %d rated seats, not two", d.MatchID, len(d.Seats))
		}
		first, second := d.Seats[0], d.Seats[1]
		if first.OwnerID == second.OwnerID {
			continue
		}
		if first.OwnerID > second.OwnerID {
			first, second = second, first
		}
		key := [2]string{first.OwnerID, second.OwnerID}
		r := rivals[key]
		if r == nil {
			r = &rivalry{}
			rivals[key] = r
		}
		r.duels = append(r.duels, i)
		switch {
		case first.Place < second.Place:
			r.wins++
			r.won = append(r.won, true)
		case first.Place > second.Place:
			r.loss++
			r.won = append(r.won, false)
		}
	}
	keys := make([][2]string, 0, len(rivals))
	for key := range rivals {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	var found []arena.Anomaly
	refits := 0
	for _, key := range keys {
		r := rivals[key]
		if r.lopsided() && refits < maxRefits {
			refits++
			a, err := r.oneSided(duels, key[0], len(rivals))
			if err != nil {
				return nil, err
			}
			found = append(found, a...)
		}
		found = append(found, r.arranged(duels, key[0], len(rivals))...)
	}
	received, err := fed(duels, rivals)
	return append(found, received...), err
}

func (r *rivalry) lopsided() bool {
	n := len(r.duels)
	return n >= minOneSided && float64(max(r.wins, r.loss)) >= oneSidedShare*float64(n)
}

// oneSided compares the winner's wins with the expectation from all other duels.
func (r *rivalry) oneSided(duels []arena.RatedResult, firstOwner string, rivals int) ([]arena.Anomaly, error) {
	mine := map[int]bool{}
	for _, i := range r.duels {
		mine[i] = true
	}
	known, err := linesWithout(duels, mine)
	if err != nil {
		return nil, err
	}
	firstWins := r.wins > r.loss
	sum := 0.0
	a := arena.Anomaly{Kind: arena.AnomalyOneSided, Trials: len(r.duels), Observed: max(r.wins, r.loss)}
	for _, i := range r.duels {
		winner, loser := duels[i].Seats[0], duels[i].Seats[1]
		if (winner.OwnerID == firstOwner) != firstWins {
			winner, loser = loser, winner
		}
		best, ok := known[winner.AgentID]
		worst, too := known[loser.AgentID]
		if !ok || !too {
			return nil, nil // one of them has no other duels
		}
		sum += expectedAhead(best.High - worst.Low)
		a.AgentIDs = []string{winner.AgentID, loser.AgentID} // the newest
		a.Places = place(a.Places, duels[i].MatchID, 0)
	}
	a.Expected = sum
	if a.Chance = min(1, float64(2*rivals)*atLeast(float64(a.Observed), a.Trials, sum)); a.Chance > AnomalyChance {
		return nil, nil
	}
	return []arena.Anomaly{a}, nil
}

// arranged tests the order of wins.
func (r *rivalry) arranged(duels []arena.RatedResult, firstOwner string, rivals int) []arena.Anomaly {
	if len(r.won) < minArranged || min(r.wins, r.loss) < minArrangedBy {
		return nil
	}
	runs := 1
	for i := 1; i < len(r.won); i++ {
		if r.won[i] != r.won[i-1] {
			runs++
		}
	}
	low, high, mean := runChances(r.wins, r.loss, runs)
	chance := min(1, float64(rivals)*2*min(low, high))
	if chance > AnomalyChance {
		return nil
	}
	a := arena.Anomaly{Kind: arena.AnomalyArranged, Trials: len(r.won), Observed: runs, Expected: mean, Chance: chance}
	for _, i := range r.duels {
		a.Places = place(a.Places, duels[i].MatchID, 0)
		first, second := duels[i].Seats[0], duels[i].Seats[1]
		if first.OwnerID != firstOwner {
			first, second = second, first
		}
		a.AgentIDs = []string{first.AgentID, second.AgentID}
	}
	return []arena.Anomaly{a}
}

// runChances returns the chances of at most and of at least the given number of
// runs among all orders of a and b items, and the mean number of runs.
func runChances(a, b, runs int) (low, high, mean float64) {
	all := logChoose(a+b, a)
	for r := 2; r <= 2*min(a, b)+1; r++ {
		k := r / 2
		var p float64
		if r%2 == 0 {
			p = 2 * math.Exp(logChoose(a-1, k-1)+logChoose(b-1, k-1)-all)
		} else {
			p = math.Exp(logChoose(a-1, k)+logChoose(b-1, k-1)-all) + math.Exp(logChoose(a-1, k-1)+logChoose(b-1, k)-all)
		}
		mean += float64(r) * p
		if r <= runs {
			low += p
		}
		if r >= runs {
			high += p
		}
	}
	return low, high, mean
}

// logChoose returns the logarithm of the binomial coefficient n over k, minus
// infinity where that is 0.
func logChoose(n, k int) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return lg(n) - lg(k) - lg(n-k)
}
