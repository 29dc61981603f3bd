package pack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/scoring"
)

// draw makes the task of some seed and round.
func draw(t *rapid.T, name string) (task arena.Task, difficulty int) {
	spec := arena.GeneratorSpec{Name: name, Difficulty: rapid.IntRange(1, 5).Draw(t, "difficulty")}
	task, err := pack.Generate(spec, rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 200).Draw(t, "round"))
	if err != nil {
		t.Fatal(err)
	}
	return task, spec.Difficulty
}

// TestGenerate holds for every generator: what it makes is what a pack could
// hold, fits its judge, is plain text, and is the same the next time.
func TestGenerate(t *testing.T) {
	t.Parallel()
	for _, name := range pack.Generators() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge := arena.JudgeSpec{Kind: pack.GeneratorJudge(name)}
			rapid.Check(t, func(t *rapid.T) {
				spec := arena.GeneratorSpec{Name: name, Difficulty: rapid.IntRange(0, 5).Draw(t, "difficulty")}
				seed, round := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 200).Draw(t, "round")
				task, err := pack.Generate(spec, seed, round)
				if err != nil {
					t.Fatal(err)
				}
				again, _ := pack.Generate(spec, seed, round)
				if d := cmp.Diff(task, again); d != "" {
					t.Fatalf("the same seed gave another task: %s", d)
				}
				if spec.Difficulty == 0 {
					spec.Difficulty = 2
					same, _ := pack.Generate(spec, seed, round)
					if d := cmp.Diff(task, same); d != "" {
						t.Fatalf("the default is not difficulty 2: %s", d)
					}
				}
				if task.Topic != name || task.Difficulty != fmt.Sprint(spec.Difficulty) || task.ID != "" {
					t.Fatalf("%+v", task)
				}
				if !scoring.Accepts(judge, task) {
					t.Fatalf("%s cannot judge %+v", judge.Kind, task)
				}
				if strings.ContainsFunc(task.Description, func(r rune) bool { return r < ' ' || r > '~' }) ||
					strings.Contains(task.Description, "  ") || strings.Contains(task.Description, "%") || len(task.Description) > 600 {
					t.Fatalf("not plain: %q", task.Description)
				}
			})
		})
	}
}

// Difficulty rises after every HarderEvery rounds, up to 5, and nothing else in a
// task changes.
func TestGenerate_harder(t *testing.T) {
	t.Parallel()
	for _, name := range pack.Generators() {
		for round, difficulty := range map[int]int{1: 0, 3: 2, 4: 3, 6: 3, 7: 4, 10: 5, 13: 5, 200: 5} {
			got, err := pack.Generate(arena.GeneratorSpec{Name: name, HarderEvery: 3}, 7, round)
			want, _ := pack.Generate(arena.GeneratorSpec{Name: name, Difficulty: difficulty}, 7, round)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%s, round %d: %v\n%s", name, round, err, d)
			}
		}
	}
}

func TestGenerate_roundsDiffer(t *testing.T) {
	t.Parallel()
	for _, name := range pack.Generators() {
		for difficulty := 3; difficulty <= 5; difficulty++ {
			seen := map[string]bool{}
			for round := range 100 {
				task, err := pack.Generate(arena.GeneratorSpec{Name: name, Difficulty: difficulty}, 7, round)
				if err != nil {
					t.Fatal(err)
				}
				seen[task.Description] = true
			}
			if len(seen) < 90 {
				t.Errorf("100 rounds of %s had %d different tasks", name, len(seen))
			}
		}
	}
}

func TestGenerate_refuses(t *testing.T) {
	t.Parallel()
	for _, spec := range []arena.GeneratorSpec{
		{}, {Name: "chess"}, {Name: "arithmetic", Difficulty: 6}, {Name: "dates", Difficulty: -1},
	} {
		if _, err := pack.Generate(spec, 1, 1); arena.CodeOf(err) != arena.CodeInvalid {
			t.Errorf("%+v: %v", spec, err)
		}
		if pack.FitsGenerator(arena.JudgeSpec{Kind: arena.JudgePanel}, spec) {
			t.Errorf("%+v fits a judge", spec)
		}
	}
}

func TestFitsGenerator(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, judge string
		want        bool
	}{
		{pack.Arithmetic, arena.JudgeNumber, true},
		{pack.Arithmetic, arena.JudgeExact, true},
		{pack.Arithmetic, arena.JudgeCode, false},
		{pack.Units, arena.JudgeNumber, true},
		{pack.WordProblems, arena.JudgeNumber, true},
		{pack.Dates, arena.JudgeChoice, true},
		{pack.Dates, arena.JudgeExact, true},
		{pack.Dates, arena.JudgeNumber, false}, // "Tuesday" is none
		{pack.Dates, arena.JudgeModel, true},
	}
	for _, tt := range tests {
		for difficulty := range 6 {
			if got := pack.FitsGenerator(arena.JudgeSpec{Kind: tt.judge}, arena.GeneratorSpec{Name: tt.name, Difficulty: difficulty}); got != tt.want {
				t.Errorf("%s %d by %s: %v, want %v", tt.name, difficulty, tt.judge, got, tt.want)
			}
		}
	}
}

// ExampleGenerate pins one task per generator and difficulty: a match replayed
// next year must put the same questions.
func ExampleGenerate() {
	for _, name := range pack.Generators() {
		for difficulty := 1; difficulty <= 5; difficulty++ {
			task, _ := pack.Generate(arena.GeneratorSpec{Name: name, Difficulty: difficulty}, 42, 1)
			fmt.Println(task.Description, task.Answers[0])
		}
	}
	// Output:
	// What is 1 - 7? -6
	// What is 13 + 5 - 35? -17
	// What is 13 + 25 - 52 * 12? -586
	// What is 75 + 120 / 12 + 21 - 77? 29
	// What is 95 + 120 / 12 + 81 - (73 + 79)? 34
	// 2067-12-04 is a Sunday. Which day of the week is 2067-12-08? Thursday
	// 2043-05-14 is a Thursday. Which day of the week is 2043-06-17? Wednesday
	// 1918-07-09 is a Tuesday. Which day of the week is 1919-01-29? Wednesday
	// Which day of the week is 1960-09-30 in the Gregorian calendar? Friday
	// Which day of the week is 2040-11-29 in the Gregorian calendar? Thursday
	// How much is 7 kilograms in grams? 7000
	// How much is 975 grams in kilograms? 0.975
	// An international mile is 1.609344 kilometres. How much is 25 international miles in kilometres? 40.2336
	// How much is 218.3 international miles in kilometres? Use the exact definitions and round to 2 decimals, halves away from zero. 351.32
	// How much is 3260.03 international miles per hour in metres per second? Use the exact definitions and round to 3 decimals, halves away from zero. 1457.364
	// Hana has 27 marbles. Then Hana buys 6 boxes of 7. How many marbles does Hana have in the end? 69
	// Hana has 48 marbles. Then Hana buys 6 boxes of 7. Then Hana gives 34 away. How many marbles does Hana have in the end? 56
	// Hana has 54 marbles. Then Hana buys 6 boxes of 7. Then Hana gives 74 away. Then Hana loses half of them. How many marbles does Hana have in the end? 11
	// Hana has 15 marbles. Then Hana buys 6 boxes of 7. Then Hana gives 45 away. Then Hana loses half of them. Then Hana finds 11 more. How many marbles does Hana have in the end? 17
	// Hana has 144 marbles. Then Hana buys 6 boxes of 7. Then Hana gives 90 away. Then Hana loses half of them. Then Hana finds 11 more. Then Hana gets as many again. How many marbles does Hana have in the end? 118
}
