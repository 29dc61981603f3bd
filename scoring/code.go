package scoring

import (
	"encoding/json"
	"strings"

	"github.com/agora-arena/agora-go/modeltext"
	"github.com/agora-arena/arena/arena"
)

// The limits of a task of the judge code.
const (
	MaxCases = 50
	MaxCase  = 8 << 10 // bytes of arguments and result

	fullCases = 10 // all cases together have the budget of this many
)

// CodeScript returns the script that runs an answer against the cases of its
// task. Without partial points the first call that fails decides.
func CodeScript(cases []arena.Case, answer string, spec arena.JudgeSpec) arena.Script {
	s := arena.Script{
		Source: sourceOf(modeltext.Clean(answer)), Function: "solve", Calls: make([]json.RawMessage, len(cases)), Budget: fullCases, StopOnError: !spec.Partial,
	}
	for i, c := range cases {
		s.Calls[i] = c.Args
	}
	return s
}

// CodePoints returns the points of an answer by the results of its CodeScript. A
// case counts when the call returned its value, as the judge json compares; a
// call that throws, never ends or takes too much does not. All or nothing, or the
// share of the cases that count, in thousandths rounded down.
func CodePoints(cases []arena.Case, results []arena.CallResult, spec arena.JudgeSpec) arena.Points {
	if len(cases) == 0 || len(cases) > MaxCases || len(results) != len(cases) {
		return 0
	}
	right := 0
	for i, c := range cases {
		switch r := results[i]; {
		case r.Error == "" && anyJSON([]string{string(c.Want)}, r.Value, spec.Tolerance):
			right++
		case !spec.Partial:
			return 0
		}
	}
	return arena.OnePoint * arena.Points(right) / arena.Points(len(cases))
}

// sourceOf returns the program of an answer: the content of its only fenced
// block, or the whole answer.
func sourceOf(answer string) string {
	const fence = "```"
	parts := strings.Split(answer, fence)
	if len(parts) != 3 {
		return answer
	}
	language, source, ok := strings.Cut(parts[1], "\n")
	switch strings.ToLower(strings.TrimSpace(language)) {
	case "", "js", "javascript", "mjs", "node":
		if ok {
			return source
		}
	}
	return answer
}
