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

// agreement counts the wrong answers that two agents have in common, a < b.
type agreement struct {
	both     int     // tasks that both had wrong
	same     int     // of them with one answer
	expected float64 // of them by chance
	aLater   int     // same answers that a gave in a later match than b
	bLater   int
	places   []arena.AnomalyPlace
}

// copies returns agents of different owners whose wrong answers agree far more
// often than other agents' do. Right answers are no evidence of copying.
//
// For a task that both agents had wrong, the chance that they agree is estimated
// as p = (c+1)/(n+w): n is the number of agents of other owners that had it wrong
// too, c is the number of those with the answer in question, and w is the number
// of wrong options (3 without options). If the two disagree, p is the mean for
// their two answers. A common mistake therefore counts for little, and a task
// that fewer than 3 other agents had wrong does not count.
//
// Tasks of a pack are compared across matches, which also detects answers copied
// from the log of an earlier match.
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
		chance := min(1, float64(pairs)*atLeast(float64(g.same), g.both, g.expected))
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

// wrongByTask returns, for each task, the first wrong answer of each agent, in
// the order of agent ids.
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

// add counts a task that a and b had wrong; all are the wrong answers to it.
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
