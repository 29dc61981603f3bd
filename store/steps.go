package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
	"github.com/agora-arena/arena/store/internal/writer"
)

// step is one write of a runner to an open match. Steps that wait for the
// committer at the same time run as one, whatever their matches: each
// statement serves all of them. A step runs once more after a rollback, so it
// sets what it hands out.
type step struct {
	lease  arena.Lease
	round  int
	plan   plan
	events []arena.Event // to append to the log

	match  *openMatch
	undone bool // it was done before, or is refused: it changes nothing
	err    error
	stored []arena.Event
}

// plan is what a step does besides appending its events. check refuses it or
// finds that it was done already; the kind's own function then writes for all
// steps of that kind.
type plan interface {
	check(st *step)
}

// openMatch is a match's row while its steps run.
type openMatch struct {
	id, league string
	epoch, seq int64
	running    bool
	round      int
	roundOpen  bool
}

// step queues a step and gives the events that it stored.
func (s *Store) step(ctx context.Context, st *step) ([]arena.Event, error) {
	err := s.commit.Do(ctx, writer.Write[*step]{Key: st.lease.MatchID, Combined: st, Run: func(ctx context.Context, tx *db.Tx) error {
		if err := s.run(ctx, tx, []*step{st}); err != nil {
			return err
		}
		return st.err
	}})
	return st.stored, err
}

// Exclusive reports whether no other step of the match may run together with
// this one. Answers and announcements may: none needs what another one did.
func (st *step) Exclusive() bool {
	switch st.plan.(type) {
	case *openPlan, *closePlan:
		return true
	}
	return false
}

// Outcome returns the step's own error.
func (st *step) Outcome() error { return st.err }

// run does the steps in one transaction. An error undoes all; a step that is
// refused has its own.
func (s *Store) run(ctx context.Context, tx *db.Tx, steps []*step) error {
	if err := s.lockMatches(ctx, tx, steps); err != nil {
		return err
	}
	for _, write := range []func(context.Context, *db.Tx, []*step) error{s.openRounds, s.saveAnswers, s.closeRounds, writeLogs} {
		if err := write(ctx, tx, steps); err != nil {
			return err
		}
	}
	return nil
}

// lockMatches locks the rows of all matches, in the order of their ids, and
// checks each step against its own (threat C2).
func (s *Store) lockMatches(ctx context.Context, tx *db.Tx, steps []*step) error {
	matches := make(map[string]*openMatch, len(steps))
	var ids []string
	for _, st := range steps {
		if _, known := matches[st.lease.MatchID]; !known {
			matches[st.lease.MatchID] = nil
			ids = append(ids, st.lease.MatchID)
		}
	}
	var c db.Clauses
	db.In(&c, "m.id", ids) // a batch of the committer has no more
	rows, err := db.All(ctx, tx, func(r db.Row) (*openMatch, error) {
		m := &openMatch{}
		return m, r.Scan(&m.id, &m.league, &m.epoch, &m.seq, &m.running, &m.round, &m.roundOpen)
	}, `SELECT m.id, m.league, m.epoch, m.seq, m.status = 'running', m.round, m.round_open FROM matches m`+c.Where()+
		` ORDER BY m.id`+s.d.Lock("m"), c.Args...)
	if err != nil {
		return err
	}
	for _, m := range rows {
		matches[m.id] = m
	}
	for _, st := range steps {
		st.match, st.undone, st.err, st.stored = matches[st.lease.MatchID], false, nil, nil
		if st.match == nil || st.match.epoch != st.lease.Epoch || !st.match.running {
			st.refuse(leaseLost(st.lease))
			continue
		}
		st.plan.check(st)
	}
	return nil
}

func (st *step) refuse(err error) { st.undone, st.err = true, err }

// tellPlan appends to the log of an open round and does nothing else.
type tellPlan struct{}

func (tellPlan) check(st *step) { st.inOpenRound() }

func (st *step) inOpenRound() {
	if !st.match.roundOpen || st.match.round != st.round {
		st.refuse(roundClosed(st.lease.MatchID, st.round))
	}
}

// openPlan opens a round.
type openPlan struct {
	round arena.Round
	task  string
	again bool // the round is open already, and was interrupted
}

func (p *openPlan) check(st *step) {
	m := st.match
	p.again = m.roundOpen && p.round.No == m.round
	if !p.again && (m.roundOpen || p.round.No != m.round+1) {
		st.refuse(arena.Errorf(arena.CodeConflict, "round %d cannot be opened: the last one is %d (open: %t)", p.round.No, m.round, m.roundOpen))
	}
}

