package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/visibility/mode"
	"github.com/agora-arena/arena/scoring"
)

// play is one match under one lease.
type play struct {
	r       *Runner
	m       arena.Match
	answers []arena.Answer          // stored so far, of closed rounds and judged; until the open one is restored, of it too
	last    map[string]arena.Answer // the newest of them, by agent
	correct map[int]string          // right answers of the rounds opened so far
	drain   context.Context         //nolint:containedctx // ends when the node drains; outlived by the match on purpose
	cancel  context.CancelCauseFunc
	renewed atomic.Pointer[time.Time] // when the lease was last asked for with success
	told    atomic.Int64              // highest seq of what this lease published
	done    atomic.Bool               // the lease is about to end on purpose
	given   atomic.Bool               // it was given back
	doubted atomic.Bool               // it is older than the node trusts
	lost    atomic.Bool               // its work has been ended
	judging atomic.Bool               // the match is marked as being judged, or may be
	closed  time.Time                 // when the last round closed; zero before the first
	flush   func()                    // stops the delayed publisher after it has published what is visible
	rand    *rand.Rand
	log     *slog.Logger
}

// voidError ends a match without a result; reason is shown to everyone.
type voidError struct{ reason string }

func (e *voidError) Error() string { return e.reason }

// run plays from the stored state on until the match is over, the node
// drains, or the lease is lost.
func (p *play) run(ctx context.Context) { p.stopped(ctx, p.play(ctx)) }

// stopped does what is left when a match is not played any further.
//
//go:noinline
func (p *play) stopped(ctx context.Context, err error) {
	if void, ok := errors.AsType[*voidError](err); ok {
		err = p.void(ctx, void.reason)
	}
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errGraceOver):
		p.log.Info("open round given back", "round", p.m.Round)
		p.giveBack(ctx)
	case arena.CodeOf(err) == arena.CodeLeaseLost, ctx.Err() != nil:
		p.log.Info("match left to another node", "epoch", p.m.Lease.Epoch, "reason", err)
	default:
		p.log.Error("match failed", "error", err)
		if err := p.void(ctx, "the arena failed"); err != nil {
			p.log.Error("match could not be voided", "error", err)
		}
	}
}

func (p *play) play(ctx context.Context) error {
	if p.m.Interruptions >= MaxInterruptions {
		return &voidError{"interrupted too often"}
	}
	if p.drain.Err() != nil {
		return p.release(ctx) // claimed in the moment in which the drain began
	}
	open, err := p.begin(ctx)
	if err == nil && open == nil {
		open, err = p.restore(ctx)
	}
	if err == nil {
		p.flush, err = retry(ctx, p, func() (func(), error) { return p.r.o.Delayed.Follow(ctx, p.m) })
	}
	if err != nil {
		return err
	}
	defer p.flush()
	for {
		if open == nil {
			over, err := p.over()
			if err != nil {
				return err
			}
			if over && p.shown(ctx) {
				return p.settle(ctx)
			}
			if p.drain.Err() != nil {
				return p.release(ctx)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if open, err = p.nextRound(ctx); err != nil {
				return err
			}
		}
		if err := p.playRound(ctx, open); err != nil {
			return err
		}
		open = nil
		p.intermission(ctx, p.m.Settings.Break)
	}
}

// begin pins the seats at the first claim: who takes part, at which endpoint
// and version. An agent that may not play now has left before the start. The
// first round opens in the same transaction, so that the first task leaves
// one commit after the claim.
func (p *play) begin(ctx context.Context) (*round, error) {
	if p.m.Seq > 1 {
		return nil, nil //nolint:nilnil // begun under an earlier lease: its log has gone on after match_scheduled
	}
	agents, err := p.agents(ctx)
	if err != nil {
		return nil, err
	}
	now := p.r.o.Now()
	var left []arena.Event
	for i := range p.m.Seats {
		s := &p.m.Seats[i]
		a := agents[s.AgentID]
		s.Name, s.OwnerID, s.Protocol, s.Endpoint = a.Name, a.OwnerID, a.Protocol, a.Endpoint
		s.PublicKey, s.Version, s.State = a.PublicKey, a.Version, arena.SeatActive
		var why string
		switch status := a.StatusAt(now); {
		case status != arena.AgentActive:
			why = string(status)
		case !a.Plays(p.m.League):
			why = "league not among its capabilities"
		default:
			continue
		}
		s.State, s.Outcome = arena.SeatLeft, arena.OutcomeUnavailable
		left = append(left, p.event(arena.EventAgentLeft, s.AgentID, 0,
			arena.AgentLeftBody{Outcome: arena.OutcomeUnavailable, Reason: why}))
	}
	events := append([]arena.Event{p.event(arena.EventMatchStarted, "", 0, arena.MatchStartedBody{
		League: p.m.League, Format: p.m.Settings.Format, Visibility: p.m.Settings.Visibility,
		Rated: p.m.Settings.Rated, TotalRounds: totalRounds(p.m.Settings), Seats: p.briefs(),
	})}, left...)

	// A match that cannot have a first round is begun all the same, and then
	// ends as it would in any other round.
	var first *round
	over, stop := p.over()
	if !over && stop == nil {
		first, stop = p.pick(ctx, 1)
	}
	var opening *arena.Round
	if first != nil {
		first.rests = make(map[string]arena.Rest, len(agents))
		for id, a := range agents {
			first.rests[id] = arena.Rest{Pauses: a.Pauses, Retired: !a.RetiredAt.IsZero()}
		}
		opening, events = &first.Round, append(events, p.openingEvent(first))
		p.warm()
	}
	if err := p.commit(ctx, "start match", func() ([]arena.Event, error) {
		return p.r.o.Store.StartMatch(ctx, p.m.Lease, p.m.Seats, now, opening, events)
	}); err != nil {
		return nil, err
	}
	if first != nil {
		p.opened(first)
	}
	return first, stop
}

// restore reads what earlier leases stored. It returns the round that was
// open, marked as interrupted once more, or nil.
func (p *play) restore(ctx context.Context) (*round, error) {
	if p.m.Round == 0 {
		return nil, nil //nolint:nilnil // no round is open: not an error
	}
	rounds, err := retry(ctx, p, func() ([]arena.Round, error) { return p.r.o.Store.Rounds(ctx, p.m.ID) })
	if err != nil {
		return nil, fmt.Errorf("read rounds: %w", err)
	}
	p.answers, err = retry(ctx, p, func() ([]arena.Answer, error) { return p.r.o.Store.Answers(ctx, p.m.ID) })
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	for _, r := range rounds {
		p.correct[r.No] = r.Task.Correct()
	}
	for _, a := range p.answers {
		if a.Judged {
			p.last[a.AgentID] = a
		}
	}
	last := rounds[len(rounds)-1]
	p.closed = last.ClosedAt
	if !p.m.RoundOpen {
		// What is left of the break in which the match changed hands.
		p.intermission(ctx, min(p.m.Settings.Break, p.m.Settings.Break-p.r.o.Now().Sub(last.ClosedAt)))
		return nil, nil //nolint:nilnil // no round is open: not an error
	}
	last.Interruptions++
	return p.open(ctx, p.roundOf(last))
}

// over says whether the match ends here, by the format's rules.
func (p *play) over() (bool, error) {
	present := 0
	for _, s := range p.m.Seats {
		if s.State != arena.SeatLeft {
			present++
		}
	}
	if present < 2 {
		return false, &voidError{"fewer than two agents were left"}
	}
	return scoring.Over(p.m.Settings, p.m.Seats, p.m.Round), nil
}

// intermission keeps the reveal on the stage before the next task. A node
// that drains does not wait for it.
func (p *play) intermission(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-p.drain.Done():
	}
}

