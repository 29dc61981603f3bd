package scoring

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// The limits of a judge's settings.
const (
	MaxTolerance = 1e9
	MaxJudges    = 9     // agents of a panel
	MaxCriteria  = 2_000 // characters
	MinWindow    = 5 * time.Second
	MaxWindow    = 10 * time.Minute
	MaxMinVotes  = 1_000
)

// judgeKind is a row of the table of judges: its version and the members of
// its settings.
type judgeKind struct {
	kind, version                                          string
	tolerance, partial, match, agents, criteria, windowing bool
}

func judgeKinds() []judgeKind {
	return []judgeKind{
		{kind: arena.JudgeExact, version: ExactVersion, match: true},
		{kind: arena.JudgeChoice, version: ChoiceVersion, match: true},
		{kind: arena.JudgeNumber, version: NumberVersion, tolerance: true},
		{kind: arena.JudgeRegex, version: RegexVersion},
		{kind: arena.JudgeSet, version: SetVersion, partial: true, match: true},
		{kind: arena.JudgeJSON, version: JSONVersion, tolerance: true},
		{kind: arena.JudgeCode, version: CodeVersion, tolerance: true, partial: true},
		{kind: arena.JudgePanel, version: PanelVersion, agents: true, criteria: true},
		{kind: arena.JudgeCrowd, version: CrowdVersion, criteria: true, windowing: true},
		{kind: arena.JudgeModel, version: ModelVersion, criteria: true},
	}
}

func kindOf(spec arena.JudgeSpec) (judgeKind, bool) {
	kinds := judgeKinds()
	i := slices.IndexFunc(kinds, func(k judgeKind) bool { return k.kind == spec.Kind })
	if i < 0 {
		return judgeKind{}, false
	}
	return kinds[i], true
}

// Version returns the version that is stored with verdicts of the judge, or ""
// for a kind that CheckJudge rejects.
func Version(spec arena.JudgeSpec) string {
	k, _ := kindOf(spec)
	return k.version
}

// CheckJudge returns the errors of a judge's settings, or nil if they are valid.
// A member that belongs to other kinds of judges is an error.
func CheckJudge(spec arena.JudgeSpec) []arena.FieldError {
	k, ok := kindOf(spec)
	if !ok {
		var names []string
		for _, k := range judgeKinds() {
			names = append(names, k.kind)
		}
		return []arena.FieldError{{
			Field:   "judge.kind",
			Message: fmt.Sprintf("%q is not a judge; choose one of %s", spec.Kind, strings.Join(names, ", ")),
		}}
	}
	var wrong []arena.FieldError
	check := func(field string, belongs, zero bool, problem string) {
		switch {
		case !belongs && !zero:
			wrong = append(wrong, arena.FieldError{Field: "judge." + field, Message: "does not belong to the judge " + k.kind})
		case belongs && problem != "":
			wrong = append(wrong, arena.FieldError{Field: "judge." + field, Message: problem})
		}
	}
	check("tolerance", k.tolerance, spec.Tolerance == 0,
		unless(spec.Tolerance >= 0 && spec.Tolerance <= MaxTolerance, "must be 0 to %.0e", MaxTolerance)) // NaN is neither
	check("partial", k.partial, !spec.Partial, "")
	check("match", k.match, spec.Match == "", unless(spec.Match == "" || spec.Match == arena.MatchStrict, "must be %q or empty", arena.MatchStrict))
	check("agents", k.agents, len(spec.Agents) == 0, agentsProblem(spec.Agents))
	check("criteria", k.criteria, spec.Criteria == "", criteriaProblem(spec.Criteria))
	check("window_seconds", k.windowing, spec.Window == 0,
		unless(spec.Window >= MinWindow && spec.Window <= MaxWindow, "must be %d to %d", MinWindow/time.Second, MaxWindow/time.Second))
	check("min_votes", k.windowing, spec.MinVotes == 0,
		unless(spec.MinVotes >= 0 && spec.MinVotes <= MaxMinVotes, "must be 0 to %d", MaxMinVotes))
	check("voter_accounts", k.windowing, !spec.VoterAccounts, "")
	return wrong
}

func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func agentsProblem(agents []string) string {
	if len(agents) < 1 || len(agents) > MaxJudges {
		return fmt.Sprintf("must name 1 to %d agents", MaxJudges)
	}
	for i, id := range agents {
		if id == "" {
			return "an id is empty"
		}
		if slices.Contains(agents[:i], id) {
			return fmt.Sprintf("names %.64q twice", id)
		}
	}
	return ""
}

