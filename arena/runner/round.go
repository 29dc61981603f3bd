package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/record"
	"github.com/agora-arena/arena/arena/visibility/mode"
	"github.com/agora-arena/arena/scoring"
)

// round is the open round of a play.
type round struct {
	arena.Round
	deadline time.Time
	answers  map[string]arena.Answer // by agent id: what is stored
	pending  atomic.Int32            // seats whose outcome is not stored yet
	rests    map[string]arena.Rest   // of agents, as they were just before it opened; nil: not read yet
}

// nextRound picks a task and opens the next round with it.
func (p *play) nextRound(ctx context.Context) (*round, error) {
	next, err := p.pick(ctx, p.m.Round+1)
	if err != nil {
		return nil, err
	}
	return p.open(ctx, next)
}

// pick makes a round with its task, which is not open yet.
func (p *play) pick(ctx context.Context, no int) (*round, error) {
	task, err := retry(ctx, p, func() (arena.Task, error) { return p.r.o.Tasks.Pick(ctx, p.m, no) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		p.log.Error("no task for the round", "round", no, "error", err)
		return nil, &voidError{"the task source failed"}
	}
	return p.roundOf(arena.Round{MatchID: p.m.ID, No: no, Task: task}), nil
}

// roundOf gives the round with a new time limit and what is stored of it.
func (p *play) roundOf(r arena.Round) *round {
	r.OpenedAt = p.r.o.Now()
	made := &round{Round: r, deadline: r.OpenedAt.Add(p.m.Settings.TimeLimit), answers: map[string]arena.Answer{}}
	for _, a := range p.answers {
		if a.Round == r.No {
			made.answers[a.AgentID] = a
			p.recount(a)
		}
	}
	if len(made.answers) > 0 { // they come back when they are judged
		p.answers = slices.DeleteFunc(p.answers, func(a arena.Answer) bool { return a.Round == r.No })
	}
	return made
}

// recount adds the 429 of a stored answer to its seat, whose count is stored
// only when the round closes.
func (p *play) recount(a arena.Answer) {
	for i := range p.m.Seats {
		if s := &p.m.Seats[i]; s.AgentID == a.AgentID && a.Outcome == arena.OutcomeRateLimited && a.Attempts > 0 {
			s.RateLimits++
		}
	}
}

// open stores the round as open and shows its task. An interrupted round is
// opened again: the time limit starts anew, stored answers stay.
func (p *play) open(ctx context.Context, r *round) (*round, error) {
	p.warm()
	e := p.openingEvent(r)
	if err := p.commit(ctx, fmt.Sprintf("open round %d", r.No), func() ([]arena.Event, error) {
		return p.r.o.Store.OpenRound(ctx, p.m.Lease, r.Round, []arena.Event{e})
	}); err != nil {
		return nil, err
	}
	p.opened(r)
	return r, nil
}

// warm connects to the agents while the round is stored: the start gun shall
// not find some of them connected and others not.
func (p *play) warm() {
	for i := range p.m.Seats {
		s := &p.m.Seats[i]
		if d, ok := p.r.o.Drivers[s.Protocol].(warmer); ok && s.State == arena.SeatActive {
			d.Warm(s.Endpoint)
		}
	}
}

func (p *play) opened(r *round) {
	p.m.Round, p.m.RoundOpen, p.correct[r.No] = r.No, true, r.Task.Correct()
}

func (p *play) openingEvent(r *round) arena.Event {
	return p.event(arena.EventRoundStarted, "", r.No, arena.RoundStartedBody{
		Task:             p.public(r),
		TimeLimitSeconds: p.m.Settings.TimeLimit.Seconds(),
		Deadline:         r.deadline.UTC().Format(arena.TimeFormat),
		Interrupted:      r.Interruptions > 0,
	})
}

// playRound asks every active seat that has no stored answer yet, all behind
// one start gun, waits for all outcomes and closes the round.
func (p *play) playRound(ctx context.Context, open *round) error {
	var volley arena.Volley
	asks, err := p.asks(ctx, open, &volley)
	if err != nil {
		return err
	}
	if err := p.fire(ctx, asks, &volley); err != nil {
		return err
	}
	return p.closeRound(ctx, open, asks)
}

// asks prepares the requests of a round.
//
//go:noinline
func (p *play) asks(ctx context.Context, open *round, volley *arena.Volley) ([]*ask, error) {
	rests := open.rests
	if rests == nil {
		var err error
		if rests, err = p.rests(ctx, open.OpenedAt); err != nil {
			return nil, err
		}
	}
	// Storage may have taken long to open the round. The time of each seat
	// begins with its own request, so the deadline that it is told does too.
	open.deadline = p.r.o.Now().Add(p.m.Settings.TimeLimit)
	active := 0
	for _, s := range p.m.Seats {
		if s.State == arena.SeatActive {
			active++
		}
	}
	var asks []*ask
	// Random order, so that no seat is always the first to hear the question.
	for _, i := range p.rand.Perm(len(p.m.Seats)) {
		s := &p.m.Seats[i]
		if _, stored := open.answers[s.AgentID]; stored || s.State != arena.SeatActive {
			continue
		}
		a := &ask{p: p, round: open, seat: s, rest: rests[s.AgentID], opponents: active - 1, first: 2*open.Interruptions + 1, deadline: open.deadline}
		if err := a.prepare(ctx, volley); err != nil {
			p.log.Error("request could not be prepared", "agent_id", s.AgentID, "error", err)
			return nil, &voidError{"the arena could not prepare a request"}
		}
		asks = append(asks, a)
	}
	open.pending.Store(int32(len(asks))) //nolint:gosec // G115: seats of one match
	return asks, nil
}

// fire sends the requests together and waits until all have their outcome.
func (p *play) fire(ctx context.Context, asks []*ask, volley *arena.Volley) error {
	if ctx.Err() == nil && p.age() <= p.r.trusted() { // else every seat waits for the lease
		volley.Shoot()
		for _, a := range asks {
			a.shot = a.send != nil
		}
	}
	failed := make(chan error, len(asks))
	ask := func(a *ask) {
		if err := a.play(ctx); err != nil {
			failed <- err
			if arena.CodeOf(err) == arena.CodeLeaseLost {
				p.cancel(err) // nobody waits for the other seats any more
			}
		}
	}
	var seats sync.WaitGroup
	for i, a := range asks {
		if i > 0 {
			seats.Go(func() { ask(a) })
		}
	}
	if len(asks) > 0 { // this goroutine would only wait
		ask(asks[0])
	}
	seats.Wait()
	close(failed)
	for err := range failed {
		return err
	}
	return nil
}

// closeRound judges the stored answers with those of asks, adds the points, applies the format's
// rule and shows what was sealed.
//
//go:noinline
func (p *play) closeRound(ctx context.Context, open *round, asks []*ask) error {
	for _, a := range asks {
		open.answers[a.seat.AgentID] = a.answer
	}
	if err := p.markJudging(ctx, open.No); err != nil {
		return err
	}
	verdict, err := p.judge(ctx, open)
	failed, void := errors.AsType[*judgeError](err)
	if err != nil && !void {
		return err
	}
	if void {
		p.log.Warn("the judge failed, the round is void", "round", open.No, "error", failed)
	}
	given := make(map[string]arena.SeatVerdict, len(verdict.Seats))
	for _, v := range verdict.Seats {
		given[v.AgentID] = v
	}
	judged := arena.RoundClose{Round: open.No, Seats: append([]arena.Seat(nil), p.m.Seats...), Verdict: verdict}
	for i := range judged.Seats {
		s := &judged.Seats[i]
		a, ok := open.answers[s.AgentID]
		if !ok {
			continue
		}
		v := given[s.AgentID]
		a.Points = v.Points
		switch {
		case void && a.Outcome.Counted():
			a.Outcome, a.Reason = arena.OutcomeVoid, "judge_failed"
		case v.Reason != "":
			a.Reason = v.Reason
		}
		a.Judged = true
		s.Points += a.Points
		s.Outcome = a.Outcome
		if a.Outcome == arena.OutcomeUnavailable {
			s.State, s.OutRound = arena.SeatLeft, open.No
		}
		open.answers[s.AgentID] = a
		judged.Answers = append(judged.Answers, a)
	}
	if p.m.Settings.Format == arena.FormatElimination {
		judged.Seats = scoring.Eliminate(judged.Seats, open.No, open.answers)
	}
	if err := p.commit(ctx, fmt.Sprintf("close round %d", open.No), func() ([]arena.Event, error) {
		return p.r.o.Store.CloseRound(ctx, p.m.Lease, judged, func(hidden []arena.Event) ([]arena.Event, error) {
			return p.closingEvents(open, judged, hidden)
		})
	}); err != nil {
		return err
	}
	p.judging.Store(false)
	p.m.Seats, p.m.RoundOpen, p.closed = judged.Seats, false, p.r.o.Now()
	p.answers = append(p.answers, judged.Answers...)
	for _, a := range judged.Answers {
		p.last[a.AgentID] = a
	}
	return nil
}

// revealBody encodes an arena.RevealBody. The hidden parts are JSON that was
// canonical when it was sealed: encoding/json would read each of them again.
func revealBody(hidden []arena.Event) json.RawMessage {
	size := 16
	for _, h := range hidden {
		size += len(h.Hidden) + len(h.AgentID) + 50
	}
	b := append(make([]byte, 0, size), `{"events":[`...)
	for i, h := range hidden {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendInt(append(b, `{"seq":`...), h.Seq, 10), `,"agent_id":"`...)
		b = append(append(append(b, h.AgentID...), `","hidden":`...), h.Hidden...)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

func (p *play) closingEvents(open *round, c arena.RoundClose, hidden []arena.Event) ([]arena.Event, error) {
	var events []arena.Event
	if len(hidden) > 0 {
		e := p.event(arena.EventReveal, "", open.No, nil)
		e.Body = revealBody(hidden)
		events = append(events, e)
	}
	body := arena.RoundClosedBody{Correct: open.Task.Correct(), Seats: []arena.ClosedSeat{}, Ballots: c.Verdict.Ballots}
	for _, a := range c.Answers {
		body.Seats = append(body.Seats, a.Closed())
	}
	for _, s := range scoring.PlaceSeats(p.m.Settings.Format, c.Seats) {
		body.Standings = append(body.Standings, arena.StandingBrief{
			AgentID: s.AgentID, Points: s.Points, Place: s.Place, State: s.State,
		})
	}
	return append(events, p.event(arena.EventRoundClosed, "", open.No, body)), nil
}

// outcomeEvent returns the seat_outcome of an answer, as the match's visibility
// mode stores it.
func (p *play) outcomeEvent(a arena.Answer) (arena.Event, error) {
	e := p.event(arena.EventSeatOutcome, a.AgentID, a.Round, arena.SeatOutcomeBody{
		Outcome: a.Outcome, Reason: a.Reason, ElapsedMS: a.Elapsed.Milliseconds(), Attempts: a.Attempts, AnswerBody: a.Body,
	})
	return mode.Of(p.m).Seal(e)
}

// previous tells a seat how its last closed round went, with a receipt for its
// answer. The token of the task covers both.
func (p *play) previous(agentID string, before int) (*arena.PreviousRound, error) {
	a, ok := p.last[agentID]
	if !ok || a.Round >= before {
		return nil, nil
	}
	previous := &arena.PreviousRound{Outcome: a.Outcome, Correct: p.correct[a.Round], Points: a.Points, Measured: a.Elapsed}
	if a.Body == nil || a.ArrivedAt.IsZero() {
		return previous, nil
	}
	receipt, err := record.ReceiptOf(*a.Body, a.ArrivedAt)
	previous.Receipt = &receipt
	return previous, err
}
