package scoring

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// wrongAnswer is the first wrong answer of an agent to a task.
type wrongAnswer struct {
	arena.GivenAnswer
	says string
}

// agreement is what two agents have in common, a < b.
type agreement struct {
	both     int     // tasks that both had wrong
	same     int     // of them with one answer
	expected float64 // of them by chance
	aLater   int     // same answers that a gave in a later match than b
	bLater   int
	places   []arena.AnomalyPlace
}

// copies finds agents of different owners whose wrong answers agree far more
// often than those of others do. Right answers say nothing: they are right for
// a reason.
//
// Of a task that both had wrong, the chance that they agree is taken to be
// p = (c+1)/(n+w): n is how many agents of other owners had it wrong too, c how
// many of them gave the answer in question, w how many wrong options there are
// (3 without options). If the two disagree, p is the mean for their two answers.
// So a mistake that everybody makes counts for little; a task that fewer than 3
// others had wrong does not count.
//
// Tasks of a pack are compared across matches, so that an answer that was taken
// from the log of an earlier match is found as well.
func copies(answers []arena.GivenAnswer) (found []arena.Anomaly, pairs int) {
	pairsOf := map[[2]string]*agreement{}
	agents := map[string]string{} // their owners
	for _, a := range answers {
		agents[a.AgentID] = a.OwnerID
	}
	owners := map[string]int{}
	for _, o := range agents {
		owners[o]++
	}
	pairs = len(agents) * (len(agents) - 1) / 2
	for _, n := range owners {
		pairs -= n * (n - 1) / 2
	}
	for _, wrong := range wrongByTask(answers) {
		for i, a := range wrong {
			for _, b := range wrong[i+1:] {
				if a.OwnerID == b.OwnerID {
					continue
				}
				key := [2]string{a.AgentID, b.AgentID}
				if pairsOf[key] == nil {
					pairsOf[key] = &agreement{}
				}
				pairsOf[key].add(a, b, wrong)
			}
		}
	}
	for key, g := range pairsOf {
		chance := min(1, float64(pairs)*atLeast(g.same, g.both, g.expected))
		if g.same < minAgreements || chance > AnomalyChance {
			continue
		}
		ids, later := []string{key[0], key[1]}, g.bLater
		if g.aLater > g.bLater {
			ids, later = []string{key[1], key[0]}, g.aLater
		}
		found = append(found, arena.Anomaly{
			Kind: arena.AnomalyCopied, AgentIDs: ids, Trials: g.both, Observed: g.same, Expected: g.expected, Chance: chance, Later: later, Places: g.places,
		})
	}
	return found, pairs
}

// wrongByTask gives, for each task, the first wrong answer of each agent, in
// the order of their ids.
func wrongByTask(answers []arena.GivenAnswer) [][]wrongAnswer {
	type who struct{ task, agent string }
	seen := map[who]bool{}
	byTask := map[string][]wrongAnswer{}
	answers = slices.Clone(answers)
	slices.SortStableFunc(answers, func(a, b arena.GivenAnswer) int { return a.AskedAt.Compare(b.AskedAt) })
	var tasks []string
	for _, a := range answers {
		task := a.Source
		if task == "" {
			task = fmt.Sprintf("%s/%d", a.MatchID, a.Round)
		}
		if isCanary(a) || seen[who{task, a.AgentID}] {
			continue
		}
		seen[who{task, a.AgentID}] = true // a later one may be a lesson learnt
		says, _ := said(a.Options, a.Text)
		if a.Points != 0 || says == "" {
			continue
		}
		if byTask[task] == nil {
			tasks = append(tasks, task)
		}
		byTask[task] = append(byTask[task], wrongAnswer{a, says})
	}
	lists := make([][]wrongAnswer, len(tasks))
	for i, task := range tasks {
		lists[i] = byTask[task]
		slices.SortFunc(lists[i], func(a, b wrongAnswer) int { return strings.Compare(a.AgentID, b.AgentID) })
	}
	return lists
}

// add counts a task that a and b had wrong, among all who had.
func (g *agreement) add(a, b wrongAnswer, all []wrongAnswer) {
	others, likeA, likeB := 0, 0, 0
	for _, o := range all {
		if o.OwnerID == a.OwnerID || o.OwnerID == b.OwnerID {
			continue
		}
		others++
		if o.says == a.says {
			likeA++
		}
		if o.says == b.says {
			likeB++
		}
	}
	if others < minOthers {
		return
	}
	ways := 3
	if n := max(len(a.Options), len(b.Options)); n > 1 {
		ways = n - 1
	}
	g.both++
	g.expected += (float64(likeA+likeB)/2 + 1) / float64(others+ways)
	if a.says != b.says {
		return
	}
	g.same++
	g.places = place(g.places, a.MatchID, a.Round)
	switch {
	case a.MatchID == b.MatchID:
	case a.AskedAt.Before(b.AskedAt):
		g.bLater++
	default:
		g.aLater++
	}
}
