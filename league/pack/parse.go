package pack

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// The formats of packs.
const (
	JSONL        = "jsonl"        // one object per line, the arena's own
	CSV          = "csv"          // a table with the members of jsonl as columns
	OpenTriviaQA = "opentriviaqa" // #Q question, ^ answer, A to F options
	OpenTDB      = "opentdb"      // what the API of the Open Trivia Database answers
	GSM8K        = "gsm8k"        // one object per line, number behind ####
)

// Formats lists the formats that Parse reads.
func Formats() []string { return []string{JSONL, CSV, OpenTriviaQA, OpenTDB, GSM8K} }

// Limits bound a pack (threat A6). Sizes are in bytes.
type Limits struct {
	File        int // of the whole file
	Entries     int // good and bad
	Description int
	Option      int // also of an accepted answer
	Options     int // per entry
	Answers     int // accepted, per entry
	Word        int // of input_format, output_format, topic, difficulty
	Cases       int // per entry
	Case        int // arguments and wanted value of one case
	Skipped     int // bad entries that are reported one by one
}

// DefaultLimits are the limits of an arena that sets none.
func DefaultLimits() Limits {
	return Limits{
		File: 16 << 20, Entries: 100_000, Description: 8 << 10, Option: 512,
		Options: 26, Answers: 64, Word: 128,
		Cases: scoring.MaxCases, Case: scoring.MaxCase, Skipped: 10_000,
	}
}

// entry is one entry of a file: a task, or why it is none.
type entry struct {
	line int // 1-based, on which it starts
	task arena.Task
	open bool // an open question: it says itself that no answer is the right one
	err  error
}

// entriesOf gives the reader of a format. Its error is about the file as a
// whole.
func entriesOf(format string, limits Limits) (func(data []byte) (iter.Seq[entry], error), error) {
	lineByLine := func(read func([]byte) iter.Seq[entry]) func([]byte) (iter.Seq[entry], error) {
		return func(data []byte) (iter.Seq[entry], error) { return read(data), nil }
	}
	switch format {
	case JSONL:
		return lineByLine(parseJSONL), nil
	case CSV:
		return parseCSV, nil
	case OpenTriviaQA:
		return lineByLine(parseOpenTriviaQA), nil
	case OpenTDB:
		return func(data []byte) (iter.Seq[entry], error) { return parseOpenTDB(data, limits.Entries) }, nil
	case GSM8K:
		return lineByLine(parseGSM8K), nil
	default:
		return nil, arena.Errorf(arena.CodeUnsupported,
			"the pack format %q is not known; choose one of %s", format, strings.Join(Formats(), ", "))
	}
}

// Parse reads the entries of a file. skipped holds every entry that cannot be
// used, by the line on which it starts; whoever calls decides whether the good
// ones may stand without them. Beyond limits.Skipped the last item says how
// many more there are. Tasks have no ids yet.
//
// The error is an *arena.Error: unsupported for a format that is not known,
// too_large with the limit named, pack_invalid for a file without any entry or
// without the frame that its format needs (the header of csv, the JSON of
// opentdb). An entry over a limit of its own is skipped, with the limit named.
func Parse(format string, data []byte, limits Limits) (tasks []arena.Task, skipped []arena.SkippedLine, err error) {
	read, err := entriesOf(format, limits)
	if err != nil {
		return nil, nil, err
	}
	if len(data) > limits.File {
		return nil, nil, arena.Errorf(arena.CodeTooLarge,
			"the pack has %d bytes, the limit is %d", len(data), limits.File)
	}
	found, err := read(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, nil, arena.Errorf(arena.CodePackInvalid, "the pack cannot be read: %v", err)
	}
	entries, bad := 0, 0
	for e := range found {
		if entries++; entries > limits.Entries {
			return nil, nil, arena.Errorf(arena.CodeTooLarge,
				"the pack has more than %d entries, which is the limit", limits.Entries)
		}
		if e.err == nil {
			e.err = checkEntry(&e, limits)
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

// clip shortens a piece of input for an error's text.
func clip[T string | []byte](piece T) string {
	const limit = 40
	if len(piece) <= limit {
		return string(piece)
	}
	return strings.ToValidUTF8(string(piece[:limit]), "") + "…"
}
