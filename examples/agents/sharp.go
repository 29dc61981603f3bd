package agents

import (
	"context"
	"fmt"
	"time"
)

// slowAndSharp checks everything twice.
func slowAndSharp() persona {
	return persona{
		name: "slow-and-sharp", description: "Checks everything twice and is rarely wrong. Never in a hurry.",
		skill: 0.92, least: 3500 * time.Millisecond, most: 6 * time.Second, concurrent: 4,
		play: func(ctx context.Context, t *turn) error {
			t.open(ctx, 0.2)
			t.work(ctx, 0.3)
			t.consult(ctx, 0.2)
			t.weights()
			t.delegate("Verifier", "tries to refute the answer", func() time.Duration {
				took := t.pass(ctx, 0.2)
				t.events.Intermediate(map[string]any{"refuted": false, "checked": t.idea.answer})
				return took
			})
			t.think(ctx, 0.1, fmt.Sprintf("The check found nothing against %s.", t.idea.answer))
			return nil
		},
	}
}
