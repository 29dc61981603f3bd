package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/visibility/mode"
)

// matchRun is one match under one lease.
type matchRun struct {
	engine      *Engine
	m           arena.Match
	game        game.Game
	state       game.State              // in which the open round opened, or the next one opens
	stored      []arena.Seat            // the seats as they are stored; those of m count a 429 at once
	answers     []arena.Answer          // stored so far: of closed rounds, and of an open round until it is restored
	last        map[string]arena.Answer // the latest judged one, by agent id
	correct     map[int]string          // right answers of the rounds opened so far
	cancel      context.CancelCauseFunc
	renewed     atomic.Pointer[time.Time] // when the last successful renewal was requested
	published   atomic.Int64              // highest seq of what this lease published
	done        atomic.Bool               // the run is about to end its lease
	released    atomic.Bool               // the lease was released
	suspect     atomic.Bool               // the lease is too old to rely on
	lost        atomic.Bool               // the lease is lost, and the run is stopping
	judging     atomic.Bool               // the match is marked as being judged, or may be
	games       []arena.GameRecord        // of a match that is over, if it is a series
	closed      time.Time                 // when the last round closed; zero before the first
	stopDelayed func()                    // stops the delayed publisher after it has published what is visible
	rand        *rand.Rand
	log         *slog.Logger
}

// voidError ends a match without a result, for a reason that is public.
type voidError struct{ code arena.VoidCode }

func (e *voidError) Error() string { return string(e.code) }

// run plays the match from its stored state until it is over, the node drains
// or the lease is lost.
func (mr *matchRun) run(ctx context.Context) { mr.handleStop(ctx, mr.playMatch(ctx)) }

// handleStop voids, releases or leaves the match, depending on why playMatch
// returned.
func (mr *matchRun) handleStop(ctx context.Context, err error) {
	if void, ok := errors.AsType[*voidError](err); ok {
		err = mr.void(ctx, void.code)
	}
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errGraceOver):
		mr.log.Info("open round given back", "round", mr.m.Round)
		mr.releaseMidRound(ctx)
	case arena.CodeOf(err) == arena.CodeLeaseLost, ctx.Err() != nil:
		mr.log.Info("match left to another node", "epoch", mr.m.Lease.Epoch, "reason", err)
	case mr.rewound(ctx):
	default:
		mr.log.Error("match failed", "error", err)
		if err := mr.void(ctx, arena.VoidArenaFailed); err != nil {
			mr.log.Error("match could not be voided", "error", err)
		}
	}
}

