package agora

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/mailbox"
)

// Store keeps conversations and secret bases. Errors are *arena.Error.
type Store interface {
	OpenConversation(ctx context.Context, c arena.Conversation, perAddress int) error
	Conversation(ctx context.Context, key [32]byte) (arena.Conversation, error)
	UpdateConversation(ctx context.Context, key [32]byte, apply func(*arena.Conversation)) (arena.Conversation, error)
	SetSecretBase(ctx context.Context, agentID string, hash [32]byte, at time.Time) error
	AgentOfBase(ctx context.Context, hash [32]byte) (agentID string, err error)
	KeepAlive(ctx context.Context, agentID string, until time.Time, maxConcurrent int) error
	AliveUntil(ctx context.Context, agentID string) (until time.Time, maxConcurrent int, err error)
}

// Events accepts what agents show to spectators, one AAP event in each JSON
// object, under the rules of the stream. Errors are *arena.Error.
type Events interface {
	Accept(ctx context.Context, matchID, agentID string, events []byte) error
}

// ServerOptions are the parts of a Server. All but PerAddress are needed.
type ServerOptions struct {
	Store    Store
	Inbox    *mailbox.Inbox
	Accounts Accounts
	Agents   Agents
	Reads    Reads
	Visible  Visible
	Events   Events
	// Awake is called when an agent polls that was considered unavailable, so that
	// its health can be checked now.
	Awake      func(ctx context.Context, agentID string)
	PublicURL  string // of the arena, without a slash at its end
	PerAddress int    // open conversations of one address, default 32
	Now        func() time.Time
	Logger     *slog.Logger
}

// Root is where the server stands below the arena's public URL.
const Root = "/agora"

// MaxBody is the most that is read of a request, in bytes.
const MaxBody = 64 << 10

// Server answers two-party Agora below Root. It must be closed before the
// HTTP server waits for its requests, since polls are among them.
type Server struct {
	o     ServerOptions
	docs  documents
	books []*phraseBook      // of plain words
	known map[string]subject // by hash
	polls *polls
}

// subject is a document with its handler. A failure of the document's own
// rules is a fault; every other error is the arena's.
type subject struct {
	Document
	answer func(ctx context.Context, c *call, body []byte) (any, error)
}

// NewServer makes a Server.
func NewServer(o ServerOptions) (*Server, error) {
	docs, err := readDocuments()
	if err != nil {
		return nil, fmt.Errorf("agora server: %w", err)
	}
	books, err := readPhrases()
	if err != nil {
		return nil, fmt.Errorf("agora server: %w", err)
	}
	if o.PerAddress == 0 {
		o.PerAddress = 32
	}
	s := &Server{o: o, docs: docs, books: books, known: map[string]subject{}, polls: newPolls()}
	for _, known := range []subject{
		{docs.standings, s.standings},
		{docs.matches, s.matches},
		{docs.rules, s.rules},
		{docs.registration, s.registration},
		{docs.agent, s.agent},
	} {
		s.known[known.Hash()] = known
	}
	return s, nil
}

// Close ends the polls that wait; later ones end at once.
func (s *Server) Close() { s.polls.end() }

// refusal is an answer without a body: of the HTTP layer with its status, or
// of Agora's with status 200 (standard, section 10).
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

func malformed(err error) error      { return refusal{http.StatusBadRequest, err.Error()} }
func failure(text string) error      { return refusal{http.StatusOK, text} }
func notHere(what string) error      { return refusal{http.StatusNotFound, "Unknown " + what} }
func tooMany(text string) refusal    { return refusal{http.StatusTooManyRequests, text} }
func notAllowed(method string) error { return refusal{http.StatusMethodNotAllowed, "Use " + method} }

// call is who asks, and where.
type call struct {
	request      *http.Request
	address      string              // of the client
	agentID      string              // of the secret base; "" the public one
	conversation *arena.Conversation // nil: none
}

// ServeHTTP answers everything at and below Root.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	c := &call{request: r, address: arena.AddressOf(r.RemoteAddr)}
	err := s.route(w, c)
	if err == nil {
		return
	}
	s.Refuse(w, r, err)
}

// Refuse answers an error in the form of the standard (section 10).
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	var no refusal
	wait := 60 // seconds
	if e, ok := errors.AsType[*arena.Error](err); ok && e.Code == arena.CodeRateLimited {
		no, wait = tooMany("Too many requests"), cmp.Or(e.RetrySeconds(), wait)
	} else if !errors.As(err, &no) {
		if r.Context().Err() != nil {
			return // the client has gone
		}
		no = refusal{http.StatusInternalServerError, "Internal error"}
		if arena.CodeOf(err) == arena.CodeUnavailable {
			no = refusal{http.StatusServiceUnavailable, "Not available now"}
		}
		s.o.Logger.ErrorContext(r.Context(), "agora exchange failed", "error", err)
	}
	switch no.status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", strings.TrimPrefix(no.text, "Use "))
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	send(w, no.status, reply{Status: statusFailure, Error: no.text})
}

