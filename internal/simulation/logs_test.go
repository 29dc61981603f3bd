package simulation

import (
	"context"
	"log/slog"
)

// watcher reads the logs of a node: no fault of its surroundings is an error of the
// arena, and no node loses a match to itself while it can write.
type watcher struct {
	slog.Handler
	n    *node
	port *port
}

// Enabled reports true for what is read here.
func (h watcher) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || h.Handler.Enabled(ctx, l)
}

// Handle reads a record and passes it on.
func (h watcher) Handle(ctx context.Context, r slog.Record) error {
	if h.port.down.Load() {
		return nil // nobody has it
	}
	attr := func(name string) (value string) {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == name {
				value = a.Value.String()
			}
			return true
		})
		return value
	}
	switch {
	case r.Level >= slog.LevelError:
		h.n.w.broken("C5", "node %s logged an error: %s: %s %s", h.n.addr, r.Message, attr("error"), attr("cause"))
	case r.Message == "serving":
		h.n.id.Store(new(attr("node")))
	case r.Message == "match taken over" && attr("from") == *h.n.id.Load() && !h.n.w.harsh.Load():
		h.n.w.broken("10", "node %s took match %s over from itself", h.n.addr, attr("match_id"))
	}
	if h.Handler.Enabled(ctx, r.Level) {
		return h.Handler.Handle(ctx, r)
	}
	return nil
}

// WithAttrs keeps the watcher.
func (h watcher) WithAttrs(attrs []slog.Attr) slog.Handler {
	return watcher{h.Handler.WithAttrs(attrs), h.n, h.port}
}

// WithGroup keeps the watcher.
func (h watcher) WithGroup(name string) slog.Handler {
	return watcher{h.Handler.WithGroup(name), h.n, h.port}
}
