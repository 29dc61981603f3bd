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
	"github.com/agora-arena/arena/scoring"
)

// listMark parts the items of a cell that holds a list.
const listMark = "|"

// parseCSV reads a table (RFC 4180) whose first record names the columns:
// members of jsonl, where answer, options and rules hold lists in one cell,
// their items parted by "|". Options may instead have a column each. A cell
// that is empty leaves its member out.
//
// The answer may be the letter of an option, unless an option has that letter
// as its text.
func parseCSV(data []byte) (iter.Seq[entry], error) {
	r := csv.NewReader(bytes.NewReader(data))
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return slices.Values[[]entry](nil), nil // no entries
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", plainCSV(err))
	}
	columns, err := readHeader(header)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return func(yield func(entry) bool) {
		for {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			var e entry
			if bad, ok := errors.AsType[*csv.ParseError](err); ok {
				e.line, e.err = bad.StartLine, plainCSV(err)
			} else {
				e.line, _ = r.FieldPos(0)
				e.task, e.err = readRecord(columns, record)
			}
			if !yield(e) {
				return
			}
		}
	}, nil
}

// plainCSV takes the positions out of an error: the line of the entry is
// reported beside it.
func plainCSV(err error) error {
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		err = bad.Err
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return errors.New("another number of cells than the header has")
	}
	return err
}

// members lists the columns that are no single option.
func members() []string {
	return []string{
		"description", "answer", "options", "topic", "difficulty", "input_format", "output_format", "max_tokens", "rules",
	}
}

// optionColumn gives the place of an option by the name of its column,
// option_1 to option_26 or a to f, from 0.
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
			return nil, fmt.Errorf("the column %q is not known; choose from %s, option_1 to option_26, a to f",
				clip(name), strings.Join(members(), ", "))
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

func readRecord(columns, record []string) (t arena.Task, err error) {
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
			if cell == "" {
				continue
			}
			if t.MaxTokens, err = strconv.Atoi(cell); err != nil {
				return t, fmt.Errorf("max_tokens %q is not a whole number", clip(cell))
			}
		default:
			t.Options = append(t.Options, cell)
		}
	}
	for len(t.Options) > 0 && t.Options[len(t.Options)-1] == "" { // this question has fewer than the header
		t.Options = t.Options[:len(t.Options)-1]
	}
	t.Answers, err = readAnswers(answer, t.Options)
	return t, err
}

// list gives the items of a cell.
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

// readAnswers reads a cell that is an option, the letter of one, or a list of
// accepted answers.
func readAnswers(cell string, options []string) ([]string, error) {
	if slices.ContainsFunc(options, func(o string) bool { return !scoring.Distinct(o, cell) }) {
		return []string{cell}, nil
	}
	if letter := strings.ToUpper(cell); len(options) > 0 && len(letter) == 1 && letter[0] >= 'A' && letter[0] <= 'Z' {
		place := int(letter[0] - 'A')
		if place >= len(options) {
			return nil, fmt.Errorf("the answer is option %s, and there are %d options", letter, len(options))
		}
		return []string{options[place]}, nil
	}
	return list(cell), nil
}
