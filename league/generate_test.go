package league_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/scoring"
)

// value computes an expression by Go's own grammar, with an error for a
// division that leaves a remainder.
func value(e ast.Expr) (n int64, operations int, err error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err = strconv.ParseInt(e.Value, 10, 64)
		return n, 0, err
	case *ast.ParenExpr:
		return value(e.X)
	case *ast.BinaryExpr:
		a, x, errA := value(e.X)
		b, y, errB := value(e.Y)
		if errA != nil || errB != nil {
			return 0, 0, fmt.Errorf("%w %w", errA, errB)
		}
		operations = x + y + 1
		switch e.Op {
		case token.ADD:
			return a + b, operations, nil
		case token.SUB:
			return a - b, operations, nil
		case token.MUL:
			return a * b, operations, nil
		case token.QUO:
			if b == 0 || a%b != 0 {
				return 0, 0, fmt.Errorf("%d / %d leaves a remainder", a, b)
			}
			return a / b, operations, nil
		}
	}
	return 0, 0, fmt.Errorf("what is %T?", e)
}

// TestGenerate_arithmetic checks answers with an evaluator that knows nothing
// of how the tasks are made.
func TestGenerate_arithmetic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := arena.GeneratorSpec{Name: "arithmetic", Difficulty: rapid.IntRange(1, 5).Draw(t, "difficulty")}
		seed, round := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 200).Draw(t, "round")
		task, err := league.Generate(spec, seed, round)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := league.Generate(spec, seed, round)
		if d := cmp.Diff(task, again); d != "" {
			t.Fatalf("the same seed gave another task: %s", d)
		}
		text := strings.TrimSuffix(strings.TrimPrefix(task.Description, "What is "), "?")
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		want, operations, err := value(e)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if operations != spec.Difficulty {
			t.Fatalf("%s has %d operations, want %d", text, operations, spec.Difficulty)
		}
		number := arena.JudgeSpec{Kind: arena.JudgeNumber}
		if scoring.Judge(number, task, strconv.FormatInt(want, 10)) != arena.OnePoint {
			t.Fatalf("%s is %d, not %s", text, want, task.Answers[0])
		}
	})
}

func TestGenerate_roundsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for round := range 100 {
		task, err := league.Generate(arena.GeneratorSpec{Name: "arithmetic", Difficulty: 3}, 7, round)
		if err != nil {
			t.Fatal(err)
		}
		seen[task.Description] = true
	}
	if len(seen) < 95 {
		t.Errorf("100 rounds had %d different tasks", len(seen))
	}
}

func TestGenerate_refuses(t *testing.T) {
	t.Parallel()
	for _, spec := range []arena.GeneratorSpec{
		{}, {Name: "chess"}, {Name: "arithmetic", Difficulty: 6}, {Name: "arithmetic", Difficulty: -1},
	} {
		if _, err := league.Generate(spec, 1, 1); arena.CodeOf(err) != arena.CodeInvalid {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

// ExampleGenerate pins one task per difficulty: a match replayed next year
// must put the same questions.
func ExampleGenerate() {
	for difficulty := 1; difficulty <= 5; difficulty++ {
		task, _ := league.Generate(arena.GeneratorSpec{Name: "arithmetic", Difficulty: difficulty}, 42, 1)
		fmt.Println(task.Description, task.Answers[0])
	}
	// Output:
	// What is 1 - 7? -6
	// What is 13 + 5 - 35? -17
	// What is 13 + 25 - 52 * 12? -586
	// What is 75 + 120 / 12 + 21 - 77? 29
	// What is 95 + 120 / 12 + 81 - (73 + 79)? 34
}
