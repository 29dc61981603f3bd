package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// Matches reads matches.
type Matches interface {
	// Match returns a match as spectators may see it. The error has
	// CodeNotFound if there is none with this id.
	Match(ctx context.Context, id string) (visibility.Match, error)
}

// Leagues reads leagues.
type Leagues interface {
	// League returns CodeNotFound if there is none with this slug.
	League(ctx context.Context, slug string) (arena.League, error)
}

// Agents receives the events of agents.
type Agents interface {
	// ServeSocket serves the WebSocket of an agent. match is the one that the
	// request names, or "". It has written nothing if it returns an error.
	ServeSocket(w http.ResponseWriter, r *http.Request, match string) error
	// ServePost serves a POST of events. It has written nothing if it returns an
	// error.
	ServePost(w http.ResponseWriter, r *http.Request) error
}

// Slots limit the open clients of an address.
type Slots interface {
	// Acquire returns CodeRateLimited if all are in use. release may be called
	// more than once.
	Acquire(address string) (release func(), err error)
}

// Parts are the parts of a Handler. All are needed.
type Parts struct {
	Matches Matches
	Leagues Leagues
	Agents  Agents
	// ClientIP returns the address of the peer behind trusted proxies.
	ClientIP func(r *http.Request) string
	// Addresses limits the spectators of each network address (threat V2).
	Addresses Slots
}

// Handler serves /v1/stream: GET for spectators and agents, POST for agents.
type Handler struct {
	hub   *Hub
	parts Parts
	log   *slog.Logger
}

// NewHandler returns the handler of a hub's streams.
func NewHandler(hub *Hub, p Parts) *Handler {
	return &Handler{hub: hub, parts: p, log: hub.log}
}

// ServeHTTP dispatches the requests of /v1/stream. Errors before an upgrade
// are problem documents (RFC 9457).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		h.get(w, r)
	case http.MethodPost:
		if err := h.parts.Agents.ServePost(w, r); err != nil {
			h.Refuse(w, r, err)
		}
	default:
		w.Header().Set("Allow", "GET, POST")
		problem(w, http.StatusMethodNotAllowed, arena.CodeNoMethod, "use GET or POST")
	}
}

func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	socket := hasToken(r.Header, "Upgrade", "websocket")
	events := hasToken(r.Header, "Accept", "text/event-stream")
	q, err := parseQuery(r.URL.RawQuery, r.Header.Get("Last-Event-ID"))
	switch {
	case err != nil:
		h.Refuse(w, r, err)
	case socket && (q.topics == 0 || q.topics == 1 && q.key.kind == topicMatch && bearsTask(r.Header)):
		if err := h.parts.Agents.ServeSocket(w, r, q.key.id); err != nil {
			h.Refuse(w, r, err)
		}
	case q.oneTopic() != nil:
		h.Refuse(w, r, q.oneTopic())
	case socket:
		h.serveSocket(w, r, q)
	case events:
		h.serveEvents(w, r, q)
	default:
		w.Header().Set("Upgrade", "websocket")
		problem(w, http.StatusUpgradeRequired, arena.CodeMalformed, "open a WebSocket, or ask with Accept: text/event-stream")
	}
}

// bearsTask reports whether a request has a credential in the form of a task
// token. Spectators may have other credentials, such as an owner's token; reading a
// stream needs no credential.
func bearsTask(h http.Header) bool { return strings.Count(h.Get("Authorization"), ".") == 2 }

// hasToken reports whether a header lists a word, in upper or lower case and with
// or without parameters.
func hasToken(h http.Header, name, word string) bool {
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			part, _, _ = strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(part), word) {
				return true
			}
		}
	}
	return false
}

// Refuse answers a request with an error before anything was written.
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	var e *arena.Error
	switch {
	case errors.As(err, &e):
	case r.Context().Err() == nil && h.hub.StorageUnavailable(err):
		e = &arena.Error{Code: arena.CodeUnavailable, Message: textUnavailable}
	default:
		if r.Context().Err() == nil {
			h.log.Error("stream request failed", slog.Any("error", err))
		}
		e = &arena.Error{Code: arena.CodeInternal, Message: "something went wrong on our side"}
	}
	status := http.StatusInternalServerError
	switch e.Code {
	case arena.CodeMalformed:
		status = http.StatusBadRequest
	case arena.CodeUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
		status = http.StatusUnauthorized
	case arena.CodeNotFound:
		status = http.StatusNotFound
	case arena.CodeTooLarge:
		status = http.StatusRequestEntityTooLarge
	case arena.CodeUnsupported:
		status = http.StatusUnsupportedMediaType
	case arena.CodeRateLimited:
		w.Header().Set("Retry-After", strconv.Itoa(cmp.Or(e.RetrySeconds(), 5)))
		status = http.StatusTooManyRequests
	case arena.CodeUnavailable:
		w.Header().Set("Retry-After", "5")
		status = http.StatusServiceUnavailable
	default:
	}
	problem(w, status, e.Code, e.Message)
}

// problem writes a problem document (RFC 9457).
func problem(w http.ResponseWriter, status int, code arena.Code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct { // the peer may be gone
		Type   string     `json:"type"`
		Title  string     `json:"title"`
		Status int        `json:"status"`
		Detail string     `json:"detail"`
		Code   arena.Code `json:"code"`
	}{"about:blank", http.StatusText(status), status, detail, code})
}
