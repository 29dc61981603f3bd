package scoring

import (
	"slices"

	"github.com/agora-arena/arena/arena"
)

// JudgeHealth measures a judge by its verdicts, newest first. length returns the
// length of an answer in bytes, or false if it is unknown. The version of a judge
// without verdicts comes from its settings.
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
		for _, said := range byPair(v.Ballots, &flips) {
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

// byPair returns the choices of the judges of one verdict for each pair of
// answers. A judge whose choice depends on the order of the answers is counted
// as a flip and its choice becomes a tie. The choice of a judge that saw only
// one order stands.
func byPair(ballots []arena.Ballot, flips *share) map[[2]string][]string {
	type key struct{ judge, a, b string }
	choices := map[key]string{}
	var order []key
	for _, b := range ballots {
		k := key{b.Judge, min(b.First, b.Second), max(b.First, b.Second)}
		before, twice := choices[k]
		if !twice {
			order = append(order, k)
			choices[k] = b.Choice
			continue
		}
		flips.add(before != b.Choice)
		if before != b.Choice {
			choices[k] = ""
		}
	}
	said := map[[2]string][]string{}
	for _, k := range order {
		pair := [2]string{k.a, k.b}
		said[pair] = append(said[pair], choices[k])
	}
	return said
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
