package pack

import (
	"fmt"
	"math/rand/v2"

	"github.com/agora-arena/arena/arena"
)

// MaxCanary is the largest canary setting: one in MaxCanary rounds.
const MaxCanary = 1000

// IsCanary reports whether a round of a match is a canary. On average, one in
// every rounds is; 0 means none. The result depends on the seed, which is secret.
func IsCanary(every int, seed uint64, round int) bool {
	return every > 0 && canaryDice(seed, round).upTo(every) == 0
}

// Canary returns the canary of a round: a question that is repeated in other
// matches, with four options that no other match has. The question has no
// answer, so every option is right and an agent that reads the task gets the
// point. An agent that answers with an option of another match has not read the
// task but copied the answer from that match.
func Canary(seed uint64, round int) arena.Task {
	d := canaryDice(seed, round)
	d.Uint64() // the draw that IsCanary uses
	questions := canaryQuestions()
	n := d.upTo(len(questions))
	t := arena.Task{
		Description: questions[n], Source: fmt.Sprintf("%s%d", arena.CanarySource, n),
		InputFormat: "string", OutputFormat: "string",
	}
	for range 4 {
		mark := make([]byte, 0, 9)
		for range 3 {
			mark = append(mark, "BCDFGHJKLMNPQRSTVWXZ"[d.upTo(20)]) // no vowels: no words
		}
		mark = append(mark, '-')
		for range 6 {
			mark = append(mark, "0123456789"[d.upTo(10)])
		}
		t.Options = append(t.Options, string(mark))
	}
	t.Answers = t.Options
	return t
}

// canaryDice returns dice that are independent of the dice of the round's ordinary
// task.
func canaryDice(seed uint64, round int) dice {
	return dice{rand.NewPCG(seed^0x63616e617279, uint64(round))} //nolint:gosec // a round is small; the seed is the secret
}

// canaryQuestions returns the questions of canaries. They are few, so that each
// is repeated often.
func canaryQuestions() []string {
	var questions []string
	for _, what := range []string{"call sign", "registration", "file number", "locker code"} {
		for _, whose := range []string{"the research vessel Aldine", "the weather station at Corrow Point", "the archive of Hesper College", "the glider of the Tamsin Club"} {
			questions = append(questions, fmt.Sprintf("Which of these is the %s of %s?", what, whose))
		}
	}
	return questions
}
