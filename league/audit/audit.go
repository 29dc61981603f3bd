package audit

import (
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/players"
)

const (
	// FamilyError bounds the probability that an audit accuses an honest league.
	FamilyError = 0.0001
	// OpenChance is the share of open questions, those without options, that a guess
	// may answer.
	OpenChance = 0.05

	// mostTests is the number of tests of one audit, at most.
	mostTests = 16
	level     = FamilyError / mostTests
)

// Result is how often a cheat succeeded.
type Result struct {
	Won     int
	Chances []float64 // of success, of each round that it played
}

// Chance returns the probability that a guess answers a task.
func Chance(t arena.Task) float64 {
	if len(t.Options) > 0 {
		return 1 / float64(len(t.Options))
	}
	return OpenChance
}

// Cheats compares the results of cheats with chance, in the order of arena.Cheats.
// A cheat without a result was not tried.
func Cheats(results map[string]Result) []arena.AuditedCheat {
	all := make([]arena.AuditedCheat, 0, len(results))
	for _, name := range arena.Cheats() {
		r := results[name]
		n := len(r.Chances)
		c := arena.AuditedCheat{Name: name, Tried: n, Chance: mean(r.Chances)}
		share := arena.ShareOf(r.Won, n)
		c.Share, c.Low, c.High = share.Share, share.Low, share.High
		c.Passed = n > 0 && tail(r.Chances, r.Won) >= level
		all = append(all, c)
	}
	return all
}

// Stops returns the names of the cheats that keep a rated league from opening: those
// that get points whatever is asked. A cheat that guesses says something about the
// questions, and a copier about a visibility that the host chose, because rated leagues
// are sealed by default: the report has them.
func Stops(r arena.AuditReport, of arena.Settings) (found []string) {
	for _, c := range r.Cheats {
		if c.Tried == 0 || c.Passed {
			continue
		}
		switch c.Name {
		case arena.CheatSilence, arena.CheatLate, arena.CheatClones:
			found = append(found, c.Name)
		case arena.CheatInjection:
			if of.Judge.Kind == arena.JudgeModel {
				found = append(found, c.Name)
			}
		case arena.CheatCopier:
			if of.Visibility == arena.VisibilitySealed {
				found = append(found, c.Name)
			}
		}
	}
	return found
}

// Scale returns the built-in opponents that play beside cheats under a judge, from the
// weakest to the strongest.
func Scale(judge arena.JudgeSpec) []string {
	if !slices.Contains(players.Judges(), judge.Kind) {
		return nil
	}
	return []string{"p05", "p25", "p50", "p75", "p95"}
}

// Opponents returns the results of the built-in opponents of a scale.
func Opponents(scale []string, results map[string]Result) []arena.AuditedOpponent {
	var all []arena.AuditedOpponent
	for _, name := range scale {
		r := results[name]
		share := arena.ShareOf(r.Won, len(r.Chances))
		all = append(all, arena.AuditedOpponent{Name: name, Tried: len(r.Chances), Share: share.Share, Low: share.Low, High: share.High})
	}
	return all
}

func mean(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(len(of))
}

// tail returns the probability of k successes or more in independent trials with
// these probabilities: the upper tail of the Poisson binomial distribution, by the
// recursion of Barlow and Heidtmann (IEEE Transactions on Reliability 33, 1984).
func tail(p []float64, k int) float64 {
	if k <= 0 {
		return 1
	}
	if k > len(p) {
		return 0
	}
	// below[j] is the probability of j successes so far; k and more are added up in
	// beyond, which keeps small tails exact.
	below, beyond := make([]float64, k), 0.0
	below[0] = 1
	for _, v := range p {
		beyond += below[k-1] * v
		for j := k - 1; j > 0; j-- {
			below[j] = below[j]*(1-v) + below[j-1]*v
		}
		below[0] *= 1 - v
	}
	return beyond
}

// MostTasks is the number of tasks whose answers are compared with their text.
const MostTasks = 2000

// Spread returns at most n tasks, evenly spaced.
func Spread(tasks []arena.Task, n int) []arena.Task {
	if len(tasks) <= n {
		return slices.Clone(tasks)
	}
	some := make([]arena.Task, n)
	for i := range some {
		some[i] = tasks[i*len(tasks)/n]
	}
	return some
}

// Constant returns the answer that is most often right, the first one of several.
func Constant(tasks []arena.Task) string {
	count, best := map[string]int{}, ""
	for _, t := range tasks {
		count[t.Correct()]++
	}
	for _, t := range tasks {
		if a := t.Correct(); best == "" || count[a] > count[best] {
			best = a
		}
	}
	return best
}
