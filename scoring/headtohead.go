package scoring

import (
	"cmp"
	"math"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring/stats"
)

// Trial is one result of two agents against each other: a round of a question that both
// had, or a game.
type Trial struct {
	Match string
	Task  string  // "" in a game
	Score float64 // of the first agent: see TrialScore
}

// TrialScore returns the score of a trial in which the agents got these points: 1 if the
// first one has more, ½ for equal points, else 0.
func TrialScore(a, b arena.Points) float64 {
	switch {
	case a > b:
		return 1
	case a < b:
		return 0
	}
	return 0.5
}

// ComparisonVerdict is what the trials of two agents show.
type ComparisonVerdict string

// The verdicts.
const (
	ComparedBetter ComparisonVerdict = "better"
	ComparedWorse  ComparisonVerdict = "worse"
	ComparedTooFew ComparisonVerdict = "too_few" // the trials do not show which one is better
)

// ComparisonReason is why a verdict is ComparedTooFew.
type ComparisonReason string

// The reasons.
const (
	ReasonNoMatches  ComparisonReason = "no_matches"
	ReasonFewMatches ComparisonReason = "few_matches" // fewer than MinCompared
	ReasonFewTasks   ComparisonReason = "few_tasks"   // likewise
	ReasonAllEven    ComparisonReason = "all_even"    // every trial ended equal
	ReasonUndecided  ComparisonReason = "undecided"   // the difference may be chance
)

// The figures of docs/rules/board.md.
const (
	MinCompared   = 10   // matches, and different tasks, that a verdict needs
	comparedAlpha = 0.05 // probability of a wrong verdict between equals
	comparedPower = 0.8  // of Comparison.Needed

	// NeededElo is the difference of Comparison.Needed.
	NeededElo = 50
)

// Comparison is what the trials of two agents show of the first one.
type Comparison struct {
	Verdict ComparisonVerdict
	Reason  ComparisonReason // "" unless Verdict is ComparedTooFew
	P       float64          // two-sided, that equals differ as much; 0 to 1
	Matches int
	Tasks   int // different ones; 0 in games

	Won, Even, Lost int // trials

	// Share is the expected score of a trial, with its 95 % interval; both include the
	// two added trials.
	Share arena.Share
	// Needed is how many more matches like these would show a difference of NeededElo
	// with a probability of 80 %. It never falls below what MinCompared asks for.
	Needed int
}

// EloOf returns the difference in Elo at which a score is expected, and false for a
// score that no difference explains: 0 or 1.
func EloOf(score float64) (elo arena.MilliElo, ok bool) {
	if score <= 0 || score >= 1 {
		return 0, false
	}
	return milliElo(Scale * math.Log10(score/(1-score))), true
}

// Compare returns what trials show (docs/rules/board.md, "Does A beat B?"). questions is
// whether each has a task; else the tasks are ignored.
//
// It is a t test of the mean score against ½, with a variance that is clustered by task
// and by match (Cameron, Gelbach and Miller, "Robust Inference with Multiway Clustering",
// 2011). One won and one lost trial are added, as Agresti and Coull add to a proportion
// ("Approximate Is Better than 'Exact'", 1998), so that few trials that are all alike do
// not seem certain.
func Compare(trials []Trial, questions bool) Comparison {
	c := Comparison{P: 1, Share: arena.Share{Share: 0.5, High: 1}}
	sum, squares := 0.0, 0.0
	for _, t := range trials {
		sum += t.Score - 0.5
		squares += (t.Score - 0.5) * (t.Score - 0.5)
		switch t.Score {
		case 1:
			c.Won++
		case 0:
			c.Lost++
		default:
			c.Even++
		}
	}
	n := float64(len(trials))
	mean := sum / max(n, 1)
	byMatch := newGrouping(trials, mean, func(t Trial) string { return t.Match })
	variance, groups := byMatch.variance, byMatch.effective
	c.Matches = byMatch.count
	if questions {
		byTask := newGrouping(trials, mean, func(t Trial) string { return t.Task })
		both := newGrouping(trials, mean, func(t Trial) [2]string { return [2]string{t.Match, t.Task} })
		// The sum may be smaller than its parts, or negative, by chance alone.
		variance = max(byTask.variance+byMatch.variance-both.variance, byTask.variance, byMatch.variance)
		groups = min(groups, byTask.effective)
		c.Tasks = byTask.count
	}
	added := (0.5 + 2*mean*mean) / ((n + 2) * (n + 2))
	perMatch := 0.25 // the largest variance of a score, and the one before the first match
	if c.Matches > 0 {
		perMatch = float64(c.Matches) * ((squares/n-mean*mean)/n + added)
	}
	mean *= n / (n + 2)
	c.Share.Share = 0.5 + mean
	if groups > 1 {
		shrink := (groups + 1) / groups
		variance = (variance*groups/(groups-1) + added) * shrink * shrink
		deviation := math.Sqrt(variance)
		// Even a sign test of clusters that all agree shows no more than the second.
		c.P = min(1, max(2*stats.StudentTail(math.Abs(mean)/deviation, groups-1), math.Exp2(1-groups)))
		reach := deviation * stats.StudentQuantile(1-comparedAlpha/2, groups-1)
		c.Share.Low, c.Share.High = max(0, 0.5+mean-reach), min(1, 0.5+mean+reach)
		perMatch = max(perMatch, float64(c.Matches)*variance)
	}
	if c.Matches < MinCompared { // too few to estimate more
		perMatch = min(perMatch, 0.25)
	}
	c.Needed = max(neededMatches(perMatch, c.Matches), MinCompared-c.Matches, 0)
	c.Verdict, c.Reason = ComparedTooFew, c.tooFew(questions)
	if c.Reason == ReasonUndecided && c.P <= comparedAlpha {
		c.decide()
	}
	return c
}

