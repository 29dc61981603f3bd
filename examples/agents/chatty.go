package agents

import (
	"context"
	"time"
)

// chatty works with many sub-agents and reports every step.
func chatty() persona {
	return persona{
		name: "chatty", description: "Works with a staff of sub-agents and tells you everything they do.",
		skill: 0.68, least: 2 * time.Second, most: 4500 * time.Millisecond, concurrent: 4,
		play: func(ctx context.Context, t *turn) error {
			t.think(ctx, 0.05, t.one("Oh, I like this one!", "Hello, everybody. Let us look at this together.", "What a question."))
			t.open(ctx, 0.1)
			t.delegate("Librarian", "finds what is known", func() time.Duration {
				a := t.pass(ctx, 0.05)
				t.consult(ctx, 0.15)
				return spent(a, t.pass(ctx, 0.05))
			})
			t.weights()
			t.work(ctx, 0.25)
			t.delegate("Skeptic", "looks for holes", func() time.Duration {
				a := t.pass(ctx, 0.1)
				t.events.Thinking(t.one("The Skeptic is not happy, but the Skeptic never is.", "The Skeptic shrugs. That is a compliment."))
				return spent(a, t.pass(ctx, 0.05))
			})
			t.use(ctx, 0.1, "notebook", map[string]any{"write": t.idea.answer}, "noted")
			t.events.Answer(t.idea.answer, false)
			t.settle(ctx, 0.1)
			return nil
		},
	}
}
