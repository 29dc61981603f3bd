package arena

import (
	"encoding/json"
	"strconv"
	"time"
)

// Task is one question with its accepted answers. The arena does not publish the
// answers before the round is closed.
type Task struct {
	ID           string
	Description  string
	Answers      []string // accepted; the first one is shown as the right one
	Options      []string
	InputFormat  string // default "string"
	OutputFormat string // default "string"
	Topic        string
	Difficulty   string
	MaxTokens    int             // 0: the league's
	Rules        []string        // in addition to the league's
	Cases        []Case          // judge code: the tests of the answer
	Observation  json.RawMessage // an object for programs beside the description; nil: none
	Source       string          // origin: pack id, "/", number; GameSource and a name in a game; "" if generated for its match
}

// Case is one hidden test of a task whose answer is a program.
type Case struct {
	Args json.RawMessage `json:"args"` // JSON array: the arguments of the call
	Want json.RawMessage `json:"want"` // JSON: what the call must return
}

// Public returns the public part of the task, without its answers.
func (t Task) Public() TaskBody {
	return TaskBody{
		TaskID: t.ID, Description: t.Description, InputFormat: t.InputFormat, OutputFormat: t.OutputFormat,
		Options: t.Options, Topic: t.Topic,
	}
}

// Correct returns the answer to show as the right one after the round has closed,
// or "" if the task has none.
func (t Task) Correct() string {
	if len(t.Answers) == 0 {
		return ""
	}
	return t.Answers[0]
}

// Pack is a stored set of tasks.
type Pack struct {
	ID        string
	Name      string
	Format    string
	Tasks     int // numbers given out, those of removed and changed tasks too
	CreatedAt time.Time
}

// PackTask is a task of a pack with its use.
type PackTask struct {
	N         int // in the pack, from 0
	Task      Task
	RemovedAt time.Time // zero: not removed
	// CorrectedAt is since when rounds that were played with the task are judged by the
	// answers of the one that replaced it; zero: they keep its own.
	CorrectedAt time.Time
	Rounds      int // that have used it
	// ReplacedBy is the number of the task that holds its changed text, 0 if it was
	// not changed. Number 0 replaces none.
	ReplacedBy int
}

// TaskEdit changes the text of a task of a pack. A nil field stays.
type TaskEdit struct {
	Description *string
	Answers     *[]string
	Options     *[]string
	Topic       *string
	Difficulty  *string
}

