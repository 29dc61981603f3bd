package token

import (
	"fmt"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

const (
	// matchTokenLife is how long the token of a match outlives the request that it
	// was made for, at most: how long a stolen one is good for.
	matchTokenLife = 10 * time.Minute
	// maxMatchTokens is how many tokens are kept, of half a kilobyte each. When there
	// are more, all are forgotten, and signed again when they are needed.
	maxMatchTokens = 50_000
)

// MatchTokens signs task tokens that serve all requests of an agent in a match:
// they name neither a round nor a body. It is safe for concurrent use.
type MatchTokens struct {
	keys *Keys

	mu    sync.Mutex
	known map[string]map[string]matchToken // by match and agent
	size  int                              // tokens in known
}

type matchToken struct {
	text    string
	expires time.Time
}

// NewMatchTokens returns a signer with these keys.
func NewMatchTokens(k *Keys) *MatchTokens {
	return &MatchTokens{keys: k, known: map[string]map[string]matchToken{}}
}

// Sign returns the token of the agent in the match, as [Keys.Sign] does for one
// task. It makes a new one if the last one expires before c does.
func (m *MatchTokens) Sign(c arena.TaskClaims) (string, error) {
	if t := m.find(c); !t.expires.Before(c.ExpiresAt) {
		return t.text, nil
	}
	expires := c.ExpiresAt.Add(matchTokenLife)
	if latest := m.keys.now().Add(m.keys.maxLifetime).Truncate(time.Second); expires.After(latest) {
		expires = latest
	}
	c.Round, c.BodyHash, c.ExpiresAt = 0, "", expires
	text, err := m.keys.Sign(c)
	if err != nil {
		return "", fmt.Errorf("token of a match: %w", err)
	}
	m.keep(c, matchToken{text, expires})
	return text, nil
}

func (m *MatchTokens) find(c arena.TaskClaims) matchToken {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[c.MatchID][c.AgentID]
}

func (m *MatchTokens) keep(c arena.TaskClaims, t matchToken) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size >= maxMatchTokens {
		clear(m.known)
		m.size = 0
	}
	of := m.known[c.MatchID]
	if of == nil {
		of = map[string]matchToken{}
		m.known[c.MatchID] = of
	}
	before := len(of)
	of[c.AgentID] = t
	m.size += len(of) - before
}

// End forgets the tokens of a match that is over.
func (m *MatchTokens) End(match string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.size -= len(m.known[match])
	delete(m.known, match)
}