func (s *Store) openRounds(ctx context.Context, tx *db.Tx, steps []*step) error {
	var rows [][]any
	for st, p := range planned[*openPlan](steps) {
		if p.again {
			n, err := db.Exec(ctx, tx, `UPDATE rounds SET interruptions = interruptions + 1
				WHERE match_id = $1 AND no = $2 AND interruptions < $3`, st.lease.MatchID, p.round.No, p.round.Interruptions)
			if err != nil {
				return err
			}
			st.undone = n == 0
			continue
		}
		st.match.round, st.match.roundOpen = p.round.No, true
		rows = append(rows, roundArgs(st.lease.MatchID, p.round, p.task, st.match.seq))
	}
	return db.Bulk(ctx, tx, insertRounds, "", rows)
}

// answerPlan stores what came of a seat's round.
type answerPlan struct {
	answer     []any
	agentID    string
	deliveries []arena.Delivery
}

func (p *answerPlan) check(st *step) { st.inOpenRound() }

func (s *Store) saveAnswers(ctx context.Context, tx *db.Tx, steps []*step) error {
	type seat struct{ matchID, agentID string }
	var rows [][]any
	for _, p := range planned[*answerPlan](steps) {
		rows = append(rows, p.answer)
	}
	inserted := make(map[seat]bool, len(rows))
	for part := range db.Chunks(rows) {
		fresh, err := db.All(ctx, tx, func(r db.Row) (x seat, err error) { return x, r.Scan(&x.matchID, &x.agentID) },
			insertAnswers+tx.List(len(part), len(part[0]), "")+`ON CONFLICT DO NOTHING RETURNING match_id, agent_id`, slices.Concat(part...)...)
		if err != nil {
			return err
		}
		for _, x := range fresh {
			inserted[x] = true
		}
	}
	var deliveries [][]any
	for st, p := range planned[*answerPlan](steps) {
		x := seat{st.lease.MatchID, p.agentID}
		st.undone = !inserted[x]
		if st.undone {
			continue
		}
		delete(inserted, x) // one answer of a seat counts, the first (threat F3)
		for _, d := range p.deliveries {
			deliveries = append(deliveries, deliveryArgs(st.lease.MatchID, st.match.league, d))
		}
	}
	return db.Bulk(ctx, tx, insertDeliveries, "", deliveries)
}

// closePlan closes the open round.
type closePlan struct {
	arena.RoundClose

	answers [][]any // as rows of answers
	verdict []any   // nil: none
	closing func(hidden []arena.Event) ([]arena.Event, error)
}

func (p *closePlan) check(st *step) {
	switch m := st.match; {
	case m.round != p.Round || m.round == 0:
		st.refuse(roundClosed(st.lease.MatchID, p.Round))
	case !m.roundOpen:
		st.undone = true // by a call before
	}
}

func (s *Store) closeRounds(ctx context.Context, tx *db.Tx, steps []*step) error {
	now := db.Millis(s.now())
	var answers, verdicts, seats, rounds, out [][]any
	for st, p := range planned[*closePlan](steps) {
		answers = append(answers, p.answers...)
		if p.verdict != nil {
			verdicts = append(verdicts, p.verdict)
		}
		for _, seat := range p.Seats {
			seats = append(seats, standing(st.lease.MatchID, seat))
			if seat.State != arena.SeatActive {
				out = append(out, []any{st.lease.MatchID, seat.No})
			}
		}
		rounds = append(rounds, []any{st.lease.MatchID, p.Round, now})
		st.match.roundOpen = false
	}
	if len(rounds) == 0 {
		return nil
	}
	if err := judge(ctx, tx, answers); err != nil {
		return err
	}
	if err := db.Bulk(ctx, tx, insertVerdicts, "", verdicts); err != nil {
		return err
	}
	n, err := db.Update(ctx, tx, `UPDATE seats SET state = v.column4, out_round = v.column5, points = v.column6, place = v.column7,
		outcome = v.column8, rate_limits = v.column9`, `seats.match_id = v.column1 AND seats.no = v.column2 AND seats.agent_id = v.column3`,
		"TEXT,BIGINT,TEXT,TEXT,BIGINT,BIGINT,BIGINT,TEXT,BIGINT", seats)
	if err == nil && n != int64(len(seats)) {
		err = fmt.Errorf("%d of %d seats are not those of their matches", int64(len(seats))-n, len(seats))
	}
	if err != nil {
		return err
	}
	// The plus keeps SQLite from walking through all seats that play.
	if _, err := db.Update(ctx, tx, `UPDATE seats SET playing = 0`, `seats.match_id = v.column1 AND seats.no = v.column2 AND +seats.playing = 1`,
		"TEXT,BIGINT", out); err != nil {
		return err
	}
	if _, err := db.Update(ctx, tx, `UPDATE rounds SET closed_at = v.column3`, `rounds.match_id = v.column1 AND rounds.no = v.column2`,
		"TEXT,BIGINT,BIGINT", rounds); err != nil {
		return err
	}
	hidden, err := hiddenEvents(ctx, tx, rounds)
	if err != nil {
		return err
	}
	for st, p := range planned[*closePlan](steps) {
		if st.events, err = p.closing(hidden[st.lease.MatchID]); err != nil {
			return err
		}
	}
	return nil
}

