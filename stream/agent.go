package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// agentReadLimit is what the library reads of one message before it breaks
// the connection off. What is over maxMessage is only thrown away, so that
// the peer gets to read why.
const agentReadLimit = 1 << 20

// agentSocket is the WebSocket of an agent. One goroutine reads messages and
// decides on them; another appends what was taken, in order, as many at once
// as are there, and says goodbye.
type agentSocket struct {
	client
	h     *Handler
	ws    *websocket.Conn
	wire  *wire
	seat  *seat // nil until the agent is known; the reading goroutine sets it
	buf   bytes.Buffer
	json  strictjson.Reader
	queue chan queued
	done  chan struct{} // closed when nothing is taken from queue any more

	pending    atomic.Int64  // events that were taken and are not appended yet
	progressed chan struct{} // rings when the reader waits again, and after an append
}

// serveAgent answers an agent's WebSocket request. match is the one named in
// the address, or "".
func (h *Handler) serveAgent(w http.ResponseWriter, r *http.Request, match string) {
	release, err := h.parts.Addresses.Acquire(h.parts.ClientIP(r))
	if err != nil {
		h.Refuse(w, r, err)
		return
	}
	a := &agentSocket{
		client: newClient(kindAgent, h.hub.timing.ping, release), h: h,
		queue: make(chan queued, appendBatch), done: make(chan struct{}), progressed: make(chan struct{}, 1),
	}
	a.expires.Store(h.hub.now().Add(h.hub.timing.auth).UnixMilli())
	if err := h.hub.admit(&a.client); err != nil {
		release()
		h.Refuse(w, r, err)
		return
	}
	var claims arena.TaskClaims
	if r.Header.Get("Authorization") != "" {
		if claims, err = a.authenticate(r, match); err != nil {
			h.hub.dismiss(&a.client)
			h.Refuse(w, r, err)
			return
		}
	}
	a.ws, a.wire, err = h.hub.upgrade(w, r, agentReadLimit, func() { a.waiting.Store(false) })
	if err != nil {
		a.leave()
		h.log.Debug("websocket handshake failed", slog.Any("error", err))
		return
	}
	a.wire.onWait = a.progress
	go a.run(claims)
}

// authenticate finds the seat of a request that brings its token along.
func (a *agentSocket) authenticate(r *http.Request, match string) (arena.TaskClaims, error) {
	token, err := bearer(r)
	if err != nil {
		return arena.TaskClaims{}, err
	}
	claims, err := a.h.authenticate(r.Context(), token)
	if err != nil {
		return claims, err
	}
	if match != "" && match != claims.MatchID {
		return claims, arena.Errorf(arena.CodeUnauthorized, "the token is for another match")
	}
	a.seat, err = a.h.connectSeat(r.Context(), claims)
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
	a.h.hub.counters.closed(e.code)
	a.finish(a.ws, a.wire, reading, e, a.h.hub.timing.grace)
}

// leave returns everything back.
func (a *agentSocket) leave() {
	if a.seat != nil {
		a.seat.leave(a)
		a.h.hub.seats.release(a.seat, a.h.hub.now())
	}
	a.h.hub.dismiss(&a.client)
}

// ready confirms to an agent that its token was accepted.
type ready struct {
	Type    string `json:"type"`
	MatchID string `json:"match_id"`
	AgentID string `json:"agent_id"`
	Round   int    `json:"round"`
}

// bindSeat makes the socket the current one of its seat: the newest socket of a seat wins (threat E9).
func (a *agentSocket) bindSeat(c arena.TaskClaims) {
	a.expires.Store(c.ExpiresAt.UnixMilli())
	a.release() // known agents do not count against their address
	if old := a.seat.replace(a); old != nil {
		old.end(CloseReplaced, "a newer socket took the seat")
	}
	a.send(ready{"ready", c.MatchID, c.AgentID, c.Round})
}

