package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// seatRequest sends one round's task to one seat and stores the answer.
type seatRequest struct {
	run        *matchRun
	round      *round
	seat       *arena.Seat
	cooldown   arena.Cooldown // of the agent when the round opened
	opponents  int
	first      int  // number of the first attempt under this lease
	dispatched bool // the batch with the first request has been sent
	deadline   time.Time
	send       func(context.Context) arena.Reply

	reply      arena.Reply // the last one
	answer     arena.Answer
	deliveries []arena.Delivery
	events     []arena.Event
}

// prepare prepares the first request. Nothing is sent to an agent that is paused
// after a 429, whose round is void, or retired, whose round is lost.
func (sr *seatRequest) prepare(ctx context.Context, b *arena.Batch) error {
	if sr.cooldown.Retired || sr.coolingDown() {
		return nil
	}
	var err error
	sr.send, err = sr.request(ctx, sr.first, sr.run.m.Settings.TimeLimit, b)
	return err
}

func (sr *seatRequest) coolingDown() bool {
	for _, pause := range sr.cooldown.Pauses {
		if pause.Reason == arena.PauseRateLimit && sr.round.OpenedAt.Before(pause.Until) {
			return true
		}
	}
	return false
}

func (sr *seatRequest) request(ctx context.Context, number int, limit time.Duration, b *arena.Batch) (func(context.Context) arena.Reply, error) {
	driver, ok := sr.run.engine.o.Drivers[sr.seat.Protocol]
	if !ok {
		return nil, fmt.Errorf("no driver for protocol %q", sr.seat.Protocol)
	}
	previous, err := sr.run.previous(sr.seat.AgentID, sr.round.No)
	if err != nil {
		return nil, err
	}
	s := sr.run.m.Settings
	t, _ := sr.round.Prompt(sr.seat.No) // a seat that does not act has no request
	return driver.Prepare(ctx, arena.Attempt{
		MatchID: sr.run.m.ID, League: sr.run.m.League, Round: sr.round.No, TotalRounds: s.Rounds, Number: number, Task: t,
		TimeLimit: limit, RoundLimit: s.TimeLimit, MaxTokens: s.TokenLimit(t), MaxCostUSD: s.MaxCostUSD, Rules: append(append([]string{}, s.Rules...), t.Rules...),
		Opponents: sr.opponents, Deadline: sr.deadline, Previous: previous, Seat: *sr.seat, Batch: b,
	})
}

// do runs the attempts of the outcome table (docs/rules.md, section 3) and
// stores the answer.
//
// Thousands of goroutines wait for agents below do. A stack with more than
// 2.4 KB in use during the wait takes at least 16 KB, so the work before and
// after the wait is in separate functions that are not inlined.
func (sr *seatRequest) do(ctx context.Context) error {
	if sr.send != nil {
		if err := sr.attempts(ctx); err != nil {
			return err
		}
	}
	return sr.store(ctx)
}

// store stores the answer, its deliveries and its events in one transaction.
//
//go:noinline
func (sr *seatRequest) store(ctx context.Context) error {
	sr.answer = arena.Answer{MatchID: sr.run.m.ID, Round: sr.round.No, AgentID: sr.seat.AgentID}
	switch {
	case sr.cooldown.Retired:
		sr.answer.Outcome, sr.answer.Reason = arena.OutcomeTimeout, "retired"
	case sr.send == nil:
		sr.answer.Outcome, sr.answer.Reason = arena.OutcomeRateLimited, "paused"
	default:
		if flush := sr.run.engine.o.Flush; flush != nil && sr.reply.Outcome == arena.OutcomeAnswered {
			flush(ctx, sr.run.m.ID, sr.seat.AgentID) // this answer may close the round
		}
		sr.settleReply(ctx, sr.reply)
	}
	e, err := sr.run.outcomeEvent(sr.answer)
	if err != nil {
		return fmt.Errorf("seat outcome: %w", err)
	}
	sr.answer.ArrivedAt = e.At
	sr.events = append([]arena.Event{e}, sr.events...)
	save := sr.run.engine.o.Store.SaveAnswer
	if sr.round.pending.Add(-1) == 0 && sr.run.game.Evaluates(sr.run.m.Settings) {
		sr.run.judging.Store(true)
		save = sr.run.engine.o.Store.SaveLastAnswer // the mark costs no write of its own
	}
	if err := sr.run.commit(ctx, "save answer of "+sr.seat.AgentID, func() ([]arena.Event, error) {
		return save(ctx, sr.run.m.Lease, sr.answer, sr.deliveries, sr.events)
	}); err != nil {
		return err
	}
	sr.run.engine.o.Observe(Observation{League: sr.run.m.League, Outcome: sr.answer.Outcome, Elapsed: sr.answer.Elapsed})
	return nil
}

