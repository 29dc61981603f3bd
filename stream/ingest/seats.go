package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// An idle seat is remembered for seatMemory, so that its counts hold from round
// to round, but not beyond the end of its match if this node receives it. A seat
// needs about half a kilobyte.
const (
	seatMemory = time.Hour
	seatSweep  = time.Minute
)

// Seats are the seats that send events to this node, with their counts.
type Seats struct {
	limits Limits

	mu    sync.Mutex
	known map[string]map[string]*seat // by match and agent
	swept time.Time

	accepted  atomic.Uint64
	refusedMu sync.Mutex
	refused   map[arena.Code]uint64
}

// NewSeats returns the record of a node's seats.
func NewSeats(l Limits) (*Seats, error) {
	if l.Rate < 0 || l.Burst < 0 || l.Events < 0 {
		return nil, fmt.Errorf("ingest: the limits of a seat must be 0 or more: %+v", l)
	}
	l.Rate, l.Burst, l.Events = cmp.Or(l.Rate, 20), cmp.Or(l.Burst, 40), cmp.Or(l.Events, 2000)
	return &Seats{limits: l, known: map[string]map[string]*seat{}, refused: map[arena.Code]uint64{}}, nil
}

// Stats is a snapshot of what the seats of a node have sent. Accepted and
// Refused only grow.
type Stats struct {
	Seats    int                   // that sent events in running matches
	Accepted uint64                // events that were appended
	Refused  map[arena.Code]uint64 // events that were not, by code
}

// Stats returns a snapshot.
func (s *Seats) Stats() Stats {
	stats := Stats{Seats: s.count(), Accepted: s.accepted.Load()}
	s.refusedMu.Lock()
	defer s.refusedMu.Unlock()
	stats.Refused = maps.Clone(s.refused)
	return stats
}

// countRefusal counts a refused event.
func (s *Seats) countRefusal(code arena.Code) {
	s.refusedMu.Lock()
	defer s.refusedMu.Unlock()
	s.refused[code]++
}

// find returns a known seat. release must follow.
func (s *Seats) find(key seatKey) (*seat, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.known[key.match][key.agent]
	if ok {
		found.refs++
	}
	return found, ok
}

// add returns the agent's seat in m as find does. It reports false if the agent
// has none.
func (s *Seats) add(m *visibility.Match, agentID string) (*seat, bool) {
	if !slices.ContainsFunc(m.Seats, func(seat arena.Seat) bool { return seat.AgentID == agentID }) {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.known[m.ID][agentID]
	if found == nil {
		found = &seat{
			key: seatKey{m.ID, agentID}, league: m.League, limits: s.limits,
			rules:    m.Rules(),
			messages: rate.NewLimiter(rate.Limit(s.limits.Rate), s.limits.Burst),
			connects: rate.NewLimiter(connectRate, connectBurst),
		}
		if s.known[m.ID] == nil {
			s.known[m.ID] = map[string]*seat{}
		}
		s.known[m.ID][agentID] = found
	}
	found.refs++
	return found, true
}

// release ends one use of a seat.
func (s *Seats) release(used *seat, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used.refs--
	used.idle = now
	s.forget(used, now)
}

// End forgets the seats of a match that is over, as soon as they are unused: the
// log accepts no more events of them.
func (s *Seats) End(match string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seat := range s.known[match] {
		seat.over = true
		s.forget(seat, seat.idle)
	}
}

// Tidy forgets the seats that have been idle for an hour.
func (s *Seats) Tidy(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.swept) < seatSweep {
		return
	}
	s.swept = now
	for _, match := range s.known {
		for _, seat := range match {
			s.forget(seat, now)
		}
	}
}

func (s *Seats) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, match := range s.known {
		n += len(match)
	}
	return n
}

// forget removes a seat if it is unused and will not be used again.
func (s *Seats) forget(seat *seat, now time.Time) {
	if seat.refs > 0 || !seat.over && now.Sub(seat.idle) < seatMemory {
		return
	}
	delete(s.known[seat.key.match], seat.key.agent)
	if len(s.known[seat.key.match]) == 0 {
		delete(s.known, seat.key.match)
	}
}
