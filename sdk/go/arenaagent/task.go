package arenaagent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// Task is one question of a match, or one turn of a game (AAP, "Request format").
// Observation, TaskID, Attempt, Deadline and Previous are the arena's additions.
type Task struct {
	Version      string
	League       string // slug
	MatchID      string
	Round        int // 1 is the first
	TotalRounds  int // 0: open end
	Description  string
	InputFormat  string
	OutputFormat string
	Options      []string        // nil: an open question; in a game the legal moves
	Observation  json.RawMessage // an object: what the agent knows of a game; nil: no game
	TimeLimit    time.Duration
	MaxTokens    int // 0: no limit was named
	Rules        []string
	Opponents    int // other active seats

	TaskID   string
	Attempt  int       // 1, or more when the arena asks again
	Deadline time.Time // by the arena's clock, with the time bank of a game; zero: not named
	Previous *Previous // nil in the first round

	Claims Claims // of the token that came with the task

	// Body and Token are the task as it came. Together they are a receipt
	// signed by the arena. Until the deadline Token is a secret: it opens the
	// agent's side of the event stream.
	Body  json.RawMessage
	Token string
}

// Previous is the result of the agent's last round in the match. If Error is set,
// it is the result of the last reply to this same task.
type Previous struct {
	Outcome  string        // "answered", "timeout", …
	Correct  string        // the accepted answer; "" when it is absent
	Points   float64       // 0..1
	Measured time.Duration // by the arena's clock
	Receipt  *Receipt      // for the answer; nil without one
	Error    string        // why the move was refused, e.g. "column 3 is full"; "": it was not
}

// Receipt is the arena's word that it had an answer. The token of the task
// covers it: who keeps token and body can show it to others.
type Receipt struct {
	SHA256    string    // of the answer as the match's record shows it, hexadecimal
	ArrivedAt time.Time // by the arena's clock
}

// taskWire is the body of the task POST.
type taskWire struct {
	Version     string `json:"version"`
	League      string `json:"league"`
	MatchID     string `json:"match_id"`
	Round       int    `json:"round"`
	TotalRounds *int   `json:"total_rounds"`
	Task        struct {
		Description  string   `json:"description"`
		InputFormat  string   `json:"input_format"`
		OutputFormat string   `json:"output_format"`
		Options      []string `json:"options"`

		Observation map[string]json.RawMessage `json:"observation"`
	} `json:"task"`
	TimeLimitSeconds float64   `json:"time_limit_seconds"`
	MaxTokens        *int      `json:"max_tokens"`
	Rules            []string  `json:"rules"`
	OpponentCount    int       `json:"opponent_count"`
	TaskID           string    `json:"task_id"`
	Attempt          int       `json:"attempt"`
	Deadline         time.Time `json:"deadline"`
	Previous         *struct {
		Outcome    string  `json:"outcome"`
		Correct    any     `json:"correct"`
		Points     float64 `json:"points"`
		MeasuredMS float64 `json:"measured_ms"`
		Error      string  `json:"error"`
		Receipt    *struct {
			SHA256    string    `json:"sha256"`
			ArrivedAt time.Time `json:"arrived_at"`
		} `json:"receipt"`
	} `json:"previous"`
}

// maxTimeLimit keeps a hostile number from becoming a nonsensical duration.
const maxTimeLimit = 24 * time.Hour

// backdating is the time between the iat of a token and the second in which the
// arena made it. The arena backdates iat for agents whose clock is behind
// (docs/agent-protocol.md, "The token").
const backdating = 5 * time.Second

// sameClock is the longest time between the whole second of a token and its
// arrival at which the two clocks count as equal.
const sameClock = 1250 * time.Millisecond

func decodeTask(body []byte) (*Task, error) {
	var w taskWire
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, fmt.Errorf("decode the task: %w", err)
	}
	if w.MatchID == "" || w.Task.Description == "" {
		return nil, errors.New("decode the task: match_id and task.description are needed")
	}
	if !(w.TimeLimitSeconds > 0) || w.TimeLimitSeconds > maxTimeLimit.Seconds() {
		return nil, errors.New("decode the task: time_limit_seconds is not a time")
	}
	t := &Task{
		Version: w.Version, League: w.League, MatchID: w.MatchID, Round: w.Round,
		Description: w.Task.Description, InputFormat: w.Task.InputFormat, OutputFormat: w.Task.OutputFormat,
		Options: w.Task.Options, TimeLimit: time.Duration(w.TimeLimitSeconds * float64(time.Second)),
		Rules: w.Rules, Opponents: w.OpponentCount, TaskID: w.TaskID, Attempt: max(w.Attempt, 1), Deadline: w.Deadline,
	}
	if w.TotalRounds != nil {
		t.TotalRounds = *w.TotalRounds
	}
	if w.MaxTokens != nil {
		t.MaxTokens = *w.MaxTokens
	}
	if p := w.Previous; p != nil {
		t.Previous = &Previous{Outcome: p.Outcome, Points: p.Points, Measured: time.Duration(p.MeasuredMS * float64(time.Millisecond)), Error: p.Error}
		t.Previous.Correct, _ = p.Correct.(string)
		t.Previous.Receipt = (*Receipt)(p.Receipt)
	}
	if w.Task.Observation != nil {
		var err error
		if t.Observation, err = json.Marshal(w.Task.Observation); err != nil {
			return nil, fmt.Errorf("decode the observation: %w", err)
		}
	}
	return t, nil
}

