package agentprotocol

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/arena"
)

// The close codes of a socket, with the same meanings as on the stream.
const (
	closeRestart    websocket.StatusCode = 1012 // the arena restarts: come back
	closeBadRequest websocket.StatusCode = 4400 // not a hello, or too many messages that are refused
	closeUnknown    websocket.StatusCode = 4401 // the hello was refused
	closeSlow       websocket.StatusCode = 4408 // does not read, or does not answer pings
	closeReplaced   websocket.StatusCode = 4409 // the agent has a newer connection
	closeTooMany    websocket.StatusCode = 4429 // too many messages
)

// The bounds of one socket: messages that may be refused in a row, and those
// above the rate limit, which an agent that is only fast also sends.
const (
	maxRefused = 10
	maxFlood   = 3 * agentBurst
)

const (
	wayWebSocket = "websocket"
	wayFile      = "file"
)

// epochMail marks mail that announces a newer socket of an agent,
// helloMail a hello that the agent is to answer.
const (
	epochMail = "epoch "
	helloMail = "hello "
)

// socket is an agent's WebSocket. One goroutine reads and answers, one brings
// the agent's mail, one pings.
type socket struct {
	ws    *websocket.Conn
	from  sender
	epoch int64

	open   context.Context //nolint:containedctx // ends with the socket, whichever side closes it
	stop   context.CancelFunc
	ending atomic.Pointer[closing]
}

type closing struct {
	code   websocket.StatusCode
	reason string
}

// end ends the socket; the first reason counts.
func (k *socket) end(code websocket.StatusCode, reason string) {
	k.ending.CompareAndSwap(nil, &closing{code, reason})
	k.stop()
}

// serveSocket handles an agent's WebSocket: a signed hello within five seconds,
// answered by the arena's, then one message per text frame both ways.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	address := arena.AddressOf(r.RemoteAddr)
	leave, ok := s.openFrom(address)
	if !ok {
		s.refuse(w, message{}, tooMany())
		return
	}
	defer leave()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		s.o.Logger.Debug("websocket handshake failed", slog.Any("error", err))
		return
	}
	ws.SetReadLimit(MaxMessage)
	// Ending the context of a read would break the connection without a close
	// frame, so reading ends by closing. The request's own context ends too soon.
	ctx := context.WithoutCancel(r.Context())
	open, stop := context.WithCancel(ctx)
	k := &socket{ws: ws, open: open, stop: stop}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-open.Done()
		if c := k.ending.Load(); c != nil {
			_ = ws.Close(c.code, c.reason) // the peer may be gone
		}
		_ = ws.CloseNow()
	}()
	if answer, ok := s.greet(ctx, k); !ok {
		_ = s.refusals.Take(ctx, address) // the next one is refused unread
	} else if s.enter(ctx, k) {
		// An agent that reads the arena's hello can be reached from then on.
		if s.write(ctx, k, answer) == nil {
			s.connected(k.open, k.from.agent)
			s.converse(ctx, k)
		}
		s.leave(k)
	}
	stop()
	<-closed
}

// openFrom counts a socket of an address; false: it has too many, its messages
// were refused too often, or the server is closed.
func (s *Server) openFrom(address string) (leave func(), ok bool) {
	if s.refusals.Check(address) != nil {
		return nil, false
	}
	release, err := s.slots.Acquire(address)
	if err != nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		release()
		return nil, false
	}
	s.wg.Add(1)
	return func() {
		release()
		s.wg.Done()
	}, true
}

// greet reads the first frame, which must be the hello of a known agent, and
// returns the answer to it. A hello that was seen before opens no socket.
func (s *Server) greet(ctx context.Context, k *socket) (answer []byte, ok bool) {
	late := time.AfterFunc(s.timing.hello, func() { k.end(closeBadRequest, "the first message is a hello, within five seconds") })
	defer late.Stop()
	kind, data, err := k.ws.Read(ctx)
	if err != nil {
		return nil, false
	}
	m, from, refused := s.authenticate(ctx, data)
	switch {
	case refused != nil:
	case kind != websocket.MessageText:
		refused = refuse(http.StatusBadRequest, InvalidMessage, "messages are text frames")
	case m.Type != TypeHello:
		refused = refuse(http.StatusBadRequest, InvalidMessage, "the first message is a hello")
	case !from.first:
		refused = refuse(http.StatusConflict, InvalidMessage, "this hello was used before: make another one for each socket")
	}
	if refused == nil {
		answer, refused = s.handle(ctx, m, from)
	}
	if refused == nil {
		k.from = from
		return answer, true
	}
	if answer, err = s.errorMessage(m, refused); err == nil {
		_ = s.write(ctx, k, answer) // it is closed in any case
	}
	if refused.code == InvalidMessage {
		k.end(closeBadRequest, "the hello was refused")
	}
	k.end(closeUnknown, "the hello was refused")
	return nil, false
}

