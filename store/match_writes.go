package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
	"github.com/agora-arena/arena/store/internal/writer"
)

// matchWrite is a write of a runner to an open match. Match writes that wait at
// the same time run together, whatever their matches: each statement serves all
// of them. A write may run again after a rollback, so it sets its results.
type matchWrite struct {
	lease  arena.Lease
	round  int
	op     operation
	events []arena.Event // to append to the log
	judged bool          // the match is judged next: see claim

	match   *openMatch
	skipped bool // it was done before, or is rejected: it changes nothing
	err     error
	stored  []arena.Event
}

// operation is what a match write does besides appending its events.
type operation interface {
	// check rejects the write, or skips one that was done before.
	check(w *matchWrite)
	// exclusive reports whether no other write to the match may run together
	// with this one.
	exclusive() bool
}

// openMatch is a match's row while its writes run. Its columns that are written
// are stored once all writes have run.
type openMatch struct {
	id, league string
	epoch, seq int64
	running    bool
	round      int
	roundOpen  bool
	judging    bool
}

var openMatchTable = db.NewTable("matches", "m",
	db.Text("id", func(m *openMatch) *string { return &m.id }),
	db.Computed("m.league", func(m *openMatch) any { return &m.league }),
	db.Computed("m.epoch", func(m *openMatch) any { return &m.epoch }),
	db.Computed("m.status = 'running'", func(m *openMatch) any { return &m.running }),
	db.Int("seq", func(m *openMatch) *int64 { return &m.seq }),
	db.Int("round", func(m *openMatch) *int { return &m.round }),
	db.Bool("round_open", func(m *openMatch) *bool { return &m.roundOpen }),
	db.Bool("judging", func(m *openMatch) *bool { return &m.judging }),
)

var updateMatches = db.NewUpdate(openMatchTable, []string{"id"}, []string{"seq", "round", "round_open", "judging"})

// writeMatch queues a match write and returns the events that it stored.
func (s *Matches) writeMatch(ctx context.Context, w *matchWrite) ([]arena.Event, error) {
	err := s.pool.Do(ctx, writer.Write[*matchWrite]{Key: w.lease.MatchID, Combined: w, Run: func(ctx context.Context, tx *db.Tx) error {
		if err := s.runMatchWrites(ctx, tx, []*matchWrite{w}); err != nil {
			return err
		}
		return w.err
	}})
	return w.stored, err
}

// Exclusive reports whether no other write to the match may run together with
// this one.
func (w *matchWrite) Exclusive() bool { return w.op.exclusive() }

// Outcome returns the write's own error.
func (w *matchWrite) Outcome() error { return w.err }

// runMatchWrites runs the writes in one transaction. An error undoes all; a
// rejected write has its own.
func (s *Matches) runMatchWrites(ctx context.Context, tx *db.Tx, writes []*matchWrite) error {
	if err := s.lockMatches(ctx, tx, writes); err != nil {
		return err
	}
	for _, run := range []func(context.Context, *db.Tx, []*matchWrite) error{openRounds, saveAnswers, saveVotesOpened, s.closeRounds, writeLogs} {
		if err := run(ctx, tx, writes); err != nil {
			return err
		}
	}
	return nil
}

// lockMatches locks the rows of all matches, in the order of their ids, and
// checks each write against its own (threat C2).
func (s *Matches) lockMatches(ctx context.Context, tx *db.Tx, writes []*matchWrite) error {
	matches := make(map[string]*openMatch, len(writes))
	var ids []string
	for _, w := range writes {
		if _, known := matches[w.lease.MatchID]; !known {
			matches[w.lease.MatchID] = nil
			ids = append(ids, w.lease.MatchID)
		}
	}
	var c db.Clauses
	db.In(&c, "m.id", ids) // the pool combines no more writes than that
	rows, err := openMatchTable.All(ctx, tx, c.Where()+` ORDER BY m.id`+s.d.Lock("m"), c.Args...)
	if err != nil {
		return err
	}
	for i := range rows {
		matches[rows[i].id] = &rows[i]
	}
	for _, w := range writes {
		w.match, w.skipped, w.err, w.stored = matches[w.lease.MatchID], false, nil, nil
		if w.match == nil || w.match.epoch != w.lease.Epoch || !w.match.running {
			w.reject(leaseLost(w.lease))
			continue
		}
		w.op.check(w)
	}
	return nil
}

