package ingest

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/ws"
	"github.com/agora-arena/arena/visibility/mode"
)

const (
	maxMessage   = 16 << 10 // bytes of one event (docs/rules.md, section 3)
	maxSeatBytes = 1 << 20  // of accepted events per seat and match (threat E2)
	maxForged    = 3        // events under another identity before the socket is closed (threat E1)
	floodFactor  = 3        // bursts refused in a row before the socket is closed
)

// How often a seat may open sockets and send posts (threat E9).
const (
	connectRate  = 5 // per second
	connectBurst = 20
)

// Limits bound what one seat may send in one match. A limit of 0 means its
// default.
type Limits struct {
	Rate   float64 // events per second; default 20
	Burst  int     // default 40
	Events int     // in the match; default 2,000
}

// seatKey identifies a seat: an agent in a match.
type seatKey struct{ match, agent string }

// seat holds the counts of one agent in one match, over all its sockets and
// posts, and the facts about the match that its events need.
type seat struct {
	key    seatKey
	league string
	rules  mode.Rules // of its match
	limits Limits

	appending sync.Mutex // keeps a seat's events in order

	mu       sync.Mutex
	messages *rate.Limiter
	connects *rate.Limiter
	events   int // accepted
	bytes    int // of accepted ones
	flood    int // refused in a row
	forged   int
	socket   *agentSocket // the newest one

	// Guarded by Seats.mu.
	refs int
	idle time.Time
	over bool // its match
}

// refusal is why a message of a seat is refused. With a close code the socket
// is closed too.
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

// message counts one message against the rate, whatever its content.
func (s *seat) message(now time.Time) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.messages.AllowN(now, 1) {
		s.flood = 0
		return nil
	}
	r := refused(arena.CodeRateLimited, "too many events per second")
	if s.flood++; s.flood >= floodFactor*s.limits.Burst {
		r.close = ws.CloseTooMany
	}
	return r
}

// accept counts an event of size bytes.
func (s *seat) accept(size int) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usedUp(size) {
		return &refusal{arena.CodeRateLimited, "the seat has sent all the events it may send in this match", ws.CloseTooMany}
	}
	s.events++
	s.bytes += size
	return nil
}

func (s *seat) usedUp(size int) bool {
	return s.events >= s.limits.Events || s.bytes+size > maxSeatBytes
}

// giveBack reverts accept for an event that was not appended.
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
		r.close = ws.CloseForged
	}
	return r
}

// replace makes a the seat's socket and returns the previous one.
func (s *seat) replace(a *agentSocket) *agentSocket {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.socket
	s.socket = a
	return old
}

// leave reverts replace, unless a newer socket has replaced a.
func (s *seat) leave(a *agentSocket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.socket == a {
		s.socket = nil
	}
}
