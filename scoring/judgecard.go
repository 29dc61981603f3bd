package scoring

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agora-arena/arena/arena"
)

// The limits of a judge's card. Each is far from the share of an honest judge.
const (
	orderLimit  = 0.5  // as much as drawing lots between two answers
	lengthLimit = 0.75 // 0.5 is neutral; a longer answer may well be the better one
	familyLimit = 0.6  // 0.5 is neutral
	goldLimit   = 0.5  // the better answer is missed more often than not; drawing lots misses it in 0.75
)

// cardQuantile is the quantile of the normal distribution for intervals of 99.9 %. A card
// is measured again after each match: an interval of 95 % would exceed a limit by chance
// sooner or later.
const cardQuantile = 3.290527

// JudgeFacts returns what a card needs beside verdicts.
type JudgeFacts struct {
	// Length returns the length of an answer in bytes, or false if it is unknown.
	Length func(matchID string, round int, agentID string) (int, bool)
	// Version returns the version of an agent in a match.
	Version func(matchID, agentID string) string
	// Family returns the model family of a player, or of a judge by its name on ballots;
	// "": unknown.
	Family func(id string) string
	// Gold is the newest verdict on each gold item of the league.
	Gold []arena.GoldVerdict
}

// JudgeCard measures the biases of a judge by its verdicts, newest match first. Verdicts of
// another kind or version and ballots of agents that have left the panel do not count. A
// judge that does not compare answers has no card.
//
// Each match counts once, with the mean of its comparisons, because they depend on each
// other. The variance of a number between 0 and 1 is at most that of a coin with the same
// mean, so Wilson's interval with the number of matches is wide enough.
func JudgeCard(spec arena.JudgeSpec, verdicts []arena.Verdict, facts JudgeFacts) []arena.JudgeMeasure {
	if !spec.Compares() {
		return []arena.JudgeMeasure{}
	}
	matches, version := judgedMatches(spec, verdicts)
	card := []arena.JudgeMeasure{orderOf(matches), lengthOf(matches, facts), familyOf(matches, facts)}
	if spec.Gold != "" {
		card = append(card, goldOf(facts.Gold, version))
	}
	return card
}

// judgedRound is what judges said about a round.
type judgedRound struct {
	matchID  string
	round    int
	opinions []opinion
}

// judgedMatches returns the opinions that count, by match, and the version of the judge.
func judgedMatches(spec arena.JudgeSpec, verdicts []arena.Verdict) (matches [][]judgedRound, version string) {
	for _, v := range verdicts {
		if v.Judge != spec.Kind || version != "" && v.Version != version {
			continue
		}
		version = v.Version
		r := judgedRound{v.MatchID, v.Round, opinionsOf(v.Ballots)}
		if spec.Kind == arena.JudgePanel {
			r.opinions = slices.DeleteFunc(r.opinions, func(o opinion) bool { return !slices.Contains(spec.Agents, o.judge) })
		}
		if last := len(matches) - 1; last >= 0 && matches[last][0].matchID == v.MatchID {
			matches[last] = append(matches[last], r)
		} else {
			matches = append(matches, []judgedRound{r})
		}
	}
	return matches, version
}

// orderOf measures how often the order of two answers decides between them.
func orderOf(matches [][]judgedRound) arena.JudgeMeasure {
	var mean matchMean
	for _, rounds := range matches {
		var flips share
		for _, r := range rounds {
			for _, o := range r.opinions {
				if o.twice {
					flips.add(o.flipped)
				}
			}
		}
		mean.add(float64(flips.so), flips.all)
	}
	return mean.measure(arena.BiasOrder, orderLimit)
}

