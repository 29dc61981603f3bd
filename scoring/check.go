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

// JudgeKind is a row of the table of judges.
type JudgeKind struct {
	Kind    string
	Version string
	Members []string // of its settings, by their names in the API

	// points judges an answer; nil: the judge is external.
	points func(spec arena.JudgeSpec, task arena.Task, answer string) arena.Points
	// check returns why no answer to a task could be right; nil: every task fits.
	check func(k JudgeKind, spec arena.JudgeSpec, task arena.Task) []arena.FieldError
}

var judgeKinds = []JudgeKind{
	{
		Kind: arena.JudgeExact, Version: ExactVersion, Members: []string{"match"}, check: checkComparable,
		points: points(func(s arena.JudgeSpec, t arena.Task, a string) bool { return anyText(t.Answers, a, strict(s)) }),
	},
	{
		Kind: arena.JudgeChoice, Version: ChoiceVersion, Members: []string{"match"}, check: checkComparable,
		points: points(func(s arena.JudgeSpec, t arena.Task, a string) bool { return chosen(t, a, strict(s)) }),
	},
	{
		Kind: arena.JudgeNumber, Version: NumberVersion, Members: []string{"tolerance"}, check: checkComparable,
		points: points(func(s arena.JudgeSpec, t arena.Task, a string) bool { return anyNumber(t.Answers, a, s.Tolerance) }),
	},
	{
		Kind: arena.JudgeRegex, Version: RegexVersion, check: checkPatterns,
		points: points(func(_ arena.JudgeSpec, t arena.Task, a string) bool { return anyPattern(t.Answers, a) }),
	},
	{
		Kind: arena.JudgeSet, Version: SetVersion, Members: []string{"partial", "match"}, check: checkSet,
		points: func(s arena.JudgeSpec, t arena.Task, a string) arena.Points {
			return setPoints(t.Answers, a, s.Partial, strict(s))
		},
	},
	{
		Kind: arena.JudgeJSON, Version: JSONVersion, Members: []string{"tolerance"}, check: checkJSON,
		points: points(func(s arena.JudgeSpec, t arena.Task, a string) bool { return anyJSON(t.Answers, a, s.Tolerance) }),
	},
	{
		Kind: arena.JudgeCode, Version: CodeVersion, Members: []string{"tolerance", "partial"},
		check: func(_ JudgeKind, _ arena.JudgeSpec, t arena.Task) []arena.FieldError { return checkCases(t.Cases) },
	},
	{Kind: arena.JudgePanel, Version: PanelVersion, Members: []string{"agents", "criteria"}},
	{Kind: arena.JudgeCrowd, Version: CrowdVersion, Members: []string{"criteria", "window_seconds", "min_votes", "voter_accounts"}},
	{Kind: arena.JudgeModel, Version: ModelVersion, Members: []string{"criteria", "gold"}},
}

// JudgeKinds returns the table of judges.
func JudgeKinds() []JudgeKind { return slices.Clone(judgeKinds) }

func strict(spec arena.JudgeSpec) bool { return spec.Match == arena.MatchStrict }

func kindOf(spec arena.JudgeSpec) (JudgeKind, bool) {
	i := slices.IndexFunc(judgeKinds, func(k JudgeKind) bool { return k.Kind == spec.Kind })
	if i < 0 {
		return JudgeKind{}, false
	}
	return judgeKinds[i], true
}

// Version returns the version that is stored with verdicts of the judge, or ""
// for a kind that CheckJudge rejects.
func Version(spec arena.JudgeSpec) string {
	k, _ := kindOf(spec)
	return k.Version
}

// CheckJudge returns the errors of a judge's settings, or nil if they are valid.
// A member that belongs to other kinds of judges is an error.
func CheckJudge(spec arena.JudgeSpec) []arena.FieldError {
	k, ok := kindOf(spec)
	if !ok {
		var names []string
		for _, k := range judgeKinds {
			names = append(names, k.Kind)
		}
		return []arena.FieldError{{
			Field:   "judge.kind",
			Message: fmt.Sprintf("%q is not a judge; choose one of %s", spec.Kind, strings.Join(names, ", ")),
		}}
	}
	var wrong []arena.FieldError
	check := func(field string, zero bool, problem string) {
		switch belongs := slices.Contains(k.Members, field); {
		case !belongs && !zero:
			wrong = append(wrong, arena.FieldError{Field: "judge." + field, Message: "does not belong to the judge " + k.Kind})
		case belongs && problem != "":
			wrong = append(wrong, arena.FieldError{Field: "judge." + field, Message: problem})
		}
	}
	check("tolerance", spec.Tolerance == 0,
		unless(spec.Tolerance >= 0 && spec.Tolerance <= MaxTolerance, "must be 0 to %.0e", MaxTolerance)) // NaN is neither
	check("partial", !spec.Partial, "")
	check("match", spec.Match == "", unless(spec.Match == "" || spec.Match == arena.MatchStrict, "must be %q or empty", arena.MatchStrict))
	check("agents", len(spec.Agents) == 0, agentsProblem(spec.Agents))
	check("criteria", spec.Criteria == "", criteriaProblem(spec.Criteria))
	check("gold", spec.Gold == "", "")
	check("window_seconds", spec.Window == 0,
		unless(spec.Window >= MinWindow && spec.Window <= MaxWindow, "must be %d to %d", MinWindow/time.Second, MaxWindow/time.Second))
	check("min_votes", spec.MinVotes == 0,
		unless(spec.MinVotes >= 0 && spec.MinVotes <= MaxMinVotes, "must be 0 to %d", MaxMinVotes))
	check("voter_accounts", !spec.VoterAccounts, "")
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
		return "must state what to judge by"
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
	k, ok := kindOf(spec)
	switch {
	case !ok:
		return []arena.FieldError{{Field: "judge.kind", Message: fmt.Sprintf("%q is not a judge", spec.Kind)}}
	case k.check == nil:
		return nil
	}
	return k.check(k, spec, task)
}

func checkPatterns(_ JudgeKind, _ arena.JudgeSpec, task arena.Task) []arena.FieldError {
	return checkAnswers(task.Answers, func(a string) error {
		_, err := compilePattern(a)
		return err
	})
}

func checkJSON(_ JudgeKind, _ arena.JudgeSpec, task arena.Task) []arena.FieldError {
	return checkAnswers(task.Answers, func(a string) error {
		if _, ok := parseJSON(a); !ok {
			return errors.New("not JSON")
		}
		return nil
	})
}

func checkSet(_ JudgeKind, _ arena.JudgeSpec, task arena.Task) []arena.FieldError {
	if n := len(expectedMembers(task.Answers, text.same)); n < 1 || n > MaxMembers {
		return []arena.FieldError{{Field: "answer", Message: fmt.Sprintf("a set of %d members; it must have 1 to %d", n, MaxMembers)}}
	}
	return nil
}

// checkComparable tries the answers that should be right: the number judge
// needs an accepted answer that is a number, the choice judge over options an
// option that is accepted.
func checkComparable(k JudgeKind, spec arena.JudgeSpec, task arena.Task) []arena.FieldError {
	candidates, problem := task.Answers, "no answer could be right"
	if spec.Kind == arena.JudgeChoice && len(task.Options) > 0 {
		candidates, problem = task.Options, "not among the options"
	}
	if spec.Kind == arena.JudgeNumber {
		problem = "not a number"
	}
	if slices.ContainsFunc(candidates, func(c string) bool { return k.points(spec, task, c) > 0 }) {
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
