package pack

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// listMark separates the items of a cell that holds a list.
const listMark = "|"

// parseCSV reads a table (RFC 4180) whose first record names the columns: the
// members of jsonl. The cells of answer, options and rules hold lists whose
// items are separated by "|". Options may instead have a column each. An empty
// cell leaves its member out.
//
// The answer may be the letter or the index of an option: see resolveAnswers.
func parseCSV(data []byte) (iter.Seq[entry], error) {
	header, records, err := csvTable(data)
	if err != nil || header == nil {
		return slices.Values[[]entry](nil), err
	}
	columns, err := readHeader(header)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	via := mapping{}
	for _, c := range columns {
		if _, option := optionColumn(c); option {
			via["options"] = append(via["options"], c)
		} else {
			via[c] = []string{c}
		}
	}
	optional := func(column int) bool {
		_, option := optionColumn(columns[column])
		return !option && !slices.Contains([]string{"description", "answer"}, columns[column])
	}
	return func(yield func(entry) bool) {
		for r := range wholeRecords(columns, records, optional) {
			e := entry{line: r.line, err: r.err, empty: r.empty, via: via}
			if e.err == nil && !e.empty {
				e.task = readRecord(columns, r.cells, &e.err)
			}
			if len(via["options"]) > 1 {
				e.columns = via["options"]
			}
			if !yield(e) {
				return
			}
		}
	}, nil
}

// record is one record of a table.
type record struct {
	line  int // on which it starts
	cells []string
	empty bool // no cell has any text
	err   error
}

// csvTable returns the first record of a table and the others; nil if no record has
// text.
// Commas, semicolons or tabs separate cells, or the separator of a first line such
// as "sep=;", which Excel writes. Records without text before the first
// are skipped, and empty cells behind its last name are left out.
func csvTable(data []byte) (first []string, others iter.Seq[record], err error) {
	separator, data, before := separatorLine(data)
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	if r.Comma = separator; separator == 0 {
		r.Comma = separatorOf(data)
	}
	skipped := 0
	for {
		first, err = r.Read()
		if errors.Is(err, io.EOF) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("header: %w", plainCSV(err))
		}
		if !blank(first) {
			break
		}
		skipped++
	}
	first = first[:len(first)-emptyEnd(first)]
	return first, func(yield func(record) bool) {
		for range skipped {
			if !yield(record{line: 1, empty: true}) {
				return
			}
		}
		for {
			cells, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			next := record{cells: cells, empty: err == nil && blank(cells)}
			if bad, ok := errors.AsType[*csv.ParseError](err); ok {
				next.line, next.err = bad.StartLine+before, plainCSV(err)
			} else {
				line, _ := r.FieldPos(0)
				next.line = line + before
			}
			if !yield(next) {
				return
			}
		}
	}, nil
}

// separatorLine returns the separator that the first line of a table names, and
// the text behind that line; 0 and the whole text if it names none.
func separatorLine(data []byte) (separator rune, rest []byte, lines int) {
	line, rest, found := bytes.Cut(data, []byte("\n"))
	line = bytes.Trim(line, "\r\"")
	if !found || len(line) != len("sep=;") || !strings.EqualFold(string(line[:4]), "sep=") || !bytes.ContainsAny(line[4:], ",;\t|") {
		return 0, data, 0
	}
	return rune(line[4]), rest, 1
}

// wholeRecords returns records with as many cells as there are columns. Surplus
// cells must be empty; only optional ones may be missing at the end, because a
// lost separator shifts the others.
func wholeRecords(columns []string, records iter.Seq[record], optional func(column int) bool) iter.Seq[record] {
	return func(yield func(record) bool) {
		for r := range records {
			if r.err == nil && !r.empty {
				r.err = r.complete(columns, optional)
			}
			if !yield(r) {
				return
			}
		}
	}
}

func (r *record) complete(columns []string, optional func(column int) bool) error {
	given := len(r.cells)
	if surplus := given - len(columns); surplus > 0 {
		if emptyEnd(r.cells) < surplus {
			return fmt.Errorf("%d cells, the header has %d", given, len(columns))
		}
		r.cells = r.cells[:len(columns)]
	}
	for i := given; i < len(columns); i++ {
		if !optional(i) {
			return fmt.Errorf("%d cells, the header has %d: the cell of %s is missing", given, len(columns), clip(columns[i]))
		}
		r.cells = append(r.cells, "")
	}
	return nil
}