// lengthOf measures how often the longer answer of two agents wins, as often with the
// answer of the one as with that of the other: an agent that is better and writes more
// would make every judge look as if it preferred long answers. Agents with another version
// are other agents. Answers of which one is more than twice as long are left out: the
// shorter one is often a refusal.
func lengthOf(matches [][]judgedRound, facts JudgeFacts) arena.JudgeMeasure {
	var b balance
	for _, rounds := range matches {
		var duels []duel
		for _, r := range rounds {
			for _, o := range r.opinions {
				one, oneKnown := facts.Length(r.matchID, r.round, o.a)
				two, twoKnown := facts.Length(r.matchID, r.round, o.b)
				if o.choice == "" || !oneKnown || !twoKnown || one == two || max(one, two) > 2*min(one, two) {
					continue
				}
				d := duel{pair: [4]string{o.a, facts.Version(r.matchID, o.a), o.b, facts.Version(r.matchID, o.b)}, won: o.choice == o.a}
				if one < two {
					d.side, d.won = 1, !d.won
				}
				duels = append(duels, d)
			}
		}
		b.add(duels)
	}
	return b.measure(arena.BiasLength, lengthLimit)
}

// familyOf measures what the answers of a judge's own model family get from it, against
// what judges of other families give to the same answers: 0.5 plus half the difference.
// Models that are not declared are left out, since they may be of any family.
func familyOf(matches [][]judgedRound, facts JudgeFacts) arena.JudgeMeasure {
	var mean matchMean
	for _, rounds := range matches {
		sum, n := 0.0, 0
		for _, r := range rounds {
			for _, o := range r.opinions {
				if difference, ok := ownFamily(o, r.opinions, facts.Family); ok {
					sum += (1 + difference) / 2
					n++
				}
			}
		}
		mean.add(sum, n)
	}
	return mean.measure(arena.BiasFamily, familyLimit)
}

