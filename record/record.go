package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// Format is the format of records. Verify refuses any other.
const Format = "arena-record-2"

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

	// Erased counts the erased texts by agent id, and texts of several people under
	// "". Only Verify sets it.
	Erased map[string]int `json:"-"`
}

// Match has the terms of the match before its first round, and its times.
type Match struct {
	MatchID     string           `json:"match_id"`
	League      string           `json:"league"`
	Rated       bool             `json:"rated"` // as scheduled; rating_changes shows whether ratings moved
	Format      arena.Format     `json:"format"`
	Visibility  arena.Visibility `json:"visibility"`
	Judge       arena.JudgeSpec  `json:"judge"`
	ScoreMode   string           `json:"score_mode"`
	TimeLimitMS int64            `json:"time_limit_ms"` // of the first round; round_started has that of each
	TotalRounds *int             `json:"total_rounds"`  // null: open end
	StartedAt   string           `json:"started_at"`
	FinishedAt  string           `json:"finished_at"`

	// match_started commits to the seed and names the version of the rules.
	RulesVersion int            `json:"rules_version"`
	Seed         string         `json:"seed"`           // decimal: it has 64 bits
	SeedSalt     string         `json:"seed_salt"`      // see SeedCommitment
	Game         string         `json:"game,omitempty"` // "": the match asks questions
	GameVersion  string         `json:"game_version,omitempty"`
	Options      map[string]int `json:"options,omitempty"`       // of the game
	ScriptSHA256 string         `json:"script_sha256,omitempty"` // of the game's script; "": it is built in
	Series       *Series        `json:"series,omitempty"`        // nil: the match asks questions
}

// Series is how a match plays games one after the other.
type Series struct {
	Games                int   `json:"games"`
	Duplicate            bool  `json:"duplicate,omitempty"` // a deal is played once from each place
	TimeBankMS           int64 `json:"time_bank_ms,omitempty"`
	Hidden               bool  `json:"hidden,omitempty"`                  // players know different things
	HideLegal            bool  `json:"hide_legal,omitempty"`              // agents do not receive the list of legal moves
	ZeroPointsOverTokens bool  `json:"zero_points_over_tokens,omitempty"` // a move with too many tokens is no legal one
}

// Seat is one agent's result.
type Seat struct {
	AgentID  string          `json:"agent_id"`
	Name     Text            `json:"name"`
	Version  Text            `json:"version,omitzero"`
	State    arena.SeatState `json:"state"`
	OutRound int             `json:"out_round,omitempty"`
	Points   Milli           `json:"points"`
	Place    int             `json:"place"`
}

// Round is one task with the results of all seats.
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
	AgentID   string        `json:"agent_id"`
	Outcome   arena.Outcome `json:"outcome"`
	Reason    string        `json:"reason,omitempty"`
	ElapsedMS int64         `json:"elapsed_ms"`
	Attempts  int           `json:"attempts"`
	Points    Milli         `json:"points"` // the judge's verdict
	Answer    Text          `json:"answer"` // the reply (AAP, "Response format"); null unless answered
	Receipt   *Receipt      `json:"receipt,omitempty"`
}