// blank reports whether no cell has any text.
func blank(cells []string) bool { return emptyEnd(cells) == len(cells) }

// emptyEnd returns the number of empty cells at the end.
func emptyEnd(cells []string) (n int) {
	for n < len(cells) && strings.TrimSpace(cells[len(cells)-1-n]) == "" {
		n++
	}
	return n
}

// separatorOf returns the most frequent separator outside of quotes in the first
// record of a table; a bar only if there is no other.
func separatorOf(data []byte) rune {
	counts := map[rune]int{}
	quoted := false
scan:
	for _, c := range bytes.TrimLeft(data, ",; \t\r\n") {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n' || c == '\r':
			break scan
		default:
			counts[rune(c)]++
		}
	}
	best := ','
	if counts[','] == 0 && counts[';'] == 0 && counts['\t'] == 0 {
		best = '|'
	}
	for _, other := range ";\t" {
		if counts[other] > counts[best] {
			best = other
		}
	}
	return best
}

// plainCSV returns an error without its positions, because the line of the entry
// is reported separately.
func plainCSV(err error) error {
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		err = bad.Err
	}
	return err
}

// members lists the columns, except the columns of single options.
func members() []string {
	return []string{
		"description", "answer", "options", "topic", "difficulty", "input_format", "output_format", "max_tokens", "rules",
	}
}

// optionColumn returns the zero-based place of an option by the name of its
// column, option_1 to option_26 or a to f.
func optionColumn(name string) (place int, ok bool) {
	if len(name) == 1 && name[0] >= 'a' && name[0] <= 'f' {
		return int(name[0] - 'a'), true
	}
	number, ok := strings.CutPrefix(name, "option_")
	n, err := strconv.Atoi(number)
	return n - 1, ok && err == nil && n >= 1 && n <= 26
}

func readHeader(header []string) (columns []string, err error) {
	options := 0
	for _, cell := range header {
		name := strings.ToLower(strings.TrimSpace(cell))
		place, option := optionColumn(name)
		switch {
		case !option && !slices.Contains(members(), name):
			return nil, unknownName("column", name, append(members(), "option_1 to option_26", "a to f"))
		case slices.Contains(columns, name):
			return nil, fmt.Errorf("the column %q stands there twice", name)
		case option && place != options:
			return nil, fmt.Errorf("the column %q is not the option that is next", name)
		case option:
			options++
		}
		columns = append(columns, name)
	}
	for _, needed := range []string{"description", "answer"} {
		if !slices.Contains(columns, needed) {
			return nil, fmt.Errorf("the column %q is missing", needed)
		}
	}
	if options > 0 && slices.Contains(columns, "options") {
		return nil, errors.New(`the column "options" and columns of single options exclude each other`)
	}
	return columns, nil
}

func readRecord(columns, record []string, wrong *error) (t arena.Task) {
	answer := ""
	for i, cell := range record {
		cell = strings.TrimSpace(cell)
		switch columns[i] {
		case "description":
			t.Description = cell
		case "answer":
			answer = cell
		case "options":
			t.Options = list(cell)
		case "topic":
			t.Topic = cell
		case "difficulty":
			t.Difficulty = cell
		case "input_format":
			t.InputFormat = cell
		case "output_format":
			t.OutputFormat = cell
		case "rules":
			t.Rules = list(cell)
		case "max_tokens":
			t.MaxTokens, *wrong = maxTokens(cell)
		default:
			t.Options = append(t.Options, cell)
		}
	}
	t.Options = withoutEmptyEnd(t.Options)
	t.Answers = readAnswers(answer, t.Options)
	return t
}

// maxTokens reads a cell that holds a number or nothing.
func maxTokens(cell string) (int, error) {
	if cell == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(cell)
	if err != nil {
		return 0, fmt.Errorf("max_tokens %q is not a whole number", clip(cell))
	}
	return n, nil
}

// withoutEmptyEnd returns options without the empty ones at the end, which
// belong to records with fewer options than the header.
func withoutEmptyEnd(options []string) []string {
	return options[:len(options)-emptyEnd(options)]
}

// list returns the items of a cell.
func list(cell string) []string {
	if cell == "" {
		return nil
	}
	items := strings.Split(cell, listMark)
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// readAnswers reads a cell that is an option or a list of accepted answers.
func readAnswers(cell string, options []string) []string {
	if placeOfSame(options, cell) >= 0 {
		return []string{cell}
	}
	return list(cell)
}