// attempts sends the request and retries it once if the outcome table allows
// it, within the same time limit.
func (sr *seatRequest) attempts(ctx context.Context) error {
	err := sr.attempt(ctx, sr.first, sr.run.m.Settings.TimeLimit, sr.send)
	if err != nil || !sr.reply.Retry || (sr.reply.Unreached && sr.round.No == 1) {
		return err
	}
	before := sr.reply.Elapsed
	left := sr.run.m.Settings.TimeLimit - before
	if left <= 0 {
		return nil
	}
	send, err := sr.request(ctx, sr.first+1, left, nil)
	if err != nil {
		sr.run.log.Error("second request could not be prepared", "agent_id", sr.seat.AgentID, "error", err)
		return nil
	}
	err = sr.attempt(ctx, sr.first+1, left, send)
	sr.reply.Elapsed += before // both attempts share the time limit
	return err
}

// attempt sends one request while this node holds the lease. A reply that
// arrives without it is dropped and the request repeated later: a node that was
// stalled reads a timely reply late, which is not the agent's fault. A reply
// that arrives while the storage is unavailable is kept in memory.
func (sr *seatRequest) attempt(ctx context.Context, number int, limit time.Duration, send func(context.Context) arena.Reply) error {
	if !sr.dispatched {
		waited, err := sr.run.ensureLease(ctx)
		if err != nil {
			return err
		}
		if waited { // the request has an old deadline and token
			if send, err = sr.prepareAgain(ctx, number, limit); err != nil {
				return err
			}
		}
	}
	sr.dispatched = false // a retry is sent by itself
	reply := send(ctx)
	if _, err := sr.run.ensureLease(ctx); err != nil {
		return err
	}
	sr.reply = reply
	sr.record(number)
	return nil
}

// prepareAgain prepares a request with a new deadline.
//
//go:noinline
func (sr *seatRequest) prepareAgain(ctx context.Context, number int, limit time.Duration) (func(context.Context) arena.Reply, error) {
	sr.deadline = sr.run.engine.o.Now().Add(limit)
	send, err := sr.request(ctx, number, limit, nil)
	if err != nil {
		sr.run.log.Error("request could not be prepared again", "agent_id", sr.seat.AgentID, "error", err)
		return nil, &voidError{"the arena could not prepare a request"}
	}
	return send, nil
}

// settleReply sets the seat's outcome from the last reply.
func (sr *seatRequest) settleReply(ctx context.Context, reply arena.Reply) {
	sr.answer.Outcome, sr.answer.Reason = reply.Outcome, reply.Reason
	sr.answer.Body, sr.answer.Elapsed, sr.answer.Attempts = reply.Answer, reply.Elapsed, len(sr.deliveries)
	if reply.Answer != nil {
		sr.answer.OverTokens = reply.Answer.OverTokens(sr.run.m.Settings.TokenLimit(sr.round.Task))
	}
	switch {
	case sr.cutOff(ctx, reply):
		sr.answer.Outcome, sr.answer.Reason = arena.OutcomeVoid, arena.ReasonCutOff
	case reply.Unreached && sr.round.No == 1 && reply.Outcome == arena.OutcomeError:
		sr.answer.Outcome = arena.OutcomeUnavailable
	case reply.Outcome == arena.OutcomeRateLimited:
		sr.rateLimited(ctx)
	}
	if sr.answer.Outcome == arena.OutcomeUnavailable {
		sr.events = append(sr.events, sr.run.leftEvent(sr.seat.AgentID, sr.round.No, reply.Reason))
	}
}

