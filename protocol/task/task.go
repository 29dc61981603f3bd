package task

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

const (
	version = "1.0" // AAP

	formatString = "string" // default of input_format and output_format
	formatJSON   = "json"   // output_format that lets an answer be an object or array
)

// request is the body of the task POST: the members of AAP, "Request
// format", in its order, then the arena's additions.
type request struct {
	Version          string   `json:"version"`
	League           string   `json:"league"`
	MatchID          string   `json:"match_id"`
	Round            int      `json:"round"`
	TotalRounds      *int     `json:"total_rounds"` // null: open end
	Task             task     `json:"task"`
	TimeLimitSeconds float64  `json:"time_limit_seconds"`
	MaxTokens        *int     `json:"max_tokens"` // null: no limit
	Rules            []string `json:"rules"`
	OpponentCount    int      `json:"opponent_count"`

	TaskID   string    `json:"task_id"`
	Attempt  int       `json:"attempt"`
	Deadline string    `json:"deadline"`
	Previous *previous `json:"previous,omitempty"` // absent in the first round
}

type task struct {
	Description  string   `json:"description"`
	InputFormat  string   `json:"input_format"`
	OutputFormat string   `json:"output_format"`
	Options      []string `json:"options,omitempty"`

	Observation json.RawMessage `json:"observation,omitempty"` // an object, only in games
}

type previous struct {
	Outcome    arena.Outcome `json:"outcome"`
	Correct    string        `json:"correct"`
	Points     arena.Points  `json:"points"`
	MeasuredMS int64         `json:"measured_ms"`
	Receipt    *receipt      `json:"receipt,omitempty"` // only of an answer
	Error      string        `json:"error,omitempty"`   // why the first reply to this task was refused
}

// receipt has the members of that in a record.
type receipt struct {
	SHA256    string `json:"sha256"`
	ArrivedAt string `json:"arrived_at"`
}

// Encode makes the body of the task POST. time_limit_seconds is the
// round's: what is left for a second attempt follows from deadline.
func Encode(a arena.Attempt) ([]byte, error) {
	r := request{
		Version: version, League: a.League, MatchID: a.MatchID, Round: a.Round,
		Task: task{
			Description:  a.Task.Description,
			InputFormat:  cmp.Or(a.Task.InputFormat, formatString),
			OutputFormat: cmp.Or(a.Task.OutputFormat, formatString),
			Options:      a.Task.Options,
			Observation:  a.Task.Observation,
		},
		TimeLimitSeconds: cmp.Or(a.RoundLimit, a.TimeLimit).Seconds(),
		Rules:            []string{}, // [] and not null when there are none
		OpponentCount:    a.Opponents,
		TaskID:           a.Task.ID, Attempt: a.Number, Deadline: a.Deadline.UTC().Format(arena.TimeFormat),
	}
	if a.TotalRounds > 0 {
		r.TotalRounds = &a.TotalRounds
	}
	if limit := cmp.Or(a.Task.MaxTokens, a.MaxTokens); limit > 0 {
		r.MaxTokens = &limit
	}
	for _, rule := range slices.Concat(a.Rules, a.Task.Rules) {
		if !slices.Contains(r.Rules, rule) { // the caller may have joined them already
			r.Rules = append(r.Rules, rule)
		}
	}
	if p := a.Previous; p != nil {
		r.Previous = &previous{Outcome: p.Outcome, Correct: p.Correct, Points: p.Points, MeasuredMS: p.Measured.Milliseconds(), Error: p.Error}
		if p.Receipt != nil {
			r.Previous.Receipt = &receipt{p.Receipt.SHA256, p.Receipt.ArrivedAt.UTC().Format(arena.TimeFormat)}
		}
	}
	body, err := encode(r)
	if err == nil && a.Edit != nil {
		body = a.Edit(body)
	}
	return body, err
}

func encode(r request) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a question about a < b reads as it was written
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Words returns a task as text for an agent that may not read the JSON: where it
// plays, why its last move was refused, the question and the options.
func Words(a arena.Attempt) string {
	var b strings.Builder
	if a.Judging {
		b.WriteString("You are a judge of Agora Arena.\n\n")
	} else {
		fmt.Fprintf(&b, "You play in a match of Agora Arena, league %s, round %d.\n\n", a.League, a.Round)
	}
	if a.Previous != nil && a.Previous.Error != "" {
		fmt.Fprintf(&b, "Your last answer was refused: %s. Answer once more.\n\n", a.Previous.Error)
	}
	b.WriteString(a.Task.Description + "\n")
	for _, option := range a.Task.Options {
		b.WriteString("- " + option + "\n")
	}
	if len(a.Task.Options) > 0 {
		b.WriteString("\nAnswer with one of these options, word for word.")
	}
	return b.String()
}

