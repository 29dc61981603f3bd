package pack

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// The formats of packs.
const (
	JSONL        = "jsonl"        // one object per line, the arena's own
	CSV          = "csv"          // a table with the members of jsonl as columns
	OpenTriviaQA = "opentriviaqa" // #Q question, ^ answer, A to F options
	OpenTDB      = "opentdb"      // a response of the Open Trivia Database's API
	GSM8K        = "gsm8k"        // one object per line, number behind ####
	MMLU         = "mmlu"         // question, options, letter or index; a table without a header, or objects
	ARC          = "arc"          // objects with answerKey and labeled choices
	AQuA         = "aqua"         // objects with options such as "A)21" and the letter in correct
	BIGBench     = "bigbench"     // one object with examples
)

// Auto selects the format by the content of the file.
const Auto = "auto"

// Formats lists the formats that Parse reads.
func Formats() []string {
	return []string{JSONL, CSV, OpenTriviaQA, OpenTDB, GSM8K, MMLU, ARC, AQuA, BIGBench}
}

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

// DefaultLimits returns the limits of an arena that sets none.
func DefaultLimits() Limits {
	return Limits{
		File: 16 << 20, Entries: 100_000, Description: 8 << 10, Option: 512,
		Options: 26, Answers: 64, Word: 128,
		Cases: scoring.MaxCases, Case: scoring.MaxCase, Skipped: 10_000,
	}
}

// entry is one entry of a file: a task or an error.
type entry struct {
	line     int // 1-based, on which it starts
	task     arena.Task
	empty    bool     // a row without any text, which is no entry
	open     bool     // an open question: its empty list of answers is meant
	pointing pointing // how the answer names an option
	labels   []string // of the options, if the file names them
	columns  []string // of the options, if they have one each
	textual  bool     // the options are strings, not numbers
	counted  bool     // the answer is a number, and the options are strings
	indexed  bool     // the answer's column is called an index
	mends    bool     // a repeated wrong option is left out and reported
	via      mapping  // what the parts of the task were read from; nil in formats without names
	unused   []string // columns or members that no part of the task holds
	text     int      // the place of the option that has the one answer's text, -1 if none; set by usageOf
	given    string   // the answer as the file has it
	means    string   // what the answer is: text, letter, label, index
	warnings []string
	err      error
}

// reader reads a file. Its error is about the file as a whole.
type reader func(data []byte) (iter.Seq[entry], error)

// readerOf returns the reader of a format. chosen reports whether the caller named
// the format: one that the file only looks like defines less.
func readerOf(format string, chosen bool, limits Limits) (reader, error) {
	switch format {
	case JSONL:
		return ofRows(parseJSONL), nil
	case CSV:
		return parseCSV, nil
	case OpenTriviaQA:
		return func(data []byte) (iter.Seq[entry], error) { return parseOpenTriviaQA(data), nil }, nil
	case OpenTDB:
		return func(data []byte) (iter.Seq[entry], error) { return parseOpenTDB(data, limits.Entries) }, nil
	case GSM8K:
		return ofRows(parseGSM8K), nil
	case MMLU:
		return parseMMLU(chosen), nil
	case ARC:
		return ofObjects(readARC), nil
	case AQuA:
		return ofObjects(readAQuA), nil
	case BIGBench:
		return parseBIGBench, nil
	default:
		return nil, arena.Errorf(arena.CodeUnsupported,
			"the pack format %q is not known; choose one of %s, %s", format, strings.Join(Formats(), ", "), Auto)
	}
}

// ofRows returns the reader of a format of objects.
func ofRows(read func(iter.Seq[row]) iter.Seq[entry]) reader {
	return func(data []byte) (iter.Seq[entry], error) { return read(jsonRows(data)), nil }
}

// ofObjects is ofRows for objects that are read one by one.
func ofObjects(read func(object []byte) (entry, error)) reader {
	return ofRows(func(rows iter.Seq[row]) iter.Seq[entry] { return objects(rows, read) })
}

// mappedReader returns the reader of a file by a mapping.
func mappedReader(format string, m mapping) (reader, error) {
	switch format {
	case JSONL:
		return ofRows(parseMapped(m)), nil
	case CSV:
		return mappedCSV(m), nil
	}
	return nil, errMap(fmt.Errorf("files of the format %s are not mapped; choose %s or %s", format, JSONL, CSV))
}

// Parse reads the entries of a file. skipped lists every invalid entry by the
// line on which it starts; the caller decides whether to use the valid ones
// without them. If there are more than limits.Skipped, the last item counts the
// rest. Tasks have no ids yet.
//
// The error is an *arena.Error: unsupported for an unknown format, too_large
// with the name of the limit, or pack_invalid for a file without any entry or
// without the structure that its format needs (the header of csv, the JSON of
// opentdb). An entry that exceeds a limit is skipped, with the limit named.
func Parse(format string, data []byte, limits Limits) (tasks []arena.Task, skipped []arena.SkippedLine, err error) {
	contents, err := Read(Source{Format: format, Data: data}, limits)
	return contents.Tasks, contents.Skipped, err
}

