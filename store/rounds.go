package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// The most that is kept of an attempt.
const (
	keptRequest  = 64 << 10
	keptResponse = 2 << 10
)

// answerDoc is an agent's reply as it is stored. Its members must be those of
// arena.AnswerBody, so that one converts into the other.
type answerDoc struct {
	Answer        string   `json:"answer"`
	Confidence    *float64 `json:"confidence,omitzero"`
	Reasoning     string   `json:"reasoning,omitzero"`
	SubagentsUsed []string `json:"subagents_used,omitzero"`
	ToolsUsed     []string `json:"tools_used,omitzero"`
	Tokens        *int64   `json:"tokens,omitzero"`
	LatencyMS     *float64 `json:"latency_ms,omitzero"`

	Offer     *arena.Offer    `json:"offer,omitempty"`
	Metrics   json.RawMessage `json:"metrics,omitempty"`
	Artifacts json.RawMessage `json:"artifacts,omitempty"`
}

// StartMatch pins the seats as given, stores when the match started and opens
// the first round, unless first is nil. A second call for the same match changes
// nothing and returns no events.
func (s *Matches) StartMatch(ctx context.Context, l arena.Lease, seats []arena.Seat, at time.Time, first *arena.Round, events []arena.Event) ([]arena.Event, error) {
	var opened roundRow
	if first != nil {
		var err error
		if opened, err = newRoundRow(l.MatchID, *first); err != nil {
			return nil, s.wrap(err, "start match %s", l.MatchID)
		}
	}
	var stored []arena.Event
	err := s.write(ctx, l.MatchID, func(ctx context.Context, tx *db.Tx) error {
		stored = nil
		if _, err := s.fence(ctx, tx, l); err != nil {
			return err
		}
		pinned, err := db.One(ctx, tx, db.ScanInt, `SELECT COALESCE(max(pinned), 0) FROM seats WHERE match_id = $1`, l.MatchID)
		if err != nil || pinned == 1 {
			return err
		}
		rows := make([]seatRow, len(seats))
		for i, seat := range seats {
			rows[i] = seatRow{matchID: l.MatchID, Seat: seat, pinned: true, playing: seat.State == arena.SeatActive}
		}
		if err := updateSeats(ctx, tx, pinSeats, rows...); err != nil {
			return err
		}
		no := 0
		if first != nil {
			no = first.No
			if opened.openedSeq, err = db.One(ctx, tx, db.ScanInt, `SELECT m.seq FROM matches m WHERE m.id = $1`, l.MatchID); err != nil {
				return err
			}
			if _, err := insertRounds.Exec(ctx, tx, opened); err != nil {
				return err
			}
		}
		// One statement instead of three: the first task waits for it.
		last, err := db.One(ctx, tx, db.ScanInt, `UPDATE matches SET started_at = $1, round = $2, round_open = $3, seq = seq + $4
			WHERE id = $5 RETURNING seq`, db.Millis(at), no, db.Flag(first != nil), len(events), l.MatchID)
		if err != nil {
			return err
		}
		stored, err = insertEvents(ctx, tx, l.MatchID, last, events...)
		return err
	})
	return stored, s.wrap(err, "start match %s", l.MatchID)
}

// roundRow is a row of rounds.
type roundRow struct {
	arena.Round

	task      string // Round.Task, encoded before the write is queued
	turn      string // Round.Turn, likewise, packed; "" if it is zero
	openedSeq int64  // number of the last event before it: sealed events have higher ones
}

func newRoundRow(matchID string, r arena.Round) (row roundRow, err error) {
	r.MatchID, r.ClosedAt, r.Interruptions, r.VoteUntil = matchID, time.Time{}, 0, time.Time{}
	row.Round = r
	if row.task, err = db.JSONText(taskDoc(r.Task)); err != nil || r.Turn.IsZero() {
		return row, err
	}
	row.turn, err = db.PackedText(r.Turn)
	return row, err
}

var roundTable = db.NewTable("rounds", "r",
	db.Text("match_id", func(r *roundRow) *string { return &r.MatchID }),
	db.Int("no", func(r *roundRow) *int { return &r.No }),
	db.JSON("task", func(r *roundRow) *taskDoc { return (*taskDoc)(&r.Task) }).With(func(r *roundRow) any { return r.task }),
	db.Time("opened_at", func(r *roundRow) *time.Time { return &r.OpenedAt }),
	db.Time("closed_at", func(r *roundRow) *time.Time { return &r.ClosedAt }),
	db.Int("interruptions", func(r *roundRow) *int { return &r.Interruptions }),
	db.Written("opened_seq", db.TypeInt, func(r *roundRow) any { return r.openedSeq }),
	db.PackedJSON("turn", func(r *roundRow) any { return r.turn }, func(r *roundRow) *arena.Turn { return &r.Turn }),
	db.Time("vote_until", func(r *roundRow) *time.Time { return &r.VoteUntil }),
	db.Written("source", db.TypeText, func(r *roundRow) any { return r.Task.Source }),
)