func (w *matchWrite) reject(err error) { w.skipped, w.err = true, err }

// accepted returns the writes of one kind of operation that are to be done.
func accepted[O operation](writes []*matchWrite) func(yield func(*matchWrite, O) bool) {
	return func(yield func(*matchWrite, O) bool) {
		for _, w := range writes {
			if op, is := w.op.(O); is && !w.skipped && !yield(w, op) {
				return
			}
		}
	}
}

// count returns the number of writes that accepted returns.
func count[O operation](writes []*matchWrite) (n int) {
	for range accepted[O](writes) {
		n++
	}
	return n
}

// markJudging marks a match with an open round and does nothing else.
type markJudging struct{}

func (markJudging) exclusive() bool     { return false }
func (markJudging) check(w *matchWrite) { w.checkRoundOpen() }

// openVote stores when the vote on an open round ends.
type openVote struct{ round roundRow }

func (*openVote) exclusive() bool     { return true } // one statement cannot update a row twice
func (*openVote) check(w *matchWrite) { w.checkRoundOpen() }

func saveVotesOpened(ctx context.Context, tx *db.Tx, writes []*matchWrite) error {
	var rows []roundRow
	for _, o := range accepted[*openVote](writes) {
		rows = append(rows, o.round)
	}
	_, err := openVotes.Exec(ctx, tx, rows...)
	return err
}

func (w *matchWrite) checkRoundOpen() {
	if !w.match.roundOpen || w.match.round != w.round {
		w.reject(roundClosed(w.lease.MatchID, w.round))
	}
}

// openRound opens a round.
type openRound struct {
	round         roundRow
	interruptions int

	reopens bool // the round is open already, and was interrupted
}

func (*openRound) exclusive() bool { return true }

func (o *openRound) check(w *matchWrite) {
	m := w.match
	o.reopens = m.roundOpen && o.round.No == m.round
	if !o.reopens && (m.roundOpen || o.round.No != m.round+1) {
		w.reject(arena.Errorf(arena.CodeConflict, "round %d cannot be opened: the last one is %d (open: %t)", o.round.No, m.round, m.roundOpen))
	}
}

func openRounds(ctx context.Context, tx *db.Tx, writes []*matchWrite) error {
	rows := make([]roundRow, 0, count[*openRound](writes))
	for w, o := range accepted[*openRound](writes) {
		if o.reopens {
			n, err := db.Exec(ctx, tx, `UPDATE rounds SET interruptions = interruptions + 1, vote_until = 0
				WHERE match_id = $1 AND no = $2 AND interruptions < $3`, w.lease.MatchID, o.round.No, o.interruptions)
			if err != nil {
				return err
			}
			w.skipped = n == 0
			continue
		}
		w.match.round, w.match.roundOpen = o.round.No, true
		o.round.openedSeq = w.match.seq
		rows = append(rows, o.round)
	}
	_, err := insertRounds.Exec(ctx, tx, rows...)
	return err
}

// saveAnswer stores the outcome of a seat's round.
type saveAnswer struct {
	answer     answerRow
	deliveries []arena.Delivery
}

func (*saveAnswer) exclusive() bool     { return false } // no answer needs another one
func (*saveAnswer) check(w *matchWrite) { w.checkRoundOpen() }

func saveAnswers(ctx context.Context, tx *db.Tx, writes []*matchWrite) error {
	type seat struct{ matchID, agentID string }
	rows := make([]answerRow, 0, count[*saveAnswer](writes))
	for _, o := range accepted[*saveAnswer](writes) {
		rows = append(rows, o.answer)
	}
	fresh, err := insertAnswers.Query(ctx, tx, rows...)
	if err != nil {
		return err
	}
	inserted := make(map[seat]bool, len(fresh))
	for _, a := range fresh {
		inserted[seat{a.MatchID, a.AgentID}] = true
	}
	deliveries := make([]arena.Delivery, 0, len(rows))
	for w, o := range accepted[*saveAnswer](writes) {
		of := seat{w.lease.MatchID, o.answer.AgentID}
		w.skipped = !inserted[of]
		if w.skipped {
			continue
		}
		delete(inserted, of) // only the first answer of a seat counts (threat F3)
		for _, d := range o.deliveries {
			deliveries = append(deliveries, newDelivery(w.lease.MatchID, w.match.league, d))
		}
	}
	_, err = insertDeliveries.Exec(ctx, tx, deliveries...)
	return err
}

