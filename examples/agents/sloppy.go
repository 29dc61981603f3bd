package agents

import (
	"context"
	"time"
)

// fastAndSloppy answers before it has read to the end.
func fastAndSloppy() persona {
	return persona{
		name: "fast-and-sloppy", description: "Answers before it has read to the end. Sometimes that is enough.",
		skill: 0.52, least: 300 * time.Millisecond, most: 900 * time.Millisecond, concurrent: 6,
		play: func(ctx context.Context, t *turn) error {
			t.think(ctx, 0.6, t.one("Easy.", "Seen it. Next!", "No need to read the rest.", "First thought, best thought."))
			t.settle(ctx, 0.4)
			return nil
		},
	}
}
