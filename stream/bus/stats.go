package bus

import "sync/atomic"

// Stats is a snapshot of what the bus carries. All but Up and Cluster only
// grow.
type Stats struct {
	Up        bool   // Redis is connected
	Cluster   bool   // and it is a cluster
	Published uint64 // messages that Redis took
	Lost      uint64 // messages that it did not; their subscribers were or will be notified
	Received  uint64 // messages of other nodes
	Malformed uint64 // messages that no node of this version sends
	Breaks    uint64 // connections that listened and broke
}

// counters are the live form of Stats.
type counters struct {
	published, received, malformed, breaks atomic.Uint64
}

// Stats returns a snapshot.
func (b *Bus) Stats() Stats {
	b.mu.RLock()
	cluster := len(b.shards) > 1
	b.mu.RUnlock()
	b.out.mu.Lock()
	lost := b.out.lostCount
	b.out.mu.Unlock()
	return Stats{
		Up: b.up.Load(), Cluster: cluster, Published: b.counts.published.Load(), Lost: lost,
		Received: b.counts.received.Load(), Malformed: b.counts.malformed.Load(), Breaks: b.counts.breaks.Load(),
	}
}
