package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

// ask puts one round's task to one seat and stores what comes of it.
type ask struct {
	p         *play
	round     *round
	seat      *arena.Seat
	rest      arena.Rest // of the agent, as it was when the round opened
	opponents int
	first     int  // number of the first attempt under this lease
	shot      bool // the volley, with the first request, has been released
	deadline  time.Time
	send      func(context.Context) arena.Reply

	reply      arena.Reply // the last one
	answer     arena.Answer
	deliveries []arena.Delivery
	events     []arena.Event
}

// prepare makes the first request, unless the seat's agent is in a pause
// after a 429, then the round is void for it, or retired, then it is lost; nothing
// is sent.
func (a *ask) prepare(ctx context.Context, v *arena.Volley) error {
	if a.rest.Retired || a.resting() {
		return nil
	}
	var err error
	a.send, err = a.request(ctx, a.first, a.p.m.Settings.TimeLimit, v)
	return err
}

func (a *ask) resting() bool {
	for _, pause := range a.rest.Pauses {
		if pause.Reason == arena.PauseRateLimit && a.round.OpenedAt.Before(pause.Until) {
			return true
		}
	}
	return false
}

func (a *ask) request(ctx context.Context, number int, limit time.Duration, v *arena.Volley) (func(context.Context) arena.Reply, error) {
	driver, ok := a.p.r.o.Drivers[a.seat.Protocol]
	if !ok {
		return nil, fmt.Errorf("no driver speaks %q", a.seat.Protocol)
	}
	previous, err := a.p.previous(a.seat.AgentID, a.round.No)
	if err != nil {
		return nil, err
	}
	s, t := a.p.m.Settings, a.p.brief(a.round, a.seat.No)
	maxTokens := s.MaxTokens
	if t.MaxTokens > 0 {
		maxTokens = t.MaxTokens
	}
	return driver.Prepare(ctx, arena.Attempt{
		MatchID: a.p.m.ID, League: a.p.m.League, Round: a.round.No, TotalRounds: s.Rounds, Number: number, Task: t,
		TimeLimit: limit, RoundLimit: s.TimeLimit, MaxTokens: maxTokens, Rules: append(append([]string{}, s.Rules...), t.Rules...),
		Opponents: a.opponents, Deadline: a.deadline, Previous: previous, Seat: *a.seat, Volley: v,
	})
}

// play runs the attempts of the outcome table (rulebook, section 3) and
// stores the answer.
//
// A goroutine waits below it for an agent, thousands do at a time. A stack of
// which more than 2.4 KB are in use while it waits is never less than 16 KB,
// so what comes before and after the wait is done in functions of their own.
func (a *ask) play(ctx context.Context) error {
	if a.send != nil {
		if err := a.attempts(ctx); err != nil {
			return err
		}
	}
	return a.store(ctx)
}

// store stores the answer with its deliveries and events in one transaction.
//
//go:noinline
func (a *ask) store(ctx context.Context) error {
	a.answer = arena.Answer{MatchID: a.p.m.ID, Round: a.round.No, AgentID: a.seat.AgentID}
	switch {
	case a.rest.Retired:
		a.answer.Outcome, a.answer.Reason = arena.OutcomeTimeout, "retired"
	case a.send == nil:
		a.answer.Outcome, a.answer.Reason = arena.OutcomeRateLimited, "paused"
	default:
		if hear := a.p.r.o.Hear; hear != nil && a.reply.Outcome == arena.OutcomeAnswered {
			hear(ctx, a.p.m.ID, a.seat.AgentID) // this answer may close the round
		}
		a.settleReply(ctx, a.reply)
	}
	e, err := a.p.outcomeEvent(a.answer)
	if err != nil {
		return fmt.Errorf("seat outcome: %w", err)
	}
	a.answer.ArrivedAt = e.At
	a.events = append([]arena.Event{e}, a.events...)
	save := a.p.r.o.Store.SaveAnswer
	if a.round.pending.Add(-1) == 0 && a.p.evaluates() {
		a.p.judging.Store(true)
		save = a.p.r.o.Store.SaveLastAnswer // the mark costs no write of its own
	}
	if err := a.p.commit(ctx, "save answer of "+a.seat.AgentID, func() ([]arena.Event, error) {
		return save(ctx, a.p.m.Lease, a.answer, a.deliveries, a.events)
	}); err != nil {
		return err
	}
	a.p.r.o.Observe(Observation{League: a.p.m.League, Outcome: a.answer.Outcome, Elapsed: a.answer.Elapsed})
	return nil
}

