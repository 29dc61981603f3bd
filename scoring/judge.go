package scoring

import (
	"fmt"
	"math"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// The versions of the judges. A version is stored with a verdict and changes
// whenever the same answer could be judged differently.
const (
	ExactVersion  = "exact-1"
	ChoiceVersion = "choice-1"
	NumberVersion = "number-1"
)

// MaxTolerance is the largest tolerance of the number judge.
const MaxTolerance = 1e9

// Judge gives the points of one answer: arena.OnePoint when it is one of the
// task's accepted answers as the judge compares, else 0 (rulebook, section 6).
// A judge that CheckJudge refuses gives 0.
func Judge(spec arena.JudgeSpec, task arena.Task, answer string) arena.Points {
	var right bool
	switch spec.Kind {
	case arena.JudgeExact:
		right = anyText(task.Answers, answer)
	case arena.JudgeChoice:
		right = chosen(task, answer)
	case arena.JudgeNumber:
		right = anyNumber(task.Answers, answer, spec.Tolerance)
	}
	if right {
		return arena.OnePoint
	}
	return 0
}

// CheckJudge says what is wrong with a judge's settings; nil when they can be
// used.
func CheckJudge(spec arena.JudgeSpec) []arena.FieldError {
	var wrong []arena.FieldError
	switch spec.Kind {
	case arena.JudgeExact, arena.JudgeChoice:
		if spec.Tolerance != 0 {
			wrong = append(wrong, arena.FieldError{
				Field: "judge.tolerance", Message: "belongs to the judge number only",
			})
		}
	case arena.JudgeNumber:
		if math.IsNaN(spec.Tolerance) || spec.Tolerance < 0 || spec.Tolerance > MaxTolerance {
			wrong = append(wrong, arena.FieldError{
				Field: "judge.tolerance", Message: fmt.Sprintf("must be 0 to %.0e", MaxTolerance),
			})
		}
	default:
		wrong = append(wrong, arena.FieldError{
			Field:   "judge.kind",
			Message: fmt.Sprintf("%q is not a judge; choose one of exact, choice, number", spec.Kind),
		})
	}
	return wrong
}

// Accepts reports whether any answer to the task could be right: the number
// judge needs an accepted answer that is a number; the choice judge over
// options needs an option that is accepted.
func Accepts(spec arena.JudgeSpec, task arena.Task) bool {
	candidates := task.Answers
	if spec.Kind == arena.JudgeChoice && len(task.Options) > 0 {
		candidates = task.Options
	}
	return slices.ContainsFunc(candidates, func(c string) bool { return Judge(spec, task, c) > 0 })
}

// Distinct reports whether the choice judge can tell two options apart.
func Distinct(a, b string) bool { return newText(a).close != newText(b).close }
