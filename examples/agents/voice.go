package agents

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// open reports the first thought on a task.
func (t *turn) open(ctx context.Context, share float64) {
	switch {
	case t.idea.sum != nil:
		t.think(ctx, share, t.one(
			"A computation. Brackets first, then products, then sums.",
			fmt.Sprintf("Let me take %s apart, step by step.", t.idea.sum.expression),
			"Numbers. I will not do this in one go.",
		))
	case t.idea.search != nil:
		t.think(ctx, share, t.one(
			fmt.Sprintf("%d moves. I look %d ahead in each.", len(t.task.Options), t.idea.search.depth),
			"If I go there, where does the other one go?", "First: can I be beaten on the next move?",
		))
	case len(t.task.Options) > 1:
		t.think(ctx, share, t.one(
			fmt.Sprintf("%d options. One of them will sound right for the wrong reason.", len(t.task.Options)),
			fmt.Sprintf("Reading it twice: “%s”", short(t.task.Description)),
			"Let me see which options can be ruled out.",
		))
	default:
		t.think(ctx, share, t.one(
			fmt.Sprintf("An open question: “%s”", short(t.task.Description)),
			"No options to lean on. What do I know about this?",
		))
	}
}

// work shows the way to the answer: the steps of a computation, or options
// being weighed.
func (t *turn) work(ctx context.Context, share float64) {
	if t.idea.sum != nil {
		each := share / float64(len(t.idea.sum.steps))
		for _, step := range t.idea.sum.steps {
			t.think(ctx, each, step+".")
		}
		return
	}
	others := t.others()
	if s := t.idea.search; s != nil {
		t.think(ctx, share, fmt.Sprintf("Column %s stands at %+d, the others no better.", t.idea.answer, s.values[t.idea.answer]))
		return
	}
	if len(others) == 0 {
		t.think(ctx, share, t.one("Something in the back of my mind says "+t.idea.answer+".", "I have met this before."))
		return
	}
	each := share / float64(len(others))
	for _, option := range others {
		t.think(ctx, each, t.one(
			option+" does not fit.", option+"? Tempting, but no.", "I can rule out "+option+".", option+" belongs to another story.",
		))
	}
}

// settle reports the last thought.
func (t *turn) settle(ctx context.Context, share float64) {
	t.think(ctx, share, t.one(
		"So it is "+t.idea.answer+".", "I go with "+t.idea.answer+".",
		fmt.Sprintf("%s, and I am %.0f%% sure.", t.idea.answer, 100*t.idea.confidence),
	))
}

// consult shows the tool that fits the task.
func (t *turn) consult(ctx context.Context, share float64) {
	if s := t.idea.sum; s != nil {
		tool := "calculator"
		if s.slipped {
			tool = "mental_arithmetic"
		}
		t.use(ctx, share, tool, map[string]any{"expression": s.expression}, s.value())
		return
	}
	if s := t.idea.search; s != nil {
		t.use(ctx, share, "search", map[string]any{"depth": s.depth}, map[string]any{"positions": s.nodes, "values": s.values})
		return
	}
	t.use(ctx, share, "recall", map[string]any{"query": short(t.task.Description), "limit": 3},
		fmt.Sprintf("%d notes, the best one names %s", 1+t.mood.IntN(3), t.idea.answer))
}

// weights shows how the options stand.
func (t *turn) weights() {
	left := 1 - t.idea.confidence
	table := map[string]float64{t.idea.answer: round2(t.idea.confidence)}
	others := t.others()
	for i, o := range others {
		part := left / 2
		if i == len(others)-1 {
			part = left
		}
		left -= part
		table[o] = round2(part)
	}
	t.events.Intermediate(map[string]any{"candidates": table})
}

// others are the options that were not chosen, at most five.
func (t *turn) others() []string {
	var list []string
	for _, o := range t.task.Options {
		if o != t.idea.answer && len(list) < 5 {
			list = append(list, o)
		}
	}
	return list
}

func round2(f float64) float64 { return float64(int(100*f+0.5)) / 100 }

// short cuts a question to what fits on a line.
func short(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return strings.TrimSpace(string(r[:most])) + "…"
	}
	return s
}

// spent adds up what parts of a sub-agent's work took.
func spent(parts ...time.Duration) (total time.Duration) {
	for _, p := range parts {
		total += p
	}
	return total
}
