package agents

import (
	"context"
	"time"
)

// The sleeper's day. It sleeps long enough to miss the three health checks
// that pause an agent.
const (
	sleeperDay   = 7 * time.Minute
	sleeperAwake = 5 * time.Minute
)

// sleeper naps: then it answers 503 and its health check fails.
func sleeper() persona {
	return persona{
		name: "sleeper", description: "Good company while awake. Naps every few minutes.",
		skill: 0.72, least: 1500 * time.Millisecond, most: 4 * time.Second, concurrent: 3,
		awake: func(age time.Duration) bool { return age%sleeperDay < sleeperAwake },
		play: func(ctx context.Context, t *turn) error {
			t.think(ctx, 0.2, t.one("Mm? Yes. I am awake.", "Just resting my eyes.", "Coffee first."))
			t.open(ctx, 0.3)
			t.work(ctx, 0.4)
			t.settle(ctx, 0.1)
			return nil
		},
	}
}
