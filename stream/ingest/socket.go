package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/stream/ws"
)

// agentReadLimit is the size of a message at which the library closes the
// connection. The bytes beyond maxMessage are discarded, so that the peer can
// read why its message is refused.
const agentReadLimit = 1 << 20

// agentSocket is the WebSocket of an agent. One goroutine reads and checks
// messages. Another appends the accepted events in order and in batches, and
// closes the socket.
type agentSocket struct {
	*ws.Client
	receiver *Receiver
	conn     *ws.Conn
	seat     *seat // nil until the agent is authenticated; set by the reading goroutine
	buf      bytes.Buffer
	json     strictjson.Reader
	queue    chan queued
	done     chan struct{} // closed when nothing more is received from queue

	pending    atomic.Int64  // accepted events that are not appended yet
	progressed chan struct{} // receives when the reader waits again, and after an append
}

// ServeSocket serves the WebSocket of an agent. match is the one that the
// request names, or "". It has written nothing if it returns an error.
func (rc *Receiver) ServeSocket(w http.ResponseWriter, r *http.Request, match string) error {
	release, err := rc.o.Addresses.Acquire(rc.o.ClientIP(r))
	if err != nil {
		return err //nolint:wrapcheck // an *arena.Error for the client
	}
	a := &agentSocket{
		Client: ws.NewClient(ws.KindAgent, release, nil), receiver: rc,
		queue: make(chan queued, appendBatch), done: make(chan struct{}), progressed: make(chan struct{}, 1),
	}
	a.SetExpiry(rc.o.Now().Add(rc.timing.auth))
	if err := rc.o.Clients.Admit(a.Client); err != nil {
		release()
		return err //nolint:wrapcheck // an *arena.Error for the client
	}
	var claims arena.TaskClaims
	if r.Header.Get("Authorization") != "" {
		if claims, err = a.authenticate(r, match); err != nil {
			rc.o.Clients.Dismiss(a.Client)
			return err
		}
	}
	a.conn, err = rc.o.Clients.Accept(w, r, a.Client, ws.ConnOptions{ReadLimit: agentReadLimit, WriteTimeout: rc.timing.write, OnWait: a.progress})
	if err != nil {
		a.leave()
		rc.o.Logger.Debug("websocket handshake failed", slog.Any("error", err))
		return nil // it was answered
	}
	go a.run(claims)
	return nil
}

// authenticate finds the seat of a request with a token.
func (a *agentSocket) authenticate(r *http.Request, match string) (arena.TaskClaims, error) {
	token, err := bearer(r)
	if err != nil {
		return arena.TaskClaims{}, err
	}
	claims, err := a.receiver.authenticate(r.Context(), token)
	if err != nil {
		return claims, err
	}
	if match != "" && match != claims.MatchID {
		return claims, arena.Errorf(arena.CodeUnauthorized, "the token is for another match")
	}
	a.seat, err = a.receiver.connectSeat(r.Context(), claims)
	return claims, err
}

func (a *agentSocket) run(claims arena.TaskClaims) {
	defer a.leave()
	if a.seat != nil {
		a.bindSeat(claims)
	}
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		a.read()
	}()
	e := a.write()
	close(a.done)
	a.receiver.o.Clients.CountClose(e.Code)
	a.conn.Close(e)
	<-reading
	a.conn.CloseNow()
}

// leave releases the seat and the client.
func (a *agentSocket) leave() {
	if a.seat != nil {
		a.seat.leave(a)
		a.receiver.o.Seats.release(a.seat, a.receiver.o.Now())
	}
	a.receiver.o.Clients.Dismiss(a.Client)
}

// ready confirms to an agent that its token was accepted.
type ready struct {
	Type    string `json:"type"`
	MatchID string `json:"match_id"`
	AgentID string `json:"agent_id"`
	Round   int    `json:"round,omitempty"` // of the token, unless that is for the whole match
}

// bindSeat makes the socket the current one of its seat: the newest socket of a seat wins (threat E9).
func (a *agentSocket) bindSeat(c arena.TaskClaims) {
	a.SetExpiry(c.ExpiresAt)
	a.Release() // authenticated agents do not count against their address
	if old := a.seat.replace(a); old != nil {
		old.End(ws.Ending{Code: ws.CloseReplaced, Reason: "a newer socket of the seat was opened"})
	}
	a.send(ready{"ready", c.MatchID, c.AgentID, c.Round})
}

// read reads messages until the connection ends. After our close frame it
// discards them and waits for the peer's.
func (a *agentSocket) read() {
	for no := 1; ; no++ {
		text, m, err := a.conn.Next()
		if err == nil {
			a.buf.Reset()
			if _, err = io.CopyN(&a.buf, m, maxMessage+1); err == nil {
				_, err = io.Copy(io.Discard, m)
			} else if err == io.EOF { //nolint:errorlint // CopyN returns io.EOF itself: the message is complete
				err = nil
			}
		}
		if err != nil {
			a.End(ws.EndOfReading(err))
			return
		}
		if a.Expired(a.receiver.o.Now()) {
			a.End(ws.NoToken())
		}
		if a.Ended() != nil {
			continue
		}
		if r := a.message(no, text, a.buf.Bytes()); r != nil {
			a.refuse(no, r)
		}
	}
}

