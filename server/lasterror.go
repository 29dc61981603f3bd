package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// lastError remembers the last error that was logged, for the admin status.
type lastError struct {
	mu   sync.Mutex
	text string
	at   time.Time
}

// longestError is how much of an error is kept, in bytes.
const longestError = 500

func (l *lastError) read() (text string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text, l.at
}

// of returns a handler that remembers, and hands everything on to next.
func (l *lastError) of(next slog.Handler) slog.Handler { return rememberingHandler{next, l} }

type rememberingHandler struct {
	slog.Handler

	last *lastError
}

// Handle keeps an error's message and cause; the log has the rest.
func (h rememberingHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "error" {
				text += ": " + a.Value.String()
			}
			return true
		})
		h.last.mu.Lock()
		h.last.text, h.last.at = text[:min(len(text), longestError)], r.Time
		h.last.mu.Unlock()
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps remembering.
func (h rememberingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return rememberingHandler{h.Handler.WithAttrs(attrs), h.last}
}

// WithGroup keeps remembering.
func (h rememberingHandler) WithGroup(name string) slog.Handler {
	return rememberingHandler{h.Handler.WithGroup(name), h.last}
}
