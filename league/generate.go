package league

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// GeneratorArithmetic makes sums of whole numbers for the judge number.
const GeneratorArithmetic = "arithmetic"

// The difficulties of a generator.
const (
	minDifficulty     = 1
	maxDifficulty     = 5
	defaultDifficulty = 2
)

// Generators lists the generators of tasks.
func Generators() []string { return []string{GeneratorArithmetic} }

// Generate makes the task of a round from a seed. The same spec, seed and
// round give the same task on every machine. The task has no id yet.
//
// "arithmetic" asks for the value of one expression in + - * / and brackets,
// "What is (12 + 7) * 5 - 36 / 4?", with as many operations as the difficulty
// (1 to 5; 0 is 2). The value and every step before it are whole numbers.
func Generate(spec arena.GeneratorSpec, seed uint64, round int) (arena.Task, error) {
	for _, f := range checkGenerator(spec) {
		return arena.Task{}, arena.Invalid(f.Field, "%s", f.Message)
	}
	if spec.Difficulty == 0 {
		spec.Difficulty = defaultDifficulty
	}
	d := dice{rand.NewPCG(seed, uint64(round))} //nolint:gosec // a round is small; repeatability is wanted, not secrecy
	e := d.expression(spec.Difficulty, spec.Difficulty)
	return arena.Task{
		Description:  "What is " + e.text + "?",
		Answers:      []string{strconv.FormatInt(e.value, 10)},
		InputFormat:  "string",
		OutputFormat: "number",
		Topic:        GeneratorArithmetic,
		Difficulty:   strconv.Itoa(spec.Difficulty),
	}, nil
}

func checkGenerator(spec arena.GeneratorSpec) []arena.FieldError {
	var wrong []arena.FieldError
	if spec.Name != GeneratorArithmetic {
		wrong = append(wrong, arena.FieldError{
			Field:   "generator.name",
			Message: fmt.Sprintf("%q is not a generator; choose one of %s", spec.Name, strings.Join(Generators(), ", ")),
		})
	}
	if spec.Difficulty != 0 && (spec.Difficulty < minDifficulty || spec.Difficulty > maxDifficulty) {
		wrong = append(wrong, arena.FieldError{
			Field:   "generator.difficulty",
			Message: fmt.Sprintf("must be %d to %d", minDifficulty, maxDifficulty),
		})
	}
	return wrong
}

// dice draws numbers straight from the defined output of PCG, so that no
// change of a library's way to draw changes a task.
type dice struct{ *rand.PCG }

// upTo draws from 0 to n-1. The bias of the remainder is far below notice.
func (d dice) upTo(n int) int {
	return int(d.Uint64() % uint64(n)) //nolint:gosec // n is small and positive
}

func (d dice) between(least, most int) int { return least + d.upTo(most-least+1) }

// expression is a text with its value. loose is how loosely it binds: 0 a
// number, 1 a product or quotient, 2 a sum or difference.
type expression struct {
	text  string
	value int64
	loose int
}

// in writes an operand of an operation that binds as loosely as limit says.
func (e expression) in(limit int) string {
	if e.loose > limit {
		return "(" + e.text + ")"
	}
	return e.text
}

// expression makes one with the given number of operations. A factor or
// divisor is a small number, so that values stay within reach of a head.
func (d dice) expression(operations, difficulty int) expression {
	if operations == 0 {
		n := d.between(1, 20*difficulty)
		return expression{text: strconv.Itoa(n), value: int64(n)}
	}
	kinds := "+-+-*" // sums are more frequent than products
	switch {
	case difficulty == minDifficulty:
		kinds = "+-"
	case operations == 1 && difficulty > 2:
		kinds = "+-*/"
	}
	switch kind := kinds[d.upTo(len(kinds))]; kind {
	case '/':
		divisor, quotient := d.between(2, 12), d.between(2, 20)
		return expression{
			text: fmt.Sprintf("%d / %d", divisor*quotient, divisor), value: int64(quotient), loose: 1,
		}
	case '*':
		left, factor := d.expression(operations-1, difficulty), d.between(2, 12)
		return expression{
			text: fmt.Sprintf("%s * %d", left.in(1), factor), value: left.value * int64(factor), loose: 1,
		}
	default:
		split := d.upTo(operations)
		left, right := d.expression(split, difficulty), d.expression(operations-1-split, difficulty)
		if kind == '-' {
			return expression{text: left.text + " - " + right.in(1), value: left.value - right.value, loose: 2}
		}
		return expression{text: left.text + " + " + right.text, value: left.value + right.value, loose: 2}
	}
}