// shown waits until spectators of a delayed match have seen its last round,
// since the result and the ratings tell how that went. It gives false when the
// match is to be left before.
func (p *play) shown(ctx context.Context) bool {
	for {
		wait := mode.Of(p.m).Delay - p.r.o.Now().Sub(p.closed)
		if wait <= 0 {
			p.flush()
			return true
		}
		if ctx.Err() != nil || p.drain.Err() != nil {
			return false
		}
		p.intermission(ctx, wait)
	}
}

// settle ends the match: places, ratings and the last event in one
// transaction. A second settle finds the first and changes nothing.
func (p *play) settle(ctx context.Context) error {
	p.done.Store(true)
	seats := scoring.PlaceSeats(p.m.Settings.Format, p.m.Seats)
	result := arena.Result{MatchID: p.m.ID, League: p.m.League, Seats: seats, Rated: p.m.Settings.Rated}
	rate := func(ratings map[string]arena.Rating) []arena.RatingChange {
		if !p.m.Settings.Rated {
			return nil
		}
		return scoring.Rate(p.m.Settings, seats, p.answers, ratings)
	}
	last := func(changes []arena.RatingChange) (arena.Event, error) { //nolint:unparam // the store's signature: other callers fail
		body := arena.MatchFinishedBody{League: p.m.League, Rated: len(changes) > 0, RatingChanges: changes}
		if changes == nil {
			body.RatingChanges = []arena.RatingChange{}
		}
		for _, s := range seats {
			body.Seats = append(body.Seats, arena.FinishedSeat{
				AgentID: s.AgentID, Name: s.Name, Points: s.Points, Place: s.Place, State: s.State,
			})
		}
		return p.event(arena.EventMatchFinished, "", 0, body), nil
	}
	if err := p.commit(ctx, "settle", func() ([]arena.Event, error) {
		return p.r.o.Store.Settle(ctx, p.m.Lease, result, p.r.o.Now(), rate, last)
	}); err != nil {
		return err
	}
	p.ended(arena.MatchFinished)
	return nil
}

