package agentprotocol

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// The window of a message's timestamp, and how long its id is remembered: as
// long as any clock within the window could send it again.
const (
	window   = 5 * time.Minute
	remember = 3 * window
)

// refusal is why a message is not taken: an error message, and the status that
// it has over HTTP.
type refusal struct {
	status  int
	code    Code
	message string
	details any
}

func refuse(status int, code Code, text string) *refusal {
	return &refusal{status: status, code: code, message: protocol.Sentence(text)}
}

func tooMany() *refusal {
	return refuse(http.StatusTooManyRequests, RateLimited, "too many messages")
}

// sender is an agent with its key.
type sender struct {
	agent arena.Agent
	key   ed25519.PublicKey
	known bool // the message is signed by it
	first bool // its message is not a repetition
}

// authenticate reads a message from any transport and returns its sender. An
// accepted message is for the arena, recent, signed by the agent's own key and,
// except for a repetition of the same bytes, new. The message of a refusal
// holds the fields that could be read.
func (s *Server) authenticate(ctx context.Context, data []byte) (message, sender, *refusal) {
	m, err := readMessage(data)
	if err != nil {
		return m, sender{}, refuse(http.StatusBadRequest, InvalidMessage, err.Error())
	}
	if err := s.addressed(m); err != nil {
		return m, sender{}, err
	}
	from, refused := s.identify(ctx, m)
	if refused != nil {
		return m, from, refused
	}
	if err := m.verify(from.key); err != nil {
		return m, from, refuse(http.StatusUnauthorized, InvalidSignature, err.Error())
	}
	from.known = true
	if !s.limits.allow(from.agent.ID, m.Type == TypeResponse || m.Type == TypeError) {
		return m, from, tooMany()
	}
	from.first, err = s.o.Mail.Once(ctx, "agentprotocol "+from.agent.ID, m.ID, m.Digest, remember)
	switch {
	case arena.CodeOf(err) == arena.CodeConflict:
		return m, from, refuse(http.StatusConflict, InvalidMessage, "the id was used for another message")
	case err != nil:
		return m, from, s.failed("cannot note a message", err)
	}
	return m, from, nil
}

// identify finds the agent that a message names as its sender. A key comes from
// registration alone: no message can add or change one.
func (s *Server) identify(ctx context.Context, m message) (sender, *refusal) {
	id := m.From.AgentID
	var a arena.Agent
	var err error
	if len(id) == nameForm {
		if _, err := decode64(base64.RawURLEncoding, id); err != nil {
			return sender{}, refuse(http.StatusBadRequest, InvalidMessage, "from.agentId: "+err.Error())
		}
		a, err = s.agents.AgentByKeyName(ctx, id)
	} else {
		key, bad := parseKey(id)
		if bad != nil {
			return sender{}, refuse(http.StatusBadRequest, InvalidMessage, "from.agentId: "+bad.Error())
		}
		a, err = s.agents.AgentByKey(ctx, arena.ProtocolAgentProtocol, rawID(key))
	}
	switch {
	case arena.CodeOf(err) == arena.CodeNotFound:
		return sender{}, refuse(http.StatusForbidden, UnknownAgent, "no agent is registered with this key, or its owner has not proved to hold it")
	case err != nil:
		return sender{}, s.failed("cannot find an agent", err)
	}
	_, key, err := CheckKey(a.PublicKey)
	if err != nil || !names(id, key) {
		return sender{}, refuse(http.StatusForbidden, UnknownAgent, "from.agentId does not fit the agent's registered key")
	}
	return sender{agent: a, key: key}, nil
}

// failed is our own fault.
func (s *Server) failed(what string, err error) *refusal {
	if arena.CodeOf(err) == arena.CodeUnavailable {
		return refuse(http.StatusServiceUnavailable, InternalError, "storage is not there now; send it again as another message")
	}
	s.o.Logger.Error(what, slog.Any("error", err)) //nolint:sloglint // the callers' texts are constant
	return refuse(http.StatusInternalServerError, InternalError, "something went wrong on our side")
}

// handle executes a message. The answer is nil if the message gets no answer.
func (s *Server) handle(ctx context.Context, m message, from sender) (answer []byte, refused *refusal) {
	switch m.Type {
	case TypeHello:
		return s.handleHello(ctx, m, from)
	case TypeRequest:
		return s.handleRequest(ctx, m, from)
	case TypeResponse, TypeError:
		return nil, s.handleAnswer(ctx, m, from)
	default:
		return nil, s.handleNotify(ctx, m, from)
	}
}

// handleHello stores the agent's capabilities and answers with the arena's hello.
func (s *Server) handleHello(ctx context.Context, m message, from sender) ([]byte, *refusal) {
	p, err := readHello(m.Payload)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, InvalidMessage, err.Error())
	}
	if p.PublicKey != "" && !names(p.PublicKey, from.key) {
		return nil, refuse(http.StatusForbidden, InvalidSignature, "payload.publicKey is not the agent's registered key: a hello never replaces a key")
	}
	if from.first {
		if err := s.o.Peers.GreetPeer(ctx, from.agent.ID, m.From.Capabilities, s.o.Now()); err != nil {
			return nil, s.failed("cannot note a hello", err)
		}
		if err := s.arrived(ctx, helloOf(from.agent.ID), m, helloStays); err != nil {
			return nil, s.failed("cannot hand on a hello", err)
		}
	}
	_, data, err := s.me.seal(from.key, TypeHello, s.hello())
	if err != nil {
		return nil, s.failed("cannot make a hello", err)
	}
	return data, nil
}