// playMatch plays rounds until the match is settled or released.
func (mr *matchRun) playMatch(ctx context.Context) error {
	if mr.m.Interruptions >= MaxInterruptions {
		return &voidError{arena.VoidInterrupted}
	}
	if mr.engine.drain.Err() != nil {
		return mr.release(ctx) // claimed just as the drain began
	}
	var err error
	if mr.game, err = retry(ctx, mr, func() (game.Game, error) { return game.For(ctx, mr.engine.o.Games, mr.m.Settings) }); err != nil {
		return mr.gameFailed(ctx, mr.m.Round+1, err)
	}
	open, err := mr.begin(ctx)
	if err == nil && open == nil {
		open, err = mr.restore(ctx)
	}
	if err == nil {
		mr.stopDelayed, err = retry(ctx, mr, func() (func(), error) { return mr.engine.o.Delayed.Follow(ctx, mr.m) })
	}
	if err != nil {
		return err
	}
	defer mr.stopDelayed()
	for {
		if open == nil {
			over, err := mr.over(ctx)
			if err != nil {
				return err
			}
			if over && mr.awaitVisible(ctx) {
				return mr.settle(ctx)
			}
			if mr.engine.drain.Err() != nil {
				return mr.release(ctx)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if open, err = mr.nextRound(ctx); err != nil {
				return err
			}
		}
		if open, err = mr.playRound(ctx, open); err != nil {
			return err
		}
		if open == nil {
			mr.wait(ctx, mr.m.Settings.Break)
		}
	}
}

// begin pins the agents of the seats with their endpoints and versions at the
// first claim. An agent that cannot play now leaves before the start. The first
// round opens in the same transaction, so that the first task is sent one
// commit after the claim. begin returns nil if the match began under an earlier
// lease.
func (mr *matchRun) begin(ctx context.Context) (*round, error) {
	if mr.m.Seq > 1 {
		return nil, nil //nolint:nilnil // an earlier lease began it: its log has more than match_scheduled
	}
	agents, err := mr.agents(ctx)
	if err != nil {
		return nil, err
	}
	now := mr.engine.o.Now()
	var left []arena.Event
	noShow := false
	for i := range mr.m.Seats {
		s := &mr.m.Seats[i]
		a := agents[s.AgentID]
		s.Name, s.OwnerID, s.Protocol, s.Endpoint = a.Name, a.OwnerID, a.Protocol, a.Endpoint
		s.PublicKey, s.Version, s.State = a.PublicKey, a.Version, arena.SeatActive
		var why string
		switch status := a.StatusAt(now); {
		case status != arena.AgentActive:
			why = string(status)
		case !a.Plays(mr.m.League):
			why = "league not among its capabilities"
		case mr.m.Settings.Refuses(a.Protocol) != "":
			why = mr.m.Settings.Refuses(a.Protocol)
		default:
			continue
		}
		s.State, s.Outcome = arena.SeatLeft, arena.OutcomeUnavailable
		if s.Withdrawal = a.WithdrawnFrom(mr.m.League, mr.m.CreatedAt, now); s.Withdrawal != "" {
			why, noShow = s.Withdrawal.String(), true
		}
		left = append(left, mr.leftEvent(s.AgentID, 0, why))
	}
	started := arena.MatchStartedBody{
		League: mr.m.League, Format: mr.m.Settings.Format, Visibility: mr.m.Settings.Visibility,
		Rated: mr.m.Settings.Rated, TotalRounds: totalRounds(mr.m.Settings), Seats: mr.m.Briefs(), RulesVersion: mr.m.Settings.RulesVersion, Game: mr.m.Settings.Game.Brief(),
	}
	if started.SeedCommitment, err = record.SeedCommitment(mr.m.ID, mr.m.SeedSalt, mr.m.Seed); err != nil {
		return nil, err
	}
	events := append([]arena.Event{mr.event(arena.EventMatchStarted, "", 0, started)}, left...)

	// A match that cannot have a first round begins too, and then ends as it
	// would after any other round.
	var first *round
	var stop error
	if mr.state, stop = mr.game.Init(ctx, mr.position(arena.Round{No: 1})); stop != nil {
		stop = mr.gameFailed(ctx, 1, stop)
	}
	over := false
	if stop == nil {
		over, stop = mr.over(ctx)
		if void, is := errors.AsType[*voidError](stop); is && noShow && void.code == arena.VoidTooFewAgents {
			void.code = arena.VoidNoShow
		}
	}
	if !over && stop == nil {
		first, stop = mr.pickTask(ctx, mr.m, mr.state)
	}
	var opening *arena.Round
	if first != nil {
		first.cooldowns = make(map[string]arena.Cooldown, len(agents))
		for id, a := range agents {
			first.cooldowns[id] = arena.Cooldown{Pauses: a.Pauses, Retired: !a.RetiredAt.IsZero()}
		}
		opening, events = &first.Round, append(events, mr.openingEvent(first))
		mr.warm()
	}
	if err := mr.commit(ctx, "start match", func() ([]arena.Event, error) {
		return mr.engine.o.Store.StartMatch(ctx, mr.m.Lease, mr.m.Seats, now, opening, events)
	}); err != nil {
		return nil, err
	}
	mr.stored = slices.Clone(mr.m.Seats)
	if first != nil {
		mr.noteOpened(first)
	}
	return first, stop
}

// restore reads the rounds and answers that earlier leases stored. It returns
// the round that was open with its count of interruptions increased, or nil.
func (mr *matchRun) restore(ctx context.Context) (*round, error) {
	if mr.m.Round == 0 {
		return nil, nil //nolint:nilnil // no round is open: not an error
	}
	rounds, err := retry(ctx, mr, func() ([]arena.Round, error) { return mr.engine.o.Store.Rounds(ctx, mr.m.ID) })
	if err != nil {
		return nil, fmt.Errorf("read rounds: %w", err)
	}
	mr.answers, err = retry(ctx, mr, func() ([]arena.Answer, error) { return mr.engine.o.Store.Answers(ctx, mr.m.ID) })
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	verdicts, err := retry(ctx, mr, func() ([]arena.Verdict, error) { return mr.engine.o.Store.Verdicts(ctx, mr.m.ID) })
	if err != nil {
		return nil, fmt.Errorf("read verdicts: %w", err)
	}
	next := mr.m.Round + 1
	if mr.m.RoundOpen {
		next = mr.m.Round
	}
	if mr.state, err = game.Replay(ctx, mr.game, mr.m, next, rounds, mr.answers, verdicts); err != nil {
		return nil, mr.gameFailed(ctx, next, err)
	}
	for _, r := range rounds {
		mr.correct[r.No] = r.Task.Correct()
	}
	for _, a := range mr.answers {
		if a.Judged {
			mr.last[a.AgentID] = a
		}
	}
	last := rounds[len(rounds)-1]
	now := mr.engine.o.Now()
	if mr.closed = last.ClosedAt; mr.closed.After(now) { // by a clock that was ahead
		mr.closed = now
	}
	if !mr.m.RoundOpen {
		// The previous node may have waited for a part of the break.
		mr.wait(ctx, mr.m.Settings.Break-now.Sub(mr.closed))
		return nil, nil //nolint:nilnil // no round is open: not an error
	}
	last.Interruptions++
	return mr.open(ctx, mr.newRound(last))
}

// over reports whether the match is over by the rules of its game.
func (mr *matchRun) over(ctx context.Context) (bool, error) {
	next := mr.m.Round + 1
	end, err := mr.game.Over(mr.position(arena.Round{No: next}))
	switch {
	case err != nil:
		return false, mr.gameFailed(ctx, next, err)
	case end.Void != "":
		return false, &voidError{end.Void}
	}
	mr.games = end.Games
	return end.Over, nil
}

// wait waits for a duration, less if the node drains or the match stops.
func (mr *matchRun) wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-mr.engine.drain.Done():
	}
}

