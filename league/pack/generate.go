package pack

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// The generators of tasks.
const (
	Arithmetic   = "arithmetic"    // sums of whole numbers
	Dates        = "dates"         // days between dates, days of the week
	Units        = "units"         // from one unit of measure to another
	WordProblems = "word_problems" // arithmetic as a story
)

// The difficulties of a generator.
const (
	minDifficulty     = 1
	maxDifficulty     = 5
	DefaultDifficulty = 2
)

// maxHarderEvery is as many rounds as a match has at most.
const maxHarderEvery = 200

// Generators lists the generators of tasks.
func Generators() []string { return []string{Arithmetic, Dates, Units, WordProblems} }

// GeneratorJudge returns the kind of judge for the tasks of a generator.
func GeneratorJudge(name string) string {
	if name == Dates {
		return arena.JudgeChoice // some have options, some ask for a date
	}
	return arena.JudgeNumber
}

// Generate returns the task of a round. It is the same on every machine for the
// same spec, seed and round. The task has no id yet. Difficulty ranges from 1 to
// 5; 0 means 2. It rises by one after every HarderEvery rounds, up to 5.
//
// "arithmetic" asks for the value of one expression in + - * / and brackets,
// "What is (12 + 7) * 5 - 36 / 4?", with as many operations as the difficulty.
// The value and every step before it are whole numbers.
//
// "dates" asks for the days between two dates, the date some days away, or the
// day of the week, in the Gregorian calendar from 1900 to 2100. The higher the
// difficulty, the longer the span.
//
// "units" asks for unit conversions, from meters in a kilometer (1) to squares
// and imperial units by their definition (5). If a result is to be rounded, the
// text states how.
//
// "word_problems" asks about a story with as many steps as the difficulty.
func Generate(spec arena.GeneratorSpec, seed uint64, round int) (arena.Task, error) {
	for _, f := range CheckGenerator(spec) {
		return arena.Task{}, arena.Invalid(f.Field, "%s", f.Message)
	}
	difficulty := difficultyOf(spec, round)
	d := dice{rand.NewPCG(seed, uint64(round))} //nolint:gosec // a round is small; repeatability is wanted, not secrecy
	var t arena.Task
	switch spec.Name {
	case Arithmetic:
		t = arithmetic(d, difficulty)
	case Dates:
		t = dates(d, difficulty)
	case Units:
		t = units(d, difficulty)
	case WordProblems:
		t = wordProblem(d, difficulty)
	}
	t.Topic, t.Difficulty = spec.Name, strconv.Itoa(difficulty)
	return t, nil
}

// difficultyOf returns the difficulty of a round, which counts from 1.
func difficultyOf(spec arena.GeneratorSpec, round int) int {
	d := cmp.Or(spec.Difficulty, DefaultDifficulty)
	if spec.HarderEvery > 0 {
		d += max(0, round-1) / spec.HarderEvery
	}
	return min(d, maxDifficulty)
}

// CheckGenerator returns the errors of a generator, or nil if it is valid.
func CheckGenerator(spec arena.GeneratorSpec) []arena.FieldError {
	var wrong []arena.FieldError
	if !slices.Contains(Generators(), spec.Name) {
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
	if spec.HarderEvery < 0 || spec.HarderEvery > maxHarderEvery {
		wrong = append(wrong, arena.FieldError{Field: "generator.harder_every", Message: fmt.Sprintf("must be 0 to %d", maxHarderEvery)})
	}
	return wrong
}

// FitsGenerator reports whether the judge can judge every task of the generator.
// A generator that CheckGenerator rejects fits no judge.
func FitsGenerator(judge arena.JudgeSpec, spec arena.GeneratorSpec) bool {
	const enough = 32 // rounds to see every kind of task of a difficulty
	rounds := enough
	if spec.HarderEvery > 0 {
		spec.HarderEvery = enough
		rounds *= maxDifficulty
	}
	for round := range rounds {
		t, err := Generate(spec, 1, round)
		if err != nil || !scoring.Accepts(judge, t) {
			return false
		}
	}
	return true
}

func textTask(description string, answers ...string) arena.Task {
	return arena.Task{Description: description, Answers: answers, InputFormat: "string", OutputFormat: "string"}
}

func numberTask(description, answer string) arena.Task {
	t := textTask(description, answer)
	t.OutputFormat = "number"
	return t
}

// dice draws numbers directly from the specified output of PCG, so that tasks do
// not depend on the implementation of a library.
type dice struct{ *rand.PCG }

// upTo draws from 0 to n-1. The modulo bias is negligible.
func (d dice) upTo(n int) int {
	return int(d.Uint64() % uint64(n)) //nolint:gosec // n is small and positive
}

func (d dice) between(least, most int) int { return least + d.upTo(most-least+1) }

func (d dice) shuffle(items []string) {
	for i := len(items) - 1; i > 0; i-- {
		j := d.upTo(i + 1)
		items[i], items[j] = items[j], items[i]
	}
}

// oneOf draws one of the items.
func oneOf[T any](d dice, items ...T) T { return items[d.upTo(len(items))] }
