package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// packLine is one line of the arena's own format. Its member names are published.
type packLine struct {
	Description  string       `json:"description"`
	Answer       accepted     `json:"answer"` // nil: left out
	Options      []scalar     `json:"options"`
	InputFormat  string       `json:"input_format"`
	OutputFormat string       `json:"output_format"`
	Topic        string       `json:"topic"`
	Difficulty   scalar       `json:"difficulty"`
	MaxTokens    int          `json:"max_tokens"`
	Rules        []string     `json:"rules"`
	Cases        []arena.Case `json:"cases"`
}

// parseJSONL reads the arena's own format. An empty list of answers makes an
// open question, such as the motion of a debate, which only external judges can
// judge.
func parseJSONL(rows iter.Seq[row]) iter.Seq[entry] {
	return objects(rows, func(line []byte) (entry, error) {
		var l packLine
		if err := strictjson.Unmarshal(line, &l); err != nil {
			return entry{}, memberError(line, err, packMembers())
		}
		return entry{
			open: l.Answer != nil && len(l.Answer) == 0,
			via:  ownMapping(l.Options != nil, l.Topic != ""),
			task: arena.Task{
				Description: l.Description, Answers: texts(l.Answer), Options: texts(l.Options),
				InputFormat: l.InputFormat, OutputFormat: l.OutputFormat, Topic: l.Topic,
				Difficulty: string(l.Difficulty), MaxTokens: l.MaxTokens, Rules: l.Rules, Cases: l.Cases,
			},
		}, nil
	})
}

// ownMapping returns the mapping of the arena's own names.
func ownMapping(options, topic bool) mapping {
	m := mapping{"description": {"description"}, "answer": {"answer"}}
	if options {
		m["options"] = []string{"options"}
	}
	if topic {
		m["topic"] = []string{"topic"}
	}
	return m
}

// packMembers lists the members of a line.
func packMembers() []string { return append(members(), "cases") }

// memberError adds the known members to an error about an unknown one.
func memberError(line []byte, err error, known []string) error {
	var object map[string]json.RawMessage
	if strictjson.Unmarshal(line, &object) != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, name) {
			return unknownName("member", name, known)
		}
	}
	return err
}

// row is one object of a file: one line of JSON Lines, one element of a list,
// one record of a table.
type row struct {
	line   int // 1-based, on which it starts
	object []byte
	empty  bool // a record of a table without any text
	err    error
}

// jsonRows returns the objects of a file: the elements of one JSON list, or
// else its lines without blank ones.
func jsonRows(data []byte) iter.Seq[row] {
	if list := bytes.TrimSpace(data); bytes.HasPrefix(list, []byte("[")) {
		var all json.RawMessage
		if strictjson.Unmarshal(list, &all) == nil && startsObject(list[1:]) {
			return listRows(data, list)
		}
	}
	return func(yield func(row) bool) {
		for n, line := range lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(row{line: n, object: line}) {
				return
			}
		}
	}
}

func startsObject(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
}

// listRows returns the elements of list, valid JSON, which is a part of data.
func listRows(data, list []byte) iter.Seq[row] {
	return func(yield func(row) bool) {
		line, at := 1+bytes.Count(data[:max(0, bytes.Index(data, list))], []byte("\n")), 0
		for start, element := range elements(list) {
			line += bytes.Count(list[at:start], []byte("\n"))
			at = start
			if !yield(row{line: line, object: element}) {
				return
			}
		}
	}
}

// objects reads an entry from each row.
func objects(rows iter.Seq[row], read func(object []byte) (entry, error)) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for r := range rows {
			e, err := entry{}, r.err
			switch {
			case err != nil:
			case r.empty:
				e.empty = true
			case !bytes.HasPrefix(r.object, []byte("{")):
				err = errors.New("not a JSON object")
			default:
				e, err = read(r.object)
			}
			if e.line, e.err = r.line, err; !yield(e) {
				return
			}
		}
	}
}

// scalar is a string, or the text of a number.
type scalar string

// UnmarshalJSON reads a string or a number.
func (s *scalar) UnmarshalJSON(b []byte) error {
	switch {
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(s))
	case b[0] == '-' || b[0] >= '0' && b[0] <= '9':
		*s = scalar(b)
		return nil
	}
	return fmt.Errorf("%s is neither a string nor a number", clip(b))
}

// accepted is one answer or a list of them.
type accepted []scalar

// UnmarshalJSON reads a string, a number, or a list of these.
func (a *accepted) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]scalar)(a))
	}
	*a = make(accepted, 1)
	return (*a)[0].UnmarshalJSON(b)
}

func texts(scalars []scalar) []string {
	if len(scalars) == 0 {
		return nil
	}
	out := make([]string, len(scalars))
	for i, s := range scalars {
		out[i] = string(s)
	}
	return out
}