// enter makes the socket the agent's newest, on all nodes.
func (s *Server) enter(ctx context.Context, k *socket) bool {
	id := k.from.agent.ID
	epoch, err := s.o.Peers.ConnectPeer(ctx, id, wayWebSocket, s.o.Now())
	if err == nil {
		k.epoch = epoch
		err = s.o.Mail.Put(ctx, agentInbox(id), epochMail+strconv.FormatInt(epoch, 10), []byte{}, s.timing.fresh)
	}
	if err != nil {
		s.o.Logger.Error("cannot note a connection", slog.String("agent_id", id), slog.Any("error", err))
		k.end(closeRestart, "the arena cannot take connections now")
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		k.end(closeRestart, "the arena restarts")
		return false
	}
	if old := s.sockets[id]; old != nil && old.epoch < epoch {
		old.end(closeReplaced, "the agent has a newer connection")
	}
	if old := s.sockets[id]; old == nil || old.epoch < epoch {
		s.sockets[id] = k
	}
	return true
}

func (s *Server) leave(k *socket) {
	s.mu.Lock()
	if s.sockets[k.from.agent.ID] == k {
		delete(s.sockets, k.from.agent.ID)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), s.timing.write)
	defer cancel()
	if _, err := s.o.Peers.SeePeer(ctx, k.from.agent.ID, k.epoch, time.Time{}); err != nil {
		s.o.Logger.Warn("cannot note the end of a connection", slog.String("agent_id", k.from.agent.ID), slog.Any("error", err))
	}
}

// converse reads until the socket ends, and waits for the other two goroutines.
func (s *Server) converse(ctx context.Context, k *socket) {
	var others sync.WaitGroup
	others.Go(func() { s.sendInbox(k.open, k) })
	others.Go(func() { s.ping(k.open, k) })
	defer func() { k.stop(); others.Wait() }()
	for refused, flood := 0, 0; ; {
		kind, data, err := k.ws.Read(ctx)
		if err != nil {
			if errors.Is(err, websocket.ErrMessageTooBig) {
				k.end(websocket.StatusMessageTooBig, "a message has at most 65536 bytes")
			}
			return
		}
		r := s.handleFrame(ctx, k, kind, data)
		switch {
		case r == nil:
			refused, flood = 0, 0
		case r.status == http.StatusTooManyRequests:
			flood++
		default:
			refused++
		}
		switch {
		case refused >= maxRefused:
			k.end(closeBadRequest, "too many messages that are refused")
		case flood >= maxFlood:
			k.end(closeTooMany, "too many messages")
		}
	}
}

// handleFrame handles one frame and answers it.
func (s *Server) handleFrame(ctx context.Context, k *socket, kind websocket.MessageType, data []byte) *refusal {
	m, from, refused := s.authenticate(ctx, data)
	var answer []byte
	switch {
	case refused != nil:
	case kind != websocket.MessageText:
		refused = refuse(http.StatusBadRequest, InvalidMessage, "messages are text frames")
	case from.agent.ID != k.from.agent.ID:
		refused = refuse(http.StatusForbidden, InvalidSignature, "this socket is another agent's")
	default:
		answer, refused = s.handle(ctx, m, from)
		if m.Type == TypeHello && refused == nil && s.wasAsked(from.agent.ID) {
			answer = nil // theirs was the answer
		}
	}
	if refused != nil && m.Type != TypeError { // errors are not answered by errors
		var err error
		if answer, err = s.errorMessage(m, refused); err != nil {
			s.o.Logger.Error("cannot make an error message", slog.Any("error", err))
		}
	}
	if answer != nil && s.write(ctx, k, answer) != nil {
		k.stop()
	}
	return refused
}

// write writes one frame, whole unless the peer does not read: then it is
// closed.
func (s *Server) write(ctx context.Context, k *socket, data []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timing.write)
	defer cancel()
	err := k.ws.Write(ctx, websocket.MessageText, data)
	if errors.Is(err, context.DeadlineExceeded) {
		k.ending.CompareAndSwap(nil, &closing{closeSlow, "the agent does not read"})
	}
	return err
}

// sendInbox writes the arena's messages for the agent, from every node. It repeats
// open messages that an older socket may have lost; messages have ids.
func (s *Server) sendInbox(ctx context.Context, k *socket) {
	defer k.stop()
	for after := int64(0); ; {
		mail, err := s.o.Mail.Next(ctx, agentInbox(k.from.agent.ID), after, 16)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.o.Logger.Warn("cannot read an agent's mail", slog.String("agent_id", k.from.agent.ID), slog.Any("error", err))
			k.end(closeRestart, "the arena cannot read its mail now")
			return
		}
		for _, letter := range mail {
			after = letter.N
			if text, ok := strings.CutPrefix(letter.ID, epochMail); ok {
				if epoch, _ := strconv.ParseInt(text, 10, 64); epoch > k.epoch { // of our own making
					k.end(closeReplaced, "the agent has a newer connection")
					return
				}
				continue
			}
			if strings.HasPrefix(letter.ID, helloMail) {
				s.ask(k.from.agent.ID)
			}
			if s.write(ctx, k, letter.Body) != nil {
				return
			}
		}
	}
}

// ping pings, and keeps the connection noted as there.
func (s *Server) ping(ctx context.Context, k *socket) {
	tick := time.NewTicker(s.timing.ping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pong, cancel := context.WithTimeout(ctx, s.timing.ping)
		err := k.ws.Ping(pong)
		cancel()
		if err != nil {
			k.end(closeSlow, "the agent does not answer pings")
			return
		}
		newest, err := s.o.Peers.SeePeer(ctx, k.from.agent.ID, k.epoch, s.o.Now())
		if err == nil && !newest {
			k.end(closeReplaced, "the agent has a newer connection")
			return
		}
	}
}
