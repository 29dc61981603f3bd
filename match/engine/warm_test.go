package engine_test

import (
	"slices"
	"testing"

	"github.com/agora-arena/arena/match/engine"
)

// warming is a driver that can connect before there is a request.
type warming struct {
	*bench
	warmed []string // endpoints, and "round" whenever one has been asked
}

func (w *warming) Warm(endpoint string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asked) > 0 && len(w.warmed)%3 == 2 {
		w.warmed = append(w.warmed, "round")
	}
	w.warmed = append(w.warmed, endpoint)
}

// The engine connects to the endpoint of every seat before each round.
func TestEngine_WarmsBeforeDispatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, right)
	w := &warming{bench: b}
	id := b.match()
	b.node("n1", func(o *engine.Options) { o.Drivers = map[string]engine.Driver{"fake": w} })
	b.over(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	for round := range slices.Chunk(w.warmed, 3) {
		slices.Sort(round[:2])
	}
	seats := []string{"http://ag_0", "http://ag_1"}
	want := slices.Concat(seats, []string{"round"}, seats, []string{"round"}, seats)
	if !slices.Equal(w.warmed, want) {
		t.Errorf("warmed %v, want %v", w.warmed, want)
	}
}
