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
	return func(yield func(entry) bool) {
		for r := range records {
			e := entry{line: r.line, err: r.err}
			if e.err == nil {
				e.task = readRecord(columns, r.cells, &e.err)
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
	err   error
}

// csvTable returns the first record of a table, nil if there is none, and the
// others. Cells are separated by commas, semicolons or tabs.
func csvTable(data []byte) (first []string, others iter.Seq[record], err error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma = separatorOf(data)
	first, err = r.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("header: %w", plainCSV(err))
	}
	return first, func(yield func(record) bool) {
		for {
			cells, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			next := record{cells: cells}
			if bad, ok := errors.AsType[*csv.ParseError](err); ok {
				next.line, next.err = bad.StartLine, plainCSV(err)
			} else {
				next.line, _ = r.FieldPos(0)
			}
			if !yield(next) {
				return
			}
		}
	}, nil
}

// separatorOf returns the most frequent separator outside of quotes in the first
// record of a table, or a comma if there is none.
func separatorOf(data []byte) rune {
	counts := map[rune]int{}
	quoted := false
scan:
	for _, c := range bytes.TrimLeft(data, "\r\n") {
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
	if errors.Is(err, csv.ErrFieldCount) {
		return errors.New("another number of cells than the header has")
	}
	return err
}

// members lists the columns other than those of single options.
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
	for len(options) > 0 && options[len(options)-1] == "" {
		options = options[:len(options)-1]
	}
	return options
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
