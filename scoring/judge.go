package scoring

import (
	"github.com/agora-arena/arena/arena"
)

// The versions of the judges. A version is stored with a verdict and changes
// whenever the same answer could be judged differently; that of code also
// with an interpreter that does anything otherwise.
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

// Judge returns the points of one answer, 0 to arena.OnePoint, by the task's
// accepted answers as the judge compares (docs/rules.md, section 6). Only set gives
// part of a point, and only when the settings say so. An external judge, or one
// that CheckJudge refuses, gives 0; see CodePoints for the judge code.
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