var (
	insertRounds = db.NewInsert(roundTable, "")
	closeRounds  = db.NewUpdate(roundTable, []string{"match_id", "no"}, []string{"closed_at"})
	openVotes    = db.NewUpdate(roundTable, []string{"match_id", "no"}, []string{"vote_until"})
)

// OpenRound opens round r.No: the one after the last, or the open one once
// more after a take-over, with one more interruption than is stored. Its task and
// its turn stay, and a vote on it is no longer open. A second call for the same interruption changes nothing and returns
// no events. conflict: any other number, or a round is still open.
func (s *Matches) OpenRound(ctx context.Context, l arena.Lease, r arena.Round, events []arena.Event) ([]arena.Event, error) {
	row, err := newRoundRow(l.MatchID, r)
	if err != nil {
		return nil, s.wrap(err, "open round %d of match %s", r.No, l.MatchID)
	}
	stored, err := s.writeMatch(ctx, &matchWrite{lease: l, op: &openRound{round: row, interruptions: r.Interruptions}, events: events})
	return stored, s.wrap(err, "open round %d of match %s", r.No, l.MatchID)
}

// SaveAnswer stores what came of a seat's round, with its attempts and
// events. A second answer of the same agent in the same round changes nothing
// and returns no events (threat F3). It is not judged before its round closes,
// whatever a says. round_closed: a.Round is not open.
func (s *Matches) SaveAnswer(ctx context.Context, l arena.Lease, a arena.Answer, deliveries []arena.Delivery, events []arena.Event) ([]arena.Event, error) {
	return s.saveAnswer(ctx, l, a, deliveries, events, false)
}

// SaveLastAnswer is SaveAnswer for the last outcome of a round: it also marks
// the match as being judged (see MarkJudging), in the same write.
func (s *Matches) SaveLastAnswer(ctx context.Context, l arena.Lease, a arena.Answer, deliveries []arena.Delivery, events []arena.Event) ([]arena.Event, error) {
	return s.saveAnswer(ctx, l, a, deliveries, events, true)
}

// MarkJudging notes that answers of an open round are judged from now on, until
// CloseRound. A claim that takes over a marked match counts an interruption.
// round_closed: the round is not open.
func (s *Matches) MarkJudging(ctx context.Context, l arena.Lease, round int) error {
	_, err := s.writeMatch(ctx, &matchWrite{lease: l, round: round, op: markJudging{}, judged: true})
	return s.wrap(err, "mark match %s as being judged", l.MatchID)
}

func (s *Matches) saveAnswer(ctx context.Context, l arena.Lease, a arena.Answer, deliveries []arena.Delivery, events []arena.Event, last bool) ([]arena.Event, error) {
	a.MatchID, a.Judged = l.MatchID, false
	row, err := newAnswerRow(a)
	if err != nil {
		return nil, s.wrap(err, "save answer of agent %s in match %s", a.AgentID, l.MatchID)
	}
	stored, err := s.writeMatch(ctx, &matchWrite{lease: l, round: a.Round, op: &saveAnswer{answer: row, deliveries: kept(deliveries)}, events: events, judged: last})
	return stored, s.wrap(err, "save answer of agent %s in match %s", a.AgentID, l.MatchID)
}

// OpenVote stores when the vote of spectators on an open round ends, and appends
// the events. A second call appends them again. round_closed: the round is not
// open.
func (s *Matches) OpenVote(ctx context.Context, l arena.Lease, round int, until time.Time, events []arena.Event) ([]arena.Event, error) {
	row := roundRow{Round: arena.Round{MatchID: l.MatchID, No: round, VoteUntil: until}}
	stored, err := s.writeMatch(ctx, &matchWrite{lease: l, round: round, op: &openVote{row}, events: events})
	return stored, s.wrap(err, "open the vote on round %d of match %s", round, l.MatchID)
}

func roundClosed(matchID string, round int) error {
	return arena.Errorf(arena.CodeRoundClosed, "round %d of match %q is not open", round, matchID)
}

// answerRow is a row of answers.
type answerRow struct {
	arena.Answer

	body sql.NullString // Answer.Body, encoded before the write is queued
}

// readBody returns the destination that reads an answer's body.
func readBody(body **arena.AnswerBody) sql.Scanner { return bodyInto{body} }

type bodyInto struct{ body **arena.AnswerBody }

func (i bodyInto) Scan(src any) error {
	var doc *answerDoc
	err := db.IntoJSON(&doc).Scan(src)
	*i.body = (*arena.AnswerBody)(doc)
	return err
}

