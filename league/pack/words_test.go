package pack_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/league/pack"
)

// numbers returns the numbers of a text in order.
func numbers(text string) []int {
	var found []int
	for _, digits := range regexp.MustCompile(`\d+`).FindAllString(text, -1) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			panic(err)
		}
		found = append(found, n)
	}
	return found
}

// solve reads a word problem sentence by sentence, as an agent would.
func solve(t *rapid.T, text string) (value, steps int) {
	for sentence := range strings.SplitSeq(text, ". ") {
		n := numbers(sentence)
		has := func(words string) bool { return strings.Contains(sentence, words) }
		switch {
		case has(" has "):
			value = n[0]
			continue
		case has("finds"):
			value += n[0]
		case has("gives"):
			value -= n[0]
		case has("boxes of") && has("buys"):
			value += n[0] * n[1]
		case has("loses half"):
			if value%2 != 0 {
				t.Fatalf("half of %d: %s", value, text)
			}
			value /= 2
		case has("as many again"):
			value *= 2

		case has("dollars each"):
			for i := 0; i < len(n); i += 2 {
				value += n[i] * n[i+1]
			}
		case has("voucher"):
			value -= n[0]
		case has("pays with"):
			value = n[0] - value
			continue

		case has("machine makes"):
			value += n[0] * n[1]
		case has("thrown away"):
			value -= n[0]
		case has("packed into"):
			if value%n[0] != 0 {
				t.Fatalf("%d do not fill boxes of %d: %s", value, n[0], text)
			}
			value /= n[0]
		case has("Each box is sold"):
			value *= n[0]
		case strings.HasPrefix(sentence, "How many"):
			continue
		default:
			t.Fatalf("what is %q?", sentence)
		}
		if value < 0 {
			t.Fatalf("%d after %q: %s", value, sentence, text)
		}
		steps++
	}
	return value, steps
}

func TestGenerate_wordProblems(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		task, difficulty := draw(t, pack.WordProblems)
		want, steps := solve(t, task.Description)
		if task.Answers[0] != strconv.Itoa(want) {
			t.Fatalf("%s: %s, want %d", task.Description, task.Answers[0], want)
		}
		if strings.Contains(task.Description, "dollars each") {
			kinds["shopping"] = true
			steps = len(numbers(task.Description)) // numbers to take in
			if least := []int{0, 2, 4, 5, 7, 8}[difficulty]; steps != least {
				t.Fatalf("difficulty %d has %d numbers: %s", difficulty, steps, task.Description)
			}
			return
		}
		kinds[strings.Fields(task.Description)[1]] = true // "has" or "machine"
		if steps != difficulty {
			t.Fatalf("difficulty %d has %d steps: %s", difficulty, steps, task.Description)
		}
	})
	if len(kinds) != 3 {
		t.Errorf("met only %v", kinds)
	}
}