// Source is a file of tasks.
type Source struct {
	Format string // one of Formats, or Auto
	Map    string // the mapping of columns or members, such as "description=question,options=choices,answer=label"; "": the format's own
	Data   []byte
}

// Read is Parse with everything that an import reports. With a pack_invalid
// error it still returns the format, the mapping and the names of the file.
func Read(in Source, limits Limits) (arena.PackContents, error) {
	contents := arena.PackContents{Format: in.Format}
	if in.Format != Auto && !slices.Contains(Formats(), in.Format) {
		_, err := readerOf(in.Format, true, limits)
		return contents, err
	}
	if len(in.Data) > limits.File {
		return contents, arena.Errorf(arena.CodeTooLarge,
			"the pack has %d bytes, the limit is %d", len(in.Data), limits.File)
	}
	m, err := readMapping(in.Map)
	if err != nil {
		return contents, errMap(err)
	}
	if what := otherFile(in.Data); what != "" {
		return contents, arena.Errorf(arena.CodePackInvalid, "this is %s", what)
	}
	data := utf8Of(in.Data)
	if len(bytes.TrimSpace(data)) == 0 {
		return contents, arena.Errorf(arena.CodePackInvalid, "the file is empty")
	}
	if text, ok := fromWholeWindows1252(data); ok && in.Format != OpenTriviaQA && !isOpenTriviaQA(data) { // its reader decodes line by line
		data = text
		contents.Reading.Notes = append(contents.Reading.Notes, "The file is not UTF-8. It was read as Windows-1252; check accents and quotation marks, or save it as UTF-8.")
	}
	read, err := choose(&contents, data, m, limits)
	if err != nil {
		return contents, err
	}
	found, err := read(data)
	if err != nil {
		return contents, arena.Errorf(arena.CodePackInvalid, "the pack cannot be read: %v", err)
	}
	var entries []entry
	for e := range found {
		if e.empty {
			contents.Reading.EmptyRows++
			continue
		}
		if len(entries) == limits.Entries {
			return contents, arena.Errorf(arena.CodeTooLarge,
				"the pack has more than %d entries, which is the limit", limits.Entries)
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return contents, arena.Errorf(arena.CodePackInvalid, "the pack holds no entries")
	}
	if err := collect(&contents, entries, limits); err != nil {
		return contents, arena.Errorf(arena.CodePackInvalid, "%v", err)
	}
	return contents, nil
}

// choose returns the reader of a file and fills in the format and the mapping.
func choose(contents *arena.PackContents, data []byte, m mapping, limits Limits) (reader, error) {
	g, guessed := guess(data), false
	contents.Names = g.names[:min(listedColumns, len(g.names))]
	if contents.Format == Auto {
		contents.Format = g.format
		switch {
		case m != nil && g.table:
			contents.Format = CSV
		case m != nil:
			contents.Format = JSONL
		case g.err != nil:
			return nil, arena.Errorf(arena.CodePackInvalid, "the pack cannot be read: %v", g.err)
		default:
			m, guessed = g.mapping, true
		}
	}
	contents.Map = m.String()
	if m != nil {
		return mappedReader(contents.Format, m)
	}
	return readerOf(contents.Format, !guessed, limits)
}

// sourced is the number of tasks whose source is kept.
const sourced = 10

// collect checks the entries and sorts them into tasks, skipped lines and
// warnings. The error is about the file as a whole.
func collect(contents *arena.PackContents, entries []entry, limits Limits) error {
	if err := resolveAnswers(contents, entries); err != nil {
		return err
	}
	skipped, warnings := report{limit: limits.Skipped}, report{limit: limits.Skipped}
	known := questions{}
	for i := range entries {
		e := &entries[i]
		if e.err == nil {
			e.err = checkEntry(e, limits)
		}
		if e.err != nil {
			skipped.add(e.line, e.err.Error())
			continue
		}
		known.add(e)
		contents.Tasks = append(contents.Tasks, e.task)
		if len(contents.Sources) < sourced {
			contents.Sources = append(contents.Sources, e.source())
		}
		for _, w := range e.warnings {
			warnings.add(e.line, w)
		}
	}
	contents.Skipped = skipped.done("entries after this one cannot be used")
	contents.Warnings = warnings.done("warnings follow")
	return nil
}

// report lists the first problems of a file and counts the others.
type report struct {
	lines []arena.SkippedLine
	limit int
	more  int
}

func (r *report) add(line int, reason string) {
	if len(r.lines) == r.limit {
		r.more++
		return
	}
	r.lines = append(r.lines, arena.SkippedLine{Line: line, Reason: reason})
}

// done returns the list. Its last item counts those that it leaves out.
func (r *report) done(what string) []arena.SkippedLine {
	if r.more > 0 && len(r.lines) > 0 {
		last := &r.lines[len(r.lines)-1]
		last.Reason = fmt.Sprintf("%s; and %d more %s", last.Reason, r.more, what)
	}
	return r.lines
}

// lines returns the lines of a text with their numbers from 1. LF, CR LF and a
// lone CR end a line, even within one file.
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