// Renumber returns a body that Encode made with another number of the attempt.
func Renumber(body []byte, attempt int) ([]byte, error) {
	var r request
	if err := strictjson.UnmarshalOpen(body, &r); err != nil {
		return nil, fmt.Errorf("renumber: %w", err)
	}
	r.Attempt = attempt
	return encode(r)
}

// reply is the body of a reply: AAP, "Response format".
type reply struct {
	Answer        json.RawMessage `json:"answer"`
	Confidence    json.RawMessage `json:"confidence"`
	Reasoning     json.RawMessage `json:"reasoning"`
	SubagentsUsed json.RawMessage `json:"subagents_used"`
	ToolsUsed     json.RawMessage `json:"tools_used"`
	Tokens        json.RawMessage `json:"tokens"`
	LatencyMS     json.RawMessage `json:"latency_ms"`
}

// ErrNoAnswer and ErrBadAnswer distinguish a reply without an answer, and with one of
// the wrong kind, from one that cannot be read.
var (
	ErrNoAnswer  = errors.New("the member answer is missing or null")
	ErrBadAnswer = errors.New("the answer is an object or an array, but the task asks for text")
)

// maxWholeDigits is the length up to which a whole number is written without an
// exponent, as JavaScript does.
const maxWholeDigits = 21

// DecodeAnswer reads a reply strictly: duplicate members and other spellings of
// known names are refused, unknown members are passed over (threat R5). A claim
// beside the answer that is not what it must be is dropped; note says which, for the
// request log.
func DecodeAnswer(body []byte, outputFormat string) (answer *arena.AnswerBody, note string, err error) {
	var r reply
	err = strictjson.UnmarshalOpen(body, &r,
		"answer", "confidence", "reasoning", "subagents_used", "tools_used", "tokens", "latency_ms")
	if err != nil {
		return nil, "", fmt.Errorf("the body is not the JSON of a reply: %w", err)
	}
	text, err := answerText(r.Answer, outputFormat)
	if err != nil {
		return nil, "", err
	}
	answer = &arena.AnswerBody{Answer: text}
	var c claims
	var tokens *strictjson.Whole
	claim(&c, r.Confidence, "confidence must be a number of 0 to 1", &answer.Confidence, func(n *float64) bool { return *n >= 0 && *n <= 1 })
	claim(&c, r.Reasoning, "reasoning must be a text", &answer.Reasoning, nil)
	claim(&c, r.SubagentsUsed, "subagents_used must be a list of texts", &answer.SubagentsUsed, nil)
	claim(&c, r.ToolsUsed, "tools_used must be a list of texts", &answer.ToolsUsed, nil)
	claim(&c, r.Tokens, "tokens must be a whole number of 0 or more", &tokens, func(n *strictjson.Whole) bool { return *n >= 0 })
	claim(&c, r.LatencyMS, "latency_ms must be a number of 0 or more", &answer.LatencyMS, func(n *float64) bool { return *n >= 0 })
	answer.Tokens = (*int64)(tokens)
	if len(c) > 0 {
		note = "the answer counts; dropped: " + strings.Join(c, ", ")
	}
	return answer, note, nil
}

// claims are what is wrong with the claims of a reply.
type claims []string

// claim decodes what a reply states beside its answer into to, which stays as it is if
// the reply does not state it or if it must be something else.
func claim[T any](wrong *claims, raw json.RawMessage, must string, to *T, fits func(T) bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	var v T
	if strictjson.Unmarshal(raw, &v) != nil || fits != nil && !fits(v) {
		*wrong = append(*wrong, must)
		return
	}
	*to = v
}

// answerText returns the text to judge: the text of a string, the literal of a
// number or boolean, and, when the task asks for JSON, an object or array in its
// compact form. A whole number is written without decimals and exponent, because
// many languages encode 5 as 5.0.
func answerText(raw json.RawMessage, outputFormat string) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", ErrNoAnswer
	}
	switch raw[0] {
	case '"':
		s, err := strictjson.Text(raw)
		if err != nil {
			return "", fmt.Errorf("answer: %w", err)
		}
		return s, nil
	case '{', '[':
		if outputFormat != formatJSON {
			return "", ErrBadAnswer
		}
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return "", fmt.Errorf("answer: %w", err)
		}
		return b.String(), nil
	case 't', 'f':
		return string(raw), nil
	default:
		if _, err := strconv.ParseFloat(string(raw), 64); err != nil {
			return "", errors.New("answer: the number is out of range")
		}
		if n, ok := new(big.Rat).SetString(string(raw)); ok && n.IsInt() && len(n.Num().String()) <= maxWholeDigits {
			return n.Num().String(), nil
		}
		return string(raw), nil
	}
}
