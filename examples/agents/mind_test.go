package agents

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/agora-go/arenaagent"
)

func TestCompute(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"What is (12 + 7) × 3?":              "57",
		"What is (12 + 7) * 5 - 36 / 4?":     "86",
		"What is 2 + 3 * 4?":                 "14",
		"What is 20 - 5 - 3?":                "12",
		"What is 96 / 4 / 2?":                "12",
		"What is 7 − 12?":                    "-5",
		"What is 3 – 4 · 2?":                 "-5",
		"What is -3 * -4?":                   "12",
		"Calculate: 100 ÷ 8 =":               "12.5",
		"1 / 3":                              "1/3",
		"What is 2 x 3 x 4?":                 "24",
		"What is 1,200 + 34?":                "1234",
		"What is 12 plus 7 times 3?":         "33",
		"What is 12 divided by 4 minus 1?":   "2",
		"What is 0.1 + 0.2?":                 "0.3",
		"What is 99999999999 * 99999999999?": "9999999999800000000001",
		"Compute ((1 + 2) * (3 + 4)) - 1.":   "20",
		"What is 1 / 0?":                     "",
		"What is the capital of Australia?":  "",
		"What is 42?":                        "",
		"What is (1 + 2?":                    "",
		"What is 1 + ?":                      "",
		"What is 1..2 + 3?":                  "",
		"":                                   "",
		"Which two countries, by most accounts, began the long war of 1914-1918 in Europe?": "",
		"What is " + strings.Repeat("(", 400) + "1+1" + strings.Repeat(")", 400) + "?":      "",
		"What is " + strings.Repeat("9", 30) + " + 1?":                                      "",
		strings.Repeat("1+", 5000) + "1":                                                    "",
	} {
		got := ""
		if s, ok := compute(question); ok {
			got = s.value()
		}
		if got != want {
			t.Errorf("%.60q: got %q, want %q", question, got, want)
		}
	}
	s, _ := compute("What is (12 + 7) × 3?")
	if diff := cmp.Diff([]string{"12 + 7 = 19", "19 × 3 = 57"}, s.steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestCompute_never_panics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if s, ok := compute(rapid.StringOf(rapid.RuneFrom([]rune("0123456789+-*/()., x×÷a"))).Draw(t, "question")); ok && s.value() == "" {
			t.Error("a value of nothing")
		}
	})
}

func TestMind_skill(t *testing.T) {
	t.Parallel()
	knowledge := map[string]string{}
	for i := range 1000 {
		knowledge[fmt.Sprintf("Question %d?", i)] = fmt.Sprint("right ", i)
	}
	m := newMind(knowledge)
	shares := map[string]float64{}
	for i, p := range personas()[:7] {
		a := newActor(i, Options{Seed: 3, Now: func() time.Time { return time.Time{} }}, m)
		right, sums := 0, 0
		for n := range 1000 {
			task := &arenaagent.Task{Description: fmt.Sprintf("Question %d?", n), Options: []string{"a", "b", fmt.Sprint("right ", n)}}
			got := m.consider(task, a.skill, a.dice("knows", task.Description))
			if got.answer == fmt.Sprint("right ", n) {
				right++
			} else if got.answer != "a" && got.answer != "b" {
				t.Fatalf("%q is no option", got.answer)
			}
			task = &arenaagent.Task{Description: fmt.Sprintf("What is %d + 1?", n)}
			if m.consider(task, a.skill, a.dice("knows", task.Description)).answer == fmt.Sprint(n+1) {
				sums++
			}
		}
		for kind, n := range map[string]int{"options": right, "sums": sums} {
			if share := float64(n) / 1000; share < a.skill-0.05 || share > a.skill+0.05 {
				t.Errorf("%s, %s: right in %.2f, skill is %.2f", p.name, kind, share, a.skill)
			}
		}
		shares[p.name] = float64(right) / 1000
	}
	if shares["slow-and-sharp"] <= shares["fast-and-sloppy"] {
		t.Errorf("shares of right answers: %v", shares)
	}
}
