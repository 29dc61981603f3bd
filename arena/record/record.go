package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// Format names the form of a record. Another form has another name.
const Format = "arena-record-1"

// Record is a finished match. Times are RFC 3339 in UTC with milliseconds.
type Record struct {
	Format        string            `json:"format"`
	Arena         string            `json:"arena"` // public URL; its keys are under /.well-known/jwks.json
	Match         Match             `json:"match"`
	Seats         []Seat            `json:"seats"`
	Rounds        []Round           `json:"rounds"` // closed ones, oldest first
	RatingChanges []Change          `json:"rating_changes"`
	Log           []json.RawMessage `json:"log"`   // every event, seq 1, 2, 3 …
	Chain         []string          `json:"chain"` // h(1), h(2) … in lower-case hexadecimal
}

// Match is what was agreed before the first round, and when it was played.
type Match struct {
	MatchID     string           `json:"match_id"`
	League      string           `json:"league"`
	Rated       bool             `json:"rated"` // as scheduled; rating_changes says whether ratings moved
	Format      arena.Format     `json:"format"`
	Visibility  arena.Visibility `json:"visibility"`
	Judge       arena.JudgeSpec  `json:"judge"`
	ScoreMode   string           `json:"score_mode"`
	TimeLimitMS int64            `json:"time_limit_ms"`
	TotalRounds *int             `json:"total_rounds"` // null: open end
	StartedAt   string           `json:"started_at"`
	FinishedAt  string           `json:"finished_at"`
}

// Seat is one agent's result.
type Seat struct {
	AgentID  string          `json:"agent_id"`
	Name     string          `json:"name"`
	Version  string          `json:"version,omitempty"`
	State    arena.SeatState `json:"state"`
	OutRound int             `json:"out_round,omitempty"`
	Points   Milli           `json:"points"`
	Place    int             `json:"place"`
}

// Round is one task with what every seat made of it.
type Round struct {
	Round    int             `json:"round"`
	Task     json.RawMessage `json:"task"` // as in round_started
	Correct  string          `json:"correct,omitempty"`
	OpenedAt string          `json:"opened_at"`
	ClosedAt string          `json:"closed_at"`
	Answers  []Answer        `json:"answers"` // in the order of the seats
}

// Answer is one seat's round.
type Answer struct {
	AgentID   string          `json:"agent_id"`
	Outcome   arena.Outcome   `json:"outcome"`
	Reason    string          `json:"reason,omitempty"`
	ElapsedMS int64           `json:"elapsed_ms"`
	Attempts  int             `json:"attempts"`
	Points    Milli           `json:"points"` // the judge's verdict
	Answer    json.RawMessage `json:"answer"` // the reply (AAP, "Response format"); null unless answered
	Receipt   *Receipt        `json:"receipt,omitempty"`
}

// Receipt is what the arena had from the agent, and since when.
type Receipt struct {
	SHA256    string `json:"sha256"` // of the answer
	ArrivedAt string `json:"arrived_at"`
}

// Change is what the match did to one rating, in Elo.
type Change struct {
	AgentID string `json:"agent_id"`
	Before  Milli  `json:"rating_before"`
	After   Milli  `json:"rating_after"`
	Delta   Milli  `json:"rating_delta"`
	K       int    `json:"k"`
	Score   Milli  `json:"score"`
	Matches int    `json:"matches"`
}

// New makes the record of a finished match from its rows. events is the whole
// log without hidden parts. The error is an *arena.Error with the code
// conflict when there is nothing to make it from, else a fault of the rows.
func New(arenaURL string, m arena.Match, rounds []arena.Round, answers []arena.Answer, events []arena.Event) (Record, error) {
	if m.Status != arena.MatchFinished {
		return Record{}, arena.Errorf(arena.CodeConflict, "match %s is %s; only a finished match has a record", m.ID, m.Status)
	}
	if len(events) == 0 {
		return Record{}, arena.Errorf(arena.CodeConflict, "the log of match %s has been dropped, and a record needs it", m.ID)
	}
	r := Record{Format: Format, Arena: arenaURL, Match: matchOf(m), RatingChanges: []Change{}, Rounds: []Round{}}
	seat := map[string]int{}
	for i, s := range m.Seats {
		seat[s.AgentID] = i
		r.Seats = append(r.Seats, Seat{
			AgentID: s.AgentID, Name: s.Name, Version: s.Version, State: s.State, OutRound: s.OutRound,
			Points: Milli(s.Points), Place: s.Place,
		})
	}
	arrived, err := r.addLog(events)
	if err != nil {
		return Record{}, fmt.Errorf("record of match %s: %w", m.ID, err)
	}
	answers = slices.Clone(answers)
	slices.SortStableFunc(answers, func(a, b arena.Answer) int { return cmp.Compare(seat[a.AgentID], seat[b.AgentID]) })
	for _, round := range rounds {
		if round.ClosedAt.IsZero() {
			continue
		}
		made, err := roundOf(round, answers, arrived)
		if err != nil {
			return Record{}, fmt.Errorf("record of match %s, round %d: %w", m.ID, round.No, err)
		}
		r.Rounds = append(r.Rounds, made)
	}
	return r, nil
}