// Apply changes a task.
func (e TaskEdit) Apply(t *Task) {
	set(&t.Description, e.Description)
	set(&t.Answers, e.Answers)
	set(&t.Options, e.Options)
	set(&t.Topic, e.Topic)
	set(&t.Difficulty, e.Difficulty)
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// TaskRemoval reports what the removal of a task from its pack changed.
type TaskRemoval struct {
	Matches     int      `json:"matches" doc:"Finished matches that used the question and were judged again."`
	Changed     int      `json:"changed" doc:"Those of them whose points or places changed."`
	Failed      []string `json:"failed" doc:"Ids of matches that could not be judged again. They are unchanged; score them again later."`
	Settlements int      `json:"settlements" doc:"Settlements whose rating changes are different now."`
	Leagues     []string `json:"leagues" doc:"Leagues whose matches used the question."`
}

// SourceOf returns the source of task n of a pack, by which rounds name it.
func SourceOf(packID string, n int) string { return packID + "/" + strconv.Itoa(n) }

// TaskCorrection reports what judging played rounds by a corrected answer changes.
type TaskCorrection struct {
	Preview bool            `json:"preview" doc:"True: nothing was stored."`
	Leagues []LeagueRescore `json:"leagues" doc:"Leagues whose matches used the question."`
}

// LeagueRescore is what scoring matches of a league again changes.
type LeagueRescore struct {
	League string        `json:"league"`
	Report RescoreReport `json:"report"`
}

// PackImport is a file of tasks to import.
type PackImport struct {
	Name    string
	Format  string
	Map     string // mapping of columns or members; "" for that of the format
	Data    []byte
	SkipBad bool // import the good entries although others are bad
}

// PackContents is the content of a file of tasks.
type PackContents struct {
	Format   string   // how it was read
	Map      string   // by which mapping it was read, "" if by none
	Names    []string // of its columns or members, if it has any
	Tasks    []Task
	Skipped  []SkippedLine // entries that cannot be used
	Warnings []SkippedLine // repairs and doubts of usable entries
	Reading  PackReading   // how the file was understood
	Sources  []TaskSource  // of the first tasks
}

// PackReading is how a file of tasks was understood: which columns or fields
// hold the parts of a task, and what no task holds.
type PackReading struct {
	Description string   `json:"description,omitempty" doc:"The column or field of the question. Absent: the format has no columns."`
	Context     []string `json:"context,omitempty" doc:"The columns or fields that stand in front of the question."`
	Options     []string `json:"options,omitempty" doc:"The column or field with all options, or those with one option each, in their order."`
	Answer      string   `json:"answer,omitempty" doc:"The column or field of the answer."`
	FirstIndex  *int     `json:"first_index,omitempty" doc:"The index of the first option, 0 or 1. Absent: no answer is an index."`
	Evidence    string   `json:"evidence,omitempty" enum:"zero,count,names,declared" doc:"How first_index is known: an answer is 0, an answer is the number of options, the columns of the options are numbered from 0, or the format or the mapping says it."`
	LeftOut     []string `json:"left_out" doc:"Columns or fields that no task holds: the first hundred."`
	EmptyRows   int      `json:"empty_rows" doc:"Rows of a table without any text. They are ignored."`
	Notes       []string `json:"notes" doc:"Sentences about the file as a whole, such as its encoding."`
}

// TaskSource is where the answer of a task comes from.
type TaskSource struct {
	Line  int    `json:"line" doc:"The line or row on which the entry starts."`
	Given string `json:"given,omitempty" doc:"The answer as the file has it."`
	Means string `json:"means,omitempty" enum:"text,letter,label,index" doc:"Kind of given: the text of an option or of an answer, the letter of an option, its label in the file, or its index."`
	Right []int  `json:"right" doc:"The places of the right options, from 0."`
}

// PackReport is the result of a check of a file.
type PackReport struct {
	Format       string        `json:"format" doc:"How the file was read."`
	Map          string        `json:"map,omitempty" doc:"By which mapping it was read: the given one, or the one that its names suggest."`
	Names        []string      `json:"names" doc:"Its columns or fields, if it has any."`
	Problem      string        `json:"problem,omitempty" doc:"Why the file as a whole cannot be read."`
	Tasks        int           `json:"tasks" doc:"Entries that an import would take."`
	Samples      []PackSample  `json:"samples" doc:"The first three of them."`
	SkippedCount int           `json:"skipped_count"`
	Skipped      []SkippedLine `json:"skipped" doc:"Entries that cannot be used: the first hundred."`
	Warnings     []SkippedLine `json:"warnings" doc:"Fixes that an import would make, and doubts: the first hundred."`
	Reading      PackReading   `json:"reading" doc:"How the file was understood."`
}

// PackSample is a task that was read from a file.
type PackSample struct {
	TaskSource

	Description string   `json:"description"`
	Options     []string `json:"options,omitempty"`
	Answer      []string `json:"answer" doc:"Accepted answers; the first is shown as the right one."`
	Topic       string   `json:"topic,omitempty"`
	Difficulty  string   `json:"difficulty,omitempty"`
}

// Report returns the result of a check of the contents, with at most the given
// numbers of samples and of lines of each kind. problem is the reason why the
// file as a whole cannot be read.
func (c PackContents) Report(problem string, samples, lines int) PackReport {
	r := PackReport{
		Format: c.Format, Map: c.Map, Names: append([]string{}, c.Names...), Problem: problem, Tasks: len(c.Tasks),
		Samples: []PackSample{}, SkippedCount: len(c.Skipped),
		Skipped:  append([]SkippedLine{}, c.Skipped[:min(lines, len(c.Skipped))]...),
		Warnings: append([]SkippedLine{}, c.Warnings[:min(lines, len(c.Warnings))]...),
		Reading:  c.Reading,
	}
	r.Reading.LeftOut, r.Reading.Notes = append([]string{}, c.Reading.LeftOut...), append([]string{}, c.Reading.Notes...)
	for i, t := range c.Tasks[:min(samples, len(c.Tasks))] {
		source := TaskSource{Right: []int{}}
		if i < len(c.Sources) {
			source = c.Sources[i]
		}
		r.Samples = append(r.Samples, PackSample{
			TaskSource:  source,
			Description: t.Description, Options: t.Options, Answer: append([]string{}, t.Answers...), Topic: t.Topic, Difficulty: t.Difficulty,
		})
	}
	return r
}

// SkippedLine is one entry of an imported file that could not be used.
type SkippedLine struct {
	Line   int    `json:"line"` // 1-based line on which the entry starts
	Reason string `json:"reason"`
}

// Attempt is one request to one seat, ready to be sent.
type Attempt struct {
	MatchID     string
	League      string
	Round       int
	TotalRounds int // 0: open end
	Number      int // 1, or 2 for the retry; more after a failover
	Task        Task
	TimeLimit   time.Duration // of this attempt, from the moment its request is written
	MaxTokens   int
	MaxCostUSD  float64 // the highest price of an offer that is accepted
	Rules       []string
	Opponents   int
	Deadline    time.Time // as sent to the agent
	RoundLimit  time.Duration
	Previous    *PreviousRound
	Seat        Seat
	Judging     bool   // a question to a judge agent, not a round of its own match
	Batch       *Batch // of the round's first requests; nil: send this one by itself
	// Edit changes the encoded task before it is signed and sent; nil: it is sent
	// as it is. Matches leave it nil; the conformance kit does not.
	Edit func(task []byte) []byte
}

// Batch collects the first requests of a round, so that one goroutine can send
// all of them in a row. It is not safe for concurrent use.
type Batch struct{ trySends []func() }

// Add adds a function that sends a request if it can do so without waiting. The
// function must not block. If it did not send the request, the attempt's send
// function does.
func (b *Batch) Add(trySend func()) {
	if b != nil {
		b.trySends = append(b.trySends, trySend)
	}
}

// Send calls the added functions in order.
func (b *Batch) Send() {
	for _, trySend := range b.trySends {
		trySend()
	}
	b.trySends = nil
}

// PreviousRound is the result of an agent's last closed round.
type PreviousRound struct {
	Outcome  Outcome
	Correct  string
	Points   Points
	Measured time.Duration
	Receipt  *Receipt // nil unless answered
	Error    string   // why the reply to this task, before this attempt, was refused; then the rest is zero
}

// Receipt describes an answer that the arena received, with the time.
type Receipt struct {
	SHA256    string // of the AnswerBody in the form of RFC 8785, lower-case hexadecimal
	ArrivedAt time.Time
}

// Reply is the result of one attempt in the terms of the outcome table
// (docs/rules.md, section 3), independent of the protocol.
type Reply struct {
	Outcome   Outcome
	Reason    string // stable word: "status_500", "bad_json", "too_large", "refused"; "" when answered
	Detail    string // one sentence for the owner
	Status    int    // HTTP status, 0 when there was none
	Unreached bool   // no connection was made: nothing was sent
	Retry     bool   // the table allows one more attempt
	Refused   bool   // the agent refused the token or signature of the request
	Reused    bool   // the connection had carried a request before
	Answer    *AnswerBody
	SentAt    time.Time     // when the request was written
	Elapsed   time.Duration // from SentAt to the last byte, by the monotonic clock
	Request   []byte        // what was sent
	Head      []byte        // first 2 KiB of a reply that was not an answer
}

// AnswerBody is an agent's reply. Only Answer is required. The other members are
// the agent's own claims, which are shown but not trusted (AAP, "Response
// format").
type AnswerBody struct {
	Answer        string   `json:"answer"`
	Confidence    *float64 `json:"confidence,omitempty"`
	Reasoning     string   `json:"reasoning,omitempty"`
	SubagentsUsed []string `json:"subagents_used,omitempty"`
	ToolsUsed     []string `json:"tools_used,omitempty"`
	Tokens        *int64   `json:"tokens,omitempty"`
	LatencyMS     *float64 `json:"latency_ms,omitempty"`

	// The members of protocols in which an agent makes an offer before it works.
	Offer     *Offer          `json:"offer,omitempty"`
	Metrics   json.RawMessage `json:"metrics,omitempty"`   // an object
	Artifacts json.RawMessage `json:"artifacts,omitempty"` // an array
}

// Offer is the offer of an agent that the arena accepted. Nothing is charged.
type Offer struct {
	Plan       string   `json:"plan,omitempty"`
	PriceUSD   float64  `json:"price_usd"`
	ETASeconds *float64 `json:"eta_seconds,omitempty"`
}

// BytesPerToken is the maximum length of an answer for each token of its limit,
// regardless of the number that the agent declares.
const BytesPerToken = 8

// OverTokens reports whether the reply exceeds a token limit, by the number that
// the agent declared or by the length of its answer. 0 means no limit.
func (b AnswerBody) OverTokens(limit int) bool {
	return limit > 0 && (b.Tokens != nil && *b.Tokens > int64(limit) || len(b.Answer) > limit*BytesPerToken)
}

// Delivery is the kept record of one attempt, for the agent's owner.
type Delivery struct {
	ID       string
	MatchID  string
	League   string
	AgentID  string
	Round    int
	TaskID   string
	Attempt  int
	Status   int
	Outcome  Outcome
	Reason   string
	Detail   string
	SentAt   time.Time
	Elapsed  time.Duration
	Request  []byte
	Response []byte // first 2 KiB of a reply that was not an answer
	// Answer is the parsed answer of a reply that was one, and AnsweredAt the time
	// at which it arrived. They are set only on reads.
	Answer     *AnswerBody
	AnsweredAt time.Time
}
