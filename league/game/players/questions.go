package players

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// Judges returns the kinds of judges for whose questions there are players: a right
// answer follows from the key.
func Judges() []string {
	return []string{arena.JudgeExact, arena.JudgeChoice, arena.JudgeNumber, arena.JudgeSet, arena.JudgeJSON}
}

// Answer returns the answer of a player that knows a share of all questions, 0 to 100
// percent. It knows the same questions in every match, whatever the order of their
// options.
func Answer(percent int, judge arena.JudgeSpec, task arena.Task) string {
	dice := Dice(fmt.Sprintf("p%02d", percent), task.Description, strings.Join(slices.Sorted(slices.Values(task.Options)), "\n"))
	right := func(text string) bool { return scoring.Judge(judge, task, text) == arena.OnePoint }
	if dice.IntN(100) < percent {
		// All answers together are right for the judge set, and one of them for the others.
		for _, text := range append([]string{strings.Join(task.Answers, ", ")}, task.Answers...) {
			if right(text) {
				return text
			}
		}
	}
	wrong := slices.DeleteFunc(slices.Clone(task.Options), func(text string) bool { return scoring.Judge(judge, task, text) > 0 })
	if len(wrong) > 0 {
		return wrong[dice.IntN(len(wrong))]
	}
	for _, text := range []string{strconv.Itoa(dice.IntN(1000)), "null", "I do not know"} {
		if scoring.Judge(judge, task, text) == 0 {
			return text
		}
	}
	return "?"
}
