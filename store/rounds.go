package store

import (
	"cmp"
	"context"
	"database/sql"
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
	Confidence    *float64 `json:"confidence"`
	Reasoning     string   `json:"reasoning"`
	SubagentsUsed []string `json:"subagents_used"`
	ToolsUsed     []string `json:"tools_used"`
	Tokens        *int64   `json:"tokens"`
	LatencyMS     *float64 `json:"latency_ms"`
}

// StartMatch pins the seats as given, notes when play began and opens the
// first round, unless first is nil. A second call for the same match changes
// nothing and returns no events.
func (s *Store) StartMatch(ctx context.Context, l arena.Lease, seats []arena.Seat, at time.Time, first *arena.Round, events []arena.Event) ([]arena.Event, error) {
	var task string
	if first != nil {
		var err error
		if task, err = db.JSONText(taskDoc(first.Task)); err != nil {
			return nil, s.wrap(err, "start match %s", l.MatchID)
		}
	}
	var stored []arena.Event
	err := s.write(ctx, l.MatchID, func(ctx context.Context, tx *db.Tx) error {
		stored = nil
		if _, err := s.fence(ctx, tx, l); err != nil {
			return err
		}
		agents, pinned, err := heldSeats(ctx, tx, l.MatchID)
		if err != nil || pinned {
			return err
		}
		if err := pinSeats(ctx, tx, l.MatchID, agents, seats); err != nil {
			return err
		}
		no := 0
		if first != nil {
			no = first.No
			seq, err := db.One(ctx, tx, db.ScanInt, `SELECT m.seq FROM matches m WHERE m.id = $1`, l.MatchID)
			if err != nil {
				return err
			}
			if err := db.Bulk(ctx, tx, insertRounds, "", [][]any{roundArgs(l.MatchID, *first, task, seq)}); err != nil {
				return err
			}
		}
		// One statement for what is three elsewhere: the first task waits for it.
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

const insertRounds = `INSERT INTO rounds (match_id, no, task, opened_at, closed_at, interruptions, opened_seq, source)`

// roundArgs is the row of a round that opens when the log has reached number
// seq. What is sealed in it has a higher one.
func roundArgs(matchID string, r arena.Round, task string, seq int64) []any {
	return []any{matchID, r.No, task, db.Millis(r.OpenedAt), 0, 0, seq, r.Task.Source}
}

// OpenRound opens round r.No: the one after the last, or the open one once
// more after a take-over, with one more interruption than is stored; its task
// stays. A second call for the same interruption changes nothing and returns
// no events. conflict: any other number, or a round is still open.
func (s *Store) OpenRound(ctx context.Context, l arena.Lease, r arena.Round, events []arena.Event) ([]arena.Event, error) {
	task, err := db.JSONText(taskDoc(r.Task))
	if err != nil {
		return nil, s.wrap(err, "open round %d of match %s", r.No, l.MatchID)
	}
	stored, err := s.step(ctx, &step{lease: l, plan: &openPlan{round: r, task: task}, events: events})
	return stored, s.wrap(err, "open round %d of match %s", r.No, l.MatchID)
}

// SaveAnswer stores what came of a seat's round, with its attempts and
// events. A second answer of the same agent in the same round changes nothing
// and returns no events (threat F3). It is not judged before its round closes,
// whatever a says. round_closed: a.Round is not open.
func (s *Store) SaveAnswer(ctx context.Context, l arena.Lease, a arena.Answer, deliveries []arena.Delivery, events []arena.Event) ([]arena.Event, error) {
	a.MatchID, a.Judged = l.MatchID, false
	args, err := answerArgs(a)
	if err != nil {
		return nil, s.wrap(err, "save answer of agent %s in match %s", a.AgentID, l.MatchID)
	}
	stored, err := s.step(ctx, &step{lease: l, round: a.Round, plan: &answerPlan{answer: args, agentID: a.AgentID, deliveries: deliveries}, events: events})
	return stored, s.wrap(err, "save answer of agent %s in match %s", a.AgentID, l.MatchID)
}

// Tell appends announcements to the log of an open round, once more when it
// is called once more. round_closed: the round is not open.
func (s *Store) Tell(ctx context.Context, l arena.Lease, round int, events []arena.Event) ([]arena.Event, error) {
	stored, err := s.step(ctx, &step{lease: l, round: round, plan: tellPlan{}, events: events})
	return stored, s.wrap(err, "tell events of match %s", l.MatchID)
}

func roundClosed(matchID string, round int) error {
	return arena.Errorf(arena.CodeRoundClosed, "round %d of match %q is not open", round, matchID)
}

const insertAnswers = `INSERT INTO answers (match_id, round, agent_id, outcome, reason, body, elapsed_ns, attempts, arrived_at, points, judged)`

func answerArgs(a arena.Answer) ([]any, error) {
	var body sql.NullString
	if a.Body != nil {
		text, err := db.JSONText(answerDoc(*a.Body))
		if err != nil {
			return nil, err
		}
		body = sql.NullString{String: text, Valid: true}
	}
	return []any{
		a.MatchID, a.Round, a.AgentID, string(a.Outcome), db.Storable(a.Reason), body, int64(a.Elapsed), a.Attempts, db.Millis(a.ArrivedAt),
		int64(a.Points), db.Flag(a.Judged),
	}, nil
}

const insertDeliveries = `INSERT INTO deliveries (id, match_id, league, agent_id, round, task_id, attempt, status, outcome,
	reason, detail, sent_at, elapsed_ns, request, response)`

func deliveryArgs(matchID, league string, d arena.Delivery) []any {
	return []any{
		cmp.Or(d.ID, arena.NewID(arena.DeliveryPrefix, d.SentAt)), matchID, league, d.AgentID, d.Round, d.TaskID, d.Attempt, d.Status,
		string(d.Outcome), db.Storable(d.Reason), db.Storable(d.Detail), db.Millis(d.SentAt), int64(d.Elapsed), d.Request[:min(len(d.Request), keptRequest)],
		d.Response[:min(len(d.Response), keptResponse)],
	}
}

// CloseRound closes the open round: it stores the judged answers and how all
// seats stand, calls events with the round's events that have a hidden part,
// and appends what it returns. events runs inside the transaction, perhaps
// more than once. A second call for the last round changes nothing and returns
// no events. round_closed: c.Round is any other round that is not open.
func (s *Store) CloseRound(ctx context.Context, l arena.Lease, c arena.RoundClose, events func(hidden []arena.Event) ([]arena.Event, error)) ([]arena.Event, error) {
	p := &closePlan{RoundClose: c, answers: make([][]any, len(c.Answers)), closing: events}
	for i, a := range c.Answers {
		a.MatchID, a.Round = l.MatchID, c.Round
		args, err := answerArgs(a)
		if err != nil {
			return nil, s.wrap(err, "close round %d of match %s", c.Round, l.MatchID)
		}
		p.answers[i] = args
	}
	if c.Verdict.Judge != "" {
		c.Verdict.Round = c.Round
		var err error
		if p.verdict, err = verdictArgs(l.MatchID, 1, c.Verdict); err != nil {
			return nil, s.wrap(err, "close round %d of match %s", c.Round, l.MatchID)
		}
	}
	stored, err := s.step(ctx, &step{lease: l, plan: p})
	return stored, s.wrap(err, "close round %d of match %s", c.Round, l.MatchID)
}

// Rounds gives a match's rounds in order.
func (s *Store) Rounds(ctx context.Context, matchID string) ([]arena.Round, error) {
	rounds, err := db.All(ctx, s.reader, func(r db.Row) (arena.Round, error) {
		var t taskDoc
		round := arena.Round{MatchID: matchID}
		err := r.Scan(&round.No, db.IntoJSON(&t), db.IntoTime(&round.OpenedAt), db.IntoTime(&round.ClosedAt), &round.Interruptions)
		round.Task = arena.Task(t)
		return round, err
	}, `SELECT no, task, opened_at, closed_at, interruptions FROM rounds WHERE match_id = $1 ORDER BY no`, matchID)
	return rounds, s.wrap(err, "read rounds of match %s", matchID)
}

// Answers gives a match's answers, by round and agent.
func (s *Store) Answers(ctx context.Context, matchID string) ([]arena.Answer, error) {
	answers, err := db.All(ctx, s.reader, scanAnswer(matchID), answerRows+` WHERE match_id = $1 ORDER BY round, agent_id`, matchID)
	return answers, s.wrap(err, "read answers of match %s", matchID)
}

const answerRows = `SELECT round, agent_id, outcome, reason, body, elapsed_ns, attempts, arrived_at, points, judged FROM answers`

func scanAnswer(matchID string) func(db.Row) (arena.Answer, error) {
	return func(r db.Row) (arena.Answer, error) {
		a := arena.Answer{MatchID: matchID}
		var body *answerDoc
		err := r.Scan(&a.Round, &a.AgentID, &a.Outcome, &a.Reason, db.IntoJSON(&body), &a.Elapsed, &a.Attempts, db.IntoTime(&a.ArrivedAt), &a.Points, &a.Judged)
		a.Body = (*arena.AnswerBody)(body)
		return a, err
	}
}