// message accepts or refuses one message.
func (a *agentSocket) message(no int, text bool, data []byte) *refusal {
	if a.seat != nil {
		if r := a.seat.message(a.receiver.o.Now()); r != nil {
			return r
		}
	}
	switch {
	case len(data) > maxMessage:
		return tooLarge()
	case !text:
		return a.closeUnlessKnown(refused(arena.CodeEventRefused, "send text messages"))
	}
	m, err := parseMessage(&a.json, data)
	switch {
	case err != nil:
		return a.closeUnlessKnown(refused(arena.CodeEventRefused, err.Error()))
	case m.typ == typeAuth:
		return a.auth(&m)
	case a.seat == nil:
		return &refusal{arena.CodeUnauthorized, "the first message must be auth", ws.CloseToken}
	}
	e, r := a.receiver.accept(a.seat, &m, len(data))
	if r != nil {
		return r
	}
	a.pending.Add(1)
	select {
	case a.queue <- queued{e, len(data), no}:
	case <-a.done:
		a.seat.giveBack(len(data))
	}
	return nil
}

// closeUnlessKnown adds a close code to a refusal for a peer without a token.
func (a *agentSocket) closeUnlessKnown(r *refusal) *refusal {
	if a.seat == nil {
		r.close = ws.CloseBadRequest
	}
	return r
}

// auth checks the token of an agent, or a newer one that extends the socket.
func (a *agentSocket) auth(m *message) *refusal {
	ctx, cancel := context.WithTimeout(a.receiver.o.Clients.Context(), a.receiver.timing.auth)
	defer cancel()
	token, err := textOf(m.token)
	if err != nil {
		return a.closeUnlessKnown(refused(arena.CodeEventRefused, "token must be text"))
	}
	c, err := a.receiver.authenticate(ctx, token)
	if err == nil && a.seat != nil {
		if (seatKey{c.MatchID, c.AgentID}) != a.seat.key {
			return a.seat.forge()
		}
		a.ExtendExpiry(c.ExpiresAt)
		a.send(ready{"ready", c.MatchID, c.AgentID, c.Round})
		return nil
	}
	var s *seat
	if err == nil {
		s, err = a.receiver.connectSeat(ctx, c)
	}
	if err == nil {
		a.seat = s
		a.bindSeat(c)
		return nil
	}
	r := refused(arena.CodeOf(err), "the token cannot be checked now")
	switch r.code {
	case arena.CodeUnauthorized:
		r.message, r.close = "the token is not one of a running task", ws.CloseToken
	case arena.CodeRateLimited:
		r.message, r.close = "the seat connects too often or has sent all its events", ws.CloseTooMany
	default:
		if a.receiver.o.Hub.StorageUnavailable(err) {
			r = errUnavailable()
			break
		}
		a.receiver.o.Logger.Error("cannot check a token", slog.Any("error", err))
		r.code, r.close = arena.CodeUnavailable, ws.CloseInternal
	}
	if a.seat != nil {
		r.close = 0 // its current token is still valid
	}
	return r
}

// write appends accepted events until the socket ends, and then the rest of the
// queue.
func (a *agentSocket) write() ws.Ending {
	for {
		select {
		case q := <-a.queue:
			a.append(q)
		case <-a.Woken():
			if a.PingDue() {
				if err := a.conn.Ping(); err != nil {
					a.End(ws.EndOfWriting(err))
				}
			}
			e := a.Ended()
			if e == nil {
				continue
			}
			for {
				select {
				case q := <-a.queue:
					a.append(q)
					continue
				default:
				}
				return *e
			}
		}
	}
}

// append appends q and the events queued behind it.
func (a *agentSocket) append(q queued) {
	batch := append(make([]queued, 0, 1+len(a.queue)), q)
	for range cap(a.queue) - 1 {
		select {
		case q := <-a.queue:
			batch = append(batch, q)
			continue
		default:
		}
		break
	}
	if r := a.receiver.append(a.seat, batch); r != nil {
		for _, q := range batch {
			a.refuse(q.no, r)
		}
	}
	a.pending.Add(-int64(len(batch)))
	a.progress()
}

// notice informs an agent that a message was refused.
type notice struct {
	Type    string     `json:"type"`
	Code    arena.Code `json:"code"`
	Message string     `json:"message"`
	No      int        `json:"no"` // 1-based number of the message on this socket
}

// refuse informs the agent that a message was refused.
func (a *agentSocket) refuse(no int, r *refusal) {
	a.receiver.o.Seats.countRefusal(r.code)
	a.send(notice{"error", r.code, r.message, no})
	if r.close != 0 {
		a.End(ws.Ending{Code: r.close, Reason: r.message})
	}
}

// send writes a message to the agent, and closes the socket if the agent does
// not read it.
func (a *agentSocket) send(v any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = a.conn.SendText(text)
	}
	if err != nil {
		a.End(ws.EndOfWriting(err))
	}
}
