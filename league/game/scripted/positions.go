package scripted

import (
	"sync"

	"github.com/agora-arena/arena/league/game/rules"
)

// What is kept of the latest positions of a game. A position follows from its
// state alone: without it, the worker is asked again.
const (
	maxPositions     = 256
	maxPositionBytes = 4 << 20
)

// positions are the positions of the latest states. The zero value is ready.
type positions struct {
	mu      sync.Mutex
	byState map[string]rules.Position
	order   []string // oldest first
	bytes   int
}

func (c *positions) get(st rules.State) (rules.Position, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.byState[string(st)]
	return p, ok
}

func (c *positions) put(st rules.State, p rules.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.byState[string(st)]; known {
		return
	}
	if c.byState == nil {
		c.byState = map[string]rules.Position{}
	}
	key := string(st)
	c.byState[key], c.order, c.bytes = p, append(c.order, key), c.bytes+size(key, p)
	for len(c.order) > maxPositions || c.bytes > maxPositionBytes && len(c.order) > 1 {
		oldest := c.order[0]
		c.order, c.bytes = c.order[1:], c.bytes-size(oldest, c.byState[oldest])
		delete(c.byState, oldest)
	}
}

// size returns about how many bytes a position and its state take.
func size(st string, p rules.Position) int {
	n := len(st) + len(p.Public) + 200
	for _, a := range p.ToAct {
		n += len(a.Text) + len(a.Observation) + len(a.Grammar) + 32*len(a.Legal)
	}
	return n
}
