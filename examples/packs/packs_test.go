package packs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/examples/packs"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/scoring/sandbox/sandboxtest"
)

// read returns the tasks of a pack, every line of which must be good, and no two
// the same but for case, space and punctuation.
func read(t *testing.T, data []byte, judge string) []arena.Task {
	t.Helper()
	tasks, skipped, err := pack.Parse(pack.JSONL, data, pack.DefaultLimits())
	if err != nil || skipped != nil {
		t.Fatalf("skipped %v, error %v", skipped, err)
	}
	seen := map[string]int{}
	for i, task := range tasks {
		words := strings.FieldsFunc(strings.ToLower(task.Description), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		key := strings.Join(words, " ")
		if first, twice := seen[key]; twice {
			t.Errorf("lines %d and %d are the same: %q", first, i+1, task.Description)
		}
		seen[key] = i + 1
		if !scoring.Accepts(arena.JudgeSpec{Kind: judge}, task) {
			t.Errorf("line %d: %s cannot judge it", i+1, judge)
		}
		if task.Topic == "" || strings.TrimSpace(task.Description) != task.Description || len(task.Description) > 400 {
			t.Errorf("line %d: topic %q, %q", i+1, task.Topic, task.Description)
		}
	}
	return tasks
}

func TestWorld(t *testing.T) {
	t.Parallel()
	tasks := read(t, packs.World, arena.JudgeChoice)
	if len(tasks) < 320 {
		t.Errorf("%d questions", len(tasks))
	}
	topics, difficulties, places := map[string]int{}, map[string]int{}, make([]int, 4)
	for i, task := range tasks {
		topics[task.Topic]++
		difficulties[task.Difficulty]++
		if len(task.Options) != 4 || len(task.Answers) != 1 {
			t.Errorf("line %d: %d options, answers %q", i+1, len(task.Options), task.Answers)
			continue
		}
		place := slices.Index(task.Options, task.Answers[0])
		if place < 0 {
			t.Errorf("line %d: %q is not written like one of %q", i+1, task.Answers[0], task.Options)
			continue
		}
		places[place]++
		// Both ways to answer mean the same: "B" is option B, and its text too.
		judge := arena.JudgeSpec{Kind: arena.JudgeChoice}
		for j, option := range task.Options {
			if len(option) > 60 || strings.TrimSpace(option) != option {
				t.Errorf("line %d: option %q", i+1, option)
			}
			letter := string(rune('A' + j))
			byText, byLetter := scoring.Judge(judge, task, option), scoring.Judge(judge, task, letter)
			if right := j == place; (byText > 0) != right || (byLetter > 0) != right {
				t.Errorf("line %d: option %s %q: %d by its text, %d by its letter", i+1, letter, option, byText, byLetter)
			}
		}
	}
	if len(topics) < 10 {
		t.Errorf("topics %v", topics)
	}
	for topic, n := range topics {
		if n < 12 {
			t.Errorf("only %d questions on %s", n, topic)
		}
	}
	if len(difficulties) != 3 || difficulties["easy"] < 60 || difficulties["medium"] < 60 || difficulties["hard"] < 60 {
		t.Errorf("difficulties %v", difficulties)
	}
	for place, n := range places {
		if n < len(tasks)/5 || n > len(tasks)*3/10 {
			t.Errorf("the right option is %d of %d times at place %d", n, len(tasks), place)
		}
	}
}

func TestMotions(t *testing.T) {
	t.Parallel()
	tasks := read(t, packs.Motions, arena.JudgePanel)
	if len(tasks) < 40 {
		t.Errorf("%d motions", len(tasks))
	}
	for i, task := range tasks {
		if task.Answers != nil || task.Options != nil || !strings.HasSuffix(task.Description, ".") {
			t.Errorf("line %d is no motion: %+v", i+1, task)
		}
		if scoring.Accepts(arena.JudgeSpec{Kind: arena.JudgeExact}, task) {
			t.Errorf("line %d has a right answer", i+1)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	tasks := read(t, packs.Code, arena.JudgeCode)
	if len(tasks) < 20 {
		t.Errorf("%d tasks", len(tasks))
	}
	for i, task := range tasks {
		if n := len(task.Cases); n < 4 || n > 8 {
			t.Errorf("line %d has %d cases", i+1, n)
		}
		if !strings.Contains(task.Description, "function solve(") || task.Answers != nil || task.Difficulty == "" {
			t.Errorf("line %d: %+v", i+1, task)
		}
		wants, calls := map[string]bool{}, map[string]bool{}
		for _, c := range task.Cases {
			wants[string(c.Want)], calls[string(c.Args)] = true, true
		}
		if len(wants) < 2 || len(calls) != len(task.Cases) {
			t.Errorf("line %d: a constant would do, or a case stands there twice", i+1)
		}
	}
}

// TestCode_solutions lets the judge run a reference solution of each task
// against its cases: what they want is right, and within the limits.
func TestCode_solutions(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/solutions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(file), []byte("\n"))
	tasks := read(t, packs.Code, arena.JudgeCode)
	if len(lines) != len(tasks) {
		t.Fatalf("%d solutions of %d tasks", len(lines), len(tasks))
	}
	runner, err := sandboxtest.New()
	if err != nil {
		t.Fatal(err)
	}
	for i, task := range tasks {
		var solution string
		if err := json.Unmarshal(lines[i], &solution); err != nil {
			t.Fatal(err)
		}
		judge := arena.JudgeSpec{Kind: arena.JudgeCode}
		results, err := runner.Run(t.Context(), scoring.CodeScript(task.Cases, solution, judge))
		if err != nil {
			t.Fatal(err)
		}
		if points := scoring.CodePoints(task.Cases, results, judge); points != arena.OnePoint {
			t.Errorf("line %d: %d points for %s", i+1, points, solution)
		}
	}
}