// handleRequest answers a request of an agent.
func (s *Server) handleRequest(ctx context.Context, m message, from sender) ([]byte, *refusal) {
	p, err := readRequest(m.Payload)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, InvalidMessage, err.Error())
	}
	action, ok := s.actionOf(p.Action)
	if !ok {
		r := refuse(http.StatusNotFound, CapabilityNotSupported, "the arena does not support "+p.Action)
		r.details = map[string]any{"requested": p.Action, "available": s.me.capabilities}
		return nil, r
	}
	result, err := action(ctx, from.agent, p.Params)
	var explained *arena.Error
	switch {
	case errors.As(err, &explained) && explained.Code != arena.CodeInternal:
		return nil, refuse(http.StatusBadRequest, InvalidMessage, explained.Message)
	case err != nil:
		return nil, s.failed("an action failed", err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, s.failed("cannot encode a result", err)
	}
	_, data, err := s.me.seal(from.key, TypeResponse, responsePayload{CorrelationID: p.CorrelationID, Status: statusSuccess, Result: text})
	if err != nil {
		return nil, s.failed("cannot make a response", err)
	}
	return data, nil
}

// handleAnswer passes a response or error to the request that waits for it, on any
// node. Only the agent that was asked can answer, once, and until the end.
func (s *Server) handleAnswer(ctx context.Context, m message, from sender) *refusal {
	id, err := answerTo(m)
	if err != nil {
		return refuse(http.StatusBadRequest, InvalidMessage, err.Error())
	}
	c, ok := s.readCorrelation(id, from.agent.ID)
	switch {
	case !ok && m.Type == TypeError:
		return nil // about a message that is no request, such as a hello
	case !ok:
		return refuse(http.StatusBadRequest, InvalidMessage, "payload.correlationId is not one of a request to this agent")
	case !s.o.Now().Before(c.until):
		return refuse(http.StatusBadRequest, Timeout, "the time limit of the request is over")
	}
	err = s.arrived(ctx, id, m, c.until.Sub(s.o.Now())+time.Second)
	switch {
	case arena.CodeOf(err) == arena.CodeConflict && !from.first:
		return nil
	case arena.CodeOf(err) == arena.CodeConflict:
		return refuse(http.StatusConflict, InvalidMessage, "the request has an answer already")
	case err != nil:
		return s.failed("cannot hand on an answer", err)
	}
	return nil
}

// handleNotify accepts stream events; other events are passed over.
func (s *Server) handleNotify(ctx context.Context, m message, from sender) *refusal {
	p, err := readNotify(m.Payload)
	if err != nil {
		return refuse(http.StatusBadRequest, InvalidMessage, err.Error())
	}
	if p.Event != eventName || !from.first {
		return nil
	}
	var matchID string
	if p.CorrelationID != "" {
		c, ok := s.readCorrelation(p.CorrelationID, from.agent.ID)
		if !ok {
			return refuse(http.StatusBadRequest, InvalidMessage, "payload.correlationId is not one of a request to this agent")
		}
		matchID = c.matchID
	} else {
		var data struct {
			MatchID string `json:"match_id"`
		}
		if err := readObject("payload.data", p.Data, &data, "match_id"); err != nil || data.MatchID == "" {
			return refuse(http.StatusBadRequest, InvalidMessage, "an event needs payload.correlationId or payload.data.match_id")
		}
		matchID = data.MatchID
	}
	err = s.events.Accept(ctx, matchID, from.agent.ID, p.Data)
	var explained *arena.Error
	switch {
	case err == nil:
		return nil
	case arena.CodeOf(err) == arena.CodeRateLimited:
		return tooMany()
	case p.CorrelationID != "" && arena.CodeOf(err) == arena.CodeUnauthorized:
		return nil // an event of a rehearsal or check, whose matches are not stored
	case errors.As(err, &explained) && explained.Code != arena.CodeInternal && explained.Code != arena.CodeUnavailable:
		return refuse(http.StatusBadRequest, InvalidMessage, string(explained.Code)+": "+explained.Message)
	}
	return s.failed("cannot take an event", err)
}

// errorMessage returns the error message of a refusal, addressed to the sender if
// the message names it, else to no one recipient.
func (s *Server) errorMessage(m message, r *refusal) ([]byte, error) {
	to, err := parseKey(m.From.AgentID)
	if err != nil {
		to = nil
	}
	_, data, err := s.me.seal(to, TypeError, errorPayload{CorrelationID: concerning(m), Code: r.code, Message: r.message, Details: r.details})
	return data, err
}

// concerning returns what an error about m is correlated with: the correlation
// id of m, else its id.
func concerning(m message) string {
	var p struct {
		CorrelationID string `json:"correlationId"`
	}
	if json.Unmarshal(m.Payload, &p) == nil && correlated(p.CorrelationID) == nil {
		return p.CorrelationID
	}
	return m.ID
}

// answerTo returns the correlation id of a response or error.
func answerTo(m message) (string, error) {
	if m.Type == TypeResponse {
		p, err := readResponse(m.Payload)
		return p.CorrelationID, err
	}
	p, err := readError(m.Payload)
	return p.CorrelationID, err
}
