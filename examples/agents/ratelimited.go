package agents

import (
	"context"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// rateLimited has a small quota at the model behind it: now and then it
// answers 429, and the arena pauses it.
func rateLimited() persona {
	return persona{
		name: "rate-limited", description: "Lives on a small quota; asks for a break when it is used up.",
		skill: 0.8, least: time.Second, most: 2500 * time.Millisecond, concurrent: 3,
		play: func(ctx context.Context, t *turn) error {
			if t.happens(0.04) {
				t.events.Error("My quota is used up. Back in five minutes.", true)
				return arenaagent.ErrRateLimited
			}
			t.open(ctx, 0.3)
			t.work(ctx, 0.4)
			t.consult(ctx, 0.3)
			return nil
		},
	}
}
