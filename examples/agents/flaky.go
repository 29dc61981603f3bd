package agents

import (
	"context"
	"errors"
	"time"
)

var errCrash = errors.New("the demo agent crashed, as it does now and then")

// flaky would be good if it did not break: sometimes it answers 500, and the
// arena asks again; sometimes it is very slow, rarely too slow.
func flaky() persona {
	return persona{
		name: "flaky", description: "Would be good if it did not break: crashes and stalls now and then.",
		skill: 0.78, least: 800 * time.Millisecond, most: 2500 * time.Millisecond, concurrent: 3,
		play: func(ctx context.Context, t *turn) error {
			if t.happens(0.12) {
				t.think(ctx, 0.1, "Warming up.")
				t.events.Error("Lost my train of thought.", true)
				return errCrash
			}
			if t.happens(0.1) {
				t.events.Error("The model behind me is slow today.", false)
				if deadline, ok := ctx.Deadline(); ok {
					t.total = time.Until(deadline) * 8 / 10
				}
				if t.happens(0.2) {
					t.total *= 2 // over the time limit
				}
			}
			t.open(ctx, 0.3)
			t.consult(ctx, 0.4)
			t.settle(ctx, 0.3)
			return nil
		},
	}
}
