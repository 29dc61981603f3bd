package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/visibility/mode"
)

// round is the open round of a match run.
type round struct {
	arena.Round
	deadline  time.Time
	position  game.Position             // as its game sees it, once its requests are prepared
	answers   map[string]arena.Answer   // by agent id: what is stored
	pending   atomic.Int32              // seats that have no outcome yet
	last      *seatRequest              // whose outcome is stored when the round closes; nil: that of no seat
	cooldowns map[string]arena.Cooldown // of agents, as they were just before it opened; nil: not read yet
}

// nextRound picks a task and opens the next round.
func (mr *matchRun) nextRound(ctx context.Context) (*round, error) {
	next, err := mr.pickTask(ctx, mr.m, mr.state)
	if err != nil {
		return nil, err
	}
	return mr.open(ctx, next)
}

// pickTask returns the next round of a match in a state with its task. It is not
// open yet.
func (mr *matchRun) pickTask(ctx context.Context, m arena.Match, state game.State) (*round, error) {
	no := m.Round + 1
	task, err := retry(ctx, mr, func() (arena.Task, error) { return mr.engine.o.Tasks.Pick(ctx, m, no) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		mr.log.Error("no task for the round", "round", no, "error", err)
		return nil, &voidError{arena.VoidTaskSourceFailed}
	}
	picked := arena.Round{MatchID: m.ID, No: no, Task: task}
	if picked.Turn, err = mr.turn(ctx, game.NewPosition(m, picked, state)); err != nil {
		return nil, err
	}
	return mr.newRound(picked), nil
}

// position returns the match as its game sees it in a round.
func (mr *matchRun) position(r arena.Round) game.Position {
	return game.NewPosition(mr.m, r, mr.state)
}

// turn returns what the game asks of the seats in a position.
func (mr *matchRun) turn(ctx context.Context, p game.Position) (arena.Turn, error) {
	turn, err := mr.game.Turn(ctx, p)
	if err != nil {
		return arena.Turn{}, mr.gameFailed(ctx, p.Round, err)
	}
	return turn, nil
}

// newRound returns a stored round with a new deadline and its stored answers.
func (mr *matchRun) newRound(r arena.Round) *round {
	r.OpenedAt = mr.engine.o.Now()
	made := &round{Round: r, deadline: r.OpenedAt.Add(mr.m.Settings.TimeLimitIn(r.No) + r.Turn.LongestBank()), answers: map[string]arena.Answer{}}
	for _, a := range mr.answers {
		if a.Round == r.No {
			made.answers[a.AgentID] = a
			mr.recount(a)
		}
	}
	if len(made.answers) > 0 { // closeRound adds them again
		mr.answers = slices.DeleteFunc(mr.answers, func(a arena.Answer) bool { return a.Round == r.No })
	}
	return made
}

// recount adds the 429 of a stored answer to the count of its seat, which is
// stored only when the round closes.
func (mr *matchRun) recount(a arena.Answer) {
	for i := range mr.m.Seats {
		if s := &mr.m.Seats[i]; s.AgentID == a.AgentID && a.Outcome == arena.OutcomeRateLimited && a.Attempts > 0 {
			s.RateLimits++
		}
	}
}

// open stores the round as open and publishes its task. An interrupted round
// opens again with a new time limit and keeps its stored answers.
func (mr *matchRun) open(ctx context.Context, r *round) (*round, error) {
	mr.warm()
	e := mr.openingEvent(r)
	if err := mr.commit(ctx, fmt.Sprintf("open round %d", r.No), func() ([]arena.Event, error) {
		return mr.engine.o.Store.OpenRound(ctx, mr.m.Lease, r.Round, []arena.Event{e})
	}); err != nil {
		return nil, err
	}
	mr.noteOpened(r)
	return r, nil
}

// warm opens connections to the agents while the round is stored, so that no
// seat pays for the handshake after dispatch.
func (mr *matchRun) warm() {
	for i := range mr.m.Seats {
		s := &mr.m.Seats[i]
		if d, ok := mr.engine.o.Drivers[s.Protocol].(warmer); ok && s.State == arena.SeatActive {
			d.Warm(s.Endpoint)
		}
	}
}

// noteOpened updates the state of the run after a round was stored as open.
func (mr *matchRun) noteOpened(r *round) {
	mr.m.Round, mr.m.RoundOpen, mr.correct[r.No] = r.No, true, r.Task.Correct()
}

func (mr *matchRun) openingEvent(r *round) arena.Event {
	return mr.event(arena.EventRoundStarted, "", r.No, arena.RoundStartedBody{
		Task:             r.Public(),
		TimeLimitSeconds: mr.m.Settings.TimeLimitIn(r.No).Seconds(),
		Deadline:         r.deadline.UTC().Format(arena.TimeFormat),
		Interrupted:      r.Interruptions > 0,
		GameState:        r.Turn.GameState,
	})
}

// playRound sends its prompt to every seat that acts and has no stored answer at
// the same moment, waits for all outcomes and closes the round. It returns the next
// round if that is open already.
func (mr *matchRun) playRound(ctx context.Context, open *round) (next *round, err error) {
	var batch arena.Batch
	requests, err := mr.prepareRequests(ctx, open, &batch)
	if err != nil {
		return nil, err
	}
	if err := mr.dispatch(ctx, requests, &batch); err != nil {
		return nil, err
	}
	return mr.closeRound(ctx, open, requests)
}

// prepareRequests prepares the requests of a round.
func (mr *matchRun) prepareRequests(ctx context.Context, open *round, batch *arena.Batch) ([]*seatRequest, error) {
	cooldowns := open.cooldowns
	if cooldowns == nil {
		var err error
		if cooldowns, err = mr.cooldowns(ctx, open); err != nil {
			return nil, err
		}
	}
	// Opening the round may have taken long. The time of each seat begins with
	// its request, so the deadline in the request counts from here.
	now := mr.engine.o.Now()
	open.position = mr.position(open.Round)
	active := 0
	for _, s := range mr.m.Seats {
		if s.State == arena.SeatActive {
			active++
		}
	}
	var requests []*seatRequest
	// Random order, so that no seat always receives the task first.
	for _, i := range mr.rand.Perm(len(mr.m.Seats)) {
		s := &mr.m.Seats[i]
		_, acts := open.Prompt(s.No)
		if _, stored := open.answers[s.AgentID]; stored || !acts || s.State != arena.SeatActive {
			continue
		}
		a := &seatRequest{run: mr, round: open, seat: s, cooldown: cooldowns[s.AgentID], opponents: active - 1, number: open.Turn.MaxAttempts()*open.Interruptions + 1}
		a.limit = mr.m.Settings.TimeLimitIn(open.No) + open.Turn.Bank(s.No)
		a.deadline = now.Add(a.limit)
		if err := a.prepare(ctx, batch); err != nil {
			mr.log.Error("request could not be prepared", "agent_id", s.AgentID, "error", err)
			return nil, &voidError{arena.VoidRequestFailed}
		}
		requests = append(requests, a)
	}
	open.pending.Store(int32(len(requests))) //nolint:gosec // G115: seats of one match
	return requests, nil
}

// dispatch sends the requests together and waits until all have an outcome.
func (mr *matchRun) dispatch(ctx context.Context, requests []*seatRequest, batch *arena.Batch) error {
	if ctx.Err() == nil && mr.leaseAge() <= mr.engine.trusted() { // else every seat waits for the lease
		batch.Send()
		for _, a := range requests {
			a.dispatched = a.send != nil
		}
	}
	failed := make(chan error, len(requests))
	do := func(sr *seatRequest) {
		if err := sr.do(ctx); err != nil {
			failed <- err
			if arena.CodeOf(err) == arena.CodeLeaseLost {
				mr.cancel(err) // the other seats no longer matter
			}
		}
	}
	var seats sync.WaitGroup
	for i, a := range requests {
		if i > 0 {
			seats.Go(func() { do(a) })
		}
	}
	if len(requests) > 0 { // this goroutine would only wait
		do(requests[0])
	}
	seats.Wait()
	close(failed)
	for err := range failed {
		return err
	}
	return nil
}

// closeRound has the game judge the stored answers and those of the requests,
// stores the result and reveals sealed answers. The next round opens in the same
// write if nothing comes between them; then closeRound returns it.
func (mr *matchRun) closeRound(ctx context.Context, open *round, requests []*seatRequest) (next *round, err error) {
	for _, a := range requests {
		open.answers[a.seat.AgentID] = a.answer
	}
	open.voidIfCutOff()
	if err := mr.markJudging(ctx, open.No); err != nil {
		return nil, err
	}
	p := open.position
	replies := p.Replies(func(agentID string) (arena.Answer, bool) { a, ok := open.answers[agentID]; return a, ok })
	verdict, err := mr.judge(ctx, p, replies)
	if failed, void := errors.AsType[*judgeError](err); void {
		mr.log.Warn("the judge failed, the round is void", "round", open.No, "error", failed)
	} else if err != nil {
		return nil, err
	}
	result, err := mr.game.Close(ctx, p, replies, verdict)
	if err != nil {
		return nil, mr.gameFailed(ctx, open.No, err)
	}
	judged := mr.roundClose(open, replies, result)
	if last := open.last; last != nil {
		judged.Last = &arena.LastOutcome{AgentID: last.seat.AgentID, Deliveries: last.deliveries, Events: last.events}
	}
	after := mr.m
	after.Seats = judged.Seats
	end, err := mr.game.Over(game.NewPosition(after, arena.Round{No: open.No + 1}, result.State))
	if err != nil {
		return nil, mr.gameFailed(ctx, open.No, err)
	}
	judged.RevealFrom = mode.Of(mr.m).RevealFrom(open.No, end.Over && end.Void == "")
	written := judged
	written.Seats = changedSeats(mr.stored, judged.Seats)
	// A match that cannot have another round ends once this one is stored.
	var stop error
	if !end.Over && end.Void == "" && mr.m.Settings.Break <= 0 && mr.engine.drain.Err() == nil {
		next, stop = mr.pickTask(ctx, after, result.State)
	}
	if next != nil {
		written.Next = &next.Round
		mr.warm()
	}
	if err := mr.commit(ctx, fmt.Sprintf("close round %d", open.No), func() ([]arena.Event, error) {
		return mr.engine.o.Store.CloseRound(ctx, mr.m.Lease, written, func(hidden []arena.Event) ([]arena.Event, error) {
			events := mr.closingEvents(open, judged, result.Closed, hidden)
			if next != nil {
				events = append(events, mr.openingEvent(next))
			}
			return events, nil
		})
	}); err != nil {
		return nil, err
	}
	if open.last != nil {
		open.last.observe()
	}
	mr.judging.Store(false)
	mr.m.Seats, mr.m.RoundOpen, mr.state, mr.closed = judged.Seats, false, result.State, mr.engine.o.Now()
	mr.stored = slices.Clone(judged.Seats)
	mr.answers = append(mr.answers, judged.Answers...)
	for _, a := range judged.Answers {
		mr.last[a.AgentID] = a
	}
	if next != nil {
		mr.noteOpened(next)
	}
	return next, stop
}

// changedSeats returns the seats that differ from how they are stored.
func changedSeats(stored, seats []arena.Seat) (changed []arena.Seat) {
	for i, s := range seats {
		if s != stored[i] {
			changed = append(changed, s)
		}
	}
	return changed
}

// voidIfCutOff makes the round void for all seats if the arena was cut off from
// one of them: the others would win by it.
func (r *round) voidIfCutOff() {
	cut := false
	for _, a := range r.answers {
		cut = cut || a.Reason == arena.ReasonCutOff
	}
	for id, a := range r.answers {
		if cut && a.Outcome.Counted() {
			a.Outcome, a.Reason = arena.OutcomeVoid, arena.ReasonCutOff
			r.answers[id] = a
		}
	}
}

// roundClose returns the answers, seats and verdict of a round with its result.
func (mr *matchRun) roundClose(open *round, replies []game.Reply, result game.Result) arena.RoundClose {
	c := arena.RoundClose{
		Round: open.No, Seats: slices.Clone(mr.m.Seats), Verdict: stamped(result.Verdict, mr.m.ID, open.No, mr.engine.o.Now()),
		Answers: make([]arena.Answer, len(replies)),
	}
	for i, r := range replies {
		s, score := &c.Seats[r.Seat], result.Scores[i]
		a := open.answers[s.AgentID]
		a.Points, a.Judged = score.Points, true
		switch {
		case score.Void:
			a.Outcome, a.Reason = arena.OutcomeVoid, "judge_failed"
		case score.Reason != "":
			a.Reason = score.Reason
		}
		*s = s.Closed(open.No, a.Outcome)
		s.Points += a.Points
		if a.Body != nil {
			s.Tokens += a.Body.SpentTokens()
		}
		if score.Out {
			s.State, s.OutRound = arena.SeatOut, open.No
		}
		open.answers[s.AgentID], c.Answers[i] = a, a
	}
	for i, points := range result.Awards {
		c.Seats[i].Points += points
	}
	return c
}

// stamped returns a verdict with its round and time, or the zero verdict if
// nothing was judged.
func stamped(v arena.Verdict, matchID string, round int, at time.Time) arena.Verdict {
	if v.Judge != "" {
		v.MatchID, v.Round, v.At = matchID, round, at
	}
	return v
}

// closingEvents returns the events of a round that closes: what was sealed, a
// reveal for each round, and the result.
func (mr *matchRun) closingEvents(open *round, c arena.RoundClose, closed arena.ClosedGame, hidden []arena.Event) []arena.Event {
	var events []arena.Event
	for len(hidden) > 0 {
		no := hidden[0].Round
		n := slices.IndexFunc(hidden, func(e arena.Event) bool { return e.Round != no })
		if n < 0 {
			n = len(hidden)
		}
		body := arena.RevealBody{Events: make([]arena.RevealedEvent, n)}
		for i, h := range hidden[:n] {
			body.Events[i] = arena.RevealedEvent{Seq: h.Seq, AgentID: h.AgentID, Hidden: h.Hidden}
		}
		events, hidden = append(events, mr.event(arena.EventReveal, "", no, body)), hidden[n:]
	}
	body := arena.RoundClosedBody{Correct: open.Task.Correct(), Seats: []arena.ClosedSeat{}, Ballots: c.Verdict.Ballots, ClosedGame: closed}
	untilEnd := mode.Of(mr.m).UntilEnd
	for _, a := range c.Answers {
		seat := a.Closed()
		if untilEnd { // the answer may say more than the move
			seat.Answer = closed.Move(a.AgentID)
		}
		body.Seats = append(body.Seats, seat)
	}
	for _, s := range scoring.PlaceSeats(mr.m.Settings, c.Seats) {
		body.Standings = append(body.Standings, arena.StandingBrief{
			AgentID: s.AgentID, Points: s.Points, Place: s.Place, State: s.State, LostRounds: s.LostRounds,
		})
	}
	return append(events, mr.event(arena.EventRoundClosed, "", open.No, body))
}

// outcomeEvent returns the seat_outcome event of an answer, sealed if the
// visibility mode of the match requires it.
func (mr *matchRun) outcomeEvent(a arena.Answer) (arena.Event, error) {
	e := mr.event(arena.EventSeatOutcome, a.AgentID, a.Round, arena.SeatOutcomeBody{
		Outcome: a.Outcome, Reason: a.Reason, ElapsedMS: a.Elapsed.Milliseconds(), Attempts: a.Attempts, OverTokens: a.OverTokens, AnswerBody: a.Body,
	})
	return mode.Of(mr.m).Seal(e)
}

// previous returns the result of the agent's last closed round with a receipt
// for its answer. The token of the task covers both.
func (mr *matchRun) previous(agentID string, before int) (*arena.PreviousRound, error) {
	a, ok := mr.last[agentID]
	if !ok || a.Round >= before {
		return nil, nil
	}
	previous := &arena.PreviousRound{Outcome: a.Outcome, Correct: mr.correct[a.Round], Points: a.Points, Measured: a.Elapsed}
	if a.Body == nil {
		return previous, nil
	}
	receipt, err := record.ReceiptOf(*a.Body, a.ArrivedAt)
	previous.Receipt = &receipt
	return previous, err
}