// judge stores what answers are worth: what came back stays as it was stored.
// Their outcomes change only in a round that is void, so most rows keep
// everything that an index is made of. An answer that is not stored comes as a whole.
func judge(ctx context.Context, tx *db.Tx, answers [][]any) error {
	worth := make([][]any, len(answers))
	for i, a := range answers {
		worth[i] = []any{a[0], a[1], a[2], a[3], a[4], a[9], a[10]} // see insertAnswers
	}
	const (
		key   = `answers.match_id = v.column1 AND answers.round = v.column2 AND answers.agent_id = v.column3`
		types = "TEXT,BIGINT,TEXT,TEXT,TEXT,BIGINT,BIGINT"
	)
	n, err := db.Update(ctx, tx, `UPDATE answers SET points = v.column6, judged = v.column7`,
		key+` AND answers.outcome = v.column4 AND answers.reason = v.column5`, types, worth)
	if err != nil || n == int64(len(answers)) {
		return err
	}
	n, err = db.Update(ctx, tx, `UPDATE answers SET outcome = v.column4, reason = v.column5, points = v.column6, judged = v.column7`, key, types, worth)
	if err != nil || n == int64(len(answers)) {
		return err
	}
	return db.Bulk(ctx, tx, insertAnswers, `ON CONFLICT DO NOTHING`, answers)
}

// hiddenEvents gives the events of rounds that have a hidden part, with it, by
// match. A round is a row that begins with match and number.
func hiddenEvents(ctx context.Context, tx *db.Tx, rounds [][]any) (map[string][]arena.Event, error) {
	hidden := make(map[string][]arena.Event, len(rounds))
	for part := range db.Chunks(rounds) {
		args := make([]any, 0, 2*len(part))
		for _, r := range part {
			args = append(args, r[:2]...)
		}
		if _, err := db.All(ctx, tx, func(r db.Row) (e arena.Event, err error) {
			var text string
			err = r.Scan(&e.MatchID, &e.Round, &e.Seq, &e.AgentID, &e.Type, &text)
			e.Hidden = raw(text)
			hidden[e.MatchID] = append(hidden[e.MatchID], e)
			return e, err
		}, `SELECT e.match_id, e.round, e.seq, e.agent_id, e.type, e.hidden FROM (`+tx.List(len(part), 2, "TEXT,BIGINT")+`) v
			CROSS JOIN rounds r CROSS JOIN events e WHERE r.match_id = v.column1 AND r.no = v.column2 AND e.match_id = r.match_id
			AND e.seq > r.opened_seq AND e.round = r.no AND e.hidden <> '' ORDER BY e.match_id, e.seq`, args...); err != nil {
			return nil, err
		}
	}
	return hidden, nil
}

// writeLogs appends the events of the steps, and stores how their matches
// stand.
func writeLogs(ctx context.Context, tx *db.Tx, steps []*step) error {
	var events, matches [][]any
	written := make(map[*openMatch]bool, len(steps))
	for _, st := range steps {
		if st.undone {
			continue
		}
		m := st.match
		st.stored = numbered(m.id, m.seq+int64(len(st.events)), st.events)
		for i, e := range st.events {
			events = append(events, eventArgs(st.stored[i], e.Hidden))
		}
		m.seq += int64(len(st.events))
		written[m] = true
	}
	for m := range written {
		matches = append(matches, []any{m.id, m.seq, m.round, db.Flag(m.roundOpen)})
	}
	if _, err := db.Update(ctx, tx, `UPDATE matches SET seq = v.column2, round = v.column3, round_open = v.column4`, `matches.id = v.column1`,
		"TEXT,BIGINT,BIGINT,BIGINT", matches); err != nil {
		return err
	}
	return db.Bulk(ctx, tx, insertEventRows, "", events)
}

// planned gives the steps of one kind that are to be done.
func planned[P plan](steps []*step) func(yield func(*step, P) bool) {
	return func(yield func(*step, P) bool) {
		for _, st := range steps {
			if p, is := st.plan.(P); is && !st.undone && !yield(st, p) {
				return
			}
		}
	}
}

// standing is a seat's row of the closing of a round.
func standing(matchID string, seat arena.Seat) []any {
	return []any{
		matchID, seat.No, seat.AgentID, string(seat.State), seat.OutRound, int64(seat.Points), seat.Place, string(seat.Outcome), seat.RateLimits,
	}
}