// read reads messages until the connection ends. After the goodbye they are
// thrown away, so that the peer's own goodbye is read.
func (a *agentSocket) read() {
	for no := 1; ; no++ {
		typ, m, err := a.ws.Reader(context.Background()) // ends with the connection
		if err == nil {
			a.buf.Reset()
			if _, err = io.CopyN(&a.buf, m, maxMessage+1); err == nil {
				_, err = io.Copy(io.Discard, m)
			} else if err == io.EOF { //nolint:errorlint // CopyN gives io.EOF itself: the message is read to its end
				err = nil
			}
		}
		if err != nil {
			e := lostBy(err)
			a.end(e.code, e.reason)
			return
		}
		if a.expired(a.h.hub.now()) {
			a.end(CloseToken, "no valid token any more")
		}
		if a.ended.Load() != nil {
			continue
		}
		if r := a.message(no, typ, a.buf.Bytes()); r != nil {
			a.refuse(no, r)
		}
	}
}

// message decides on one message.
func (a *agentSocket) message(no int, typ websocket.MessageType, data []byte) *refusal {
	if a.seat != nil {
		if r := a.seat.message(a.h.hub.now()); r != nil {
			return r
		}
	}
	switch {
	case len(data) > maxMessage:
		return tooLarge()
	case typ != websocket.MessageText:
		return a.unlessKnown(refused(arena.CodeEventRefused, "send text messages"))
	}
	m, err := parseMessage(&a.json, data)
	switch {
	case err != nil:
		return a.unlessKnown(refused(arena.CodeEventRefused, err.Error()))
	case m.typ == typeAuth:
		return a.auth(&m)
	case a.seat == nil:
		return &refusal{arena.CodeUnauthorized, "the first message must be auth", CloseToken}
	}
	e, r := a.h.accept(a.seat, &m, len(data))
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

// unlessKnown makes a refusal the end for a peer that has shown no token.
func (a *agentSocket) unlessKnown(r *refusal) *refusal {
	if a.seat == nil {
		r.close = CloseBadRequest
	}
	return r
}

// auth checks the token of an agent, or a newer one that extends its time.
func (a *agentSocket) auth(m *message) *refusal {
	ctx, cancel := context.WithTimeout(a.h.hub.ctx, a.h.hub.timing.auth)
	defer cancel()
	token, err := textOf(m.token)
	if err != nil {
		return a.unlessKnown(refused(arena.CodeEventRefused, "token must be text"))
	}
	c, err := a.h.authenticate(ctx, token)
	if err == nil && a.seat != nil {
		if (seatKey{c.MatchID, c.AgentID}) != a.seat.key {
			return a.seat.forge()
		}
		a.expires.Store(max(a.expires.Load(), c.ExpiresAt.UnixMilli()))
		a.send(ready{"ready", c.MatchID, c.AgentID, c.Round})
		return nil
	}
	var s *seat
	if err == nil {
		s, err = a.h.connectSeat(ctx, c)
	}
	if err == nil {
		a.seat = s
		a.bindSeat(c)
		return nil
	}
	r := refused(arena.CodeOf(err), "the token cannot be checked now")
	switch r.code {
	case arena.CodeUnauthorized:
		r.message, r.close = "the token is not one of a running task", CloseToken
	case arena.CodeRateLimited:
		r.message, r.close = "the seat connects too often or has sent all its events", CloseTooMany
	default:
		if a.h.hub.storageUnavailable(err) {
			r = errUnavailable()
			break
		}
		a.h.log.Error("cannot check a token", slog.Any("error", err))
		r.code, r.close = arena.CodeUnavailable, closeInternal
	}
	if a.seat != nil {
		r.close = 0 // the token that it has still holds
	}
	return r
}

// write appends what was taken until the socket ends, and then what was taken
// before that.
func (a *agentSocket) write() ending {
	for {
		select {
		case q := <-a.queue:
			a.append(q)
		case <-a.wake:
			if a.ping.Swap(false) {
				if err := a.wire.ping(); err != nil {
					e := lostOrSlow(err)
					a.end(e.code, e.reason)
				}
			}
			e := a.ended.Load()
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

// append appends q and what waits behind it.
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
	if r := a.h.append(a.seat, batch); r != nil {
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

// refuse answers a message that was not taken.
func (a *agentSocket) refuse(no int, r *refusal) {
	a.h.hub.counters.refuse(r.code)
	a.send(notice{"error", r.code, r.message, no})
	if r.close != 0 {
		a.end(r.close, r.message)
	}
}

// send writes a message to the agent. One that does not read it is let go.
func (a *agentSocket) send(v any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = a.wire.text(text)
	}
	if err != nil {
		e := lostOrSlow(err)
		a.end(e.code, e.reason)
	}
}
