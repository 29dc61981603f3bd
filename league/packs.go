package league

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// The formats of packs.
const (
	PackJSONL        = "jsonl"        // one object per line, the arena's own
	PackOpenTriviaQA = "opentriviaqa" // #Q question, ^ answer, A to F options
	PackGSM8K        = "gsm8k"        // one object per line, number behind ####
)

// PackFormats lists the formats that ParsePack reads.
func PackFormats() []string { return []string{PackJSONL, PackOpenTriviaQA, PackGSM8K} }

// Limits bound a pack (threat A6). Sizes are in bytes.
type Limits struct {
	File        int // of the whole file
	Entries     int // good and bad
	Description int
	Option      int // also of an accepted answer
	Options     int // per entry
	Answers     int // accepted, per entry
	Word        int // of input_format, output_format, topic, difficulty
	Skipped     int // bad entries that are reported one by one
}

// DefaultLimits are the limits of an arena that sets none.
func DefaultLimits() Limits {
	return Limits{
		File: 16 << 20, Entries: 100_000, Description: 8 << 10, Option: 512,
		Options: 26, Answers: 64, Word: 128, Skipped: 10_000,
	}
}

// ParsePack reads the entries of a file. skipped holds every entry that
// cannot be used, by the line on which it starts; whoever calls decides
// whether the good ones may stand without them. Beyond limits.Skipped the last
// item says how many more there are. Tasks have no ids yet.
//
// The error is an *arena.Error: unsupported for a format that is not known,
// too_large with the limit named, pack_invalid for a file without any entry.
// An entry over a limit of its own is skipped, with the limit named.
func ParsePack(format string, data []byte, limits Limits) (
	tasks []arena.Task, skipped []arena.SkippedLine, err error,
) {
	var parse func([]byte) iter.Seq[entry]
	switch format {
	case PackJSONL:
		parse = parseJSONL
	case PackOpenTriviaQA:
		parse = parseOpenTriviaQA
	case PackGSM8K:
		parse = parseGSM8K
	default:
		return nil, nil, arena.Errorf(arena.CodeUnsupported,
			"the pack format %q is not known; choose one of %s", format, strings.Join(PackFormats(), ", "))
	}
	if len(data) > limits.File {
		return nil, nil, arena.Errorf(arena.CodeTooLarge,
			"the pack has %d bytes, the limit is %d", len(data), limits.File)
	}
	entries, bad := 0, 0
	for e := range parse(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
		if entries++; entries > limits.Entries {
			return nil, nil, arena.Errorf(arena.CodeTooLarge,
				"the pack has more than %d entries, which is the limit", limits.Entries)
		}
		if e.err == nil {
			e.err = checkTask(&e.task, limits)
		}
		if e.err == nil {
			tasks = append(tasks, e.task)
			continue
		}
		bad++
		if bad <= limits.Skipped {
			skipped = append(skipped, arena.SkippedLine{Line: e.line, Reason: e.err.Error()})
		}
	}
	if more := bad - len(skipped); more > 0 && len(skipped) > 0 {
		last := &skipped[len(skipped)-1]
		last.Reason = fmt.Sprintf("%s; and %d more entries after this one cannot be used", last.Reason, more)
	}
	if entries == 0 {
		return nil, nil, arena.Errorf(arena.CodePackInvalid, "the pack holds no entries")
	}
	return tasks, skipped, nil
}

// entry is one entry of a file: a task, or why it is none.
type entry struct {
	line int // 1-based, on which it starts
	task arena.Task
	err  error
}

// checkTask holds an entry against what every format has in common, and fills
// in the defaults of AAP's task.
func checkTask(t *arena.Task, limits Limits) error {
	switch {
	case strings.TrimSpace(t.Description) == "":
		return errors.New("the description is missing or empty")
	case len(t.Answers) == 0:
		return errors.New("the answer is missing")
	case len(t.Answers) > limits.Answers:
		return fmt.Errorf("%d accepted answers, the limit is %d", len(t.Answers), limits.Answers)
	case len(t.Options) == 1:
		return errors.New("one option only: a choice needs two")
	case len(t.Options) > limits.Options:
		return fmt.Errorf("%d options, the limit is %d", len(t.Options), limits.Options)
	case t.MaxTokens < 0 || t.MaxTokens > maxTokens:
		return fmt.Errorf("max_tokens must be 0 (the league's) to %d", maxTokens)
	}
	for _, f := range checkRules(t.Rules) {
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
	return checkOptions(t, limits)
}

func checkOptions(t *arena.Task, limits Limits) error {
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
	if len(t.Options) > 0 && !scoring.Accepts(arena.JudgeSpec{Kind: arena.JudgeChoice}, *t) {
		return errors.New("the answer is not among the options")
	}
	return nil
}

// checkText refuses what cannot be shown: text that was damaged on its way
// (not UTF-8, or with replacement characters in it) and control characters.
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

// lines gives the lines of a text with their numbers from 1. LF, CR LF and a
// lone CR end a line, also mixed.
func lines(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for n := 1; len(data) > 0; n++ {
			line, rest := data, []byte(nil)
			if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
				line, rest = data[:i], data[i+1:]
				if data[i] == '\r' {
					rest = bytes.TrimPrefix(rest, []byte("\n"))
				}
			}
			if !yield(n, line) {
				return
			}
			data = rest
		}
	}
}
