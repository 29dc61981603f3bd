package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// settle stores places, ratings and the last event in one transaction. To settle
// a match again changes nothing.
func (mr *matchRun) settle(ctx context.Context) error {
	mr.done.Store(true)
	seats := scoring.PlaceSeats(mr.m.Settings, mr.m.Seats)
	result := arena.Result{MatchID: mr.m.ID, League: mr.m.League, Seats: seats, Rated: mr.m.Settings.Rated}
	if mr.m.UnratedReason == "" { // else the league's table leaves it out
		result.Games = mr.games
	}
	rate := func(ratings map[string]arena.Rating) []arena.RatingChange {
		if !mr.m.Settings.Rated {
			return nil
		}
		return scoring.Rate(mr.m.Settings, seats, mr.answers, ratings)
	}
	last := func(changes []arena.RatingChange) (arena.Event, error) { //nolint:unparam // the store's signature: other callers fail
		body := arena.MatchFinishedBody{League: mr.m.League, Rated: len(changes) > 0, RatingChanges: changes}
		if changes == nil {
			body.RatingChanges = []arena.RatingChange{}
		}
		for _, s := range seats {
			body.Seats = append(body.Seats, arena.FinishedSeat{
				AgentID: s.AgentID, Name: s.Name, Points: s.Points, Place: s.Place, State: s.State, LostRounds: s.LostRounds,
			})
		}
		return mr.event(arena.EventMatchFinished, "", 0, body), nil
	}
	if err := mr.commit(ctx, "settle", func() ([]arena.Event, error) {
		return mr.engine.o.Store.Settle(ctx, mr.m.Lease, result, mr.engine.o.Now(), rate, last)
	}); err != nil {
		return err
	}
	mr.observeEnd(arena.MatchFinished)
	mr.pauseFailing(ctx)
	return nil
}

// void ends the match without a result.
func (mr *matchRun) void(ctx context.Context, code arena.VoidCode) error {
	mr.done.Store(true)
	reason := arena.VoidReason{Code: code}
	last, err := mr.m.VoidEvent(mr.engine.o.Now(), reason)
	if err != nil {
		return err
	}
	if err := mr.commit(ctx, "void match", func() ([]arena.Event, error) {
		return mr.engine.o.Store.VoidMatch(ctx, mr.m.Lease, reason, mr.m.Seats, mr.engine.o.Now(), last)
	}); err != nil {
		return err
	}
	mr.observeEnd(arena.MatchVoid)
	mr.pauseFailing(ctx)
	mr.log.Info("match void", "reason", reason)
	return nil
}

// release releases the lease between rounds, so that another node can continue
// at once.
func (mr *matchRun) release(ctx context.Context) error {
	mr.done.Store(true)
	mr.released.Store(true)
	mr.log.Debug("match given back", "epoch", mr.m.Lease.Epoch)
	_, err := retry(ctx, mr, func() (struct{}, error) { return struct{}{}, mr.engine.o.Store.ReleaseLease(ctx, mr.m.Lease) })
	if err != nil {
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}

// releaseMidRound releases the lease while a round is open, after the match's
// context has ended. If that fails, the lease expires.
func (mr *matchRun) releaseMidRound(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	mr.released.Store(true)
	mr.log.Debug("match given back", "epoch", mr.m.Lease.Epoch)
	if err := mr.engine.o.Store.ReleaseLease(ctx, mr.m.Lease); err != nil {
		mr.log.Warn("match could not be given back", "error", err)
	}
}

// observeEnd reports the end of the match to the metrics.
func (mr *matchRun) observeEnd(status arena.MatchStatus) {
	mr.engine.o.Observe(Observation{MatchID: mr.m.ID, League: mr.m.League, Status: status, Start: mr.m.StartedAt, Elapsed: mr.engine.o.Now().Sub(mr.m.StartedAt)})
}
