package scoring

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// conceding counts the answers of one owner's agents in duels against another's.
type conceding struct {
	owner    string // the opponent of the receiver
	agent    string // of it, the newest
	match    string // the newest
	rounds   int
	missed   float64 // points that they did not get
	expected float64 // of them, by their answers in all duels
}

func (c conceding) chance() float64 { return atLeast(c.missed, c.rounds, c.expected) }

// add counts the answers of another owner, too.
func (c *conceding) add(other conceding) {
	c.rounds += other.rounds
	c.missed += other.missed
	c.expected += other.expected
}

// conceded returns receivers: owners whose opponents answer worse against them than
// against all others (threat G6). It applies where a right answer does not depend on
// the opponent.
//
// Of each agent, the points that it missed in its answers to the questions of one
// pack are spread over its duels at random, if it is honest. Against one owner it
// then misses its mean share of them, and Hoeffding's bound holds, as it does for
// draws without replacement (Hoeffding 1963, section 6): no strength is estimated.
// The set of opponents of a receiver is the one that makes the chance smallest, and
// the chance is multiplied by the number of receivers and of such sets. Without the
// oddest opponent it must be unlikely too: one alone may have had a bad day.
func conceded(e arena.Evidence) []arena.Anomaly {
	seats := map[string][]arena.RatedSeat{} // by match
	newest := map[string]string{}           // agents by owner
	for _, d := range e.Duels {
		seats[d.MatchID] = d.Seats
		for _, s := range d.Seats {
			newest[s.OwnerID] = s.AgentID
		}
	}
	type stratum struct{ agent, pack string }
	type total struct {
		rounds int
		missed float64
	}
	type pairing struct{ receiver, owner string }
	type part struct {
		pairing
		stratum
	}
	all, parts := map[stratum]total{}, map[part]int{}
	found := map[pairing]*conceding{}
	for _, a := range e.Answers {
		duel := seats[a.MatchID]
		if len(duel) != 2 || isCanary(a) {
			continue
		}
		own, other := duel[0], duel[1]
		if own.AgentID != a.AgentID {
			own, other = other, own
		}
		pack, _, _ := strings.Cut(a.Source, "/")
		s, p := stratum{a.AgentID, pack}, pairing{other.OwnerID, own.OwnerID}
		missed := 1 - min(max(float64(a.Points)/float64(arena.OnePoint), 0), 1)
		t := all[s]
		all[s] = total{t.rounds + 1, t.missed + missed}
		parts[part{p, s}]++
		c := found[p]
		if c == nil {
			c = &conceding{owner: own.OwnerID}
			found[p] = c
		}
		c.rounds++
		c.missed += missed
		if a.MatchID >= c.match { // ids of later matches are greater
			c.agent, c.match = a.AgentID, a.MatchID
		}
	}
	for p, rounds := range parts {
		t := all[p.stratum]
		found[p.pairing].expected += float64(rounds) * t.missed / float64(t.rounds)
	}
	receivers := map[string][]conceding{}
	for p, c := range found {
		receivers[p.receiver] = append(receivers[p.receiver], *c)
	}
	var anomalies []arena.Anomaly
	for _, owner := range slices.Sorted(maps.Keys(receivers)) {
		if a, ok := oddest(receivers[owner], len(receivers)); ok {
			a.AgentIDs = slices.Insert(a.AgentIDs, 0, newest[owner])
			anomalies = append(anomalies, a)
		}
	}
	return anomalies
}

// oddest returns the opponents of a receiver whose answers together are least
// likely, and whether they are an anomaly.
func oddest(opponents []conceding, receivers int) (arena.Anomaly, bool) {
	slices.SortFunc(opponents, func(a, b conceding) int {
		return cmp.Or(cmp.Compare(a.chance(), b.chance()), cmp.Compare(a.owner, b.owner))
	})
	// All receivers, and all sets of a size, of which the k-th has the share 1/k(k+1).
	tests := func(size int) float64 {
		return float64(receivers*size*(size+1)) * math.Exp(logChoose(len(opponents), size))
	}
	a := arena.Anomaly{Kind: arena.AnomalyFed, Chance: 1}
	var size int
	var sum conceding
	for i, c := range opponents {
		sum.add(c)
		if chance := tests(i+1) * sum.chance(); i+1 >= minGivenGroups && chance < a.Chance {
			a.Chance, size = chance, i+1
			a.Trials, a.Observed, a.Expected = sum.rounds, int(math.Round(sum.missed)), sum.expected
		}
	}
	if a.Chance > ringChance {
		return a, false
	}
	var rest conceding
	for i, c := range opponents[:size] {
		if i > 0 {
			rest.add(c)
		}
		if c.chance() <= namedChance {
			a.AgentIDs = append(a.AgentIDs, c.agent)
			a.Places = place(a.Places, c.match, 0)
		}
	}
	return a, tests(size-1)*rest.chance() <= 1
}
