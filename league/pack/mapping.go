package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// mapping names the columns or members of a file that hold the parts of a task.
// Nested members are named by a path: question.stem.
type mapping map[string][]string

// targets lists what a column or member can be mapped to.
func targets() []string {
	return []string{
		"description", "context", "options", "answer", "answer_index", "answer_number", "topic", "difficulty", "input_format", "output_format", "max_tokens", "rules",
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
		if target != "options" && target != "context" && len(m[target]) > 1 {
			return nil, fmt.Errorf("%s has %d columns; only context and options may have several", target, len(m[target]))
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

// columns returns all columns of a mapping.
func (m mapping) columns() []string {
	var columns []string
	for _, target := range targets() {
		columns = append(columns, m[target]...)
	}
	return columns
}

// answerColumn returns the column of the answer, "" if there is none.
func (m mapping) answerColumn() string {
	for _, target := range []string{"answer", "answer_index", "answer_number"} {
		if len(m[target]) > 0 {
			return m[target][0]
		}
	}
	return ""
}

// suggest returns the mapping that the names of a file suggest, nil if they
// suggest none. The error is about columns that look like options and have no
// clear order.
func suggest(names []string) (mapping, error) {
	m := mapping{}
	for _, target := range targets() {
		for _, word := range synonyms()[target] {
			for _, n := range names {
				if plainName(n) != word || slices.Contains(m.columns(), n) {
					continue
				}
				if m[target] == nil || target == "context" {
					m[target] = append(m[target], n)
				}
			}
		}
	}
	if m["description"] == nil || m["answer"] == nil {
		return nil, nil
	}
	slices.SortFunc(m["context"], func(a, b string) int { return slices.Index(names, a) - slices.Index(names, b) })
	if m["options"] == nil {
		if i := slices.IndexFunc(names, func(n string) bool { return plainName(n) == "answers" }); i >= 0 && m["answer"][0] != names[i] {
			m["options"] = []string{names[i]} // the answer is elsewhere
		}
	}
	if m["options"] == nil {
		options, err := optionNames(names, m)
		if err != nil {
			return nil, err
		}
		if options != nil {
			m["options"] = options
		}
	}
	if _, err := readMapping(m.String()); err != nil {
		return nil, nil //nolint:nilerr // such names suggest no mapping
	}
	return m, nil
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
	e := entry{mends: true, via: m, unused: m.unused(values)}
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
	if err == nil {
		err = m.context(values, t)
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

// context puts the texts that a question is about in front of it. A question
// that has one of them in itself keeps its text.
func (m mapping) context(values map[string]json.RawMessage, t *arena.Task) error {
	var parts []string
	for _, column := range m["context"] {
		raw, err := lookUp(values, column)
		if err != nil || raw == nil {
			if err != nil {
				return err
			}
			continue
		}
		lines := []string{""}
		if raw[0] == '[' { // paragraphs, or the turns of a dialogue
			lines, err = textsOf(raw)
		} else {
			lines[0], err = textOf(raw)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", clip(column), err)
		}
		if text := strings.Join(lines, "\n"); text != "" && !strings.Contains(t.Description, text) {
			parts = append(parts, text)
		}
	}
	if t.Description != "" {
		t.Description = strings.Join(append(parts, t.Description), "\n\n")
	}
	return nil
}

// unused returns the members that no part of a task holds.
func (m mapping) unused(values map[string]json.RawMessage) []string {
	columns := m.columns()
	var unused []string
	for name, raw := range values {
		if slices.Contains(columns, name) {
			continue
		}
		var inner mapping // paths into the member
		for _, column := range columns {
			if rest, ok := strings.CutPrefix(column, name+"."); ok {
				if inner == nil {
					inner = mapping{}
				}
				inner["options"] = append(inner["options"], rest)
			}
		}
		if inner == nil {
			unused = append(unused, name)
			continue
		}
		if object, err := readObject(raw); err == nil {
			for _, rest := range inner.unused(object) {
				unused = append(unused, name+"."+rest)
			}
		}
	}
	slices.Sort(unused)
	return unused
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

// list returns the items of a mapped member, which is a list or a text with "|"
// between the items.
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
	if raw[0] == '{' {
		return textsOfObject(raw)
	}
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

// textsOfObject returns the accepted answers in the forms that question sets
// use: an object with text, one or several, or with value and aliases.
func textsOfObject(raw json.RawMessage) ([]string, error) {
	object, err := readObject(raw)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range []string{"text", "value", "aliases"} {
		if value := object[name]; value != nil && value[0] != '{' {
			texts, err := textsOf(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			for _, t := range texts {
				if !slices.Contains(out, t) {
					out = append(out, t)
				}
			}
		}
	}
	if out == nil {
		return nil, errors.New("an object without text or value")
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
		e.textual = startsText(raw)
		return nil
	}
	answerIsOption := m["answer"] != nil && slices.Contains(columns, m["answer"][0])
	e.textual = true
	for _, column := range columns {
		raw, err := lookUp(values, column)
		if err != nil {
			return err
		}
		texts := []string{""}
		switch {
		case raw == nil:
		case raw[0] == '[' || answerIsOption && len(columns) == 2 && column != m["answer"][0]: // all wrong ones in one column
			texts, err = textsOf(raw)
		default:
			texts[0], err = textOf(raw)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", clip(column), err)
		}
		e.textual = e.textual && startsText(raw)
		e.task.Options = append(e.task.Options, texts...)
	}
	e.task.Options = withoutEmptyEnd(e.task.Options)
	if answerIsOption {
		diceOf(e.task.Description).shuffle(e.task.Options)
	} else {
		e.columns = columns
	}
	return nil
}

// startsText reports whether a value is a string or a list that begins with one.
func startsText(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, "[ \t\r\n"), []byte(`"`))
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
		raw, _ := lookUp(values, m["answer"][0])
		e.counted = e.textual && len(raw) > 0 && raw[0] >= '0' && raw[0] <= '9'
		words := wordsOf(m["answer"][0])
		e.indexed = slices.Contains([]string{"index", "idx"}, words[max(0, len(words)-1)])
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
	labels = slices.Collect(maps.Keys(values))
	sortNaturally(labels)
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
			next := row{line: r.line, err: r.err, empty: r.empty}
			if r.err == nil && !r.empty {
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
		header = namesOf(header)
		if err := m.check(header); err != nil {
			return nil, err
		}
		optional := func(column int) bool {
			target := m.targetOf(header[column])
			return target != "description" && target != "options" && !strings.HasPrefix(target, "answer")
		}
		return parseMapped(m)(csvRows(header, wholeRecords(header, records, optional))), nil
	}
}

// targetOf returns the part of a task that a column holds, "" if none.
func (m mapping) targetOf(column string) string {
	for _, target := range targets() {
		if slices.Contains(m[target], column) {
			return target
		}
	}
	return ""
}

// namesOf returns the names of a table's columns. One without a name is named
// by its place.
func namesOf(header []string) []string {
	out := make([]string, len(header))
	for i, c := range header {
		if out[i] = strings.TrimSpace(c); out[i] == "" {
			out[i] = fmt.Sprintf("column %d", i+1)
		}
	}
	return out
}

// errMap is the error of a mapping that cannot be read.
func errMap(err error) error {
	return arena.Invalid("map", "%v", err)
}
