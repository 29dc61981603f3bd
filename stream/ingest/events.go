package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/stream/ws"
)

// appendBatch is how many events of a seat are appended in one call.
const appendBatch = 64

// queued is an accepted event that waits to be appended. no is the 1-based
// number of its message on the socket, or of its line in a post.
type queued struct {
	event arena.Event
	size  int
	no    int
}

// connectSeat returns the seat of a token for one socket or post. The error has
// CodeUnauthorized if there is no such seat, and CodeRateLimited if it connects
// too often or has used its total. release must follow.
func (rc *Receiver) connectSeat(ctx context.Context, c arena.TaskClaims) (*seat, error) {
	s, err := rc.seatOf(ctx, seatKey{c.MatchID, c.AgentID})
	if err != nil {
		return nil, err
	}
	if err := s.connect(rc.o.Now()); err != nil {
		rc.o.Seats.release(s, rc.o.Now())
		return nil, err
	}
	return s, nil
}

// seatOf returns a seat. The error has CodeUnauthorized if there is none.
func (rc *Receiver) seatOf(ctx context.Context, key seatKey) (*seat, error) {
	if s, ok := rc.o.Seats.find(key); ok {
		return s, nil
	}
	m, err := rc.o.Matches.Match(ctx, key.match)
	if err != nil && arena.CodeOf(err) != arena.CodeNotFound {
		return nil, fmt.Errorf("match %s: %w", key.match, err)
	}
	if err == nil {
		if s, ok := rc.o.Seats.add(&m, key.agent); ok {
			return s, nil
		}
	}
	return nil, arena.Errorf(arena.CodeUnauthorized, "the agent has no seat in that match")
}

// Accept appends one event of an agent that another protocol has identified,
// under the rules for events that arrive with a task token. The code of the
// error is why an event was refused.
func (rc *Receiver) Accept(ctx context.Context, matchID, agentID string, event []byte) error {
	s, err := rc.seatOf(ctx, seatKey{matchID, agentID})
	if err != nil {
		return err
	}
	defer func() { rc.o.Seats.release(s, rc.o.Now()) }()
	var reader strictjson.Reader
	e, r := rc.acceptLine(s, &reader, bytes.TrimSpace(event))
	if r == nil {
		r = rc.append(s, []queued{{e, len(event), 1}})
	}
	if r != nil {
		rc.o.Seats.countRefusal(r.code)
		return arena.Errorf(r.code, "%s", r.message)
	}
	return nil
}

// authenticate checks a task token. The error has CodeUnauthorized for every
// fault of the token, and CodeUnavailable if the storage is unavailable.
func (rc *Receiver) authenticate(ctx context.Context, token string) (arena.TaskClaims, error) {
	c, err := rc.o.Authenticate(ctx, token)
	switch {
	case err == nil && c.MatchID != "" && c.AgentID != "" && rc.o.Now().Before(c.ExpiresAt):
		return c, nil
	case arena.CodeOf(err) == arena.CodeUnavailable:
		return c, fmt.Errorf("check token: %w", err)
	}
	return arena.TaskClaims{}, arena.Errorf(arena.CodeUnauthorized, "the token is not one of a running task")
}

// accept turns a message of size bytes into the event to append, sealed if the
// match is (docs/rules.md, section 5; threat F1).
func (rc *Receiver) accept(s *seat, m *message, size int) (arena.Event, *refusal) {
	if m.forges(s.key) {
		return arena.Event{}, s.forge()
	}
	body, err := m.body()
	if err != nil {
		return arena.Event{}, refused(arena.CodeEventRefused, err.Error())
	}
	e := arena.Event{MatchID: s.key.match, AgentID: s.key.agent, At: rc.o.Now(), Type: m.typ, Body: body}
	if e, err = s.rules.Seal(e); err != nil {
		return arena.Event{}, refused(arena.CodeEventRefused, "the event cannot be sealed: its numbers or names have no canonical form")
	}
	if r := s.accept(size); r != nil {
		return arena.Event{}, r
	}
	return e, nil
}

// append appends a batch of one seat and publishes it. If it fails, it appended
// nothing, and every event of the batch gets the refusal.
func (rc *Receiver) append(s *seat, batch []queued) *refusal {
	events := make([]arena.Event, len(batch))
	for i, q := range batch {
		events[i] = q.event
	}
	s.appending.Lock()
	defer s.appending.Unlock()
	ctx, cancel := context.WithTimeout(rc.o.Clients.Context(), rc.timing.append)
	defer cancel()
	events, err := rc.o.Log.AppendEvents(ctx, s.key.match, s.key.agent, events)
	if err == nil {
		rc.o.Hub.StorageAvailable()
		rc.o.Seats.accepted.Add(uint64(len(events)))
		if s.rules.PublishedAtOnce(events[len(events)-1]) {
			rc.o.Hub.Publish(s.league, events...)
		}
		return nil
	}
	for _, q := range batch {
		s.giveBack(q.size)
	}
	if rc.o.Hub.StorageUnavailable(err) {
		return errUnavailable()
	}
	var e *arena.Error
	if errors.As(err, &e) && e.Code != arena.CodeInternal {
		return refused(e.Code, e.Message)
	}
	rc.o.Logger.Error("cannot append events", slog.String("match_id", s.key.match), slog.String("agent_id", s.key.agent), slog.Any("error", err))
	return refused(arena.CodeInternal, "something went wrong on our side")
}

func (rc *Receiver) acceptLine(s *seat, r *strictjson.Reader, line []byte) (arena.Event, *refusal) {
	if refused := s.message(rc.o.Now()); refused != nil {
		return arena.Event{}, refused
	}
	if len(line) > maxMessage {
		return arena.Event{}, tooLarge()
	}
	m, err := parseMessage(r, line)
	if err != nil {
		return arena.Event{}, refused(arena.CodeEventRefused, err.Error())
	}
	return rc.accept(s, &m, len(line))
}

func tooLarge() *refusal {
	return &refusal{arena.CodeTooLarge, fmt.Sprintf("an event has at most %d bytes", maxMessage), ws.CloseTooBig}
}
