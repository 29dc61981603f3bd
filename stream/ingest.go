package stream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// appendBatch is how many events of a seat are appended in one call.
const appendBatch = 64

// queued is an event that was taken and waits to be appended. no is the
// 1-based number of its message on the socket, or its line in a post.
type queued struct {
	event arena.Event
	size  int
	no    int
}

// connectSeat finds the seat of a token for one socket or post. It gives
// CodeUnauthorized when there is no such seat and CodeRateLimited when it
// comes too often or has nothing left to send. The caller gives the seat back.
func (h *Handler) connectSeat(ctx context.Context, c arena.TaskClaims) (*seat, error) {
	s, err := h.seatOf(ctx, seatKey{c.MatchID, c.AgentID})
	if err != nil {
		return nil, err
	}
	if err := s.connect(h.hub.now()); err != nil {
		h.hub.seats.release(s, h.hub.now())
		return nil, err
	}
	return s, nil
}

// seatOf finds a seat; CodeUnauthorized when there is none.
func (h *Handler) seatOf(ctx context.Context, key seatKey) (*seat, error) {
	if s, ok := h.hub.seats.find(key); ok {
		return s, nil
	}
	m, err := h.parts.Matches.Match(ctx, key.match)
	if err != nil && arena.CodeOf(err) != arena.CodeNotFound {
		return nil, fmt.Errorf("match %s: %w", key.match, err)
	}
	if err == nil {
		if s, ok := h.hub.seats.add(&m, key.agent); ok {
			return s, nil
		}
	}
	return nil, arena.Errorf(arena.CodeUnauthorized, "the agent has no seat in that match")
}

// Accept accepts one event of an agent that another protocol has identified,
// under the rules for events that came with a task token. The error's code
// says why an event was not taken.
func (h *Handler) Accept(ctx context.Context, matchID, agentID string, event []byte) error {
	s, err := h.seatOf(ctx, seatKey{matchID, agentID})
	if err != nil {
		return err
	}
	defer func() { h.hub.seats.release(s, h.hub.now()) }()
	var reader strictjson.Reader
	e, r := h.acceptLine(s, &reader, bytes.TrimSpace(event))
	if r == nil {
		r = h.append(s, []queued{{e, len(event), 1}})
	}
	if r != nil {
		h.hub.counters.refuse(r.code)
		return arena.Errorf(r.code, "%s", r.message)
	}
	return nil
}

// authenticate checks a task token. Whatever is wrong with it, the answer is
// the same but for storage that is away.
func (h *Handler) authenticate(ctx context.Context, token string) (arena.TaskClaims, error) {
	c, err := h.parts.Authenticate(ctx, token)
	switch {
	case err == nil && c.MatchID != "" && c.AgentID != "" && h.hub.now().Before(c.ExpiresAt):
		return c, nil
	case arena.CodeOf(err) == arena.CodeUnavailable:
		return c, fmt.Errorf("check token: %w", err)
	}
	return arena.TaskClaims{}, arena.Errorf(arena.CodeUnauthorized, "the token is not one of a running task")
}

// accept turns a message of size bytes into the event to append, sealed when
// the match is (docs/rules.md, section 5; threat F1).
func (h *Handler) accept(s *seat, m *message, size int) (arena.Event, *refusal) {
	if m.forges(s.key) {
		return arena.Event{}, s.forge()
	}
	body, err := m.body()
	if err != nil {
		return arena.Event{}, refused(arena.CodeEventRefused, err.Error())
	}
	e := arena.Event{MatchID: s.key.match, AgentID: s.key.agent, At: h.hub.now(), Type: m.typ, Body: body}
	if e, err = s.rules.Seal(e); err != nil {
		return arena.Event{}, refused(arena.CodeEventRefused, "the event cannot be sealed: its numbers or names have no canonical form")
	}
	if r := s.accept(size); r != nil {
		return arena.Event{}, r
	}
	return e, nil
}

// append appends a batch of one seat and publishes it. When it fails, nothing
// of the batch was appended and the refusal is every event's.
func (h *Handler) append(s *seat, batch []queued) *refusal {
	events := make([]arena.Event, len(batch))
	for i, q := range batch {
		events[i] = q.event
	}
	s.appending.Lock()
	defer s.appending.Unlock()
	ctx, cancel := context.WithTimeout(h.hub.ctx, h.hub.timing.read)
	defer cancel()
	events, err := h.parts.Log.AppendEvents(ctx, s.key.match, s.key.agent, events)
	if err == nil {
		h.hub.storageAvailable()
		h.hub.counters.accepted.Add(uint64(len(events)))
		if s.rules.PublishedAtOnce(events[len(events)-1]) {
			h.hub.Publish(s.league, events...)
		}
		return nil
	}
	for _, q := range batch {
		s.giveBack(q.size)
	}
	if h.hub.storageUnavailable(err) {
		return errUnavailable()
	}
	var e *arena.Error
	if errors.As(err, &e) && e.Code != arena.CodeInternal {
		return refused(e.Code, e.Message)
	}
	h.log.Error("cannot append events", slog.String("match_id", s.key.match), slog.String("agent_id", s.key.agent), slog.Any("error", err))
	return refused(arena.CodeInternal, "something went wrong on our side")
}