func (p *play) void(ctx context.Context, reason string) error {
	p.done.Store(true)
	last := p.event(arena.EventMatchVoid, "", 0, arena.MatchVoidBody{League: p.m.League, Reason: reason})
	if err := p.commit(ctx, "void match", func() ([]arena.Event, error) {
		return p.r.o.Store.VoidMatch(ctx, p.m.Lease, reason, p.m.Seats, p.r.o.Now(), last)
	}); err != nil {
		return err
	}
	p.ended(arena.MatchVoid)
	p.log.Info("match void", "reason", reason)
	return nil
}

// release gives the match back between rounds, so that another node goes on
// at once.
func (p *play) release(ctx context.Context) error {
	p.done.Store(true)
	p.given.Store(true)
	p.log.Debug("match given back", "epoch", p.m.Lease.Epoch)
	_, err := retry(ctx, p, func() (struct{}, error) { return struct{}{}, p.r.o.Store.ReleaseLease(ctx, p.m.Lease) })
	if err != nil {
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}

// giveBack releases the match in the middle of a round, after the match's
// context has ended. When that fails, the lease runs out by itself.
func (p *play) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	p.given.Store(true)
	p.log.Debug("match given back", "epoch", p.m.Lease.Epoch)
	if err := p.r.o.Store.ReleaseLease(ctx, p.m.Lease); err != nil {
		p.log.Warn("match could not be given back", "error", err)
	}
}

func (p *play) ended(status arena.MatchStatus) {
	p.r.o.Observe(Observation{League: p.m.League, Status: status, Elapsed: p.r.o.Now().Sub(p.m.StartedAt)})
}

// commit runs a step that appends to the log, and tells spectators what it
// appended. A step that had to be repeated may have been done the first time,
// with nobody to hear of it: then the log itself says what was appended
// (threat C5).
func (p *play) commit(ctx context.Context, what string, step func() ([]arena.Event, error)) error {
	tries := 0
	stored, err := retry(ctx, p, func() ([]arena.Event, error) {
		tries++
		return step()
	})
	if err == nil && tries > 1 && len(stored) == 0 {
		stored, err = retry(ctx, p, func() ([]arena.Event, error) {
			return p.r.o.Store.EventsAfter(ctx, p.m.ID, p.told.Load(), maxUntold)
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	p.publish(stored)
	return nil
}

// maxUntold bounds how much of the log is read to publish it again.
const maxUntold = 1000

// retry repeats a step while the storage is away and the lease may hold.
// Every step is safe to repeat: the lease fences it, and what was done
// already is not done again.
func retry[T any](ctx context.Context, p *play, step func() (T, error)) (T, error) {
	const first = 50 * time.Millisecond
	for wait := first; ; wait = min(2*wait, time.Second) {
		v, err := step()
		if err == nil || arena.CodeOf(err) != arena.CodeUnavailable {
			return v, err
		}
		if wait == first {
			p.log.Warn("storage is away, the step is repeated until it is back", "error", err)
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

func (p *play) agentIDs() []string {
	ids := make([]string, len(p.m.Seats))
	for i, s := range p.m.Seats {
		ids[i] = s.AgentID
	}
	return ids
}

// agents reads all agents of the match as they are now.
func (p *play) agents(ctx context.Context) (map[string]arena.Agent, error) {
	agents, err := retry(ctx, p, func() (map[string]arena.Agent, error) { return p.r.o.Store.AgentsByID(ctx, p.agentIDs()) })
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	return agents, nil
}

// rests reads which agents of the match are paused at a time, and why, or retired.
func (p *play) rests(ctx context.Context, at time.Time) (map[string]arena.Rest, error) {
	rests, err := retry(ctx, p, func() (map[string]arena.Rest, error) { return p.r.o.Store.Rests(ctx, p.agentIDs(), at) })
	if err != nil {
		return nil, fmt.Errorf("read rests of agents: %w", err)
	}
	return rests, nil
}

func (p *play) briefs() []arena.SeatBrief {
	briefs := make([]arena.SeatBrief, len(p.m.Seats))
	for i, s := range p.m.Seats {
		briefs[i] = arena.SeatBrief{AgentID: s.AgentID, Name: s.Name, Version: s.Version}
	}
	return briefs
}

func (p *play) publish(events []arena.Event) {
	if len(events) == 0 {
		return
	}
	last := events[len(events)-1]
	if mode.Of(p.m).PublishedAtOnce(last) {
		p.r.o.Publisher.Publish(p.m.League, events...)
	}
	for told := p.told.Load(); told < last.Seq && !p.told.CompareAndSwap(told, last.Seq); told = p.told.Load() {
	}
}

// event makes an event of this match; body is one of the arena's own bodies,
// which always encode.
func (p *play) event(t arena.EventType, agentID string, round int, body any) arena.Event {
	raw, err := json.Marshal(body)
	if err != nil {
		p.log.Error("event body does not encode", "type", t, "error", err)
		raw = json.RawMessage(`{}`)
	}
	return arena.Event{MatchID: p.m.ID, AgentID: agentID, Round: round, At: p.r.o.Now(), Type: t, Body: raw}
}

func totalRounds(s arena.Settings) *int {
	if s.Rounds == 0 {
		return nil
	}
	return &s.Rounds
}
