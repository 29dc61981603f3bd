package scoring

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// JudgeHealth measures a judge by its verdicts, newest first. length returns the
// length of an answer in bytes, or false if it is unknown. The version of a judge
// without verdicts comes from its settings. JudgeCard makes the card.
func JudgeHealth(spec arena.JudgeSpec, verdicts []arena.Verdict, length func(matchID string, round int, agentID string) (int, bool)) arena.JudgeHealth {
	h := arena.JudgeHealth{Versions: []string{}, Verdicts: len(verdicts)}
	var flips, first, longer, agreed share
	for _, v := range verdicts {
		if !slices.Contains(h.Versions, v.Version) {
			h.Versions = append(h.Versions, v.Version)
		}
		h.Ballots += len(v.Ballots)
		for _, b := range v.Ballots {
			if b.Choice == "" {
				continue
			}
			first.add(b.Choice == b.First)
			one, oneKnown := length(v.MatchID, v.Round, b.First)
			two, twoKnown := length(v.MatchID, v.Round, b.Second)
			if oneKnown && twoKnown && one != two {
				longer.add((b.Choice == b.First) == (one > two))
			}
		}
		pairs := map[[2]string][]string{} // what was said about two answers
		for _, o := range opinionsOf(v.Ballots) {
			if o.twice {
				flips.add(o.flipped)
			}
			pairs[[2]string{o.a, o.b}] = append(pairs[[2]string{o.a, o.b}], o.choice)
		}
		for _, said := range pairs {
			if len(said) > 1 {
				agreed.add(!slices.ContainsFunc(said, func(choice string) bool { return choice != said[0] }))
			}
		}
	}
	if version := Version(spec); len(h.Versions) == 0 && version != "" {
		h.Versions = append(h.Versions, version)
	}
	h.FlipRate, h.FirstRate, h.LongerRate, h.Agreement = flips.rate(), first.rate(), longer.rate(), agreed.rate()
	return h
}

// opinion is what a judge said about two answers of a round.
type opinion struct {
	judge, a, b string // a and b are agents, a < b
	choice      string // the better one; "": a tie
	// twice: it saw both orders. flipped: its choice depended on the order, and is a tie.
	twice, flipped bool
}

// worth returns what an opinion gives to one of its two answers: 1, ½ or 0.
func (o opinion) worth(agentID string) float64 {
	switch o.choice {
	case agentID:
		return 1
	case "":
		return 0.5
	}
	return 0
}

// opinionsOf returns the opinions of the judges of one verdict, by pair and judge. The
// choice of a judge that saw only one order stands.
func opinionsOf(ballots []arena.Ballot) []opinion {
	var all []opinion
	places := map[[3]string]int{}
	for _, b := range ballots {
		key := [3]string{b.Judge, min(b.First, b.Second), max(b.First, b.Second)}
		i, seen := places[key]
		if !seen {
			places[key] = len(all)
			all = append(all, opinion{judge: key[0], a: key[1], b: key[2], choice: b.Choice})
			continue
		}
		all[i].twice = true
		if all[i].choice != b.Choice {
			all[i].choice, all[i].flipped = "", true
		}
	}
	slices.SortFunc(all, func(o, p opinion) int {
		return cmp.Or(strings.Compare(o.a, p.a), strings.Compare(o.b, p.b), strings.Compare(o.judge, p.judge))
	})
	return all
}

// share counts the events of a kind among all.
type share struct{ so, all int }

func (s *share) add(so bool) {
	s.all++
	if so {
		s.so++
	}
}

// rate returns the share, or nil if nothing was counted.
func (s *share) rate() *float64 {
	if s.all == 0 {
		return nil
	}
	return new(float64(s.so) / float64(s.all))
}