// Receipt holds the time at which the answer arrived. It has no hash of the answer:
// a short answer that was erased could be guessed from one.
type Receipt struct {
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

// Rows are the stored rows from which a record is made.
type Rows struct {
	Match   arena.Match
	Rounds  []arena.Round
	Answers []arena.Answer
	Events  []arena.Event     // the whole log without hidden parts
	Erased  map[string]string // commitments of erased texts, by pointer into the record
}

// New returns the record of a finished match. The error is an *arena.Error with
// the code conflict if the match has no record, otherwise the rows are faulty.
func New(arenaURL string, rows Rows) (Record, error) {
	m := rows.Match
	if m.Status != arena.MatchFinished {
		return Record{}, arena.Errorf(arena.CodeConflict, "match %s is %s; only a finished match has a record", m.ID, m.Status)
	}
	if len(rows.Events) == 0 {
		return Record{}, arena.Errorf(arena.CodeConflict, "the log of match %s has been dropped, and a record needs it", m.ID)
	}
	b := builder{seat: map[string]int{}, arrived: map[turn]string{}}
	b.r = Record{Format: Format, Arena: arenaURL, Match: matchOf(m), RatingChanges: []Change{}, Rounds: []Round{}}
	var err error
	if b.conceal, err = newConcealer(rows); err != nil {
		return Record{}, fmt.Errorf("record of match %s: %w", m.ID, err)
	}
	for _, step := range []func(Rows) error{b.addSeats, b.addLog, b.addSeed} {
		if err := step(rows); err != nil {
			return Record{}, fmt.Errorf("record of match %s: %w", m.ID, err)
		}
	}
	answers := slices.Clone(rows.Answers)
	slices.SortStableFunc(answers, func(x, y arena.Answer) int { return cmp.Compare(b.seat[x.AgentID], b.seat[y.AgentID]) })
	for _, round := range rows.Rounds {
		if round.ClosedAt.IsZero() {
			continue
		}
		if err := b.addRound(round, answers); err != nil {
			return Record{}, fmt.Errorf("record of match %s, round %d: %w", m.ID, round.No, err)
		}
	}
	return b.r, nil
}

func matchOf(m arena.Match) Match {
	judge := m.Settings.Judge
	judge.Gold = "" // not a rule of the match
	v := Match{
		MatchID: m.ID, League: m.League, Rated: m.Settings.Rated, Format: m.Settings.Format, Visibility: m.Settings.Visibility,
		Judge: judge, ScoreMode: m.Settings.ScoreMode, TimeLimitMS: m.Settings.TimeLimit.Milliseconds(),
		StartedAt: stamp(m.StartedAt), FinishedAt: stamp(m.FinishedAt),
	}
	if m.Settings.Rounds > 0 {
		v.TotalRounds = &m.Settings.Rounds
	}
	if g := m.Settings.Game; g != nil {
		v.Game, v.GameVersion, v.Options, v.ScriptSHA256 = g.Name, g.Version, g.Options, g.SHA256
		v.Series = &Series{
			Games: g.Games, Duplicate: g.Duplicate, TimeBankMS: g.TimeBank.Milliseconds(), Hidden: g.Hidden, HideLegal: g.HideLegal,
			ZeroPointsOverTokens: m.Settings.MaxTokensPolicy == arena.ZeroPointsTokens,
		}
	}
	return v
}

// GameSpec returns the game of the match, or nil if the match asks questions.
func (m Match) GameSpec() *arena.GameSpec {
	if m.Series == nil {
		return nil
	}
	return &arena.GameSpec{
		Name: m.Game, Version: m.GameVersion, SHA256: m.ScriptSHA256, Options: m.Options, Games: m.Series.Games, Duplicate: m.Series.Duplicate,
		TimeBank: time.Duration(m.Series.TimeBankMS) * time.Millisecond, Hidden: m.Series.Hidden, HideLegal: m.Series.HideLegal,
	}
}

// turn is one seat's part in one round.
type turn struct {
	round   int
	agentID string
}

// builder makes a Record.
type builder struct {
	r       Record
	conceal *concealer
	seat    map[string]int  // place of each agent among the seats
	arrived map[turn]string // when each seat's outcome was known
}

// text returns a value at a place of the record.
func (b *builder) text(agentID string, value json.RawMessage, place string, args ...any) (Text, error) {
	return b.conceal.text(fmt.Sprintf(place, args...), agentID, value)
}

func (b *builder) addSeats(rows Rows) error {
	for i, s := range rows.Match.Seats {
		b.seat[s.AgentID] = i
		seat := Seat{AgentID: s.AgentID, State: s.State, OutRound: s.OutRound, Points: Milli(s.Points), Place: s.Place}
		name, err := json.Marshal(s.Name)
		if err == nil {
			seat.Name, err = b.text(s.AgentID, name, "/seats/%d/name", i)
		}
		if err != nil {
			return err
		}
		if _, erased := b.conceal.erased[fmt.Sprintf("/seats/%d/version", i)]; s.Version != "" || erased {
			version, err := json.Marshal(s.Version)
			if err == nil {
				seat.Version, err = b.text(s.AgentID, version, "/seats/%d/version", i)
			}
			if err != nil {
				return err
			}
		}
		b.r.Seats = append(b.r.Seats, seat)
	}
	return nil
}

// addLog adds the log, its chain and the rating changes of its last event.
func (b *builder) addLog(rows Rows) error {
	events := rows.Events
	h := sha256.Sum256([]byte(b.r.Match.MatchID))
	for i, e := range events {
		line, err := strictjson.Canonical(e.AppendJSON(nil))
		if err == nil {
			line, _, err = b.conceal.event(i, e, line)
		}
		var hashed json.RawMessage
		if err == nil {
			hashed, err = folded(line)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		h = next(h, hashed)
		b.r.Log, b.r.Chain = append(b.r.Log, line), append(b.r.Chain, hex.EncodeToString(h[:]))
		if e.Type == arena.EventSeatOutcome {
			b.arrived[turn{e.Round, e.AgentID}] = stamp(e.At)
		}
	}
	last := events[len(events)-1]
	if last.Type != arena.EventMatchFinished {
		return fmt.Errorf("the last event is %s", last.Type)
	}
	var body struct {
		Changes []Change `json:"rating_changes"`
	}
	if err := json.Unmarshal(last.Body, &body); err != nil {
		return fmt.Errorf("event %d: %w", last.Seq, err)
	}
	b.r.RatingChanges = append(b.r.RatingChanges, body.Changes...)
	return nil
}

// addSeed adds what match_started committed to.
func (b *builder) addSeed(rows Rows) error {
	i := slices.IndexFunc(rows.Events, func(e arena.Event) bool { return e.Type == arena.EventMatchStarted })
	if i < 0 {
		return errors.New("there is no match_started")
	}
	var started arena.MatchStartedBody
	if err := json.Unmarshal(rows.Events[i].Body, &started); err != nil {
		return fmt.Errorf("event %d: %w", rows.Events[i].Seq, err)
	}
	b.r.Match.RulesVersion = started.RulesVersion
	b.r.Match.Seed, b.r.Match.SeedSalt = strconv.FormatUint(rows.Match.Seed, 10), rows.Match.SeedSalt
	return nil
}

func (b *builder) addRound(round arena.Round, answers []arena.Answer) error {
	task, err := strictjson.CanonicalOf(round.Stated())
	if err != nil {
		return err
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
			Points: Milli(a.Points),
		}
		if a.Body != nil {
			reply, err := strictjson.CanonicalOf(a.Body)
			if err == nil {
				v.Answer, err = b.text(a.AgentID, reply, "/rounds/%d/answers/%d/answer", len(b.r.Rounds), len(made.Answers))
			}
			if err != nil {
				return err
			}
			v.Receipt = &Receipt{ArrivedAt: b.arrived[turn{a.Round, a.AgentID}]}
		}
		made.Answers = append(made.Answers, v)
	}
	b.r.Rounds = append(b.r.Rounds, made)
	return nil
}

// ReceiptOf is the receipt for an answer that the arena had at a time, as its
// agent gets it.
func ReceiptOf(answer arena.AnswerBody, at time.Time) (arena.Receipt, error) {
	data, err := strictjson.CanonicalOf(answer)
	if err != nil {
		return arena.Receipt{}, fmt.Errorf("receipt: %w", err)
	}
	sum := sha256.Sum256(data)
	return arena.Receipt{SHA256: hex.EncodeToString(sum[:]), ArrivedAt: at}, nil
}

// Signature is the arena's, over a record without texts and salts in the form of
// RFC 8785.
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

// Sign puts r into its canonical form and has it signed. The signature covers the
// commitments, not the texts.
func Sign(r Record, sign func(payload []byte) (Signature, error)) (Signed, error) {
	document, err := strictjson.CanonicalOf(r)
	var payload json.RawMessage
	if err == nil {
		payload, err = folded(document)
	}
	if err != nil {
		return Signed{}, fmt.Errorf("record of match %s: %w", r.Match.MatchID, err)
	}
	s, err := sign(payload)
	if err != nil {
		return Signed{}, fmt.Errorf("record of match %s: %w", r.Match.MatchID, err)
	}
	return Signed{Record: document, Signature: s}, nil
}

// next returns h(n) from h(n-1) and event n.
func next(h [sha256.Size]byte, event []byte) [sha256.Size]byte {
	return sha256.Sum256(append(h[:], event...))
}

func stamp(t time.Time) string { return t.UTC().Format(arena.TimeFormat) }