func matchOf(m arena.Match) Match {
	v := Match{
		MatchID: m.ID, League: m.League, Rated: m.Settings.Rated, Format: m.Settings.Format, Visibility: m.Settings.Visibility,
		Judge: m.Settings.Judge, ScoreMode: m.Settings.ScoreMode, TimeLimitMS: m.Settings.TimeLimit.Milliseconds(),
		StartedAt: stamp(m.StartedAt), FinishedAt: stamp(m.FinishedAt),
	}
	if m.Settings.Rounds > 0 {
		v.TotalRounds = &m.Settings.Rounds
	}
	return v
}

// turn is one seat's part in one round.
type turn struct {
	round   int
	agentID string
}

// addLog adds the log, its chain and the rating changes of its last event. It
// gives when each seat's outcome was known.
func (r *Record) addLog(events []arena.Event) (arrived map[turn]string, err error) {
	arrived = map[turn]string{}
	h := sha256.Sum256([]byte(r.Match.MatchID))
	for _, e := range events {
		line, err := strictjson.Canonical(e.AppendJSON(nil))
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		h = next(h, line)
		r.Log, r.Chain = append(r.Log, line), append(r.Chain, hex.EncodeToString(h[:]))
		if e.Type == arena.EventSeatOutcome {
			arrived[turn{e.Round, e.AgentID}] = stamp(e.At)
		}
	}
	last := events[len(events)-1]
	if last.Type != arena.EventMatchFinished {
		return nil, fmt.Errorf("the last event is %s", last.Type)
	}
	var body struct {
		Changes []Change `json:"rating_changes"`
	}
	if err := json.Unmarshal(last.Body, &body); err != nil {
		return nil, fmt.Errorf("event %d: %w", last.Seq, err)
	}
	r.RatingChanges = append(r.RatingChanges, body.Changes...)
	return arrived, nil
}

func roundOf(round arena.Round, answers []arena.Answer, arrived map[turn]string) (Round, error) {
	task, err := strictjson.CanonicalOf(round.Task.Public())
	if err != nil {
		return Round{}, err
	}
	made := Round{
		Round: round.No, Task: task, Correct: round.Task.Correct(),
		OpenedAt: stamp(round.OpenedAt), ClosedAt: stamp(round.ClosedAt), Answers: []Answer{},
	}
	for _, a := range answers {
		if a.Round != round.No || !a.Judged {
			continue
		}
		v := Answer{
			AgentID: a.AgentID, Outcome: a.Outcome, Reason: a.Reason, ElapsedMS: a.Elapsed.Milliseconds(), Attempts: a.Attempts,
			Points: Milli(a.Points), Answer: json.RawMessage("null"),
		}
		if a.Body != nil {
			if v.Answer, err = strictjson.CanonicalOf(a.Body); err != nil {
				return Round{}, err
			}
			v.Receipt = &Receipt{SHA256: sum(v.Answer), ArrivedAt: arrived[turn{a.Round, a.AgentID}]}
		}
		made.Answers = append(made.Answers, v)
	}
	return made, nil
}

// ReceiptOf is the receipt for an answer that the arena had at a time. It is
// the same as in the record of the match.
func ReceiptOf(answer arena.AnswerBody, at time.Time) (arena.Receipt, error) {
	data, err := strictjson.CanonicalOf(answer)
	if err != nil {
		return arena.Receipt{}, fmt.Errorf("receipt: %w", err)
	}
	return arena.Receipt{SHA256: sum(data), ArrivedAt: at}, nil
}

// Signature is the arena's, over the exact bytes of a record.
type Signature struct {
	Alg   string `json:"alg"`
	KID   string `json:"kid"`
	Value string `json:"value"` // JWS, compact, payload detached
}

// Signed is a record as it is handed out.
type Signed struct {
	Record    json.RawMessage `json:"record"` // in the form of RFC 8785
	Signature Signature       `json:"signature"`
}

// Sign puts r into its canonical form and has those bytes signed.
func Sign(r Record, sign func(payload []byte) (Signature, error)) (Signed, error) {
	payload, err := strictjson.CanonicalOf(r)
	if err != nil {
		return Signed{}, fmt.Errorf("record of match %s: %w", r.Match.MatchID, err)
	}
	s, err := sign(payload)
	if err != nil {
		return Signed{}, fmt.Errorf("record of match %s: %w", r.Match.MatchID, err)
	}
	return Signed{Record: payload, Signature: s}, nil
}

// next returns h(n) from h(n-1) and event n.
func next(h [sha256.Size]byte, event []byte) [sha256.Size]byte {
	return sha256.Sum256(append(h[:], event...))
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func stamp(t time.Time) string { return t.UTC().Format(arena.TimeFormat) }
