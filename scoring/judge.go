package scoring

import (
	"github.com/agora-arena/arena/arena"
)

// The versions of the judges. A version is stored with a verdict and changes
// whenever the same answer could be judged differently. That of code also
// changes with the behavior of the interpreter.
const (
	ExactVersion  = "exact-1"
	ChoiceVersion = "choice-1"
	NumberVersion = "number-1"
	RegexVersion  = "regex-1"
	SetVersion    = "set-1"
	JSONVersion   = "json-1"
	CodeVersion   = "code-2"
	PanelVersion  = "panel-1"
	CrowdVersion  = "crowd-1"
	ModelVersion  = "model-1"
)

// Judge returns the points of one answer, 0 to arena.OnePoint, by comparing it
// with the task's accepted answers (docs/rules.md, section 6). Only the judge set
// awards part of a point, and only if its settings allow it. Judge returns 0 for
// an external judge and for one that CheckJudge rejects; see CodePoints for the
// judge code.
func Judge(spec arena.JudgeSpec, task arena.Task, answer string) arena.Points {
	var right bool
	switch spec.Kind {
	case arena.JudgeExact:
		right = anyText(task.Answers, answer)
	case arena.JudgeChoice:
		right = chosen(task, answer)
	case arena.JudgeNumber:
		right = anyNumber(task.Answers, answer, spec.Tolerance)
	case arena.JudgeRegex:
		right = anyPattern(task.Answers, answer)
	case arena.JudgeJSON:
		right = anyJSON(task.Answers, answer, spec.Tolerance)
	case arena.JudgeSet:
		return setPoints(task.Answers, answer, spec.Partial)
	}
	if right {
		return arena.OnePoint
	}
	return 0
}
