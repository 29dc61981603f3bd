package pack

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// mapping names the columns or members of a file that hold the parts of a task.
// Nested members are named by a path: question.stem.
type mapping map[string][]string

// targets lists what a column or member can be mapped to.
func targets() []string {
	return []string{
		"description", "options", "answer", "answer_index", "answer_number", "topic", "difficulty", "input_format", "output_format", "max_tokens", "rules",
	}
}

// readMapping reads description=question,options=a+b+c,answer=label. An empty
// text is no mapping.
func readMapping(text string) (mapping, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	m := mapping{}
	for part := range strings.SplitSeq(text, ",") {
		target, columns, found := strings.Cut(part, "=")
		target = strings.TrimSpace(target)
		switch {
		case !found:
			return nil, fmt.Errorf("%q is not of the form description=COLUMN", clip(part))
		case !slices.Contains(targets(), target):
			return nil, unknownName("target", target, targets())
		case m[target] != nil:
			return nil, fmt.Errorf("%s is mapped twice", target)
		}
		for column := range strings.SplitSeq(columns, "+") {
			if column = strings.TrimSpace(column); column == "" {
				return nil, fmt.Errorf("%s has no column", target)
			}
			m[target] = append(m[target], column)
		}
		if target != "options" && len(m[target]) > 1 {
			return nil, fmt.Errorf("%s has %d columns; only options may have several", target, len(m[target]))
		}
	}
	answers := 0
	for _, target := range []string{"answer", "answer_index", "answer_number"} {
		answers += len(m[target])
	}
	switch {
	case m["description"] == nil:
		return nil, errors.New("description is missing")
	case answers != 1:
		return nil, errors.New("one of answer, answer_index and answer_number is needed")
	case m["answer"] == nil && m["options"] == nil:
		return nil, errors.New("an index needs options")
	}
	return m, nil
}

// String returns the text that readMapping reads.
func (m mapping) String() string {
	var parts []string
	for _, target := range targets() {
		if columns := m[target]; len(columns) > 0 {
			parts = append(parts, target+"="+strings.Join(columns, "+"))
		}
	}
	return strings.Join(parts, ",")
}

// check reports a column that a table does not have.
func (m mapping) check(columns []string) error {
	for _, target := range targets() {
		for _, column := range m[target] {
			if top, _, _ := strings.Cut(column, "."); !slices.Contains(columns, column) && !slices.Contains(columns, top) {
				return fmt.Errorf("map: %w", unknownName("column", column, columns))
			}
			if first := slices.Index(columns, column); first >= 0 && slices.Contains(columns[first+1:], column) {
				return fmt.Errorf("map: two columns have the name %q", clip(column))
			}
		}
	}
	return nil
}

// suggest returns the mapping that the names of a file suggest, nil if they
// suggest none.
func suggest(names []string) mapping {
	m := mapping{}
	for target, words := range synonyms() {
		for _, word := range words {
			if i := slices.IndexFunc(names, func(n string) bool { return plainName(n) == word }); i >= 0 && m[target] == nil {
				m[target] = []string{names[i]}
			}
		}
	}
	if m["description"] == nil || m["answer"] == nil {
		return nil
	}
	if m["options"] == nil {
		m["options"] = optionNames(names, m["answer"][0])
	}
	if _, err := readMapping(m.String()); err != nil {
		return nil
	}
	return m
}

// optionNames returns the columns that hold one option each: A, B, C, or
// option1, option2, or the wrong answers beside the right one.
func optionNames(names []string, answer string) []string {
	for _, prefix := range []string{"", "option", "choice", "answer", "opt", "ans"} {
		for _, first := range []rune{'a', '1', '0'} {
			var columns []string
			for next := first; ; next++ {
				i := slices.IndexFunc(names, func(n string) bool { return plainName(n) == prefix+string(next) })
				if i < 0 {
					break
				}
				columns = append(columns, names[i])
			}
			if len(columns) > 1 {
				return columns
			}
		}
	}
	wrong := []string{"distractor", "incorrectanswer", "incorrect", "wronganswer", "wrong"}
	columns := []string{answer}
	for _, n := range names {
		if slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(plainName(n), w) }) {
			columns = append(columns, n)
		}
	}
	if len(columns) > 1 {
		return columns
	}
	return nil
}

// parseMapped reads entries from rows by a mapping. It ignores members that are
// not mapped.
func parseMapped(m mapping) func(iter.Seq[row]) iter.Seq[entry] {
	return func(rows iter.Seq[row]) iter.Seq[entry] {
		return objects(rows, func(object []byte) (entry, error) {
			values, err := readObject(object)
			if err != nil {
				return entry{}, err
			}
			return m.entry(values)
		})
	}
}