// ownFamily returns by how much a judge values the answer of its own family more than
// judges of neither family do, -1 to 1. It returns false unless exactly one of the two
// answers is of the judge's family and such another judge compared them.
func ownFamily(o opinion, all []opinion, family func(string) string) (difference float64, ok bool) {
	judge, a, b := family(o.judge), family(o.a), family(o.b)
	if judge == "" || a == "" || b == "" || a == b || judge != a && judge != b {
		return 0, false
	}
	own := o.a
	if judge == b {
		own = o.b
	}
	others, n := 0.0, 0
	for _, p := range all {
		if f := family(p.judge); p.a == o.a && p.b == o.b && f != "" && f != a && f != b {
			others += p.worth(own)
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return o.worth(own) - others/float64(n), true
}

// goldOf measures on how many gold items a version of the judge did not choose the better
// answer. A tie, as when the two orders differ, chooses none.
func goldOf(gold []arena.GoldVerdict, version string) arena.JudgeMeasure {
	var missed share
	for _, g := range gold {
		if g.Version != "" && g.Version == version {
			missed.add(!g.Agreed)
		}
	}
	n := float64(missed.all)
	return measured(arena.BiasGold, goldLimit, float64(missed.so)/max(n, 1), n, n)
}

// MinGold is the fewest items of a pack of gold items: with fewer, no judge could exceed
// the limit.
const MinGold = 11

// GoldPair returns the two answers of a gold item, the better one first. problem is why a
// task is none, "" if it is one.
func GoldPair(t arena.Task) (better, worse, problem string) {
	if len(t.Options) != 2 {
		return "", "", fmt.Sprintf("has %d options, not the two answers of a pair", len(t.Options))
	}
	a, b := t.Options[0], t.Options[1]
	choice := arena.JudgeSpec{Kind: arena.JudgeChoice}
	switch first, second := Judge(choice, t, a) > 0, Judge(choice, t, b) > 0; {
	case first == second:
		return "", "", "needs exactly one right option, the better answer"
	case second:
		a, b = b, a
	}
	return a, b, ""
}

// matchMean is the mean over matches of the means of their comparisons.
type matchMean struct{ means []float64 }

// manyMatches is the number of matches from which on their spread is known.
const manyMatches = 30

// add counts a match with n comparisons whose values have this sum.
func (m *matchMean) add(sum float64, n int) {
	if n > 0 {
		m.means = append(m.means, sum/float64(n))
	}
}

// measure returns the mean. With many matches the variance between them takes the place of
// a coin's, as if there were more matches that differ as much as those of a coin.
func (m *matchMean) measure(name arena.JudgeBias, limit float64) arena.JudgeMeasure {
	n := float64(len(m.means))
	if n == 0 {
		return measured(name, limit, 0, 0, 0)
	}
	var sum, squares float64
	for _, x := range m.means {
		sum += x
	}
	mean := sum / n
	for _, x := range m.means {
		squares += (x - mean) * (x - mean)
	}
	effective := n
	if coin, variance := mean*(1-mean), squares/(n-1); len(m.means) >= manyMatches && coin > 0 && variance > 0 {
		effective = max(n, n*coin/variance)
	}
	return measured(name, limit, mean, n, effective)
}

// balance is a share that is taken on both sides of each pair, with the weights of Mantel
// and Haenszel: what is the same on both sides cancels.
type balance struct {
	sides map[[4]string]*[2]side
	order [][4]string // of the pairs, so that sums do not depend on a map
}

// side is the weight of duels and of those that were won.
type side struct{ all, won float64 }

// duel is one observation.
type duel struct {
	pair [4]string
	side int // 0 or 1
	won  bool
}

// add counts the duels of a match. Together they weigh 1.
func (b *balance) add(duels []duel) {
	if b.sides == nil {
		b.sides = map[[4]string]*[2]side{}
	}
	for _, d := range duels {
		sides := b.sides[d.pair]
		if sides == nil {
			sides = new([2]side)
			b.sides[d.pair] = sides
			b.order = append(b.order, d.pair)
		}
		weight := 1 / float64(len(duels))
		sides[d.side].all += weight
		if d.won {
			sides[d.side].won += weight
		}
	}
}

// measure returns the balanced share. With the harmonic weights w = n₀n₁/(n₀+n₁) of the
// pairs its variance is at most that of 4·Σw tosses of a coin, as a match weighs 1 at most.
func (b *balance) measure(name arena.JudgeBias, limit float64) arena.JudgeMeasure {
	var sum, weights float64
	for _, pair := range b.order {
		s := b.sides[pair]
		if s[0].all == 0 || s[1].all == 0 {
			continue
		}
		w := s[0].all * s[1].all / (s[0].all + s[1].all)
		sum += w * (s[0].won/s[0].all + s[1].won/s[1].all) / 2
		weights += w
	}
	if weights == 0 {
		return measured(name, limit, 0, 0, 0)
	}
	return measured(name, limit, min(1, sum/weights), 4*weights, 4*weights)
}

// measured returns a line of a card: a share of n matches, which may be none. Its interval
// is that of an effective number of tosses of a coin.
func measured(name arena.JudgeBias, limit, value, n, effective float64) arena.JudgeMeasure {
	const z2 = cardQuantile * cardQuantile
	m := arena.JudgeMeasure{
		Name: name, N: int(n + 1e-9), High: 1, Limit: limit,
		Needed: int(limit*z2/(1-limit)) + 1, // where the low end of a share of 1, n/(n+z²), exceeds the limit
	}
	if n > 0 {
		s := arena.WilsonShare(value, effective, cardQuantile)
		m.Share, m.Low, m.High, m.Over = &s.Share, s.Low, s.High, s.Low > limit
	}
	return m
}

// ModelFamily returns the family of a language model by its name as owners and operators
// write it: its first word that is not a vendor, in lower case, such as "gpt" of
// "openai/gpt-5-mini"; "": it has none.
func ModelFamily(model string) string {
	words := strings.FieldsFunc(strings.ToLower(model), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, w := range words {
		switch w {
		case "openai", "anthropic", "google", "meta", "amazon", "microsoft", "alibaba", "mistralai", "xai":
		default:
			return w
		}
	}
	return strings.Join(words, " ")
}
