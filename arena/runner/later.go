package runner

import (
	"context"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// tellEvery is the time between two looks for events of a delayed match that
// have become old enough.
const tellEvery = 500 * time.Millisecond

// tellLater publishes the events of a delayed match when spectators may see
// them (rulebook, section 5), until stop is called; other matches publish
// theirs when they are committed. What was old enough before this lease is not
// told again: whoever missed it has it from the log.
func (p *play) tellLater(ctx context.Context) (stop func(), err error) {
	if p.m.Delay() == 0 {
		return func() {}, nil
	}
	shown, err := retry(ctx, p, func() (arena.Match, error) { return p.r.o.Store.Shown(ctx, p.m) })
	if err != nil {
		return nil, err
	}
	last, id, league := shown.Seq, p.m.ID, p.m.League // p.m changes under the play
	tell := func(ctx context.Context) error {
		for {
			events, err := p.r.o.Store.ShownAfter(ctx, id, last, maxUntold)
			if err != nil || len(events) == 0 {
				return err
			}
			p.r.o.Publisher.Publish(league, events...)
			last = events[len(events)-1].Seq
		}
	}
	telling, cancel := context.WithCancel(ctx)
	var teller sync.WaitGroup
	teller.Go(func() {
		look := time.NewTicker(tellEvery)
		defer look.Stop()
		for {
			select {
			case <-look.C:
			case <-telling.Done():
				return
			}
			if err := tell(telling); err != nil && telling.Err() == nil {
				p.log.Warn("what is old enough to be shown cannot be read", "error", err)
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		teller.Wait()
		_ = tell(ctx) // where this fails, the last event brings the rest
	}), nil
}