func (s *Server) route(w http.ResponseWriter, c *call) error {
	ctx, method := c.request.Context(), c.request.Method
	path, ok := strings.CutPrefix(c.request.URL.Path, Root)
	if secret, below := strings.CutPrefix(path, "/x/"); ok && below {
		secret, path, _ = strings.Cut(secret, "/")
		path = "/" + path
		var err error
		if c.agentID, err = s.o.Store.AgentOfBase(ctx, sha256.Sum256([]byte(secret))); arena.CodeOf(err) == arena.CodeNotFound {
			return notHere("base")
		} else if err != nil {
			return err
		}
	}
	id, isConversation := strings.CutPrefix(path, "/conversations/")
	hash, isDocument := strings.CutPrefix(path, "/documents/")
	switch {
	case ok && (path == "" || path == "/"):
		if method != http.MethodPost {
			return notAllowed(http.MethodPost)
		}
		return s.serveMessage(w, c)
	case ok && path == "/wellknown":
		if method != http.MethodGet && method != http.MethodHead {
			return notAllowed("GET, HEAD")
		}
		return s.serveWellknown(w)
	case ok && isDocument:
		return s.serveDocument(w, method, hash)
	case ok && isConversation && method == http.MethodPost:
		return s.serveFollowUp(w, c, id)
	case ok && isConversation && method == http.MethodDelete:
		return s.serveEnd(w, c, id)
	case ok && isConversation:
		return notAllowed("POST, DELETE")
	}
	return notHere("endpoint")
}

// read returns the message of a request.
func read(w http.ResponseWriter, r *http.Request) (message, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return message{}, refusal{http.StatusUnsupportedMediaType, "Content-Type must be application/json"}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return message{}, refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("A message has at most %d bytes", MaxBody)}
	}
	if err != nil {
		return message{}, malformed(err)
	}
	m, err := decodeMessage(data)
	if err != nil {
		return message{}, malformed(err)
	}
	return m, nil
}

// serveMessage answers a first message, and opens a conversation when it is
// asked to (standard, sections 5.2, 7.1 and 8.3).
func (s *Server) serveMessage(w http.ResponseWriter, c *call) error {
	m, err := read(w, c.request)
	if err != nil {
		return err
	}
	hash, err := s.supported(m)
	if err != nil {
		return err
	}
	if m.body == nil {
		return failure(errNoBody)
	}
	if !m.multiround {
		return s.answer(w, c, hash, m, reply{})
	}
	if hash != "" && !s.known[hash].Multiround {
		return failure("Multiround not supported")
	}
	id, err := s.open(c, hash)
	if err != nil {
		return err
	}
	return s.answer(w, c, hash, m, reply{ConversationID: id, ConversationExpires: c.conversation.ExpiresAt.Unix()})
}

// supported returns the normal hash of a message's document, "" for none.
func (s *Server) supported(m message) (hash string, err error) {
	if m.hash == nil {
		return "", nil
	}
	hash = normalHash(*m.hash)
	if doc, ok := s.known[hash]; !ok || doc.contradicts(m.sources) {
		return "", failure(errUnsupported)
	}
	return hash, nil
}

// answer sends the answer to a document or to plain text.
func (s *Server) answer(w http.ResponseWriter, c *call, hash string, m message, r reply) error {
	text, err := bodyText(m.body)
	if err != nil {
		return malformed(err)
	}
	ctx := c.request.Context()
	var said string
	if hash == "" {
		said, err = s.plainText(ctx, c, text)
	} else {
		said, err = s.underDocument(ctx, c, hash, text)
	}
	if err != nil {
		return err
	}
	r.Status, r.Body = statusSuccess, &said
	send(w, http.StatusOK, r)
	return nil
}

// fault is returned for a message that breaks the rules of its document: the reply
// is a success with the error in its body (standard, section 10.3).
type fault string

func (f fault) Error() string { return string(f) }

func (s *Server) underDocument(ctx context.Context, c *call, hash, text string) (string, error) {
	said, err := s.known[hash].answer(ctx, c, []byte(text))
	if f, ok := errors.AsType[fault](err); ok {
		said, err = map[string]string{"error": string(f)}, nil
	}
	if err != nil {
		return "", err
	}
	data, err := encode(said)
	return string(data), err
}

func (s *Server) serveWellknown(w http.ResponseWriter) error {
	list := map[string][]string{}
	for hash, doc := range s.known {
		list[hash] = []string{doc.Source(), s.o.PublicURL + Root + "/documents/" + hash}
	}
	send(w, http.StatusOK, list)
	return nil
}

// serveDocument serves the text of a document, the arena's own questions too.
func (s *Server) serveDocument(w http.ResponseWriter, method, hash string) error {
	if method != http.MethodGet && method != http.MethodHead {
		return notAllowed("GET, HEAD")
	}
	doc := s.known[hash].Document
	for _, own := range []Document{s.docs.round, s.docs.judge, s.docs.health} {
		if own.Hash() == hash {
			doc = own
		}
	}
	if doc.Text == "" {
		return notHere("document")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, doc.Text) // a client that left is no failure of ours
	return nil
}

func send(w http.ResponseWriter, status int, v any) {
	data, err := encode(v)
	if err != nil { // these types always encode
		status, data = http.StatusInternalServerError, json.RawMessage(`{"status":"failure","error":"Internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that left is no failure of ours
}
