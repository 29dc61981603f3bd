package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// MaxTokens is the largest max_tokens that a league or a task may name.
const MaxTokens = 1_000_000

const (
	maxRules      = 20
	maxRuleLength = 64 // characters
)

// CheckRules checks the rules that agents receive with a task: at most 20, each
// of 1 to 64 characters.
func CheckRules(rules []string) []arena.FieldError {
	var wrong []arena.FieldError
	require := func(ok bool, field, format string, args ...any) {
		if !ok {
			wrong = append(wrong, arena.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
		}
	}
	require(len(rules) <= maxRules, "rules", "%d rules, the limit is %d", len(rules), maxRules)
	for i, r := range rules {
		field := fmt.Sprintf("rules[%d]", i)
		n := utf8.RuneCountInString(r)
		require(n >= 1 && n <= maxRuleLength, field, "must have 1 to %d characters", maxRuleLength)
		require(utf8.ValidString(r) && !strings.ContainsFunc(r, unicode.IsControl), field, "must be plain text")
	}
	return wrong
}

// Check returns an error with code invalid that names the field of a task that
// cannot be asked: description, answer, options, topic, difficulty or one that only
// files have. A task without accepted answers is an open question.
func Check(task arena.Task, limits Limits) error {
	err := checkEntry(&entry{task: task, open: len(task.Answers) == 0}, limits)
	if f, ok := errors.AsType[*flaw](err); ok {
		return arena.Invalid(f.field, "%s", f.text)
	}
	return err
}

// flaw is an error in one field of an entry.
type flaw struct {
	field string
	text  string // that names the field itself: reports on files have nothing else
}

func (f *flaw) Error() string { return f.text }

func flawed(field, format string, args ...any) error {
	return &flaw{field, fmt.Sprintf(format, args...)}
}

// checkEntry makes the checks that all formats share and fills in the defaults
// of AAP's task. Its errors are flaws.
func checkEntry(e *entry, limits Limits) error {
	t := &e.task
	switch {
	case strings.TrimSpace(t.Description) == "":
		return flawed("description", "the description is missing or empty")
	case len(t.Answers) == 0 && len(t.Cases) == 0 && !e.open:
		return flawed("answer", "the answer is missing")
	case len(t.Answers) > limits.Answers:
		return flawed("answer", "%d accepted answers, the limit is %d", len(t.Answers), limits.Answers)
	case t.MaxTokens < 0 || t.MaxTokens > MaxTokens:
		return flawed("max_tokens", "max_tokens must be 0 (the league's) to %d", MaxTokens)
	}
	for _, f := range CheckRules(t.Rules) {
		return flawed("rules", "%s: %s", f.Field, f.Message)
	}
	if t.InputFormat == "" {
		t.InputFormat = "string"
	}
	if t.OutputFormat == "" {
		t.OutputFormat = "string"
	}
	if err := checkText("description", "description", t.Description, limits.Description); err != nil {
		return err
	}
	for _, word := range [][2]string{
		{"input_format", t.InputFormat},
		{"output_format", t.OutputFormat},
		{"topic", t.Topic},
		{"difficulty", t.Difficulty},
	} {
		if err := checkText(word[0], word[0], word[1], limits.Word); err != nil {
			return err
		}
	}
	for _, a := range t.Answers {
		// An answer of spaces or invisible characters is equal to nothing.
		if !scoring.Accepts(arena.JudgeSpec{Kind: arena.JudgeExact}, arena.Task{Answers: []string{a}}) {
			return flawed("answer", "an accepted answer is empty")
		}
		if err := checkText("answer", "answer", a, limits.Option); err != nil {
			return err
		}
	}
	if err := checkOptions(t, limits); err != nil {
		return err
	}
	return checkCases(t, limits)
}

func checkOptions(t *arena.Task, limits Limits) error {
	switch {
	case len(t.Options) == 0:
		return nil
	case len(t.Options) == 1:
		return flawed("options", "one option only: a choice needs two")
	case len(t.Options) > limits.Options:
		return flawed("options", "%d options, the limit is %d", len(t.Options), limits.Options)
	}
	for i, o := range t.Options {
		if strings.TrimSpace(o) == "" {
			return flawed("options", "option %c is empty", 'A'+i)
		}
		if err := checkText("options", "option", o, limits.Option); err != nil {
			return err
		}
		for j, other := range t.Options[:i] {
			if !scoring.Distinct(o, other) {
				return flawed("options", "options %c and %c are the same", 'A'+j, 'A'+i)
			}
		}
	}
	if !scoring.Accepts(arena.JudgeSpec{Kind: arena.JudgeChoice}, *t) {
		return flawed("answer", "the answer is not among the options")
	}
	return nil
}

func checkCases(t *arena.Task, limits Limits) error {
	if len(t.Cases) > limits.Cases {
		return flawed("cases", "%d cases, the limit is %d", len(t.Cases), limits.Cases)
	}
	for i, c := range t.Cases {
		var args []json.RawMessage
		switch {
		case len(c.Args)+len(c.Want) > limits.Case:
			return flawed("cases", "case %d has %d bytes, the limit is %d", i+1, len(c.Args)+len(c.Want), limits.Case)
		case !bytes.HasPrefix(bytes.TrimSpace(c.Args), []byte("[")) || json.Unmarshal(c.Args, &args) != nil:
			return flawed("cases", "case %d: args must be the list of the call's arguments", i+1)
		case len(c.Want) == 0:
			return flawed("cases", "case %d: want is missing", i+1)
		}
	}
	return nil
}

// checkText rejects text that cannot be displayed: text that is not UTF-8 or
// contains replacement characters or control characters.
func checkText(field, name, s string, limit int) error {
	if len(s) > limit {
		return flawed(field, "the %s has %d bytes, the limit is %d", name, len(s), limit)
	}
	if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
		return flawed(field, "the text of the %s is damaged: it is not UTF-8; save the file as UTF-8", name)
	}
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return flawed(field, "the %s holds the control character %U", name, r)
		}
	}
	return nil
}
