package protocoltest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Answer replies with an answer, as AAP wants it.
func Answer(text string) Behaviour {
	body, _ := json.Marshal(map[string]string{"answer": text}) // strings always encode
	return Reply(http.StatusOK, "application/json", string(body))
}

// Reply replies with any status, content type ("" for none) and body.
func Reply(status int, contentType, body string) Behaviour {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil // net/http would guess one
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the caller may have hung up: that is its right
	}
}

// Status replies with a status and no body.
func Status(code int) Behaviour { return Reply(code, "", "") }

// RateLimited replies with 429, Unavailable with 503.
func RateLimited() Behaviour { return Status(http.StatusTooManyRequests) }

// Unavailable replies with 503.
func Unavailable() Behaviour { return Status(http.StatusServiceUnavailable) }

// Garbage replies with 200 and a body that is not JSON.
func Garbage() Behaviour { return Reply(http.StatusOK, "application/json", `{"answer": `) }

// Redirect replies with 307 to target.
func Redirect(target string) Behaviour {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}

// Stall never replies: it waits until the caller hangs up or the agent closes,
// which drops the connection.
func Stall() Behaviour { return When(nil, nil) }

// Late behaves like b after d.
func Late(d time.Duration, b Behaviour) Behaviour {
	return func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			b(w, r)
		case <-r.Context().Done():
			drop()
		}
	}
}

// When behaves like b once gate is closed.
func When(gate <-chan struct{}, b Behaviour) Behaviour {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gate:
			b(w, r)
		case <-r.Context().Done():
			drop() // a handler that just returns would send an empty 200
		}
	}
}

// Drop closes the connection without a reply.
func Drop() Behaviour {
	return func(http.ResponseWriter, *http.Request) { drop() }
}

func drop() { panic(http.ErrAbortHandler) }

// Healthy replies to a health check as AAP wants it.
func Healthy(maxConcurrent int, capabilities ...string) Behaviour {
	if capabilities == nil {
		capabilities = []string{}
	}
	body, _ := json.Marshal(map[string]any{ // these types always encode
		"status": "ok", "version": "1.0", "capabilities": capabilities,
		"avg_latency_ms": 5, "max_concurrent": maxConcurrent,
	})
	return Reply(http.StatusOK, "application/json", string(body))
}

// HealthFails replies to a health check with 500.
func HealthFails() Behaviour { return Status(http.StatusInternalServerError) }

func contextOf(ctx context.Context) func(net.Listener) context.Context {
	return func(net.Listener) context.Context { return ctx }
}
