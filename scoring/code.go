package scoring

import (
	"errors"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring/sandbox"
)

// What a task of the judge code may have.
const (
	MaxCases = 50
	MaxCase  = 8 << 10 // bytes of arguments and result

	fullCases = 10 // all cases together may take what so many may
)

// codePoints runs an answer against every case. A case counts when solve
// returns its value, as the judge json compares; one that throws, never ends
// or takes too much does not. All or nothing, or the share of the cases that
// count, in thousandths rounded down.
func codePoints(cases []arena.Case, answer string, spec arena.JudgeSpec) arena.Points {
	program, err := sandbox.Compile(sourceOf(answer))
	if err != nil || len(cases) == 0 || len(cases) > MaxCases {
		return 0
	}
	left := sandbox.Allowance{Steps: fullCases * sandbox.MaxSteps, Bytes: fullCases * sandbox.MaxMemory}
	right := 0
	for _, c := range cases {
		result, err := program.Call(string(c.Args), &left)
		switch {
		case err == nil && anyJSON([]string{string(c.Want)}, result, spec.Tolerance):
			right++
		case !spec.Partial:
			return 0
		}
		if errors.Is(err, sandbox.ErrWall) { // it would only go on like this
			break
		}
	}
	return arena.OnePoint * arena.Points(right) / arena.Points(len(cases))
}

// sourceOf takes a program out of an answer: what stands in its one fenced
// block, whatever is said around it, or all of it.
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