// awaitVisible waits until the last round of a delayed match is visible, since
// result and ratings reveal its outcome. It returns false if the match must be
// released first.
func (mr *matchRun) awaitVisible(ctx context.Context) bool {
	for {
		wait := mode.Of(mr.m).Delay - mr.engine.o.Now().Sub(mr.closed)
		if wait <= 0 {
			mr.stopDelayed()
			return true
		}
		if ctx.Err() != nil || mr.engine.drain.Err() != nil {
			return false
		}
		mr.wait(ctx, wait)
	}
}

// commit runs an operation that appends to the log, and publishes the events. If
// it was repeated, the first try may have succeeded without returning its events:
// then commit reads them from the log (threat C5).
func (mr *matchRun) commit(ctx context.Context, what string, op func() ([]arena.Event, error)) error {
	tries := 0
	stored, err := retry(ctx, mr, func() ([]arena.Event, error) {
		tries++
		return op()
	})
	if err == nil && tries > 1 && len(stored) == 0 {
		stored, err = retry(ctx, mr, func() ([]arena.Event, error) {
			return mr.engine.o.Store.EventsAfter(ctx, mr.m.ID, mr.published.Load(), maxRepublished)
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	mr.publish(stored)
	return nil
}

// maxRepublished is the number of events that commit reads from the log.
const maxRepublished = 1000

// retry repeats an operation while the storage is unavailable and the run goes
// on. Every operation is safe to repeat: it is fenced by the lease, and does
// nothing the second time.
func retry[T any](ctx context.Context, mr *matchRun, op func() (T, error)) (T, error) {
	const first = 50 * time.Millisecond
	for wait := first; ; wait = min(2*wait, time.Second) {
		v, err := op()
		if err == nil || arena.CodeOf(err) != arena.CodeUnavailable {
			return v, err
		}
		if wait == first {
			mr.log.Warn("storage is unavailable, the operation is retried", "error", err)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return v, context.Cause(ctx)
		case <-t.C:
		}
	}
}

// agents reads the agents of the match.
func (mr *matchRun) agents(ctx context.Context) (map[string]arena.Agent, error) {
	ids := make([]string, len(mr.m.Seats))
	for i, s := range mr.m.Seats {
		ids[i] = s.AgentID
	}
	agents, err := retry(ctx, mr, func() (map[string]arena.Agent, error) { return mr.engine.o.Store.AgentsByID(ctx, ids) })
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	return agents, nil
}

// cooldowns reads which agents that act in a round were paused when it opened, and
// why, or are retired.
func (mr *matchRun) cooldowns(ctx context.Context, r *round) (map[string]arena.Cooldown, error) {
	var ids []string
	for _, s := range mr.m.Seats {
		if _, acts := r.Prompt(s.No); acts {
			ids = append(ids, s.AgentID)
		}
	}
	cooldowns, err := retry(ctx, mr, func() (map[string]arena.Cooldown, error) { return mr.engine.o.Store.Cooldowns(ctx, ids, r.OpenedAt) })
	if err != nil {
		return nil, fmt.Errorf("read cooldowns of agents: %w", err)
	}
	return cooldowns, nil
}

// publish publishes events that were committed, unless the match is delayed.
func (mr *matchRun) publish(events []arena.Event) {
	if len(events) == 0 {
		return
	}
	last := events[len(events)-1]
	if mode.Of(mr.m).PublishedAtOnce(last) {
		mr.engine.o.Publisher.Publish(mr.m.League, events...)
	}
	for seq := mr.published.Load(); seq < last.Seq && !mr.published.CompareAndSwap(seq, last.Seq); seq = mr.published.Load() {
	}
}

// event returns a new event of the match. The body is one of the arena's own
// types, which always encode.
func (mr *matchRun) event(t arena.EventType, agentID string, round int, body any) arena.Event {
	raw, err := json.Marshal(body)
	if err != nil {
		mr.log.Error("event body does not encode", "type", t, "error", err)
		raw = json.RawMessage(`{}`)
	}
	return arena.Event{MatchID: mr.m.ID, AgentID: agentID, Round: round, At: mr.engine.o.Now(), Type: t, Body: raw}
}

// leftEvent returns the agent_left event of an unavailable agent.
func (mr *matchRun) leftEvent(agentID string, round int, reason string) arena.Event {
	return mr.event(arena.EventAgentLeft, agentID, round, arena.AgentLeftBody{Outcome: arena.OutcomeUnavailable, Reason: reason})
}

// totalRounds returns the number of rounds, or nil for an open end.
func totalRounds(s arena.Settings) *int {
	if s.Rounds == 0 {
		return nil
	}
	return &s.Rounds
}
