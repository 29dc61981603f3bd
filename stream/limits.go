package stream

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/visibility"
	"github.com/agora-arena/arena/arena/visibility/mode"
)

const (
	maxMessage   = 16 << 10 // bytes of one event (docs/rules.md, section 3)
	maxSeatBytes = 1 << 20  // of accepted events per seat and match (threat E2)
	maxForged    = 3        // events under another identity before the seat is shown the door (threat E1)
	floodFactor  = 3        // bursts refused in a row before the same
)

// A seat may open sockets and send posts this often (threat E9).
const (
	connectRate  = 5 // per second
	connectBurst = 20
)

// quota is what one seat may send in one match.
type quota struct {
	rate   float64 // events per second
	burst  int
	events int
	bytes  int
}

// seatKey names a seat: an agent in a match.
type seatKey struct{ match, agent string }

// seat holds what was counted for one agent in one match, over all its
// sockets and posts, and what is needed of the match.
type seat struct {
	key    seatKey
	league string
	rules  mode.Rules // of its match
	quota  quota

	appending sync.Mutex // keeps a seat's events in order

	mu       sync.Mutex
	messages *rate.Limiter
	connects *rate.Limiter
	events   int // accepted
	bytes    int // of accepted ones
	flood    int // refused in a row
	forged   int
	socket   *agentSocket // the newest

	// Guarded by seats.mu.
	refs int
	idle time.Time
	over bool // its match
}

// refusal is why a message of a seat is not taken. With a close code the
// socket ends too.
type refusal struct {
	code    arena.Code
	message string
	close   int
}

func refused(code arena.Code, message string) *refusal {
	return &refusal{code: code, message: message}
}

// connect counts a socket or a post of the seat.
func (s *seat) connect(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.usedUp(0):
		return arena.Errorf(arena.CodeRateLimited, "the seat has sent all the events it may send in this match")
	case !s.connects.AllowN(now, 1):
		return arena.Errorf(arena.CodeRateLimited, "the seat connects too often")
	}
	return nil
}

// message counts one message against the rate, whatever it holds.
func (s *seat) message(now time.Time) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.messages.AllowN(now, 1) {
		s.flood = 0
		return nil
	}
	r := refused(arena.CodeRateLimited, "too many events per second")
	if s.flood++; s.flood >= floodFactor*s.quota.burst {
		r.close = CloseTooMany
	}
	return r
}

// accept counts an event of size bytes.
func (s *seat) accept(size int) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usedUp(size) {
		return &refusal{arena.CodeRateLimited, "the seat has sent all the events it may send in this match", CloseTooMany}
	}
	s.events++
	s.bytes += size
	return nil
}

func (s *seat) usedUp(size int) bool {
	return s.events >= s.quota.events || s.bytes+size > s.quota.bytes
}

// giveBack is the end of accept for an event that was not appended.
func (s *seat) giveBack(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events--
	s.bytes -= size
}

// forge counts an event under another identity.
func (s *seat) forge() *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := refused(arena.CodeForgedIdentity, "match_id and agent_id come from the token alone")
	if s.forged++; s.forged >= maxForged {
		r.close = CloseForged
	}
	return r
}

// replace makes a the seat's socket and gives the one before it.
func (s *seat) replace(a *agentSocket) *agentSocket {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.socket
	s.socket = a
	return old
}

// leave is the end of replace, unless a newer socket came.
func (s *seat) leave(a *agentSocket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.socket == a {
		s.socket = nil
	}
}

// A seat that nobody uses is remembered this long, so that its counts hold
// from round to round, but not beyond its match where this node receives the
// end. One takes about half a kilobyte.
const (
	seatMemory = time.Hour
	seatSweep  = time.Minute
)

// seats remembers the seats that agents speak for.
type seats struct {
	quota quota
	mu    sync.Mutex
	known map[string]map[string]*seat // by match and agent
	swept time.Time
}

func newSeats() *seats { return &seats{known: map[string]map[string]*seat{}} }

// find returns a known seat. The caller gives it back with release.
func (s *seats) find(key seatKey) (*seat, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.known[key.match][key.agent]
	if ok {
		found.refs++
	}
	return found, ok
}

// add returns the agent's seat in m, as find does. It reports false when the
// agent has none.
func (s *seats) add(m *visibility.Match, agentID string) (*seat, bool) {
	if !slices.ContainsFunc(m.Seats, func(seat arena.Seat) bool { return seat.AgentID == agentID }) {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.known[m.ID][agentID]
	if found == nil {
		found = &seat{
			key: seatKey{m.ID, agentID}, league: m.League, quota: s.quota,
			rules:    m.Rules(),
			messages: rate.NewLimiter(rate.Limit(s.quota.rate), s.quota.burst),
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

// release is the end of find and add.
func (s *seats) release(used *seat, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used.refs--
	used.idle = now
	s.forget(used, now)
}

// end forgets the seats of a match that is over, each when nobody uses it any
// more: the log takes no more of them.
func (s *seats) end(match string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seat := range s.known[match] {
		seat.over = true
		s.forget(seat, seat.idle)
	}
}

// tidy forgets seats that were not used for long.
func (s *seats) tidy(now time.Time) {
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

func (s *seats) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, match := range s.known {
		n += len(match)
	}
	return n
}

// forget forgets a seat that nobody uses or will use.
func (s *seats) forget(seat *seat, now time.Time) {
	if seat.refs > 0 || !seat.over && now.Sub(seat.idle) < seatMemory {
		return
	}
	delete(s.known[seat.key.match], seat.key.agent)
	if len(s.known[seat.key.match]) == 0 {
		delete(s.known, seat.key.match)
	}
}
