package agentprotocol

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// Events accepts the stream events of an agent in a match: one JSON object in
// the words of AAP.
type Events interface {
	Accept(ctx context.Context, matchID, agentID string, events []byte) error
}

// Action answers a request of an agent. The result becomes JSON; an
// *arena.Error is sent to the agent, any other error is only logged.
type Action func(ctx context.Context, a arena.Agent, params json.RawMessage) (result any, err error)

// Refusals count the messages of an address that are refused before their
// sender is known.
type Refusals interface {
	// Check returns rate_limited when Take would.
	Check(address string) error
	Take(ctx context.Context, address string) error
}

// Slots bound what the clients of an address have open at once.
type Slots interface {
	Acquire(address string) (release func(), err error)
}

// ServerOptions are the parts of a Server. Awake is optional.
type ServerOptions struct {
	Driver   *Driver // of the same node: the server hands it the answers of agents
	Agents   *store.Agents
	Events   Events
	Refusals Refusals
	Sockets  Slots // of an address
	// Awake is called when an unhealthy agent has connected. It may take as long
	// as it needs, until the context ends.
	Awake func(ctx context.Context, agentID string)
}

// Server is the inbound handler of AgentProtocol on one node: HTTP, WebSocket
// and files. It is safe for concurrent use and must be closed.
type Server struct {
	*core
	agents      *store.Agents
	events      Events
	refusals    Refusals
	slots       Slots                                     // for sockets
	onConnected func(ctx context.Context, agentID string) // may be nil
	limits      limits

	mu      sync.Mutex
	sockets map[string]*socket // by agent: the newest on this node
	closed  bool
	wg      sync.WaitGroup // sockets
}

// NewServer returns a Server.
func NewServer(o ServerOptions) *Server {
	return &Server{
		core: o.Driver.core, agents: o.Agents, events: o.Events, refusals: o.Refusals, slots: o.Sockets, onConnected: o.Awake,
		limits: limits{now: o.Driver.o.Now}, sockets: map[string]*socket{},
	}
}

// Run exchanges files until ctx ends. Without a folder it only waits.
func (s *Server) Run(ctx context.Context) error {
	if s.files == nil {
		<-ctx.Done()
		return nil
	}
	defer func() { _ = s.files.root.Close() }()
	tick := time.NewTicker(s.timing.poll)
	defer tick.Stop()
	for {
		s.readFolder(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Close closes all sockets with a request to reconnect later and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, k := range s.sockets {
		k.end(closeRestart, "the arena restarts")
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// connected reports an unhealthy agent that has connected, in a goroutine of
// its own.
func (s *Server) connected(ctx context.Context, a arena.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onConnected != nil && !s.closed && !a.Health.OK {
		s.wg.Go(func() { s.onConnected(ctx, a.ID) })
	}
}

// ServeHTTP serves POST and GET of /agentprotocol, and /agentprotocol/ws.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimRight(r.URL.Path, "/")
	socket := strings.HasSuffix(path, "/ws")
	switch {
	case socket && r.Method == http.MethodGet:
		s.serveSocket(w, r)
	case socket:
		w.Header().Set("Allow", "GET")
		s.refuse(w, message{}, refuse(http.StatusMethodNotAllowed, InvalidMessage, "a WebSocket is opened with GET"))
	case r.Method == http.MethodPost:
		s.serveMessage(w, r)
	case r.Method == http.MethodGet:
		s.serveHello(w)
	default:
		w.Header().Set("Allow", "GET, POST")
		s.refuse(w, message{}, refuse(http.StatusMethodNotAllowed, InvalidMessage, "send messages with POST"))
	}
}

// serveHello answers with the arena's identity: a signed hello without a recipient.
func (s *Server) serveHello(w http.ResponseWriter) {
	_, data, err := s.me.seal(nil, TypeHello, s.hello())
	if err != nil {
		s.o.Logger.Error("cannot make a hello", slog.Any("error", err))
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	writeMessage(w, http.StatusOK, data)
}

// readTime is how long the body of a message may take.
const readTime = 10 * time.Second

// serveMessage handles one message by POST: 200 with the answer, 202 or 204 when
// there is none, else an error message.
func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request) {
	address := arena.AddressOf(r.RemoteAddr)
	if s.refusals.Check(address) != nil {
		s.refuse(w, message{}, tooMany())
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		s.refuse(w, message{}, refuse(http.StatusUnsupportedMediaType, InvalidMessage, "Content-Type is not application/json"))
		return
	}
	// Where the deadline cannot be set, the server's own holds.
	_ = http.NewResponseController(w).SetReadDeadline(s.o.Now().Add(readTime))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		s.refuse(w, message{}, refuse(http.StatusRequestEntityTooLarge, InvalidMessage, "a message has at most 65536 bytes"))
		return
	case err != nil:
		s.refuse(w, message{}, refuse(http.StatusBadRequest, InvalidMessage, "the body could not be read"))
		return
	}
	m, from, refused := s.authenticate(r.Context(), data)
	if refused == nil {
		var answer []byte
		if answer, refused = s.handle(r.Context(), m, from); refused == nil {
			switch {
			case answer != nil:
				writeMessage(w, http.StatusOK, answer)
			case m.Type == TypeNotify:
				w.WriteHeader(http.StatusNoContent)
			default:
				w.WriteHeader(http.StatusAccepted)
			}
			return
		}
	}
	if !from.known { // what a known agent sends is its own account alone
		_ = s.refusals.Take(r.Context(), address) // the next one is refused unread
	}
	s.refuse(w, m, refused)
}

// Refuse answers a request that is over its limits with an error message. It is
// the arena that refuses: nothing of the request is read.
func (s *Server) Refuse(w http.ResponseWriter, _ *http.Request, err error) {
	if e, ok := errors.AsType[*arena.Error](err); ok && e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetrySeconds()))
	}
	s.refuse(w, message{}, tooMany())
}

// refuse answers with an error message.
func (s *Server) refuse(w http.ResponseWriter, m message, r *refusal) {
	data, err := s.errorMessage(m, r)
	if err != nil {
		s.o.Logger.Error("cannot make an error message", slog.Any("error", err))
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if r.status == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	writeMessage(w, r.status, data)
}

func writeMessage(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the peer may be gone
}