// attempts sends the request, and once more when the table says so, within
// the same time limit.
func (a *ask) attempts(ctx context.Context) error {
	err := a.attempt(ctx, a.first, a.p.m.Settings.TimeLimit, a.send)
	if err != nil || !a.reply.Retry || (a.reply.Unreached && a.round.No == 1) {
		return err
	}
	before := a.reply.Elapsed
	left := a.p.m.Settings.TimeLimit - before
	if left <= 0 {
		return nil
	}
	send, err := a.request(ctx, a.first+1, left, nil)
	if err != nil {
		a.p.log.Error("second request could not be prepared", "agent_id", a.seat.AgentID, "error", err)
		return nil
	}
	err = a.attempt(ctx, a.first+1, left, send)
	a.reply.Elapsed += before // one time limit, one clock
	return err
}

// attempt sends one request once the match is surely this node's. What comes
// back does not count when it no longer is: a node that was frozen reads a
// good reply late, and that is our fault, not the agent's; it is asked again.
// While the storage is away, what came back is kept in memory.
func (a *ask) attempt(ctx context.Context, number int, limit time.Duration, send func(context.Context) arena.Reply) error {
	if !a.shot {
		waited, err := a.p.fresh(ctx)
		if err != nil {
			return err
		}
		if waited { // the request names a deadline and has a token of before
			if send, err = a.afresh(ctx, number, limit); err != nil {
				return err
			}
		}
	}
	a.shot = false // a second request is not
	reply := send(ctx)
	if _, err := a.p.fresh(ctx); err != nil {
		return err
	}
	a.reply = reply
	a.record(number)
	return nil
}

// afresh prepares a request again.
//
//go:noinline
func (a *ask) afresh(ctx context.Context, number int, limit time.Duration) (func(context.Context) arena.Reply, error) {
	a.deadline = a.p.r.o.Now().Add(limit)
	send, err := a.request(ctx, number, limit, nil)
	if err != nil {
		a.p.log.Error("request could not be prepared again", "agent_id", a.seat.AgentID, "error", err)
		return nil, &voidError{"the arena could not prepare a request"}
	}
	return send, nil
}

// settleReply turns the last reply into the seat's outcome.
func (a *ask) settleReply(ctx context.Context, reply arena.Reply) {
	a.answer.Outcome, a.answer.Reason = reply.Outcome, reply.Reason
	a.answer.Body, a.answer.Elapsed, a.answer.Attempts = reply.Answer, reply.Elapsed, len(a.deliveries)
	switch {
	case reply.Unreached && a.round.No == 1 && reply.Outcome == arena.OutcomeError:
		a.answer.Outcome = arena.OutcomeUnavailable
	case reply.Outcome == arena.OutcomeRateLimited:
		a.rateLimited(ctx)
	}
	if a.answer.Outcome == arena.OutcomeUnavailable {
		a.events = append(a.events, a.p.event(arena.EventAgentLeft, a.seat.AgentID, a.round.No,
			arena.AgentLeftBody{Outcome: arena.OutcomeUnavailable, Reason: reply.Reason}))
	}
}

// rateLimited pauses the agent after a 429. From the second one in a match
// the round is lost as by a timeout.
func (a *ask) rateLimited(ctx context.Context) {
	a.seat.RateLimits++
	if a.seat.RateLimits > 1 {
		a.answer.Outcome = arena.OutcomeTimeout
	}
	paused, err := a.p.r.o.Pauses.PauseForRateLimit(ctx, *a.seat, a.p.r.o.Now().Add(a.p.r.o.RateLimitPause))
	if err != nil {
		a.p.log.Error("agent could not be paused", "agent_id", a.seat.AgentID, "error", err)
		return
	}
	paused.MatchID, paused.Round = a.p.m.ID, a.round.No
	a.events = append(a.events, paused)
}

//go:noinline
func (a *ask) record(number int) {
	reply := &a.reply
	sent := reply.SentAt
	if sent.IsZero() {
		sent = a.p.r.o.Now()
	}
	a.deliveries = append(a.deliveries, arena.Delivery{
		ID: arena.NewID(arena.DeliveryPrefix, sent), MatchID: a.p.m.ID, League: a.p.m.League, AgentID: a.seat.AgentID,
		Round: a.round.No, TaskID: a.round.Task.ID, Attempt: number, Status: reply.Status, Outcome: reply.Outcome,
		Reason: reply.Reason, Detail: reply.Detail, SentAt: sent, Elapsed: reply.Elapsed,
		Request: reply.Request, Response: reply.Head,
	})
}
