package engine_test

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/registry"
)

// pauses changes the pauses of the bench's agents.
func (b *bench) pauses() *registry.Pauses {
	b.t.Helper()
	p, err := registry.NewPauses(registry.PausesOptions{Store: b.store, Publisher: b, Now: time.Now, Logger: b.log})
	b.ok(err)
	return p
}

// PublishAgent keeps the pauses of agents that fail. Another one fails the test:
// a pause that a round caused is in the log of its match alone.
func (b *bench) PublishAgent(_ []string, e arena.Event) {
	b.t.Errorf("published outside the match: %+v", e)
}
