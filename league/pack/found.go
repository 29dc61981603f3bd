package pack

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/agora-arena/arena/internal/strictjson"
)

// The formats of well-known question sets.

// parseMMLU reads MMLU in its two forms: a table without a header, with the
// question, its options and the letter of the right one; or objects with
// question, choices (or options) and answer, a letter or an index from 0.
func parseMMLU(defined bool) reader {
	return func(data []byte) (iter.Seq[entry], error) {
		if isJSON(data) {
			return objects(jsonRows(data), readMMLU(defined)), nil
		}
		first, records, err := csvTable(data)
		if err != nil || first == nil {
			return slices.Values[[]entry](nil), err
		}
		return func(yield func(entry) bool) {
			if !yield(mmluRecord(record{line: 1, cells: first}, len(first))) {
				return
			}
			for r := range records {
				if !yield(mmluRecord(r, len(first))) {
					return
				}
			}
		}, nil
	}
}

func mmluRecord(r record, cells int) entry {
	e := entry{line: r.line, empty: r.empty, err: r.err, pointing: byLabel, mends: true}
	if e.err != nil || e.empty {
		return e
	}
	if surplus := len(r.cells) - cells; surplus > 0 && emptyEnd(r.cells) >= surplus {
		r.cells = r.cells[:cells]
	}
	last := len(r.cells) - 1
	switch {
	case last+1 != cells:
		e.err = fmt.Errorf("%d cells, the first record has %d", last+1, cells)
		return e
	case last < 3:
		e.err = errors.New("a record is a question, two or more options, and the letter of the right one")
		return e
	}
	e.task.Description = strings.TrimSpace(r.cells[0])
	e.task.Options = r.cells[1:last:last]
	e.task.Answers = []string{strings.TrimSpace(r.cells[last])}
	return e
}

// readMMLU reads an object of MMLU. The format defines that answers are letters
// or indexes from 0. Objects that only look like it may mean texts or indexes from
// 1: the whole file decides.
func readMMLU(defined bool) func(object []byte) (entry, error) {
	return func(object []byte) (entry, error) {
		values, err := readObject(object)
		if err != nil {
			return entry{}, err
		}
		m := mapping{"description": {"question"}, "options": {"choices"}, "answer": {"answer"}}
		if values["choices"] == nil {
			m["options"] = []string{"options"}
		}
		m.add(values, "topic", "subject", "category")
		m.addContext(values)
		e, err := m.entry(values)
		if answer := values["answer"]; defined && len(answer) > 0 {
			e.pointing = byLabel
			if answer[0] >= '0' && answer[0] <= '9' {
				e.pointing = byIndex
			}
		}
		return e, err
	}
}

// add maps a part to the first of the members that the object has.
func (m mapping) add(values map[string]json.RawMessage, target string, members ...string) {
	for _, name := range members {
		if values[name] != nil && m[target] == nil {
			m[target] = []string{name}
		}
	}
}

// addContext maps the members that hold what a question is about.
func (m mapping) addContext(values map[string]json.RawMessage) {
	for _, word := range synonyms()["context"] {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if plainName(name) == word && !slices.Contains(m.columns(), name) {
				m["context"] = append(m["context"], name)
			}
		}
	}
}

// readARC reads an object of the AI2 Reasoning Challenge in its original form
// (question.stem, question.choices, answerKey) or in the form of its tables
// (question, choices, answerKey).
func readARC(object []byte) (entry, error) {
	values, err := readObject(object)
	if err != nil {
		return entry{}, err
	}
	m := mapping{"description": {"question"}, "options": {"choices"}, "answer": {"answerKey"}}
	if strings.HasPrefix(string(values["question"]), "{") {
		m["description"], m["options"] = []string{"question.stem"}, []string{"question.choices"}
	}
	m.addContext(values)
	return m.labeled(values)
}

// labeled reads an entry of a format that defines that its answer is a label, if
// its options have labels.
func (m mapping) labeled(values map[string]json.RawMessage) (entry, error) {
	e, err := m.entry(values)
	if len(e.labels) > 0 {
		e.pointing = byLabel
	}
	return e, err
}

// readAQuA reads an object of AQuA-RAT: question, options such as "A)21", and
// the letter of the right one in correct.
func readAQuA(object []byte) (entry, error) {
	values, err := readObject(object)
	if err != nil {
		return entry{}, err
	}
	m := mapping{"description": {"question"}, "options": {"options"}, "answer": {"correct"}}
	m.addContext(values)
	return m.labeled(values)
}

// parseBIGBench reads a task of BIG-bench: an object with examples, each an
// input with a target (one text or several) or with target_scores, in which
// the options with the highest score are right. The input determines the order
// of the options.
func parseBIGBench(data []byte) (iter.Seq[entry], error) {
	file, err := readObject(data)
	if err != nil {
		return nil, err
	}
	list := file["examples"]
	if len(list) == 0 || list[0] != '[' {
		return nil, errors.New("the list examples is missing; a task with subtasks keeps them in files of their own")
	}
	prefix, topic := "", ""
	for name, into := range map[string]*string{"task_prefix": &prefix, "name": &topic} {
		if raw := file[name]; len(raw) > 0 {
			if *into, err = textOf(raw); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return objects(listRows(data, list), func(object []byte) (entry, error) {
		values, err := readObject(object)
		if err != nil {
			return entry{}, err
		}
		m := mapping{"description": {"input"}, "answer": {"target"}}
		e := entry{}
		if values["target_scores"] != nil {
			m = mapping{"description": {"input"}, "options": {"target_scores"}, "answer": {"target_scores"}}
			e = entry{mends: true, via: m, unused: m.unused(values)}
		}
		if values["target_scores"] == nil {
			e, err = m.entry(values)
		} else if e.task.Description, err = m.text(values, "description"); err == nil {
			err = e.scores(values["target_scores"])
		}
		if prefix != "" && e.task.Description != "" {
			e.task.Description = prefix + "\n" + e.task.Description
		}
		e.task.Topic = topic
		return e, err
	}), nil
}

// scores reads options with their scores.
func (e *entry) scores(raw json.RawMessage) error {
	var scores map[string]float64
	if err := strictjson.Unmarshal(raw, &scores); err != nil {
		return fmt.Errorf("target_scores: %w", err)
	}
	if len(scores) == 0 {
		return errors.New("target_scores is empty")
	}
	e.task.Options = slices.Sorted(maps.Keys(scores))
	highest := slices.Max(slices.Collect(maps.Values(scores)))
	for _, o := range e.task.Options {
		if scores[o] == highest {
			e.task.Answers = append(e.task.Answers, strings.TrimSpace(o))
		}
	}
	if len(e.task.Answers) == len(scores) {
		return errors.New("every option has the same score")
	}
	diceOf(e.task.Description).shuffle(e.task.Options)
	return nil
}
