package agents

import (
	"context"
	"time"
)

// steady waits, looks up the question once and answers.
func steady() persona {
	return persona{
		name: "steady", description: "Takes its time, looks things up once, answers. Rarely surprising.",
		skill: 0.74, least: 1500 * time.Millisecond, most: 3 * time.Second, concurrent: 5,
		play: func(ctx context.Context, t *turn) error {
			t.open(ctx, 0.25)
			t.work(ctx, 0.4)
			t.consult(ctx, 0.25)
			t.settle(ctx, 0.1)
			return nil
		},
	}
}