func criteriaProblem(criteria string) string {
	switch n := utf8.RuneCountInString(criteria); {
	case strings.TrimSpace(criteria) == "":
		return "must say what to judge by"
	case n > MaxCriteria:
		return fmt.Sprintf("has %d characters, the limit is %d", n, MaxCriteria)
	case !utf8.ValidString(criteria):
		return "is not UTF-8"
	}
	return ""
}

// Accepts reports whether any answer to the task could be right.
func Accepts(spec arena.JudgeSpec, task arena.Task) bool { return CheckTask(spec, task) == nil }

// CheckTask returns why no answer to the task could be right, or why the judge
// cannot use it, or nil if it can. The fields are "answer", "answers[1]",
// "options", "cases[0].args". External judges that compare answers accept every
// task.
func CheckTask(spec arena.JudgeSpec, task arena.Task) []arena.FieldError {
	switch spec.Kind {
	case arena.JudgeRegex:
		return checkAnswers(task.Answers, func(a string) error {
			_, err := compilePattern(a)
			return err
		})
	case arena.JudgeJSON:
		return checkAnswers(task.Answers, func(a string) error {
			if _, ok := parseJSON(a); !ok {
				return errors.New("not JSON")
			}
			return nil
		})
	case arena.JudgeSet:
		if n := len(expectedMembers(task.Answers, text.same)); n < 1 || n > MaxMembers {
			return []arena.FieldError{{Field: "answer", Message: fmt.Sprintf("a set of %d members; it must have 1 to %d", n, MaxMembers)}}
		}
		return nil
	case arena.JudgeCode:
		return checkCases(task.Cases)
	case arena.JudgeExact, arena.JudgeChoice, arena.JudgeNumber:
		return checkComparable(spec, task)
	}
	if spec.Compares() {
		return nil
	}
	return []arena.FieldError{{Field: "judge.kind", Message: fmt.Sprintf("%q is not a judge", spec.Kind)}}
}

// checkComparable tries the answers that should be right: the number judge
// needs an accepted answer that is a number, the choice judge over options an
// option that is accepted.
func checkComparable(spec arena.JudgeSpec, task arena.Task) []arena.FieldError {
	candidates, problem := task.Answers, "no answer could be right"
	if spec.Kind == arena.JudgeChoice && len(task.Options) > 0 {
		candidates, problem = task.Options, "not among the options"
	}
	if spec.Kind == arena.JudgeNumber {
		problem = "not a number"
	}
	if slices.ContainsFunc(candidates, func(c string) bool { return Judge(spec, task, c) > 0 }) {
		return nil
	}
	return []arena.FieldError{{Field: "answer", Message: problem}}
}

func checkAnswers(answers []string, check func(string) error) []arena.FieldError {
	if len(answers) == 0 {
		return []arena.FieldError{{Field: "answer", Message: "missing"}}
	}
	var wrong []arena.FieldError
	for i, a := range answers {
		if err := check(a); err != nil {
			field := "answer"
			if len(answers) > 1 {
				field = fmt.Sprintf("answers[%d]", i)
			}
			wrong = append(wrong, arena.FieldError{Field: field, Message: err.Error()})
		}
	}
	return wrong
}

func checkCases(cases []arena.Case) []arena.FieldError {
	if len(cases) < 1 || len(cases) > MaxCases {
		return []arena.FieldError{{Field: "cases", Message: fmt.Sprintf("%d cases; there must be 1 to %d", len(cases), MaxCases)}}
	}
	var wrong []arena.FieldError
	add := func(i int, member, format string, args ...any) {
		wrong = append(wrong, arena.FieldError{Field: fmt.Sprintf("cases[%d]%s", i, member), Message: fmt.Sprintf(format, args...)})
	}
	for i, c := range cases {
		if n := len(c.Args) + len(c.Want); n > MaxCase {
			add(i, "", "%d bytes, the limit is %d", n, MaxCase)
			continue
		}
		var args []any
		if err := strictjson.Unmarshal(c.Args, &args); err != nil || args == nil {
			add(i, ".args", "not a JSON array")
		}
		if _, ok := parseJSON(string(c.Want)); !ok {
			add(i, ".want", "not JSON")
		}
	}
	return wrong
}

// Distinct reports whether the choice judge distinguishes two options.
func Distinct(a, b string) bool { return newText(a).close != newText(b).close }
