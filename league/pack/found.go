package pack

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena/strictjson"
)

// The formats of well-known question sets.

// parseMMLU reads MMLU in its two forms: a table without a header, with the
// question, its options and the letter of the right one; or objects with
// question, choices (or options) and answer, a letter or an index from 0.
func parseMMLU(data []byte) (iter.Seq[entry], error) {
	if isJSON(data) {
		return objects(jsonRows(data), readMMLU), nil
	}
	first, records, err := csvTable(data)
	if err != nil {
		return nil, err
	}
	return func(yield func(entry) bool) {
		if !yield(mmluRecord(record{line: 1, cells: first})) {
			return
		}
		for r := range records {
			if !yield(mmluRecord(r)) {
				return
			}
		}
	}, nil
}

func mmluRecord(r record) entry {
	e := entry{line: r.line, err: r.err, pointing: byLabel, mends: true}
	if e.err != nil {
		return e
	}
	last := len(r.cells) - 1
	if last < 3 {
		e.err = errors.New("a record is a question, two or more options, and the letter of the right one")
		return e
	}
	e.task.Description = strings.TrimSpace(r.cells[0])
	e.task.Options = r.cells[1:last:last]
	e.task.Answers = []string{strings.TrimSpace(r.cells[last])}
	return e
}

func readMMLU(object []byte) (entry, error) {
	values, err := readObject(object)
	if err != nil {
		return entry{}, err
	}
	m := mapping{"description": {"question"}, "options": {"choices"}, "answer": {"answer"}, "topic": {"subject"}}
	if values["choices"] == nil {
		m["options"] = []string{"options"}
	}
	if values["subject"] == nil {
		m["topic"] = []string{"category"}
	}
	e, err := m.entry(values)
	e.pointing = byLabel
	if answer := values["answer"]; len(answer) > 0 && answer[0] >= '0' && answer[0] <= '9' {
		e.pointing = byIndex
	}
	return e, err
}

// readARC reads an object of the AI2 Reasoning Challenge in its original form
// (question.stem, question.choices, answerKey) or that of its tables
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
	return m.entry(values)
}

// readAQuA reads an object of AQuA-RAT: question, options such as "A)21", and
// the letter of the right one in correct.
func readAQuA(object []byte) (entry, error) {
	values, err := readObject(object)
	if err != nil {
		return entry{}, err
	}
	e, err := mapping{"description": {"question"}, "options": {"options"}, "answer": {"correct"}}.entry(values)
	e.pointing = byLabel
	return e, err
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
		e := entry{mends: true}
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
