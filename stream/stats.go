package stream

import "sync/atomic"

// Stats is a snapshot of what the streams carry. All but Open, Topics, Tails and
// Pages only grow.
type Stats struct {
	Open      map[string]int // sockets and event streams by kind: "spectator", "sse", "agent"
	Topics    int            // with at least one spectator
	Tails     int            // bytes of events for spectators; at most about 4 MiB for each topic and form
	Pages     int            // bytes of pages of logs for late spectators; at most 8 MiB
	Published uint64         // events given to Publish and PublishAgent
	Delivered uint64         // events written to spectators
	Received  uint64         // events of other nodes that came over the bus
	Fills     uint64         // reads of the log because events had not been published here
	Polls     uint64         // reads of the log because the bus was down, came back or was silent
	Closes    map[int]uint64 // ended sockets and event streams by close code; 1006 is a lost connection
}

// counters are the live form of Stats.
type counters struct {
	published atomic.Uint64
	delivered atomic.Uint64
	received  atomic.Uint64
	fills     atomic.Uint64
	polls     atomic.Uint64
}

// Stats returns a snapshot.
func (h *Hub) Stats() Stats {
	c := &h.counters
	s := Stats{
		Open: h.clients.Open(), Closes: h.clients.Closes(),
		Published: c.published.Load(), Delivered: c.delivered.Load(), Received: c.received.Load(),
		Fills: c.fills.Load(), Polls: c.polls.Load(),
	}
	topics := h.topicsOfKind(topicMatch, topicLeague, topicLobby)
	s.Topics = len(topics)
	for _, t := range topics {
		s.Tails += t.tailBytes()
	}
	s.Pages = h.pages.size()
	return s
}

// Viewers returns the number of spectators of a match, on all nodes that the bus
// reaches.
func (h *Hub) Viewers(matchID string) int {
	h.mu.RLock()
	t := h.topics[topicKey{topicMatch, matchID}]
	h.mu.RUnlock()
	n := h.viewersElsewhere(matchID)
	if t != nil {
		n += t.viewers()
	}
	return n
}

func (h *Hub) viewersElsewhere(matchID string) int {
	if h.bus == nil {
		return 0
	}
	return h.bus.Viewers(matchID)
}

// ViewersByMatch returns the number of spectators on this node of every match
// that has any.
func (h *Hub) ViewersByMatch() map[string]int {
	out := map[string]int{}
	for _, t := range h.topicsOfKind(topicMatch) {
		if n := t.viewers(); n > 0 {
			out[t.key.id] = n
		}
	}
	return out
}
