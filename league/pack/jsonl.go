package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// packLine is one line of the arena's own format, as the public contract
// names its members.
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
// open question, such as the motion of a debate: only judges that are asked
// can judge it.
func parseJSONL(data []byte) iter.Seq[entry] {
	return objects(data, func(line []byte) (entry, error) {
		var l packLine
		if err := strictjson.Unmarshal(line, &l); err != nil {
			return entry{}, err
		}
		return entry{
			open: l.Answer != nil && len(l.Answer) == 0,
			task: arena.Task{
				Description: l.Description, Answers: texts(l.Answer), Options: texts(l.Options),
				InputFormat: l.InputFormat, OutputFormat: l.OutputFormat, Topic: l.Topic,
				Difficulty: string(l.Difficulty), MaxTokens: l.MaxTokens, Rules: l.Rules, Cases: l.Cases,
			},
		}, nil
	})
}

// objects reads one JSON object per line and passes over blank lines.
func objects(data []byte, read func(line []byte) (entry, error)) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for n, line := range lines(data) {
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			e, err := entry{}, errors.New("not a JSON object")
			if line[0] == '{' {
				e, err = read(line)
			}
			if e.line, e.err = n, err; !yield(e) {
				return
			}
		}
	}
}

// scalar is a string, or a number taken as its text.
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
