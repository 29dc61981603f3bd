package agents

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/agora-arena/agora-go/arenaagent"
)

// mind is the knowledge of the agents. All share it; each errs in its own way.
type mind struct {
	knowledge map[string]string
	answers   []string // all known answers in order, to be wrong with
}

func newMind(knowledge map[string]string) *mind {
	answers := slices.Sorted(maps.Values(knowledge))
	return &mind{knowledge: maps.Clone(knowledge), answers: slices.Compact(answers)}
}

// idea is what an agent makes of a task.
type idea struct {
	answer     string
	confidence float64
	reasoning  string
	sum        *sum    // the computation, when the task is one
	search     *search // for the move, when the task is a turn of a game
}

// consider returns the answer of an agent with the given skill: right with that
// probability when the answer can be known, else a believable mistake. dice
// must depend on the agent and the question alone, so that an agent that was right once
// is right again.
func (m *mind) consider(task *arenaagent.Task, skill float64, dice *rand.Rand) idea {
	if text, ok := speech(task.Description, skill, dice); ok {
		return idea{answer: text, confidence: skill, reasoning: "I spoke to the motion."}
	}
	right := dice.Float64() < skill
	known, ok := m.knowledge[task.Description]
	s, isSum := compute(task.Description)
	switch {
	case ok && right:
		return idea{
			answer: known, confidence: 0.75 + 0.22*dice.Float64(),
			reasoning: fmt.Sprintf("I am fairly sure that it is %s.", known),
		}
	case ok:
		return m.guess(task, known, dice)
	case isSum && right:
		return idea{
			answer: s.value(), confidence: 0.9 + 0.09*dice.Float64(),
			reasoning: strings.Join(s.steps, "; ") + ".", sum: s,
		}
	case isSum:
		slip := *s
		off := []int64{1, -1, 2, -2, 10, -10}[dice.IntN(6)]
		slip.slipped = true
		slip.result = new(big.Rat).Add(s.result, big.NewRat(off, 1))
		slip.steps = slices.Clone(s.steps)
		last := &slip.steps[len(slip.steps)-1]
		*last, _, _ = strings.Cut(*last, " = ")
		*last += " = " + slip.value()
		return idea{
			answer: slip.value(), confidence: 0.6 + 0.3*dice.Float64(),
			reasoning: strings.Join(slip.steps, "; ") + ".", sum: &slip,
		}
	default:
		return m.guess(task, "", dice)
	}
}

// guess returns any answer but the one named.
func (m *mind) guess(task *arenaagent.Task, but string, dice *rand.Rand) idea {
	from := task.Options
	if len(from) == 0 {
		from = m.answers
	}
	from = slices.DeleteFunc(slices.Clone(from), func(s string) bool { return strings.EqualFold(s, but) })
	answer := "I do not know"
	if len(from) > 0 {
		answer = from[dice.IntN(len(from))]
	}
	return idea{
		answer: answer, confidence: 0.25 + 0.4*dice.Float64(),
		reasoning: fmt.Sprintf("%s is my best guess.", answer),
	}
}
