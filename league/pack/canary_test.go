package pack

import (
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

func TestIsCanary(t *testing.T) {
	t.Parallel()
	for _, every := range []int{0, 1, 2, 50, MaxCanary} {
		n, rounds := 0, 200_000
		for i := range rounds {
			if IsCanary(every, uint64(i/10)*0x9e3779b97f4a7c15, i%10+1) {
				n++
			}
		}
		want := 0.0
		if every > 0 {
			want = float64(rounds) / float64(every)
		}
		if off := float64(n) - want; off*off > 25*want { // five sigma, and the draws are always the same
			t.Errorf("one in %d: %d of %d", every, n, rounds)
		}
	}
}

// Canaries of two matches ask one question with nothing in common but the
// question, and every way to name an option is right.
func TestCanary(t *testing.T) {
	t.Parallel()
	asked, marks := map[string]int{}, map[string]bool{}
	for seed := range uint64(2000) {
		task := Canary(seed*0x9e3779b97f4a7c15, int(seed%7)+1)
		if again := Canary(seed*0x9e3779b97f4a7c15, int(seed%7)+1); again.Description != task.Description || again.Options[3] != task.Options[3] {
			t.Fatal("the same seed and round give another canary")
		}
		asked[task.Source+task.Description]++
		for i, mark := range task.Options {
			if marks[mark] {
				t.Errorf("%s is an option twice", mark)
			}
			marks[mark] = true
			for _, kind := range []string{arena.JudgeExact, arena.JudgeChoice} {
				if scoring.Judge(arena.JudgeSpec{Kind: kind}, task, mark) != arena.OnePoint {
					t.Errorf("%s: %s is not right", kind, mark)
				}
			}
			if scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeChoice}, task, string(rune('A'+i))) != arena.OnePoint {
				t.Errorf("letter %d is not right", i)
			}
		}
		if scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeChoice}, task, "BBB-000000") != 0 {
			t.Error("what is no option is right")
		}
	}
	if len(asked) != len(canaryQuestions()) {
		t.Errorf("%d questions of %d were asked", len(asked), len(canaryQuestions()))
	}
}
