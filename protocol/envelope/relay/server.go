package relay

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/envelope"
	"github.com/agora-arena/arena/store"
)

// version is the version of the relay protocol in /health.
const version = "1.0.0"

// Store is the part of the store that the relay uses, apart from the log.
type Store interface {
	Envelopes(ctx context.Context, q arena.EnvelopeQuery) ([]arena.Envelope, error)
	EnvelopeAfter(ctx context.Context, q arena.EnvelopeQuery, since time.Time) (after int64, exact bool, err error)
	LastEnvelope(ctx context.Context) (int64, error)
	ShowEnvelopes(ctx context.Context, now time.Time, limit int) ([]arena.Envelope, error)
	SweepEnvelopes(ctx context.Context, k arena.EnvelopeKeep) (int64, error)
	PolledRelay(ctx context.Context, key string, at time.Time) error
	SaveManifest(ctx context.Context, key string, manifest []byte, at time.Time) error
	RelayManifests(ctx context.Context, limit int) ([]arena.RelayKey, error)
}

// Events accepts an agent's events for spectators: one event of AAP, as JSON.
type Events interface {
	Accept(ctx context.Context, matchID, agentID string, event []byte) error
}

// Slots bound what the clients of an address have open at once.
type Slots interface {
	Acquire(address string) (release func(), err error)
}

// Options are the parts of a Server. Those without a default are needed.
type Options struct {
	Log      *envelope.Log
	Notifier envelope.Notifier
	Store    Store
	Agents   *store.Agents
	Events   Events
	// Awake is called when an unavailable agent asks for its tasks, so that it need
	// not wait for the next check. nil: none is.
	Awake  func(ctx context.Context, agentID string)
	Dev    bool // offers POST /seed and lets every key post, not only keys of registered agents
	Now    func() time.Time
	Logger *slog.Logger

	Addresses  Slots         // polls of an address that are parked at once
	Polls      int           // parked at once in all, default 20,000
	Keep       time.Duration // how long envelopes are kept, default 24 h, at least 15 min
	KeepPerKey int           // newest envelopes of one key that are kept, default 5,000
	KeepAll    int           // newest envelopes that are kept, default 200,000
	// OwnerBytes bounds the bodies that are kept for one owner, default 64 MiB. The
	// sweep deletes the oldest beyond half of it, so that an owner who keeps
	// posting is seldom refused: the text lets a relay drop what has expired, and
	// messages expire after minutes. Envelopes by which replays are known stay, so
	// what is left over is refused.
	OwnerBytes int
}

// Server is the relay. It answers under any prefix that ends in /relay. It is
// safe for concurrent use.
type Server struct {
	o     Options
	mux   *http.ServeMux
	open  context.Context //nolint:containedctx // ends with Close: polls end with it
	close context.CancelFunc

	reads chan struct{}  // of polls, that run
	tails sync.WaitGroup // goroutines

	mu     sync.Mutex
	tail   *tail                // nil: no poll waits
	parked int                  // polls
	polled map[string]time.Time // when a key's poll was last noted
	places map[reader]place     // where plain times have led readers
}

// NewServer makes a Server.
func NewServer(o Options) *Server {
	o.Polls = cmp.Or(o.Polls, 20_000)
	o.Keep = max(cmp.Or(o.Keep, 24*time.Hour), remembered)
	o.KeepPerKey = cmp.Or(o.KeepPerKey, 5000)
	o.KeepAll = cmp.Or(o.KeepAll, 200_000)
	o.OwnerBytes = cmp.Or(o.OwnerBytes, 64<<20)
	s := &Server{o: o, mux: http.NewServeMux(), reads: make(chan struct{}, readers), polled: map[string]time.Time{}, places: map[reader]place{}}
	s.open, s.close = context.WithCancel(context.Background())
	for pattern, handle := range map[string]http.HandlerFunc{
		"POST /events": s.post, "GET /events": s.poll, "GET /health": s.health, "GET /v1/discover": s.discover,
		// The names under which the high-level SDK looks for the same things.
		"POST /v1/messages": s.post, "GET /v1/messages": s.poll, "POST /v1/agents": s.announce,
	} {
		s.mux.HandleFunc(pattern, handle)
	}
	if o.Dev {
		s.mux.HandleFunc("POST /seed", s.seed)
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.Refuse(w, r, arena.Errorf(arena.CodeNotFound, "the relay has no %s %.100s", r.Method, r.URL.Path))
	})
	return s
}

// Close ends all waiting polls with empty results.
func (s *Server) Close() {
	s.mu.Lock()
	s.close()
	s.mu.Unlock() // none joins from now on
	s.tails.Wait()
}

// ServeHTTP serves the relay.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, path, ok := strings.Cut(r.URL.Path, "/relay"); ok && (path == "" || path[0] == '/') {
		u := *r.URL
		u.Path, u.RawPath = cmp.Or(path, "/"), ""
		c := *r
		c.URL = &u
		r = &c
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	s.mux.ServeHTTP(w, r)
}

// health is also where the arena's own key is published.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, struct {
		OK      bool   `json:"ok"`
		Version string `json:"version"`
		DID     string `json:"did"`
		Time    string `json:"time"`
	}{true, version, s.o.Log.Self().DID(), s.o.Now().UTC().Format(arena.TimeFormat)})
}
