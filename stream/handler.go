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
	"github.com/agora-arena/arena/arena/visibility"
)

// Matches finds matches.
type Matches interface {
	// Match returns a match as spectators may see it. The error has
	// CodeNotFound when there is none with this id.
	Match(ctx context.Context, id string) (visibility.Match, error)
}

// Leagues finds leagues.
type Leagues interface {
	// League returns CodeNotFound when there is none with this slug.
	League(ctx context.Context, slug string) (arena.League, error)
}

// Log stores the events of agents.
type Log interface {
	// AppendEvents appends in order, all or none, and gives the events with
	// round and seq. It gives CodeRoundClosed when the match has no open round
	// or the seat does not play any more.
	AppendEvents(ctx context.Context, matchID, agentID string, events []arena.Event) ([]arena.Event, error)
}

// Slots bound what the clients of an address have open at once.
type Slots interface {
	// Acquire returns CodeRateLimited when all are taken. release may be called
	// more than once.
	Acquire(address string) (release func(), err error)
}

// Parts are what a Handler is made of. The functions and stores are needed;
// a limit of 0 means its default.
type Parts struct {
	Matches Matches
	Leagues Leagues
	Log     Log
	// Authenticate checks a task token: its signature, times and kind.
	Authenticate func(ctx context.Context, token string) (arena.TaskClaims, error)
	// ClientIP provides the address of the peer behind trusted proxies.
	ClientIP func(r *http.Request) string

	// Addresses bounds the spectators, and the sockets that still wait for their
	// auth message, of each network address (threat V2).
	Addresses Slots

	EventRate  float64 // events per second of one seat in a match; default 20
	EventBurst int     // default 40
	EventMax   int     // events of one seat in a match; default 2,000
}

// Handler serves /v1/stream: GET for spectators and agents, POST for agents.
type Handler struct {
	hub   *Hub
	parts Parts
	log   *slog.Logger
}

// NewHandler makes the handler of a hub's streams.
func NewHandler(hub *Hub, p Parts) (*Handler, error) {
	if hub == nil || p.Matches == nil || p.Leagues == nil || p.Log == nil || p.Authenticate == nil || p.ClientIP == nil || p.Addresses == nil {
		return nil, errors.New("stream: the handler needs a hub, matches, leagues, a log, Authenticate, ClientIP and Addresses")
	}
	if p.EventRate < 0 || p.EventBurst < 0 || p.EventMax < 0 {
		return nil, errors.New("stream: a limit is below 0")
	}
	if p.EventRate == 0 {
		p.EventRate = 20
	}
	if p.EventBurst == 0 {
		p.EventBurst = 40
	}
	if p.EventMax == 0 {
		p.EventMax = 2000
	}
	h := &Handler{hub: hub, parts: p, log: hub.log}
	hub.seats.quota = quota{rate: p.EventRate, burst: p.EventBurst, events: p.EventMax, bytes: maxSeatBytes}
	return h, nil
}

// ServeHTTP dispatches the requests of /v1/stream. Errors before an upgrade
// are problem documents (RFC 9457).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		h.get(w, r)
	case http.MethodPost:
		h.post(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		problem(w, http.StatusMethodNotAllowed, arena.CodeNoMethod, "use GET or POST")
	}
}

func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	socket := hasToken(r.Header, "Upgrade", "websocket")
	events := hasToken(r.Header, "Accept", "text/event-stream")
	q, err := parseQuery(r.URL.RawQuery, r.Header.Get("Last-Event-ID"))
	token := r.Header.Get("Authorization") != ""
	switch {
	case err != nil:
		h.Refuse(w, r, err)
	case socket && (q.topics == 0 || q.topics == 1 && q.key.kind == topicMatch && token):
		h.serveAgent(w, r, q.key.id)
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

// hasToken reports whether a header lists a word, in any case and with or
// without parameters.
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

// bearer returns the token of the Authorization header.
func bearer(r *http.Request) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", arena.Errorf(arena.CodeUnauthorized, "send Authorization: Bearer and the token of a task")
	}
	return token, nil
}

// Refuse answers an error before anything was written.
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	var e *arena.Error
	switch {
	case errors.As(err, &e):
	case r.Context().Err() == nil && h.hub.storageUnavailable(err):
		e = &arena.Error{Code: arena.CodeUnavailable, Message: errUnavailable().message}
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