// cutOff reports whether there is no reply because the arena was cut off from
// agents (threat N1).
func (sr *seatRequest) cutOff(ctx context.Context, reply arena.Reply) bool {
	switch reply.Outcome {
	case arena.OutcomeTimeout, arena.OutcomeError, arena.OutcomeUnavailable:
		return reply.Status == 0 && sr.run.engine.o.CutOff(ctx, sr.deadline.Add(-sr.run.m.Settings.TimeLimit))
	case arena.OutcomeAnswered, arena.OutcomeInvalid, arena.OutcomeRateLimited, arena.OutcomeVoid:
	}
	return false
}

// rateLimited pauses the agent after a 429. If it skipped another round by a 429
// in this match or in its last matches of the league, the outcome is a timeout
// (threat G4).
func (sr *seatRequest) rateLimited(ctx context.Context) {
	sr.seat.RateLimits++
	if sr.seat.RateLimits > 1 || sr.skippedBefore(ctx) {
		sr.answer.Outcome = arena.OutcomeTimeout
	}
	paused, err := sr.run.engine.o.Pauses.PauseForRateLimit(ctx, *sr.seat, sr.run.engine.o.Now().Add(sr.run.engine.o.RateLimitPause))
	if err != nil {
		sr.run.log.Error("agent could not be paused", "agent_id", sr.seat.AgentID, "error", err)
		return
	}
	paused.MatchID, paused.Round = sr.run.m.ID, sr.round.No
	sr.events = append(sr.events, paused)
}

// pauseFailing pauses the agents that failed their last round here if they fail
// all the time.
func (mr *matchRun) pauseFailing(ctx context.Context) {
	for _, s := range mr.m.Seats {
		if !s.Outcome.Failed() {
			continue
		}
		if err := mr.engine.o.Pauses.PauseIfFailing(ctx, s.AgentID); err != nil {
			mr.log.Error("agent could not be paused", "agent_id", s.AgentID, "error", err)
		}
	}
}

// skippedBefore reports whether the no-show record of the agent has a 429. An
// agent whose record cannot be read has none.
func (sr *seatRequest) skippedBefore(ctx context.Context) bool {
	skipped, err := sr.run.engine.o.Store.Dodges(ctx, sr.run.m.League, []string{sr.seat.AgentID})
	if err != nil {
		sr.run.log.Error("no-show record could not be read", "agent_id", sr.seat.AgentID, "error", err)
	}
	return slices.ContainsFunc(skipped, func(d arena.Dodge) bool { return d.Outcome == arena.OutcomeRateLimited })
}

// record adds the last reply to the deliveries of the answer.
//
//go:noinline
func (sr *seatRequest) record(number int) {
	reply := &sr.reply
	sent := reply.SentAt
	if sent.IsZero() {
		sent = sr.run.engine.o.Now()
	}
	sr.deliveries = append(sr.deliveries, arena.Delivery{
		ID: arena.NewID(arena.DeliveryPrefix, sent), MatchID: sr.run.m.ID, League: sr.run.m.League, AgentID: sr.seat.AgentID,
		Round: sr.round.No, TaskID: sr.round.Task.ID, Attempt: number, Status: reply.Status, Outcome: reply.Outcome,
		Reason: reply.Reason, Detail: reply.Detail, SentAt: sent, Elapsed: reply.Elapsed,
		Request: reply.Request, Response: reply.Head,
	})
}
