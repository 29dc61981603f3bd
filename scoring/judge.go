package scoring

import (
	"github.com/agora-arena/arena/arena"
)

// The versions of the judges. A version is stored with a verdict and changes
// whenever the same answer could be judged differently. The version of code also
// changes with the behavior of the interpreter.
const (
	ExactVersion  = "exact-2"
	ChoiceVersion = "choice-2"
	NumberVersion = "number-2"
	RegexVersion  = "regex-2"
	SetVersion    = "set-2"
	JSONVersion   = "json-2"
	CodeVersion   = "code-3"
	PanelVersion  = "panel-2"
	CrowdVersion  = "crowd-1"
	ModelVersion  = "model-2"
)

// Judge returns the points of one answer, 0 to arena.OnePoint, by comparing it
// with the task's accepted answers (docs/rules.md, section 6). Only the judge set
// awards part of a point, and only if its settings allow it. Judge returns 0 for
// an external judge and for one that CheckJudge rejects; see CodePoints for the
// judge code.
func Judge(spec arena.JudgeSpec, task arena.Task, answer string) arena.Points {
	if k, ok := kindOf(spec); ok && k.points != nil {
		return k.points(spec, task, answer)
	}
	return 0
}

// points returns one point for an answer that is right.
func points(right func(arena.JudgeSpec, arena.Task, string) bool) func(arena.JudgeSpec, arena.Task, string) arena.Points {
	return func(spec arena.JudgeSpec, task arena.Task, answer string) arena.Points {
		if right(spec, task, answer) {
			return arena.OnePoint
		}
		return 0
	}
}