func readObject(object []byte) (map[string]json.RawMessage, error) {
	var values map[string]json.RawMessage
	err := strictjson.Unmarshal(object, &values)
	return values, err
}

// entry reads one entry.
func (m mapping) entry(values map[string]json.RawMessage) (entry, error) {
	e := entry{mends: true}
	for _, needed := range []string{"description", "answer", "answer_index", "answer_number"} {
		if m[needed] == nil {
			continue
		}
		if raw, _ := lookUp(values, m[needed][0]); raw == nil {
			return e, missingName(m[needed][0], values)
		}
	}
	t := &e.task
	for _, text := range []struct {
		target string
		into   *string
	}{
		{"description", &t.Description},
		{"topic", &t.Topic},
		{"difficulty", &t.Difficulty},
		{"input_format", &t.InputFormat},
		{"output_format", &t.OutputFormat},
	} {
		var err error
		if *text.into, err = m.text(values, text.target); err != nil {
			return e, err
		}
	}
	tokens, err := m.text(values, "max_tokens")
	if err == nil {
		t.MaxTokens, err = maxTokens(tokens)
	}
	if err == nil {
		t.Rules, err = m.list(values, "rules")
	}
	if err == nil {
		err = m.options(values, &e)
	}
	if err == nil {
		err = m.answers(values, &e)
	}
	return e, err
}

// missingName describes a member that an object does not have.
func missingName(name string, values map[string]json.RawMessage) error {
	names := slices.Sorted(maps.Keys(values))
	if near := nearest(name, names); near != "" {
		return fmt.Errorf("the member %q is missing; did you mean %q?", clip(name), near)
	}
	return fmt.Errorf("the member %q is missing; there are %s", clip(name), clip(strings.Join(names, ", ")))
}

// lookUp returns the value of a member by its name or path, nil if there is
// none.
func lookUp(values map[string]json.RawMessage, path string) (json.RawMessage, error) {
	if raw, ok := values[path]; ok {
		return raw, nil
	}
	top, rest, deep := strings.Cut(path, ".")
	if !deep || values[top] == nil {
		return nil, nil
	}
	var inner map[string]json.RawMessage
	if err := strictjson.Unmarshal(values[top], &inner); err != nil {
		return nil, fmt.Errorf("%s: %w", clip(top), err)
	}
	return lookUp(inner, rest)
}

// text returns the text of a mapped member, "" if it is not mapped or not
// there.
func (m mapping) text(values map[string]json.RawMessage, target string) (string, error) {
	if m[target] == nil {
		return "", nil
	}
	raw, err := lookUp(values, m[target][0])
	if err != nil || raw == nil {
		return "", err
	}
	text, err := textOf(raw)
	if err != nil {
		return "", fmt.Errorf("%s: %w", clip(m[target][0]), err)
	}
	return text, nil
}

// textOf returns the text of a string, a number or a truth value, without
// spaces around it. The text of null is empty.
func textOf(raw json.RawMessage) (string, error) {
	switch text := string(raw); text {
	case "null":
		return "", nil
	case "true", "false":
		return text, nil
	}
	var s scalar
	err := s.UnmarshalJSON(raw)
	return strings.TrimSpace(string(s)), err
}

// list returns the items of a mapped member: those of a list, or those of a
// text that "|" separates.
func (m mapping) list(values map[string]json.RawMessage, target string) ([]string, error) {
	if m[target] == nil {
		return nil, nil
	}
	raw, err := lookUp(values, m[target][0])
	if err != nil || raw == nil {
		return nil, err
	}
	items, err := textsOf(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clip(m[target][0]), err)
	}
	return items, nil
}

