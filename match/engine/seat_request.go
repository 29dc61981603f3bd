package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// seatRequest sends one round's task to one seat and stores the answer.
type seatRequest struct {
	run        *matchRun
	round      *round
	seat       *arena.Seat
	cooldown   arena.Cooldown // of the agent when the round opened
	opponents  int
	number     int           // of the next attempt
	limit      time.Duration // for all attempts: that of the round, and the seat's time bank
	dispatched bool          // the batch with the first request has been sent
	deadline   time.Time
	send       func(context.Context) arena.Reply // of the first attempt; nil: nothing is sent at once
	refused    string                            // why the last reply was refused; "": it was not

	reply      arena.Reply // the last one
	answer     arena.Answer
	deliveries []arena.Delivery
	events     []arena.Event
}

// prepare prepares the first request. Nothing is sent to an agent that is paused
// after a 429, whose round is void or whose clock stands, or retired, whose round
// is lost.
func (sr *seatRequest) prepare(ctx context.Context, b *arena.Batch) error {
	if sr.cooldown.Retired || !sr.pausedUntil().IsZero() {
		return nil
	}
	var err error
	sr.send, err = sr.request(ctx, sr.limit, b)
	return err
}

// pausedUntil returns when the pause of the agent after a 429 ends, or the zero
// time if there was none when the round opened.
func (sr *seatRequest) pausedUntil() (until time.Time) {
	for _, pause := range sr.cooldown.Pauses {
		if pause.Reason == arena.PauseRateLimit && sr.round.OpenedAt.Before(pause.Until) {
			until = pause.Until
		}
	}
	return until
}

// request prepares the next attempt with the time that is left for it.
func (sr *seatRequest) request(ctx context.Context, left time.Duration, b *arena.Batch) (func(context.Context) arena.Reply, error) {
	driver, ok := sr.run.engine.o.Drivers[sr.seat.Protocol]
	if !ok {
		return nil, fmt.Errorf("no driver for protocol %q", sr.seat.Protocol)
	}
	previous, err := sr.run.previous(sr.seat.AgentID, sr.round.No)
	if err != nil {
		return nil, err
	}
	if sr.refused != "" {
		previous = &arena.PreviousRound{Outcome: sr.reply.Outcome, Measured: sr.reply.Elapsed, Error: sr.refused}
	}
	s := sr.run.m.Settings
	t, _ := sr.round.Prompt(sr.seat.No) // a seat that does not act has no request
	return driver.Prepare(ctx, arena.Attempt{
		MatchID: sr.run.m.ID, League: sr.run.m.League, Round: sr.round.No, TotalRounds: s.Rounds, Number: sr.number, Task: t,
		TimeLimit: left, RoundLimit: s.TimeLimitIn(sr.round.No), MaxTokens: s.TokenLimit(t), MaxCostUSD: s.MaxCostUSD, Rules: append(append([]string{}, s.Rules...), t.Rules...),
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
	if until := sr.pausedUntil(); sr.send == nil && sr.round.Turn.StopsClock && !sr.cooldown.Retired {
		if err := sr.resumeAt(ctx, until, sr.limit); err != nil {
			return err
		}
	}
	if sr.send != nil {
		if err := sr.attempts(ctx); err != nil {
			return err
		}
	}
	return sr.store(ctx)
}

// store stores the answer, its deliveries and its events in one transaction. It
// leaves the last outcome of the round to closeRound if nothing comes between.
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
	if sr.round.pending.Add(-1) == 0 {
		switch sr.run.game.Closing(sr.run.m.Settings) {
		case game.Decides:
			sr.round.last = sr
			return nil
		case game.Evaluates:
			sr.run.judging.Store(true)
			save = sr.run.engine.o.Store.SaveLastAnswer // the mark costs no write of its own
		case game.Asks:
		}
	}
	if err := sr.run.commit(ctx, "save answer of "+sr.seat.AgentID, func() ([]arena.Event, error) {
		return save(ctx, sr.run.m.Lease, sr.answer, sr.deliveries, sr.events)
	}); err != nil {
		return err
	}
	sr.observe()
	return nil
}

// observe reports the stored outcome to the metrics.
func (sr *seatRequest) observe() {
	sr.run.engine.o.Observe(Observation{
		MatchID: sr.run.m.ID, League: sr.run.m.League, Round: sr.round.No, AgentID: sr.seat.AgentID,
		Outcome: sr.answer.Outcome, Start: sr.reply.SentAt, Elapsed: sr.answer.Elapsed,
	})
}

// attempts sends the request, and again what the outcome table and the rules of
// the game allow, each once: after a broken connection, after a refused move and,
// where the clock stops, after the pause that follows a 429. All attempts share the
// time of the seat.
func (sr *seatRequest) attempts(ctx context.Context) error {
	var spent time.Duration
	reconnected, asked, waited := false, false, false
	for send := sr.send; ; {
		if err := sr.attempt(ctx, sr.limit-spent, send); err != nil {
			return err
		}
		spent += sr.reply.Elapsed
		sr.reply.Elapsed = spent
		left := sr.limit - spent
		if err := sr.check(ctx); err != nil {
			return err
		}
		resume := time.Time{}
		switch {
		case left <= 0:
			return nil
		case sr.refused != "" && !asked:
			asked = true
		case sr.reply.Retry && !reconnected && (!sr.reply.Unreached || sr.round.No > 1):
			reconnected = true
		case sr.reply.Outcome == arena.OutcomeRateLimited && sr.round.Turn.StopsClock && !waited && sr.seat.RateLimits == 0:
			waited, resume = true, sr.pause(ctx)
		default:
			return nil
		}
		sr.number++
		if err := sr.resumeAt(ctx, resume, left); err != nil {
			return err
		}
		send = sr.send
	}
}

// check sets refused to why the game refuses the answer of the last reply.
func (sr *seatRequest) check(ctx context.Context) error {
	sr.refused = ""
	if sr.reply.Outcome != arena.OutcomeAnswered || sr.reply.Answer == nil {
		return nil
	}
	reply := game.Reply{Seat: sr.seat.No, Outcome: sr.reply.Outcome, Text: sr.reply.Answer.Answer, Elapsed: sr.reply.Elapsed}
	refused, err := retry(ctx, sr.run, func() (string, error) {
		return sr.run.game.Check(ctx, sr.round.position, reply)
	})
	if err != nil {
		return sr.run.gameFailed(ctx, sr.round.No, err)
	}
	sr.refused = refused
	return nil
}

// resumeAt waits until a time, which may have passed, and prepares the next
// attempt with what is left of the seat's time.
func (sr *seatRequest) resumeAt(ctx context.Context, at time.Time, left time.Duration) error {
	if wait := at.Sub(sr.run.engine.o.Now()); wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		sr.deadline = sr.run.engine.o.Now().Add(left)
	}
	sr.dispatched = false // it is sent by itself
	send, err := sr.request(ctx, left, nil)
	if err != nil {
		sr.run.log.Error("another request could not be prepared", "agent_id", sr.seat.AgentID, "error", err)
		return &voidError{arena.VoidRequestFailed}
	}
	sr.send = send
	return nil
}

