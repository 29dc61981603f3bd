package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"iter"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/scoring"
)

// trivia is one result of the Open Trivia Database.
type trivia struct {
	Type             string   `json:"type"` // "multiple" or "boolean"
	Difficulty       string   `json:"difficulty"`
	Category         string   `json:"category"`
	Question         string   `json:"question"`
	CorrectAnswer    string   `json:"correct_answer"`
	IncorrectAnswers []string `json:"incorrect_answers"`
}

// parseOpenTDB reads a response of the API of the Open Trivia Database, or the
// bare list of its results. It reads at most one result more than most. The
// order of the options is derived from the question, so that the right one is
// not always first.
//
// The API encodes its texts in one of three ways without naming it; see
// decoderOf.
func parseOpenTDB(data []byte, most int) (iter.Seq[entry], error) {
	list, err := openTDBResults(data)
	if err != nil {
		return nil, err
	}
	var entries []entry
	var questions []trivia
	for r := range listRows(data, list) {
		if len(entries) > most {
			break
		}
		e, q := entry{line: r.line}, trivia{}
		if r.object[0] != '{' {
			e.err = errors.New("not a JSON object")
		} else {
			e.err = strictjson.Unmarshal(r.object, &q)
		}
		entries, questions = append(entries, e), append(questions, q)
	}
	decode := decoderOf(questions)
	for i := range entries {
		if e := &entries[i]; e.err == nil {
			questions[i].each(decode)
			e.task, e.err = questions[i].task()
		}
	}
	return slices.Values(entries), nil
}

// openTDBResults returns the list of results, which is valid JSON.
func openTDBResults(data []byte) (json.RawMessage, error) {
	var answer struct {
		Code    int             `json:"response_code"`
		Results json.RawMessage `json:"results"`
	}
	var into any = &answer
	switch trimmed := bytes.TrimSpace(data); {
	case len(trimmed) == 0:
		return nil, nil
	case trimmed[0] == '[':
		into = &answer.Results
	}
	if err := strictjson.Unmarshal(data, into); err != nil {
		return nil, err
	}
	switch {
	case answer.Code != 0:
		return nil, fmt.Errorf("the database answered with response_code %d and no questions", answer.Code)
	case !bytes.HasPrefix(answer.Results, []byte("[")):
		return nil, errors.New("results must be a list")
	}
	return answer.Results, nil
}

// elements returns the elements of a list that is valid JSON, each with the
// offset at which it begins.
func elements(list []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		depth, from, quoted := 0, 0, false
		for i := 0; i < len(list); i++ {
			c := list[i]
			switch {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '[' || c == '{':
				if depth++; depth == 1 {
					from = i + 1
				}
			case depth == 1 && (c == ',' || c == ']'):
				element := bytes.TrimLeft(list[from:i], " \t\r\n")
				if len(element) > 0 && !yield(i-len(element), bytes.TrimRight(element, " \t\r\n")) {
					return
				}
				from = i + 1
			case c == ']' || c == '}':
				depth--
			}
		}
	}
}

// each changes every text of a question.
func (q *trivia) each(change func(string) string) {
	for _, s := range []*string{&q.Type, &q.Difficulty, &q.Category, &q.Question, &q.CorrectAnswer} {
		*s = change(*s)
	}
	for i, s := range q.IncorrectAnswers {
		q.IncorrectAnswers[i] = change(s)
	}
}

// decoderOf returns the decoder for the texts of a file: base64 if every text is
// valid base64, url3986 if every text consists of that encoding's characters and
// at least one is encoded, else HTML.
func decoderOf(questions []trivia) func(string) string {
	isBase64, isURL, escapes := len(questions) > 0, true, 0
	for i := range questions {
		questions[i].each(func(s string) string {
			_, okBase64 := fromBase64(s)
			_, okURL := fromURL(s)
			isBase64, isURL = isBase64 && okBase64, isURL && okURL
			escapes += strings.Count(s, "%")
			return s
		})
	}
	switch {
	case isBase64:
		return func(s string) string { text, _ := fromBase64(s); return text }
	case isURL && escapes > 0:
		return func(s string) string { text, _ := fromURL(s); return text }
	default:
		return html.UnescapeString
	}
}

func fromBase64(s string) (string, bool) {
	text, err := base64.StdEncoding.Strict().DecodeString(s)
	return string(text), err == nil && utf8.Valid(text)
}

func fromURL(s string) (string, bool) {
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("-._~%", rune(c)) {
			return s, false
		}
	}
	text, err := url.PathUnescape(s)
	return text, err == nil && utf8.ValidString(text)
}

func (q *trivia) task() (arena.Task, error) {
	t := arena.Task{
		Description: strings.TrimSpace(q.Question), Answers: []string{q.CorrectAnswer},
		Topic: q.Category, Difficulty: q.Difficulty,
	}
	switch {
	case q.Type == "boolean":
		if len(q.IncorrectAnswers) != 1 || !isTrueFalse(q.CorrectAnswer, q.IncorrectAnswers[0]) {
			return t, errors.New("the answers of a boolean question must be True and False")
		}
		t.Options = []string{"True", "False"}
	case q.Type == "multiple":
		t.Options = append([]string{q.CorrectAnswer}, q.IncorrectAnswers...)
		diceOf(q.Question).shuffle(t.Options)
	default:
		return t, fmt.Errorf("the type %q is neither multiple nor boolean", clip(q.Type))
	}
	return t, nil
}

func isTrueFalse(a, b string) bool {
	return !scoring.Distinct(a, "True") && !scoring.Distinct(b, "False") ||
		!scoring.Distinct(a, "False") && !scoring.Distinct(b, "True")
}

// diceOf returns dice that are seeded by a text.
func diceOf(text string) dice {
	sum := sha256.Sum256([]byte(text))
	return dice{rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))}
}