func textsOf(raw json.RawMessage) ([]string, error) {
	if raw[0] != '[' {
		text, err := textOf(raw)
		return list(text), err
	}
	var items []json.RawMessage
	if err := strictjson.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	var out []string
	for _, item := range items {
		text, err := textOf(item)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// options reads the options from one member that holds all or from a member
// for each. If the answer is one of those members, the description determines
// the order of the options, so that the right one does not always have the
// same place.
func (m mapping) options(values map[string]json.RawMessage, e *entry) error {
	columns := m["options"]
	switch len(columns) {
	case 0:
		return nil
	case 1:
		raw, err := lookUp(values, columns[0])
		if err != nil || raw == nil || string(raw) == "null" {
			return err
		}
		if e.task.Options, e.labels, err = choicesOf(raw); err != nil {
			return fmt.Errorf("%s: %w", clip(columns[0]), err)
		}
		return nil
	}
	for _, column := range columns {
		raw, err := lookUp(values, column)
		if err != nil {
			return err
		}
		text := ""
		if raw != nil {
			if text, err = textOf(raw); err != nil {
				return fmt.Errorf("%s: %w", clip(column), err)
			}
		}
		e.task.Options = append(e.task.Options, text)
	}
	e.task.Options = withoutEmptyEnd(e.task.Options)
	if m["answer"] != nil && slices.Contains(columns, m["answer"][0]) {
		diceOf(e.task.Description).shuffle(e.task.Options)
	}
	return nil
}

// answers reads the answer, and how it names an option.
func (m mapping) answers(values map[string]json.RawMessage, e *entry) (err error) {
	switch {
	case m["answer_index"] != nil:
		e.pointing = byIndex
		e.task.Answers, err = m.list(values, "answer_index")
	case m["answer_number"] != nil:
		e.pointing = byNumber
		e.task.Answers, err = m.list(values, "answer_number")
	case slices.Contains(m["options"], m["answer"][0]):
		var text string
		if text, err = m.text(values, "answer"); text != "" {
			e.task.Answers = []string{text}
		}
	default:
		e.task.Answers, err = m.list(values, "answer")
		if len(e.labels) > 0 {
			e.pointing = byLabel
		}
	}
	return err
}

// choicesOf reads options in the forms that question sets use: a
// list of texts, a list of objects with text and label, an object with the
// lists text and label, an object with labels as names, or one text in which
// "|" separates them. labels is nil unless they are named.
func choicesOf(raw json.RawMessage) (options, labels []string, err error) {
	switch raw[0] {
	case '{':
		return choicesOfObject(raw)
	case '[':
		if startsObject(raw[1:]) {
			var items []struct {
				Text  scalar `json:"text"`
				Label scalar `json:"label"`
			}
			err = strictjson.Unmarshal(raw, &items)
			for _, item := range items {
				options, labels = append(options, string(item.Text)), append(labels, string(item.Label))
			}
			return options, labels, err
		}
	}
	if options, err = textsOf(raw); err != nil {
		return nil, nil, err
	}
	options, labels = withoutLabels(options)
	return options, labels, nil
}

func choicesOfObject(raw json.RawMessage) (options, labels []string, err error) {
	values, err := readObject(raw)
	if err != nil {
		return nil, nil, err
	}
	if values["text"] != nil && values["label"] != nil && values["text"][0] == '[' {
		if options, err = textsOf(values["text"]); err != nil {
			return nil, nil, err
		}
		if labels, err = textsOf(values["label"]); err == nil && len(labels) != len(options) {
			err = fmt.Errorf("%d texts and %d labels", len(options), len(labels))
		}
		return options, labels, err
	}
	labels = slices.Sorted(maps.Keys(values))
	for _, label := range labels {
		text, err := textOf(values[label])
		if err != nil {
			return nil, nil, err
		}
		options = append(options, text)
	}
	return options, labels, nil
}

// withoutLabels splits options such as "A)21", "B. 22" or "(C) 23" into texts
// and labels, provided that all of them have labels.
func withoutLabels(options []string) (texts, labels []string) {
	if len(options) < 2 {
		return options, nil
	}
	for i, o := range options {
		letter := string(rune('A' + i))
		text, found := strings.CutPrefix(strings.TrimPrefix(o, "("), letter)
		if !found || len(text) < 2 || text[0] != ')' && text[0] != '.' {
			return options, nil
		}
		texts, labels = append(texts, strings.TrimSpace(text[1:])), append(labels, letter)
	}
	return texts, labels
}

// csvRows returns the records of a table as objects with its first record as
// names.
func csvRows(header []string, records iter.Seq[record]) iter.Seq[row] {
	return func(yield func(row) bool) {
		for r := range records {
			next := row{line: r.line, err: r.err}
			if r.err == nil {
				object := make(map[string]string, len(header))
				for i, name := range header {
					object[name] = r.cells[i]
				}
				next.object, next.err = json.Marshal(object)
			}
			if !yield(next) {
				return
			}
		}
	}
}

// mappedCSV reads a table by a mapping.
func mappedCSV(m mapping) reader {
	return func(data []byte) (iter.Seq[entry], error) {
		header, records, err := csvTable(data)
		if err != nil || header == nil {
			return slices.Values[[]entry](nil), err
		}
		header = trimmed(header)
		if err := m.check(header); err != nil {
			return nil, err
		}
		return parseMapped(m)(csvRows(header, records)), nil
	}
}

func trimmed(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = strings.TrimSpace(c)
	}
	return out
}

// errMap is the error of a mapping that cannot be read.
func errMap(err error) error {
	return arena.Invalid("map", "%v", err)
}
