package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// honest returns a pack whose right options are drawn with equal chances, with texts
// of random lengths; every fifth question is open.
func honest(random *rand.Rand, n int) []arena.Task {
	tasks := make([]arena.Task, n)
	for i := range tasks {
		t := arena.Task{Description: fmt.Sprintf("Question %d about %s?", i, word(random))}
		if i%5 == 4 {
			t.Answers = []string{word(random)}
		} else {
			for range 2 + random.IntN(4) {
				t.Options = append(t.Options, word(random)+" "+word(random))
			}
			t.Answers = []string{t.Options[random.IntN(len(t.Options))]}
		}
		tasks[i] = t
	}
	return tasks
}

func word(random *rand.Rand) string {
	letters := make([]byte, 4+random.IntN(8))
	for i := range letters {
		letters[i] = byte('a' + random.IntN(26))
	}
	return string(letters)
}

func kinds(findings []arena.AuditFinding) string {
	var all []string
	for _, f := range findings {
		all = append(all, f.Kind)
	}
	return strings.Join(all, " ")
}

// None of 1,000 honest leagues is accused, by its tasks or by cheats that guess.
func TestAudit_honest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(41, 7))
	for n := range 1000 {
		tasks := honest(random, 20+random.IntN(400))
		if found := Tasks(tasks); len(found) > 0 {
			t.Errorf("pack %d: %+v", n, found)
		}
		results := map[string]Result{}
		for _, cheat := range arena.Cheats() {
			r := Result{}
			for _, task := range Spread(tasks, 60) {
				r.Chances = append(r.Chances, Chance(task))
				if random.Float64() < Chance(task) {
					r.Won++
				}
			}
			results[cheat] = r
		}
		for _, c := range Cheats(results) {
			if !c.Passed || c.Low > c.Share || c.High < c.Share {
				t.Errorf("pack %d: %+v", n, c)
			}
		}
	}
}

// Each planted fault is found, and none beside it.
func TestTasks_planted(t *testing.T) {
	t.Parallel()
	options := func(t arena.Task) bool { return len(t.Options) > 2 }
	for want, plant := range map[string]func(task *arena.Task, random *rand.Rand){
		arena.FoundFirst:    func(t *arena.Task, _ *rand.Rand) { t.Answers = t.Options[:1] },
		arena.FoundLast:     func(t *arena.Task, _ *rand.Rand) { t.Answers = t.Options[len(t.Options)-1:] },
		arena.FoundPosition: func(t *arena.Task, _ *rand.Rand) { t.Answers = t.Options[1:2] },
		arena.FoundLongest: func(t *arena.Task, random *rand.Rand) {
			i := slices.Index(t.Options, t.Answers[0])
			t.Options[i] += strings.Repeat(" "+word(random), 4)
			t.Answers = t.Options[i : i+1]
		},
		arena.FoundShortest: func(t *arena.Task, random *rand.Rand) {
			i := slices.Index(t.Options, t.Answers[0])
			t.Options[i] = word(random)[:3]
			t.Answers = t.Options[i : i+1]
		},
		arena.FoundContained: func(t *arena.Task, _ *rand.Rand) { t.Description += " It is " + t.Answers[0] + "." },
	} {
		random := rand.New(rand.NewPCG(3, 5))
		tasks := slices.DeleteFunc(honest(random, 120), func(t arena.Task) bool { return !options(t) })
		for i := range tasks {
			plant(&tasks[i], random)
		}
		found := Tasks(tasks)
		if got := kinds(found); got != want {
			t.Errorf("found %q, want %q", got, want)
		} else if found[0].Tasks == 0 || found[0].Of < found[0].Tasks || len(found[0].Numbers) > 0 {
			t.Errorf("%+v", found[0])
		}
	}
	random := rand.New(rand.NewPCG(3, 5))
	tasks := honest(random, 40)
	again := tasks[3]
	again.Description = "  " + strings.ToUpper(again.Description)
	again.Options = slices.Clone(again.Options)
	slices.Reverse(again.Options)
	found := Tasks(append(tasks, again, arena.Task{Description: "1 + 1", Answers: []string{"2"}}, arena.Task{Description: "1 - 1", Answers: []string{"0"}}))
	if kinds(found) != arena.FoundDuplicate || found[0].Tasks != 1 || !slices.Equal(found[0].Numbers, []int{40}) {
		t.Errorf("%+v", found)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    []float64
		k    int
		want float64
	}{
		{nil, 0, 1},
		{nil, 1, 0},
		{[]float64{0, 0}, 1, 0},
		{[]float64{0.5, 0.5, 0.5}, 3, 0.125},
		{[]float64{0.5, 0.5, 0.5}, 2, 0.5},
		{[]float64{0.1, 0.2}, 1, 0.28},
		{slices.Repeat([]float64{0.25}, 60), 60, math.Pow(0.25, 60)},
	} {
		if got := tail(c.p, c.k); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("tail(%v, %d) = %g, want %g", c.p, c.k, got, c.want)
		}
	}
}

func TestCheats(t *testing.T) {
	t.Parallel()
	all := Cheats(map[string]Result{
		arena.CheatSilence: {Won: 1, Chances: make([]float64, 10)}, // of no chance at all
		arena.CheatLate:    {Chances: make([]float64, 10)},
	})
	for _, c := range all {
		if want := c.Name == arena.CheatLate; c.Passed != want || (c.Tried > 0) != (want || c.Name == arena.CheatSilence) {
			t.Errorf("%+v", c)
		}
	}
	if len(all) != 8 {
		t.Errorf("%d cheats", len(all))
	}
}

func TestConstant(t *testing.T) {
	t.Parallel()
	if got := Constant([]arena.Task{{Answers: []string{"a"}}, {Answers: []string{"b"}}, {Answers: []string{"b"}}}); got != "b" {
		t.Error(got)
	}
	if got := len(Spread(make([]arena.Task, 7), 3)); got != 3 {
		t.Error(got)
	}
}
