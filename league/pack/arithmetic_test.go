package pack_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
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
		task, err := pack.Generate(spec, seed, round)
		if err != nil {
			t.Fatal(err)
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
