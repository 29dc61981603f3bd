package ingest

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/ws"
	"github.com/agora-arena/arena/visibility"
)

// Hub publishes stored events and tracks outages of the storage.
type Hub interface {
	Publish(league string, events ...arena.Event)
	// StorageUnavailable reports whether an error means that the storage is
	// unavailable. StorageAvailable ends such an outage.
	StorageUnavailable(err error) bool
	StorageAvailable()
}

// Log stores the events of agents.
type Log interface {
	// AppendEvents appends in order, all or none, and returns the events with
	// round and seq. The error has CodeRoundClosed if the match has no open round
	// or the seat is not active.
	AppendEvents(ctx context.Context, matchID, agentID string, events []arena.Event) ([]arena.Event, error)
}

// Matches reads matches.
type Matches interface {
	// Match returns a match as spectators may see it. The error has
	// CodeNotFound if there is none with this id.
	Match(ctx context.Context, id string) (visibility.Match, error)
}

// Slots limit the open clients of an address.
type Slots interface {
	// Acquire returns CodeRateLimited if all are in use. release may be called
	// more than once.
	Acquire(address string) (release func(), err error)
}

// Options are the parts of a Receiver. All are needed.
type Options struct {
	Hub     Hub
	Clients *ws.Clients
	Seats   *Seats
	Matches Matches
	Log     Log
	// Authenticate checks a task token: its signature, times and kind.
	Authenticate func(ctx context.Context, token string) (arena.TaskClaims, error)
	// ClientIP returns the address of the peer behind trusted proxies.
	ClientIP func(r *http.Request) string
	// Addresses limits the sockets of each network address that have not
	// authenticated (threat V2).
	Addresses Slots
	Now       func() time.Time
	Logger    *slog.Logger
}

// timing holds the durations that the tests change.
type timing struct {
	auth   time.Duration // in which an agent must authenticate, and for checking its token
	append time.Duration // for one append to the log
	write  time.Duration // in which an agent must read at least one byte
	flush  time.Duration // how long an answer waits for its agent's events
}

func defaultTiming() timing {
	return timing{auth: 5 * time.Second, append: 10 * time.Second, write: ws.WriteTimeout, flush: 200 * time.Millisecond}
}

// Receiver receives the events of agents: over sockets, in posts, and from other
// protocols.
type Receiver struct {
	o      Options
	timing timing
}

// New returns a receiver.
func New(o Options) *Receiver {
	return &Receiver{o: o, timing: defaultTiming()}
}

// bearer returns the token of the Authorization header.
func bearer(r *http.Request) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", arena.Errorf(arena.CodeUnauthorized, "send Authorization: Bearer and the token of a task")
	}
	return token, nil
}

// errUnavailable returns the refusal during an outage of the storage. It closes
// the socket: the agent can send its events again when the storage is back.
func errUnavailable() *refusal {
	return &refusal{arena.CodeUnavailable, "the arena's storage is unavailable; try again in 5 seconds", ws.CloseRestart}
}