// closeRound closes the open round, stores its last answer, and opens the next
// round.
type closeRound struct {
	arena.RoundClose

	last       *answerRow       // the answer that is not stored yet, which is not among Answers; nil: all are
	deliveries []arena.Delivery // of last: see kept
	next       *roundRow        // nil: none opens
	closing    func(hidden []arena.Event) ([]arena.Event, error)
}

func (*closeRound) exclusive() bool { return true }

func (o *closeRound) check(w *matchWrite) {
	switch m := w.match; {
	case o.next != nil && o.next.No != o.Round+1:
		w.reject(arena.Errorf(arena.CodeConflict, "round %d cannot be opened when round %d closes", o.next.No, o.Round))
	case o.next != nil && m.round == o.next.No:
		w.skipped = true // an earlier call opened it
	case m.round != o.Round || m.round == 0:
		w.reject(roundClosed(w.lease.MatchID, o.Round))
	case !m.roundOpen:
		w.skipped = true // an earlier call closed it
	}
}

func (s *Matches) closeRounds(ctx context.Context, tx *db.Tx, writes []*matchWrite) error {
	now := s.now()
	rounds := make([]roundRow, 0, count[*closeRound](writes))
	var answers, last []answerRow
	var deliveries []arena.Delivery
	var verdicts []verdictRow
	var seats, out []seatRow
	var revealed []arena.Event // matches with the first round whose hidden parts are wanted
	for w, o := range accepted[*closeRound](writes) {
		answers = slices.Grow(answers, len(o.Answers))
		for _, a := range o.Answers {
			answers = append(answers, answerRow{Answer: a})
		}
		if o.last != nil {
			last = append(last, *o.last)
			for _, d := range o.deliveries {
				deliveries = append(deliveries, newDelivery(w.lease.MatchID, w.match.league, d))
			}
		}
		seats = slices.Grow(seats, len(o.Seats))
		if o.Verdict.Judge != "" {
			verdicts = append(verdicts, verdictRow{Verdict: o.Verdict, no: 1})
		}
		for _, seat := range o.Seats {
			row := seatRow{matchID: w.lease.MatchID, Seat: seat}
			seats = append(seats, row)
			if seat.State != arena.SeatActive {
				out = append(out, row)
			}
		}
		rounds = append(rounds, roundRow{Round: arena.Round{MatchID: w.lease.MatchID, No: o.Round, ClosedAt: now}})
		if o.reveals() {
			revealed = append(revealed, arena.Event{MatchID: w.lease.MatchID, Round: o.revealFrom()})
		}
		w.match.roundOpen, w.match.judging = false, false
	}
	if len(rounds) == 0 {
		return nil
	}
	if err := judge(ctx, tx, answers); err != nil {
		return err
	}
	if _, err := insertAnswers.Query(ctx, tx, last...); err != nil {
		return err
	}
	if _, err := insertDeliveries.Exec(ctx, tx, deliveries...); err != nil {
		return err
	}
	if _, err := insertVerdicts.Exec(ctx, tx, verdicts...); err != nil {
		return err
	}
	if err := updateSeats(ctx, tx, updateStandings, seats...); err != nil {
		return err
	}
	if _, err := freeSeats.Exec(ctx, tx, out...); err != nil {
		return err
	}
	if _, err := closeRounds.Exec(ctx, tx, rounds...); err != nil {
		return err
	}
	hidden, err := hiddenEvents(ctx, tx, revealed)
	if err != nil {
		return err
	}
	opened := make([]roundRow, 0, len(rounds))
	for w, o := range accepted[*closeRound](writes) {
		outcome, sealed := o.lastEvents(w.match)
		closing, err := o.closing(append(hidden[w.lease.MatchID], sealed...))
		if err != nil {
			return err
		}
		w.events = append(outcome, closing...)
		if o.next != nil {
			o.next.openedSeq = w.match.seq + int64(len(w.events)) - 1 // its own event is the last
			w.match.round, w.match.roundOpen = o.next.No, true
			opened = append(opened, *o.next)
		}
	}
	_, err = insertRounds.Exec(ctx, tx, opened...)
	return err
}

