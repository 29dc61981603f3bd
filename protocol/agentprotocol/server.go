package agentprotocol

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// Agents finds agents that were registered and whose owners proved to hold
// their keys; each gives not_found when there is none.
type Agents interface {
	AgentByKey(ctx context.Context, protocol, publicKey string) (arena.Agent, error)
	AgentByKeyName(ctx context.Context, name string) (arena.Agent, error)
}

// Peers keeps what hellos said and which connection of an agent is the newest.
type Peers interface {
	Peer(ctx context.Context, agentID string) (arena.Peer, error)
	NamePeer(ctx context.Context, agentID, keyName string) error
	GreetPeer(ctx context.Context, agentID string, capabilities []string, at time.Time) error
	ConnectPeer(ctx context.Context, agentID, way string, at time.Time) (epoch int64, err error)
	SeePeer(ctx context.Context, agentID string, epoch int64, at time.Time) (newest bool, err error)
}

// Mailbox brings messages to other nodes and remembers what was seen.
type Mailbox interface {
	Put(ctx context.Context, box, id string, body []byte, ttl time.Duration) error
	Next(ctx context.Context, box string, after int64, limit int) ([]arena.Mail, error)
	Look(ctx context.Context, box string, after int64, limit int) ([]arena.Mail, error)
	Once(ctx context.Context, scope, id string, digest [32]byte, ttl time.Duration) (first bool, err error)
}

// Events takes the stream events of an agent in a match: one JSON object in
// the words of AAP.
type Events interface {
	Accept(ctx context.Context, matchID, agentID string, events []byte) error
}

// Action answers a request of an agent. The result becomes JSON; an
// *arena.Error is told to the agent, any other error is only logged.
type Action func(ctx context.Context, a arena.Agent, params json.RawMessage) (result any, err error)

// Options are the parts of a Server. Actions, Folder and Awake may be left out.
type Options struct {
	Key     ed25519.PrivateKey // who the arena is, on every node the same
	Client  *protocol.Client
	Agents  Agents
	Peers   Peers
	Mail    Mailbox
	Events  Events
	Actions map[string]Action // by capability: what agents may ask of the arena
	Folder  string            // directory for file exchange, "" none
	// Awake is told that an agent which was not well has connected; it may check
	// it, for as long as it likes. May be left out.
	Awake  func(ctx context.Context, agentID string)
	Logger *slog.Logger
	Now    func() time.Time // with a monotonic reading
}

// timing holds the times of a Server.
type timing struct {
	hello time.Duration // for the first frame of a socket, and for the answer to a hello
	ping  time.Duration // between pings, and for a pong
	write time.Duration // for one frame
	poll  time.Duration // between looks into the folder
	keep  time.Duration // for which a file of ours lies there
	fresh time.Duration // after a sign of life, for which a connection counts as there
	greet time.Duration // after a hello, for which a match needs no other one
}

// Server is the arena's side of AgentProtocol on one node: HTTP, WebSocket and
// files. It is safe for concurrent use and must be closed.
type Server struct {
	o      Options
	me     identity
	secret [32]byte // of correlation ids
	timing timing
	limits limits
	files  *folder // nil: no file exchange

	mu      sync.Mutex
	waiting map[string][]chan arrival // by correlation id, or by helloOf an agent
	sockets map[string]*socket        // by agent: the newest on this node
	open    map[string]int            // sockets by address
	closed  bool
	wg      sync.WaitGroup // sockets
}

// What the arena can do, as its hello says.
const (
	capabilityCore  = "agentprotocol:core"
	capabilityTasks = "agentprotocol:tasks"
)

// NewServer makes a Server.
func NewServer(o Options) (*Server, error) {
	if len(o.Key) != ed25519.PrivateKeySize || o.Client == nil || o.Agents == nil || o.Peers == nil || o.Mail == nil ||
		o.Events == nil || o.Logger == nil || o.Now == nil {
		return nil, errors.New("agentprotocol: key, client, agents, peers, mail, events, logger and clock are needed")
	}
	s := &Server{
		o: o, secret: correlationSecret(o.Key),
		timing: timing{
			hello: 5 * time.Second, ping: 10 * time.Second, write: 5 * time.Second, poll: time.Second,
			keep: 10 * time.Minute, fresh: 30 * time.Second, greet: 2 * time.Minute,
		},
		limits:  limits{now: o.Now},
		waiting: map[string][]chan arrival{}, sockets: map[string]*socket{}, open: map[string]int{},
	}
	s.me = identity{key: o.Key, public: o.Key.Public().(ed25519.PublicKey), capabilities: []string{capabilityCore, capabilityTasks}, now: o.Now}
	s.me.capabilities = append(s.me.capabilities, sortedNames(o.Actions)...)
	if o.Folder != "" {
		files, err := openFolder(o.Folder)
		if err != nil {
			return nil, err
		}
		s.files = files
	}
	return s, nil
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
		s.lookIntoFolder(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Close tells all sockets to come back later and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, k := range s.sockets {
		k.end(closeRestart, "the arena restarts")
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// awake tells that an agent has connected, beside the caller.
func (s *Server) awake(ctx context.Context, a arena.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Awake != nil && !s.closed && !a.Health.OK {
		s.wg.Go(func() { s.o.Awake(ctx, a.ID) })
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

// serveHello tells anyone who the arena is: a signed hello to everyone.
func (s *Server) serveHello(w http.ResponseWriter) {
	_, data, err := s.me.seal(nil, TypeHello, s.hello())
	if err != nil {
		s.o.Logger.Error("cannot make a hello", slog.Any("error", err))
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	writeMessage(w, http.StatusOK, data)
}

func (s *Server) hello() helloPayload {
	return helloPayload{Version: Version, Features: []string{"signed-messages"}, PublicKey: spkiOf(s.me.public)}
}

// readTime is how long the body of a message may take.
const readTime = 10 * time.Second

// serveMessage takes one message by POST: 200 with the answer, 202 or 204 when
// there is none, else an error message.
func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request) {
	address := addressOf(r)
	if !s.limits.patient(address) {
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
	m, from, refused := s.receive(r.Context(), data)
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
		s.limits.annoy(address)
	}
	s.refuse(w, m, refused)
}

// refuse answers with an error message.
func (s *Server) refuse(w http.ResponseWriter, m message, r *refusal) {
	data, err := s.complaint(m, r)
	if err != nil {
		s.o.Logger.Error("cannot make an error message", slog.Any("error", err))
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if r.status == http.StatusTooManyRequests {
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

func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