// LegalMoves returns the legal moves of a turn of a game: the answer is one of
// them. It returns nil for a question, and if the league does not list them.
func (t *Task) LegalMoves() []string {
	if t.Observation == nil {
		return nil
	}
	return t.Options
}

// Observe decodes the observation of a game into v, a pointer. docs/games.md has
// the members for each game. A question has no observation: that is an error.
func (t *Task) Observe(v any) error {
	if t.Observation == nil {
		return errors.New("the task has no observation: it is a question")
	}
	if err := json.Unmarshal(t.Observation, v); err != nil {
		return fmt.Errorf("decode the observation: %w", err)
	}
	return nil
}

// Refused returns why the arena refused the last move, e.g. "column 3 is full", if
// the task asks for another one.
func (t *Task) Refused() string {
	if t.Previous == nil {
		return ""
	}
	return t.Previous.Error
}

// key names the question, whatever the attempt. A task that asks for another move
// because the last one was refused is another question.
func (t *Task) key() string {
	return fmt.Sprintf("%s/%s/%d/%s/%s", t.Claims.AgentID, t.MatchID, t.Round, cmp.Or(t.TaskID, t.Description), t.Refused())
}

// times are how long a handler may work and how long its reply is waited for,
// both counted from the arrival of the task. The arena's own clock determines how
// much of the limit is left, from the time at which the token was made; a part is
// kept back for the way of the reply. In a game the deadline may lie beyond the
// limit: it includes the time bank of the agent.
//
// That time has whole seconds. The agent's own clock refines it, unless that clock
// differs from the arena's. The token of a match is older than the task: then the
// agent's own clock alone counts.
func (t *Task) times(arrived time.Time) (work, wait time.Duration) {
	left := t.TimeLimit
	if !t.Deadline.IsZero() && !t.Claims.IssuedAt.IsZero() {
		made := t.Claims.IssuedAt.Add(backdating)
		if d := arrived.Sub(made); t.Claims.ofMatch() || d >= 0 && d < sameClock {
			made = arrived
		}
		if d := t.Deadline.Sub(made); d > 0 && (d < left || t.Observation != nil) {
			left = min(d, maxTimeLimit)
		}
	}
	return split(left)
}

// split keeps a part of the time that is left back for the way of the reply.
func split(left time.Duration) (work, wait time.Duration) {
	kept := min(200*time.Millisecond, left/10)
	return left - kept, left - kept/2
}

// Answer is what an agent replies (AAP, "Response format"). Only Value is
// needed; the rest is shown to the spectators.
type Answer struct {
	Value      string
	Confidence float64 // 0..1; 0: not declared
	Reasoning  string
	Subagents  []string // nil: the names given to Events.Spawn
	Tools      []string // nil: the names given to Events.ToolCall
	Tokens     int64    // 0: not declared

	// Raw replaces the whole body of the reply, for handlers that forward tasks
	// to another AAP endpoint. It is sent as it is, at most 64 KiB.
	Raw json.RawMessage
}

// answerWire is the body of the reply.
type answerWire struct {
	Answer        string   `json:"answer"`
	Confidence    *float64 `json:"confidence,omitempty"`
	Reasoning     string   `json:"reasoning,omitempty"`
	SubagentsUsed []string `json:"subagents_used"`
	ToolsUsed     []string `json:"tools_used"`
	Tokens        *int64   `json:"tokens,omitempty"`
	LatencyMS     int64    `json:"latency_ms"`
}

// The arena refuses replies over 64 KiB, so longer texts are cut.
const (
	maxReply     = 64 << 10
	maxAnswer    = 24 << 10
	maxReasoning = 4 << 10
	maxNames     = 64
	maxName      = 64
)

func (a Answer) encode(took time.Duration) ([]byte, error) {
	if a.Raw != nil {
		if len(a.Raw) > maxReply {
			return nil, fmt.Errorf("Answer.Raw has %d bytes, the limit is %d", len(a.Raw), maxReply)
		}
		return a.Raw, nil
	}
	w := answerWire{
		Answer: clip(a.Value, maxAnswer), Reasoning: clip(a.Reasoning, maxReasoning),
		SubagentsUsed: clipAll(a.Subagents), ToolsUsed: clipAll(a.Tools), LatencyMS: took.Milliseconds(),
	}
	if a.Confidence > 0 && !math.IsInf(a.Confidence, 0) {
		c := min(a.Confidence, 1)
		w.Confidence = &c
	}
	if a.Tokens > 0 {
		w.Tokens = &a.Tokens
	}
	return json.Marshal(w)
}

// clip cuts s to at most limit bytes, between characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func clipAll(names []string) []string {
	out := make([]string, 0, min(len(names), maxNames))
	for _, n := range names[:min(len(names), maxNames)] {
		out = append(out, clip(n, maxName))
	}
	return out
}
