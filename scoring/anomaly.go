package scoring

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// The thresholds of the report on anomalies.
const (
	// AnomalyChance is the largest chance at which an anomaly is reported. It is
	// corrected for the number of pairs in the league, so that honest leagues
	// rarely have a report.
	AnomalyChance = 0.001

	ringChance  = 0.0001 // AnomalyChance of conceded answers, whose search is the widest
	namedChance = 0.01   // by which one opponent is named among those who conceded

	minAgreements = 8   // wrong answers that agree
	minOthers     = 3   // other agents with a wrong answer to the task
	minOneSided   = 8   // duels of two owners
	oneSidedShare = 0.9 // of them won by one
	minArranged   = 10  // duels with a winner
	minArrangedBy = 4   // of them won by either
	maxPlaces     = 5   // that are shown of an anomaly
	maxRefits     = 50  // fits without the duels of one pair
)

// Anomalies returns statistical anomalies that are unlikely to be chance. Each
// kind is a test of all pairs of agents of different owners, and the chance of
// each result is multiplied by the number of pairs (Bonferroni). The chance of
// counts is Hoeffding's bound: k or more of n events of mean probability p
// happen with a chance of at most
// exp(-n (x ln(x/p) + (1-x) ln((1-x)/(1-p)))), x = k/n.
func Anomalies(e arena.Evidence) (arena.AnomalyReport, error) {
	r := arena.AnomalyReport{Matches: e.Matches, Answers: len(e.Answers), Duels: len(e.Duels)}
	copied, pairs := copies(e.Answers)
	r.Pairs = pairs
	traded, err := trades(e.Duels)
	if err != nil {
		return r, err
	}
	var fed []arena.Anomaly
	if !e.Compared {
		fed = conceded(e)
	}
	traded = slices.DeleteFunc(traded, func(a arena.Anomaly) bool { // the same receiver twice
		return a.Kind == arena.AnomalyFed && slices.ContainsFunc(fed, func(f arena.Anomaly) bool { return f.AgentIDs[0] == a.AgentIDs[0] })
	})
	r.Found = slices.Concat(foreignMarks(e.Answers), copied, fed, traded)
	slices.SortStableFunc(r.Found, func(a, b arena.Anomaly) int {
		return cmp.Or(cmp.Compare(a.Chance, b.Chance), cmp.Compare(b.Observed, a.Observed), slices.Compare(a.AgentIDs, b.AgentIDs))
	})
	return r, nil
}

// atLeast bounds the chance that n numbers from 0 to 1, whose means have the given
// sum, add up to k or more.
func atLeast(k float64, n int, sum float64) float64 {
	if n == 0 || k <= sum {
		return 1
	}
	x, p := k/float64(n), sum/float64(n)
	d := x * math.Log(x/p)
	if x < 1 {
		d += (1 - x) * math.Log((1-x)/(1-p))
	}
	return math.Exp(-float64(n) * d)
}

// said returns an answer in the form in which answers are compared. For a task
// with options that is the option that it names, if any (own).
func said(options []string, answer string) (says string, own bool) {
	all := newOptions(options)
	if option, found := all.named(answer, false); found == 1 {
		return all[option].close, true
	}
	return newText(read(answer)).key(), false
}

// key returns the same text for all equivalent spellings.
func (t text) key() string { return dropArticle(t.loose) }

// isCanary reports whether the answer is to a canary.
func isCanary(a arena.GivenAnswer) bool { return strings.HasPrefix(a.Source, arena.CanarySource) }

// foreignMarks returns answers to canaries that were options in another match
// but not in their own. The options of a canary are drawn for each match out of
// more than 10^9, so that one such answer is enough.
func foreignMarks(answers []arena.GivenAnswer) []arena.Anomaly {
	marks := map[string]map[string]bool{} // what the options say, and the matches that have them
	for _, a := range answers {
		for _, o := range a.Options {
			if isCanary(a) {
				mark := newText(o).key()
				if marks[mark] == nil {
					marks[mark] = map[string]bool{}
				}
				marks[mark][a.MatchID] = true
			}
		}
	}
	asked, caught := map[string]int{}, map[string]*arena.Anomaly{}
	for _, a := range answers {
		if !isCanary(a) {
			continue
		}
		asked[a.AgentID]++
		says, own := said(a.Options, a.Text)
		if from := marks[says]; own || len(from) == 0 || from[a.MatchID] {
			continue
		}
		c := caught[a.AgentID]
		if c == nil {
			c = &arena.Anomaly{Kind: arena.AnomalyForeignMark, AgentIDs: []string{a.AgentID}}
			caught[a.AgentID] = c
		}
		c.Observed++
		c.Places = place(c.Places, a.MatchID, a.Round)
	}
	var found []arena.Anomaly
	for _, id := range slices.Sorted(maps.Keys(caught)) {
		caught[id].Trials = asked[id]
		found = append(found, *caught[id])
	}
	return found
}

func place(places []arena.AnomalyPlace, match string, round int) []arena.AnomalyPlace {
	if len(places) == maxPlaces {
		return places
	}
	return append(places, arena.AnomalyPlace{MatchID: match, Round: round})
}