// maxPost is the limit of a post's body in bytes.
const maxPost = 1 << 20

// postTime is how long the body of a post may take.
const postTime = 10 * time.Second

// postReply answers a post.
type postReply struct {
	Accepted int         `json:"accepted"`
	Errors   []lineError `json:"errors"`
}

// lineError is why a line was refused.
type lineError struct {
	Line    int        `json:"line"` // 1-based
	Code    arena.Code `json:"code"`
	Message string     `json:"message"`
}

// post handles events without a socket, one per line, under the same rules.
// It stops at the line for which a socket would be closed.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	reply, err := h.acceptPost(w, r)
	if err != nil {
		h.Refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // the peer may be gone
}

func (h *Handler) acceptPost(w http.ResponseWriter, r *http.Request) (postReply, error) {
	reply := postReply{Errors: []lineError{}}
	token, err := bearer(r)
	if err != nil {
		return reply, err
	}
	claims, err := h.authenticate(r.Context(), token)
	if err != nil {
		return reply, err
	}
	if match := r.URL.Query().Get("match"); match != "" && match != claims.MatchID {
		return reply, arena.Errorf(arena.CodeUnauthorized, "the token is for another match")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-ndjson" {
		return reply, arena.Errorf(arena.CodeUnsupported, "send application/x-ndjson: one event per line")
	}
	s, err := h.connectSeat(r.Context(), claims)
	if err != nil {
		return reply, err
	}
	defer func() { h.hub.seats.release(s, h.hub.now()) }()
	body, err := readPost(w, r, h.hub.now())
	if err != nil {
		return reply, err
	}
	h.acceptLines(s, body, &reply)
	if n := len(reply.Errors); reply.Accepted == 0 && n > 0 && reply.Errors[n-1].Code == arena.CodeUnavailable {
		return reply, arena.Errorf(arena.CodeUnavailable, "%s", errUnavailable().message)
	}
	return reply, nil
}

// readPost reads the whole body first: one that is too large adds nothing.
func readPost(w http.ResponseWriter, r *http.Request, now time.Time) ([]byte, error) {
	// Where the deadline cannot be set, the server's own holds.
	_ = http.NewResponseController(w).SetReadDeadline(now.Add(postTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPost))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, arena.Errorf(arena.CodeTooLarge, "the body is over %d bytes", maxPost)
	case err != nil:
		return nil, &arena.Error{Code: arena.CodeMalformed, Message: "the body could not be read", Err: err}
	}
	return body, nil
}

func (h *Handler) acceptLines(s *seat, body []byte, reply *postReply) {
	batch := make([]queued, 0, appendBatch)
	refuse := func(no int, r *refusal) {
		h.hub.counters.refuse(r.code)
		reply.Errors = append(reply.Errors, lineError{no, r.code, r.message})
	}
	flush := func() (goOn bool) {
		if len(batch) == 0 {
			return true
		}
		r := h.append(s, batch)
		if r != nil {
			for _, q := range batch {
				refuse(q.no, r)
			}
		} else {
			reply.Accepted += len(batch)
		}
		batch = batch[:0]
		return r == nil || r.close == 0
	}
	var reader strictjson.Reader
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, maxPost+1)
	for no := 1; lines.Scan(); no++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		e, r := h.acceptLine(s, &reader, line)
		if r == nil {
			if batch = append(batch, queued{e, len(line), no}); len(batch) == appendBatch && !flush() {
				return
			}
			continue
		}
		if !flush() { // errors stand in the order of lines
			return
		}
		refuse(no, r)
		if r.close != 0 {
			return
		}
	}
	flush()
}

func (h *Handler) acceptLine(s *seat, r *strictjson.Reader, line []byte) (arena.Event, *refusal) {
	if refused := s.message(h.hub.now()); refused != nil {
		return arena.Event{}, refused
	}
	if len(line) > maxMessage {
		return arena.Event{}, tooLarge()
	}
	m, err := parseMessage(r, line)
	if err != nil {
		return arena.Event{}, refused(arena.CodeEventRefused, err.Error())
	}
	return h.accept(s, &m, len(line))
}

func tooLarge() *refusal {
	return &refusal{arena.CodeTooLarge, fmt.Sprintf("an event has at most %d bytes", maxMessage), closeTooBig}
}
