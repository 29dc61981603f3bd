package visibility

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

const (
	// delayedTick is the time between two reads of events that may have become
	// visible.
	delayedTick = 500 * time.Millisecond
	// delayedPage is how many events are read at once.
	delayedPage = 1000
)

// Publisher sends events of a match to spectators.
type Publisher interface {
	Publish(league string, events ...arena.Event)
}

// DelayedPublisher publishes the events of delayed matches when spectators may
// see them (docs/rules.md, section 5). The events of other matches are published
// when they are committed.
type DelayedPublisher struct {
	reader    *Reader
	publisher Publisher
	log       *slog.Logger
}

// NewDelayedPublisher returns a DelayedPublisher that reads with r and sends to
// p.
func NewDelayedPublisher(r *Reader, p Publisher, log *slog.Logger) *DelayedPublisher {
	return &DelayedPublisher{reader: r, publisher: p, log: log}
}

// Follow publishes the events of m as they become visible, until stop is
// called. stop returns when the last of them has been published; calling it
// again does nothing. Events that are visible already are not published:
// spectators read them from the log. Follow does nothing for a match that is
// not delayed.
func (d *DelayedPublisher) Follow(ctx context.Context, m arena.Match) (stop func(), err error) {
	visible, err := d.reader.visible(ctx, m)
	if err != nil {
		return nil, err
	}
	if !visible.Log().delayed {
		return func() {}, nil
	}
	last, events, league := visible.Seq, visible.Log(), m.League
	flush := func(ctx context.Context) error {
		for {
			due, err := d.reader.Events(ctx, events, last, delayedPage)
			if err != nil || len(due) == 0 {
				return err
			}
			d.publisher.Publish(league, due...)
			last = due[len(due)-1].Seq
		}
	}
	following, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(delayedTick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-following.Done():
				return
			}
			if err := flush(following); err != nil && following.Err() == nil {
				d.log.Warn("cannot read events that may be visible", "match_id", events.matchID, "league", league, "error", err)
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		_ = flush(ctx) // on failure, the match's last event makes the stream read the rest
	}), nil
}