// attempt sends one request while this node holds the lease. A reply that
// arrives without it is dropped and the request repeated later: a node that was
// stalled reads a timely reply late, which is not the agent's fault. A reply
// that arrives while the storage is unavailable is kept in memory.
func (sr *seatRequest) attempt(ctx context.Context, limit time.Duration, send func(context.Context) arena.Reply) error {
	if !sr.dispatched {
		waited, err := sr.run.ensureLease(ctx)
		if err != nil {
			return err
		}
		if waited { // the request has an old deadline and token
			if send, err = sr.prepareAgain(ctx, limit); err != nil {
				return err
			}
		}
	}
	reply := send(ctx)
	if _, err := sr.run.ensureLease(ctx); err != nil {
		return err
	}
	sr.reply = reply
	sr.record()
	return nil
}

// prepareAgain prepares a request with a new deadline.
func (sr *seatRequest) prepareAgain(ctx context.Context, limit time.Duration) (func(context.Context) arena.Reply, error) {
	sr.deadline = sr.run.engine.o.Now().Add(limit)
	send, err := sr.request(ctx, limit, nil)
	if err != nil {
		sr.run.log.Error("request could not be prepared again", "agent_id", sr.seat.AgentID, "error", err)
		return nil, &voidError{arena.VoidRequestFailed}
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
	case sr.refused != "":
		sr.answer.Reason = arena.ReasonIllegalMove
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
		return reply.Status == 0 && sr.run.engine.o.CutOff(ctx, sr.deadline.Add(-sr.limit))
	case arena.OutcomeAnswered, arena.OutcomeInvalid, arena.OutcomeRateLimited, arena.OutcomeVoid:
	}
	return false
}

// rateLimited pauses the agent after a 429. If it skipped another round by a 429
// in this match or in its last matches of the league, the outcome is a timeout
// (threat G4).
func (sr *seatRequest) rateLimited(ctx context.Context) {
	if sr.pause(ctx); sr.seat.RateLimits > 1 || sr.skippedBefore(ctx) {
		sr.answer.Outcome = arena.OutcomeTimeout
	}
}

// pause counts a 429, pauses the agent and returns when the pause ends. If the
// agent cannot be paused, it is asked again at the end all the same.
func (sr *seatRequest) pause(ctx context.Context) (until time.Time) {
	sr.seat.RateLimits++
	until = sr.run.engine.o.Now().Add(sr.run.engine.o.RateLimitPause)
	paused, err := sr.run.engine.o.Pauses.PauseForRateLimit(ctx, *sr.seat, until)
	if err != nil {
		sr.run.log.Error("agent could not be paused", "agent_id", sr.seat.AgentID, "error", err)
		return until
	}
	paused.MatchID, paused.Round = sr.run.m.ID, sr.round.No
	sr.events = append(sr.events, paused)
	return until
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
	skipped, err := sr.run.engine.o.Store.NoShows(ctx, sr.run.m.League, []string{sr.seat.AgentID})
	if err != nil {
		sr.run.log.Error("no-show record could not be read", "agent_id", sr.seat.AgentID, "error", err)
	}
	return slices.ContainsFunc(skipped, func(d arena.NoShow) bool { return d.Outcome == arena.OutcomeRateLimited })
}

// record adds the last reply to the deliveries of the answer.
func (sr *seatRequest) record() {
	reply := &sr.reply
	sent := reply.SentAt
	if sent.IsZero() {
		sent = sr.run.engine.o.Now()
	}
	sr.deliveries = append(sr.deliveries, arena.Delivery{
		ID: arena.NewID(arena.DeliveryPrefix, sent), MatchID: sr.run.m.ID, League: sr.run.m.League, AgentID: sr.seat.AgentID,
		Round: sr.round.No, TaskID: sr.round.Task.ID, Attempt: sr.number, Status: reply.Status, Outcome: reply.Outcome,
		Reason: reply.Reason, Detail: reply.Detail, SentAt: sent, Elapsed: reply.Elapsed,
		Request: reply.Request, Response: reply.Head,
	})
}
