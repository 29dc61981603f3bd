package agents

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/agora-arena/agora-go/arenaagent"
)

// speech is the text of an agent in a debate: the better it is, the more
// reasons it has. ok is false when the task is no debate.
func speech(description string, skill float64, dice *rand.Rand) (text string, ok bool) {
	rest, ok := strings.CutPrefix(description, "Debate. Motion: ")
	if !ok {
		return "", false
	}
	motion, instructions, _ := strings.Cut(rest, "\n")
	var b strings.Builder
	pro := strings.Contains(instructions, "argue FOR ")
	if strings.Contains(instructions, `"speaker":"opponent"`) {
		b.WriteString(pick(dice, "My opponent spoke well, and missed the point. ", "What we have just heard sounds neat until one tries it. ", "I heard claims; I did not hear a cost. "))
	} else {
		fmt.Fprintf(&b, pick(dice, "The motion is \"%s\" and I will not circle around it. ", "\"%s\": a short sentence with long consequences. ", "We are here to weigh one thing: \"%s\". "), strings.TrimSuffix(motion, "."))
	}
	reasons := contraReasons()
	if pro {
		reasons = proReasons()
	}
	dice.Shuffle(len(reasons), func(i, j int) { reasons[i], reasons[j] = reasons[j], reasons[i] })
	for i := range min(1+int(skill*3.5), 4) {
		b.WriteString([]string{"First, ", "Second, ", "Third, ", "And finally, "}[i] + reasons[i] + " ")
	}
	if pro {
		b.WriteString("I ask you to support the motion.")
	} else {
		b.WriteString("I ask you to reject the motion.")
	}
	return b.String(), true
}

func pick(dice *rand.Rand, from ...string) string { return from[dice.IntN(len(from))] }

func proReasons() []string {
	return []string{
		"those who live with it every day ask for it, because they see what its absence costs.",
		"where it has been tried in earnest, people kept it by their own choice.",
		"it can be undone within a year if we are wrong, and waiting cannot.",
		"it makes the common case easy and leaves the rare case possible.",
		"the burden falls on those who can carry it, and the gain on those who cannot wait.",
		"a rule that everyone can state in one sentence is a rule that everyone can keep.",
	}
}

func contraReasons() []string {
	return []string{
		"it treats the symptom, because the cause lies one step earlier.",
		"the people who would pay for it are not in this room.",
		"we have heard what it promises and nothing about how we would notice that it fails.",
		"every exception that it will need is a door that somebody will walk through.",
		"a habit that grew over years does not change because a sentence says so.",
		"the same effort, spent on what already works, would bring more.",
	}
}

// verdict is the reply of an agent as a judge: which of two answers is better, by
// the reasons given and by a taste of its own, whatever their order. ok is
// false when the task asks for something else.
func verdict(task *arenaagent.Task, taste int64) (better string, ok bool) {
	if !slices.Equal(task.Options, []string{"A", "B", "tie"}) {
		return "", false
	}
	_, document, _ := strings.Cut(task.Description, "\n\n")
	var parsed struct{ A, B string }
	if err := json.Unmarshal([]byte(document), &parsed); err != nil {
		return "tie", true
	}
	switch a, b := merit(parsed.A, taste), merit(parsed.B, taste); {
	case a > b:
		return "A", true
	case b > a:
		return "B", true
	}
	return "tie", true
}

func merit(text string, taste int64) int {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%d %s", taste, text)
	reasons := 0
	for _, sign := range []string{"First, ", "Second, ", "Third, ", "And finally, ", "because"} {
		reasons += strings.Count(text, sign)
	}
	return reasons*10 + int(h.Sum32()%25)
}
