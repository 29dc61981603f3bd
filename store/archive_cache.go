package store

import (
	lists "container/list"
	"context"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

const (
	// archiveCacheBytes bounds the packed logs that are kept decoded.
	archiveCacheBytes = 64 << 20
	// archiveIdle is how long one is kept that nobody reads.
	archiveIdle = 2 * time.Minute
	// eventBytes is about what an event takes beside its body.
	eventBytes = 160
)

// partKey names a row of event_archives.
type partKey struct {
	matchID string
	first   int64
}

// archiveCache keeps decoded rows of event_archives, those read last, so that
// a crowd that comes late to a match decodes its log once. Rows do not
// change, so what it holds is never wrong.
type archiveCache struct {
	limit int
	now   func() time.Time

	mu     sync.Mutex
	bytes  int
	parts  map[partKey]*lists.Element
	recent *lists.List // of *cachedPart, the one read last in front
}

type cachedPart struct {
	key    partKey
	ready  chan struct{} // closed when the rest is set
	events []arena.Event
	bytes  int // 0 until it is loaded
	err    error
	read   time.Time // guarded by the cache's lock
}

func newArchiveCache(limit int, now func() time.Time) *archiveCache {
	return &archiveCache{limit: limit, now: now, parts: make(map[partKey]*lists.Element), recent: lists.New()}
}

// get gives the events of a row, which nobody may change. Of many who ask at
// once, one loads; when that fails, it may be for a reason of its own, and
// the others load for themselves.
func (c *archiveCache) get(ctx context.Context, key partKey, load func() ([]arena.Event, error)) ([]arena.Event, error) {
	c.mu.Lock()
	if at, ok := c.parts[key]; ok {
		c.recent.MoveToFront(at)
		p := at.Value.(*cachedPart)
		p.read = c.now()
		c.mu.Unlock()
		select {
		case <-p.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if p.err != nil {
			return load()
		}
		return p.events, nil
	}
	p := &cachedPart{key: key, ready: make(chan struct{}), read: c.now()}
	at := c.recent.PushFront(p)
	c.parts[key] = at
	c.mu.Unlock()
	defer close(p.ready)

	p.events, p.err = load()
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.err != nil {
		c.remove(at)
		return nil, p.err
	}
	for _, e := range p.events {
		p.bytes += eventBytes + len(e.Body)
	}
	c.bytes += p.bytes
	for at := c.recent.Back(); at != nil && c.bytes > c.limit; {
		older := at.Prev()
		if at.Value.(*cachedPart).bytes > 0 { // else it is being loaded
			c.remove(at)
		}
		at = older
	}
	return p.events, nil
}

// dropIdle removes what nobody has read for archiveIdle.
func (c *archiveCache) dropIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.now().Add(-archiveIdle)
	for at := c.recent.Back(); at != nil && at.Value.(*cachedPart).read.Before(before); {
		newer := at.Prev()
		if at.Value.(*cachedPart).bytes > 0 { // else it is being loaded
			c.remove(at)
		}
		at = newer
	}
}

func (c *archiveCache) remove(at *lists.Element) {
	p := c.recent.Remove(at).(*cachedPart)
	c.bytes -= p.bytes
	delete(c.parts, p.key)
}

// ArchiveCache gives the bytes that decoded logs take in memory, at most
// 64 MiB.
func (s *Store) ArchiveCache() (bytes int) {
	s.archives.mu.Lock()
	defer s.archives.mu.Unlock()
	return s.archives.bytes
}