func newAnswerRow(a arena.Answer) (answerRow, error) {
	row := answerRow{Answer: a}
	if a.Body == nil {
		return row, nil
	}
	text, err := db.JSONText((*answerDoc)(a.Body))
	row.body = sql.NullString{String: text, Valid: true}
	return row, err
}

var answerTable = db.NewTable("answers", "a",
	db.Text("match_id", func(a *answerRow) *string { return &a.MatchID }),
	db.Int("round", func(a *answerRow) *int { return &a.Round }),
	db.Text("agent_id", func(a *answerRow) *string { return &a.AgentID }),
	db.Text("outcome", func(a *answerRow) *arena.Outcome { return &a.Outcome }),
	db.Untrusted("reason", func(a *answerRow) *string { return &a.Reason }),
	db.Column[answerRow]{
		Name: "body", Type: db.TypeText,
		Value: func(a *answerRow) any { return a.body },
		Into:  func(a *answerRow) any { return readBody(&a.Body) },
	},
	db.Int("elapsed_ns", func(a *answerRow) *time.Duration { return &a.Elapsed }),
	db.Int("attempts", func(a *answerRow) *int { return &a.Attempts }),
	db.Time("arrived_at", func(a *answerRow) *time.Time { return &a.ArrivedAt }),
	db.Bool("over_tokens", func(a *answerRow) *bool { return &a.OverTokens }),
	db.Int("points", func(a *answerRow) *arena.Points { return &a.Points }),
	db.Bool("judged", func(a *answerRow) *bool { return &a.Judged }),
)

var (
	insertAnswers = db.NewInsert(answerTable, "ON CONFLICT DO NOTHING").Returning("match_id", "agent_id")
	// Only a void round changes the outcomes of its answers, so most updates
	// leave every indexed column alone.
	judgeAnswers   = db.NewUpdate(answerTable, []string{"match_id", "round", "agent_id", "outcome", "reason"}, []string{"points", "judged"})
	rejudgeAnswers = db.NewUpdate(answerTable, []string{"match_id", "round", "agent_id"}, []string{"outcome", "reason", "points", "judged"})
)

var deliveryTable = db.NewTable("deliveries", "d",
	db.Text("id", func(d *arena.Delivery) *string { return &d.ID }),
	db.Text("match_id", func(d *arena.Delivery) *string { return &d.MatchID }),
	db.Text("league", func(d *arena.Delivery) *string { return &d.League }),
	db.Text("agent_id", func(d *arena.Delivery) *string { return &d.AgentID }),
	db.Int("round", func(d *arena.Delivery) *int { return &d.Round }),
	db.Text("task_id", func(d *arena.Delivery) *string { return &d.TaskID }),
	db.Int("attempt", func(d *arena.Delivery) *int { return &d.Attempt }),
	db.Int("status", func(d *arena.Delivery) *int { return &d.Status }),
	db.Text("outcome", func(d *arena.Delivery) *arena.Outcome { return &d.Outcome }),
	db.Untrusted("reason", func(d *arena.Delivery) *string { return &d.Reason }),
	db.Untrusted("detail", func(d *arena.Delivery) *string { return &d.Detail }),
	db.Time("sent_at", func(d *arena.Delivery) *time.Time { return &d.SentAt }),
	db.Int("elapsed_ns", func(d *arena.Delivery) *time.Duration { return &d.Elapsed }),
	db.Packed("request", func(d *arena.Delivery) *[]byte { return &d.Request }),
	db.Bytes("response", func(d *arena.Delivery) *[]byte { return &d.Response }),
	// Of the answer that the delivery brought: see deliveredAnswers.
	db.Computed("a.body", func(d *arena.Delivery) any { return readBody(&d.Answer) }),
	db.Computed("coalesce(a.arrived_at, 0)", func(d *arena.Delivery) any { return db.IntoTime(&d.AnsweredAt) }),
)

// deliveredAnswers joins the answers to deliveryTable.
const deliveredAnswers = ` LEFT JOIN answers a ON d.outcome = 'answered' AND a.match_id = d.match_id AND a.round = d.round AND a.agent_id = d.agent_id`

var insertDeliveries = db.NewInsert(deliveryTable, "")

// kept returns attempts with the parts of their requests and responses that are
// kept, and packed requests.
func kept(deliveries []arena.Delivery) []arena.Delivery {
	rows := slices.Clone(deliveries)
	for i, d := range rows {
		rows[i].Request, rows[i].Response = db.Pack(d.Request[:min(len(d.Request), keptRequest)]), d.Response[:min(len(d.Response), keptResponse)]
	}
	return rows
}

