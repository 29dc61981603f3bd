package relay

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/agora-arena/arena/arena"
)

// refusal is the relay's reply to a refused request.
type refusal struct {
	OK      bool   `json:"ok"`
	Error   string `json:"error"`
	Message string `json:"message"`
}

// statusOf maps the codes of the arena to a status and a word of the relay.
func statusOf(code arena.Code) (status int, word string) {
	switch code {
	case arena.CodeMalformed:
		return http.StatusBadRequest, "INVALID_REQUEST"
	case arena.CodeUnauthorized:
		return http.StatusUnauthorized, "BAD_SIGNATURE"
	case arena.CodeForbidden:
		return http.StatusForbidden, "FORBIDDEN"
	case arena.CodeNotFound:
		return http.StatusNotFound, "NOT_FOUND"
	case arena.CodeConflict, arena.CodeNameTaken, arena.CodeRoundClosed:
		return http.StatusConflict, "CONFLICT"
	case arena.CodeTooLarge:
		return http.StatusRequestEntityTooLarge, "TOO_LARGE"
	case arena.CodeInvalid, arena.CodeEventRefused, arena.CodeForgedIdentity:
		return http.StatusUnprocessableEntity, "REFUSED"
	case arena.CodeRateLimited:
		return http.StatusTooManyRequests, "RATE_LIMITED"
	case arena.CodeUnavailable:
		return http.StatusServiceUnavailable, "UNAVAILABLE"
	default:
		return http.StatusInternalServerError, "INTERNAL_ERROR"
	}
}

// Refuse writes a failure. Internal errors are logged and not shown.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := arena.CodeOf(err)
	status, word := statusOf(code)
	message := "something went wrong on our side"
	wait := 10 // seconds
	if e, ok := errors.AsType[*arena.Error](err); ok && status < http.StatusInternalServerError {
		message = e.Message
		wait = cmp.Or(e.RetrySeconds(), wait)
		for _, f := range e.Fields {
			message += "; " + f.Field + ": " + f.Message
		}
	} else if r.Context().Err() == nil {
		s.o.Logger.Error("relay failed", "path", r.URL.Path, "error", err)
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	reply(w, status, refusal{Error: word, Message: message})
}

func reply(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // none of our types can fail
		status, body = http.StatusInternalServerError, []byte(`{"ok":false,"error":"INTERNAL_ERROR","message":""}`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may have hung up: that is its right
}