// lastEvents returns the events of the last outcome, and those of them whose
// hidden part becomes public now, with their numbers.
func (o *closeRound) lastEvents(m *openMatch) (events, sealed []arena.Event) {
	if o.Last == nil {
		return nil, nil
	}
	for i, e := range o.Last.Events {
		if e.Hidden != nil && o.reveals() { // as hiddenEvents returns it
			sealed = append(sealed, arena.Event{MatchID: m.id, Round: e.Round, Seq: m.seq + int64(i) + 1, AgentID: e.AgentID, Type: e.Type, Hidden: e.Hidden})
		}
	}
	return slices.Clip(o.Last.Events), sealed // what is appended to them goes elsewhere
}

// reveals reports whether sealed parts of the round become public.
func (o *closeRound) reveals() bool { return o.revealFrom() <= o.Round }

func (o *closeRound) revealFrom() int { return cmp.Or(o.RevealFrom, o.Round) }

// judge stores points and outcomes of answers. The bodies stay as they were
// stored. An answer that is not stored yet is inserted as a whole.
func judge(ctx context.Context, tx *db.Tx, rows []answerRow) error {
	for _, update := range []*db.Statement[answerRow]{judgeAnswers, rejudgeAnswers} {
		n, err := update.Exec(ctx, tx, rows...)
		if err != nil || n == int64(len(rows)) {
			return err
		}
	}
	for i := range rows {
		var err error
		if rows[i], err = newAnswerRow(rows[i].Answer); err != nil {
			return err
		}
	}
	_, err := insertAnswers.Query(ctx, tx, rows...)
	return err
}

// hiddenEventTable reads the events with a hidden part, and that part.
var hiddenEventTable = db.NewTable("events", "e",
	db.Text("match_id", func(e *arena.Event) *string { return &e.MatchID }),
	db.Int("round", func(e *arena.Event) *int { return &e.Round }),
	db.Int("seq", func(e *arena.Event) *int64 { return &e.Seq }),
	db.Text("agent_id", func(e *arena.Event) *string { return &e.AgentID }),
	db.Text("type", func(e *arena.Event) *arena.EventType { return &e.Type }),
	db.RawJSON("hidden", func(e *arena.Event) *json.RawMessage { return &e.Hidden }),
)

var selectHidden = db.NewQuery(hiddenEventTable, []string{"match_id", "round"}, `CROSS JOIN rounds r CROSS JOIN events e
	WHERE r.match_id = v.match_id AND r.no = v.round AND e.match_id = r.match_id AND e.seq > r.opened_seq AND e.round >= r.no
	AND e.hidden <> '' ORDER BY e.match_id, e.seq`)

// hiddenEvents returns the events that have a hidden part, with it, by match. from
// names matches with the first round of interest.
func hiddenEvents(ctx context.Context, tx *db.Tx, from []arena.Event) (map[string][]arena.Event, error) {
	if len(from) == 0 {
		return nil, nil //nolint:nilnil // nothing is wanted: not an error
	}
	events, err := selectHidden.Query(ctx, tx, from...)
	hidden := make(map[string][]arena.Event, len(from))
	for _, e := range events {
		hidden[e.MatchID] = append(hidden[e.MatchID], e)
	}
	return hidden, err
}

// writeLogs appends the events of the writes and stores the changed matches.
func writeLogs(ctx context.Context, tx *db.Tx, writes []*matchWrite) error {
	n := 0
	for _, w := range writes {
		n += len(w.events)
	}
	events := make([]arena.Event, 0, n)
	written := make(map[*openMatch]bool, len(writes))
	for _, w := range writes {
		if w.skipped {
			continue
		}
		m := w.match
		m.seq += int64(len(w.events))
		m.judging = m.judging || w.judged
		w.stored = numbered(m.id, m.seq, w.events)
		events = append(events, w.stored...)
		addHidden(events[len(events)-len(w.events):], w.events)
		written[m] = true
	}
	matches := make([]openMatch, 0, len(written))
	for m := range written {
		matches = append(matches, *m)
	}
	if _, err := updateMatches.Exec(ctx, tx, matches...); err != nil {
		return err
	}
	_, err := insertEventRows.Exec(ctx, tx, events...)
	return err
}
