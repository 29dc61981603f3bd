package scoring

import (
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring/stats"
)

// ShareByMatch returns the mean of trials whose scores are 0 or 1, with a 95 % interval
// that is clustered by match, and the number of matches; with fewer than MinCompared the
// interval means little. The rounds of a match depend on each other, so that they show
// less than as many rounds of different matches.
//
// It is Wilson's interval of an effective number of trials, with the quantile of
// Student's t at one degree less than the matches (Franco, Little, Louis and Slud,
// "Comparative Study of Confidence Intervals for Proportions in Complex Sample Surveys",
// 2019). The effective number is n divided by the design effect, which is the clustered
// variance over p(1−p)/n and at least 1. Where p is 0 or 1, and so no variance is seen,
// each match counts as one trial.
func ShareByMatch(trials []Trial) (s arena.Share, matches int) {
	if len(trials) == 0 {
		return arena.Share{High: 1}, 0
	}
	n, sum := float64(len(trials)), 0.0
	for _, t := range trials {
		sum += t.Score
	}
	p := sum / n
	g := newGrouping(trials, p-0.5, func(t Trial) string { return t.Match })
	if g.effective <= 1 {
		return arena.Share{Share: p, High: 1}, g.count
	}
	effective := g.effective
	if p > 0 && p < 1 {
		clustered := g.variance * g.effective / (g.effective - 1)
		effective = n / max(1, clustered*n/(p*(1-p)))
	}
	return arena.WilsonShare(p, effective, stats.StudentQuantile(1-comparedAlpha/2, g.effective-1)), g.count
}