// decide sets the verdict of a difference that is not chance.
func (c *Comparison) decide() {
	c.Verdict, c.Reason = ComparedBetter, ""
	if c.Share.Share < 0.5 {
		c.Verdict = ComparedWorse
	}
}

// tooFew returns why there is no verdict, ReasonUndecided if there are enough trials.
func (c *Comparison) tooFew(questions bool) ComparisonReason {
	switch {
	case c.Matches == 0:
		return ReasonNoMatches
	case c.Matches < MinCompared:
		return ReasonFewMatches
	case questions && c.Tasks < MinCompared:
		return ReasonFewTasks
	case c.Won == 0 && c.Lost == 0:
		return ReasonAllEven
	}
	return ReasonUndecided
}

// grouping is trials in clusters that depend on each other.
type grouping struct {
	count     int
	effective float64 // of clusters of one size that would be as good (Kish): at most count
	variance  float64 // of the mean of all trials, without a correction for few clusters
}

// newGrouping returns trials in clusters with the same key.
func newGrouping[K comparable](trials []Trial, mean float64, key func(Trial) K) (c grouping) {
	type cluster struct{ size, sum float64 }
	index := map[K]int{}
	var all []cluster // in the order of the trials, for equal sums of equal trials
	for _, t := range trials {
		k := key(t)
		i, known := index[k]
		if !known {
			i = len(all)
			index[k] = i
			all = append(all, cluster{})
		}
		all[i].size++
		all[i].sum += t.Score - 0.5 - mean
	}
	n, sizes := float64(len(trials)), 0.0
	for _, g := range all {
		sizes += g.size * g.size
		c.variance += g.sum * g.sum / (n * n)
	}
	c.count = len(all)
	c.effective = n * n / max(sizes, 1)
	return c
}

// neededMatches returns how many more matches show NeededElo with comparedPower, if each
// has this variance.
func neededMatches(variance float64, matches int) int {
	gap := 1/(1+math.Pow(10, -float64(NeededElo)/Scale)) - 0.5
	z := stats.NormalQuantile(1-comparedAlpha/2) + stats.NormalQuantile(comparedPower)
	return int(math.Ceil(z*z/(gap*gap)*variance)) - matches
}

// ComparedPart is the comparison on the trials of one kind.
type ComparedPart struct {
	Name string
	Comparison
}

// CompareParts compares two agents on each part of their trials, at most the given
// number of parts, most trials first. The parts with enough trials are tested together
// by Holm's correction, so that the probability of any wrong verdict between equals
// stays 5 %; P and the intervals are those of each part alone.
func CompareParts(parts map[string][]Trial, questions bool, most int) []ComparedPart {
	var all []ComparedPart
	for name, trials := range parts {
		all = append(all, ComparedPart{name, Compare(trials, questions)})
	}
	slices.SortFunc(all, func(x, y ComparedPart) int {
		return cmp.Or(cmp.Compare(len(parts[y.Name]), len(parts[x.Name])), cmp.Compare(x.Name, y.Name))
	})
	all = all[:min(len(all), most)]
	var tested []*ComparedPart
	var p []float64
	for i := range all {
		part := &all[i]
		if part.Reason == "" || part.Reason == ReasonUndecided || part.Reason == ReasonAllEven {
			tested, p = append(tested, part), append(p, part.P)
		}
	}
	for i, decided := range stats.Holm(p, len(p), comparedAlpha) {
		if tested[i].Verdict != ComparedTooFew && !decided {
			tested[i].Verdict, tested[i].Reason = ComparedTooFew, ReasonUndecided
		}
	}
	return all
}
