package token

import (
	"context"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// MemoryStore is a Store that keeps signing keys for as long as the process
// runs. Its zero value is ready.
type MemoryStore struct {
	mu   sync.Mutex
	keys []arena.SigningKey
}

// SigningKeys returns all keys.
func (m *MemoryStore) SigningKeys(context.Context) ([]arena.SigningKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]arena.SigningKey(nil), m.keys...), nil
}

// AddSigningKey adds a key. It retires none of the others.
func (m *MemoryStore) AddSigningKey(_ context.Context, k arena.SigningKey, _ map[string]time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys = append(m.keys, k)
	return nil
}

// FirstSigningKey adds a key when there is none, and returns all keys.
func (m *MemoryStore) FirstSigningKey(_ context.Context, k arena.SigningKey) ([]arena.SigningKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.keys) == 0 {
		m.keys = append(m.keys, k)
	}
	return append([]arena.SigningKey(nil), m.keys...), nil
}
