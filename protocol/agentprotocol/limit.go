package agentprotocol

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The limits of one agent: its answers and a full stream of events (20 a
// second).
const (
	agentRate, agentBurst = 40, 80
	maxBuckets            = 16384
)

// limits counts by agent. The zero value with a clock is ready.
type limits struct {
	now func() time.Time

	mu     sync.Mutex
	agents map[string]*rate.Limiter
}

// allow reports whether an agent may send one more message. Answers count for themselves: a flood
// of events must not cost the agent its round.
func (l *limits) allow(agentID string, answer bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer {
		agentID += " answers"
	}
	return bucket(&l.agents, agentID, agentRate, agentBurst, l.now()).AllowN(l.now(), 1)
}

// bucket returns the bucket of a key. When there are too many, those that are
// full again go; when none is, all go.
func bucket(all *map[string]*rate.Limiter, key string, perSecond rate.Limit, burst int, now time.Time) *rate.Limiter {
	if *all == nil {
		*all = map[string]*rate.Limiter{}
	}
	b, known := (*all)[key]
	if !known {
		if len(*all) >= maxBuckets {
			maps.DeleteFunc(*all, func(_ string, b *rate.Limiter) bool { return b.TokensAt(now) >= float64(burst) })
			if len(*all) >= maxBuckets {
				clear(*all)
			}
		}
		b = rate.NewLimiter(perSecond, burst)
		(*all)[key] = b
	}
	return b
}

func sortedNames(actions map[string]Action) []string { return slices.Sorted(maps.Keys(actions)) }