// newDelivery returns a delivery as it is stored.
func newDelivery(matchID, league string, d arena.Delivery) arena.Delivery {
	d.ID = cmp.Or(d.ID, arena.NewID(arena.DeliveryPrefix, d.SentAt))
	d.MatchID, d.League = matchID, league
	return d
}

// CloseRound closes the open round: it stores the judged answers, of which the
// last may be new, and the seats that changed, calls events with the round's
// events that have a hidden part, and appends what it returns. events runs inside
// the transaction, perhaps more than once. The next round opens in the same
// transaction, if c has one. A second call for the last round changes nothing and
// returns no events. round_closed: c.Round is any other round that is not open.
func (s *Matches) CloseRound(ctx context.Context, l arena.Lease, c arena.RoundClose, events func(hidden []arena.Event) ([]arena.Event, error)) ([]arena.Event, error) {
	op := &closeRound{RoundClose: c, closing: events}
	op.Answers = slices.Clone(c.Answers)
	for i := range op.Answers {
		op.Answers[i].MatchID, op.Answers[i].Round = l.MatchID, c.Round
	}
	if c.Last != nil {
		i := slices.IndexFunc(op.Answers, func(a arena.Answer) bool { return a.AgentID == c.Last.AgentID })
		if i < 0 {
			return nil, s.wrap(fmt.Errorf("no answer of agent %s", c.Last.AgentID), "close round %d of match %s", c.Round, l.MatchID)
		}
		last, err := newAnswerRow(op.Answers[i])
		if err != nil {
			return nil, s.wrap(err, "close round %d of match %s", c.Round, l.MatchID)
		}
		op.last, op.deliveries, op.Answers = &last, kept(c.Last.Deliveries), slices.Delete(op.Answers, i, i+1)
	}
	op.Verdict.Round, op.Verdict.MatchID = c.Round, l.MatchID
	if c.Next != nil {
		next, err := newRoundRow(l.MatchID, *c.Next)
		if err != nil {
			return nil, s.wrap(err, "open round %d of match %s", c.Next.No, l.MatchID)
		}
		op.next = &next
	}
	stored, err := s.writeMatch(ctx, &matchWrite{lease: l, op: op})
	return stored, s.wrap(err, "close round %d of match %s", c.Round, l.MatchID)
}

// Rounds returns a match's rounds in order.
func (s *Matches) Rounds(ctx context.Context, matchID string) ([]arena.Round, error) {
	rows, err := roundTable.All(ctx, s.reader, ` WHERE r.match_id = $1 ORDER BY r.no`, matchID)
	var rounds []arena.Round
	for _, r := range rows {
		rounds = append(rounds, r.Round)
	}
	return rounds, s.wrap(err, "read rounds of match %s", matchID)
}

// RoundsAt returns a round of each of some matches, by their ids; at has the
// numbers of the rounds. A round that does not exist is left out.
func (s *Matches) RoundsAt(ctx context.Context, at map[string]int) (map[string]arena.Round, error) {
	if len(at) == 0 {
		return nil, nil
	}
	var c db.Clauses
	var each []string
	for id, no := range at {
		each = append(each, "r.match_id = "+c.Arg(id)+" AND r.no = "+c.Arg(no))
	}
	rows, err := roundTable.All(ctx, s.reader, " WHERE "+strings.Join(each, " OR "), c.Args...)
	rounds := map[string]arena.Round{}
	for _, r := range rows {
		rounds[r.MatchID] = r.Round
	}
	return rounds, s.wrap(err, "read a round of each of %d matches", len(at))
}

// VoteUntil returns when the vote of spectators on a round ends, or the zero
// time if none was opened since the round opened.
func (s *Matches) VoteUntil(ctx context.Context, matchID string, round int) (time.Time, error) {
	ends, err := db.All(ctx, s.reader, db.ScanInt, `SELECT vote_until FROM rounds WHERE match_id = $1 AND no = $2 AND vote_until > 0`, matchID, round)
	if err != nil || len(ends) == 0 {
		return time.Time{}, s.wrap(err, "read the vote on round %d of match %s", round, matchID)
	}
	return time.UnixMilli(ends[0]).UTC(), nil
}

// Answers returns a match's answers, by round and agent.
func (s *Matches) Answers(ctx context.Context, matchID string) ([]arena.Answer, error) {
	answers, err := answersOf(ctx, s.reader, matchID)
	return answers, s.wrap(err, "read answers of match %s", matchID)
}

func answersOf(ctx context.Context, q db.Querier, matchID string) (answers []arena.Answer, err error) {
	rows, err := answerTable.All(ctx, q, ` WHERE a.match_id = $1 ORDER BY a.round, a.agent_id`, matchID)
	for _, a := range rows {
		answers = append(answers, a.Answer)
	}
	return answers, err
}
