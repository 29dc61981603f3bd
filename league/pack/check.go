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

// checkEntry makes the checks that all formats share and fills in the defaults
// of AAP's task.
func checkEntry(e *entry, limits Limits) error {
	t := &e.task
	switch {
	case strings.TrimSpace(t.Description) == "":
		return errors.New("the description is missing or empty")
	case len(t.Answers) == 0 && len(t.Cases) == 0 && !e.open:
		return errors.New("the answer is missing")
	case len(t.Answers) > limits.Answers:
		return fmt.Errorf("%d accepted answers, the limit is %d", len(t.Answers), limits.Answers)
	case t.MaxTokens < 0 || t.MaxTokens > MaxTokens:
		return fmt.Errorf("max_tokens must be 0 (the league's) to %d", MaxTokens)
	}
	for _, f := range CheckRules(t.Rules) {
		return fmt.Errorf("%s: %s", f.Field, f.Message)
	}
	if t.InputFormat == "" {
		t.InputFormat = "string"
	}
	if t.OutputFormat == "" {
		t.OutputFormat = "string"
	}
	if err := checkText("description", t.Description, limits.Description); err != nil {
		return err
	}
	for _, word := range [][2]string{
		{"input_format", t.InputFormat},
		{"output_format", t.OutputFormat},
		{"topic", t.Topic},
		{"difficulty", t.Difficulty},
	} {
		if err := checkText(word[0], word[1], limits.Word); err != nil {
			return err
		}
	}
	for _, a := range t.Answers {
		// An answer of spaces or invisible characters is equal to nothing.
		if !scoring.Accepts(arena.JudgeSpec{Kind: arena.JudgeExact}, arena.Task{Answers: []string{a}}) {
			return errors.New("an accepted answer is empty")
		}
		if err := checkText("answer", a, limits.Option); err != nil {
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
		return errors.New("one option only: a choice needs two")
	case len(t.Options) > limits.Options:
		return fmt.Errorf("%d options, the limit is %d", len(t.Options), limits.Options)
	}
	for i, o := range t.Options {
		if strings.TrimSpace(o) == "" {
			return fmt.Errorf("option %c is empty", 'A'+i)
		}
		if err := checkText("option", o, limits.Option); err != nil {
			return err
		}
		for j, other := range t.Options[:i] {
			if !scoring.Distinct(o, other) {
				return fmt.Errorf("options %c and %c are the same", 'A'+j, 'A'+i)
			}
		}
	}
	if !scoring.Accepts(arena.JudgeSpec{Kind: arena.JudgeChoice}, *t) {
		return errors.New("the answer is not among the options")
	}
	return nil
}

func checkCases(t *arena.Task, limits Limits) error {
	if len(t.Cases) > limits.Cases {
		return fmt.Errorf("%d cases, the limit is %d", len(t.Cases), limits.Cases)
	}
	for i, c := range t.Cases {
		var args []json.RawMessage
		switch {
		case len(c.Args)+len(c.Want) > limits.Case:
			return fmt.Errorf("case %d has %d bytes, the limit is %d", i+1, len(c.Args)+len(c.Want), limits.Case)
		case !bytes.HasPrefix(bytes.TrimSpace(c.Args), []byte("[")) || json.Unmarshal(c.Args, &args) != nil:
			return fmt.Errorf("case %d: args must be the list of the call's arguments", i+1)
		case len(c.Want) == 0:
			return fmt.Errorf("case %d: want is missing", i+1)
		}
	}
	return nil
}

// checkText rejects text that cannot be displayed: text that is not UTF-8 or
// contains replacement characters or control characters.
func checkText(name, s string, limit int) error {
	if len(s) > limit {
		return fmt.Errorf("the %s has %d bytes, the limit is %d", name, len(s), limit)
	}
	if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
		return fmt.Errorf("the text of the %s is damaged: it is not UTF-8", name)
	}
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return fmt.Errorf("the %s holds the control character %U", name, r)
		}
	}
	return nil
}
