package certs

import (
	"context"
	"log/slog"

	"go.uber.org/zap/zapcore"
)

// debugCore hands what is written to a zap logger to slog, at the level debug.
type debugCore struct{ log *slog.Logger }

// Enabled reports whether messages are written.
func (c *debugCore) Enabled(zapcore.Level) bool {
	return c.log.Enabled(context.Background(), slog.LevelDebug)
}

// With returns a core that adds fields.
func (c *debugCore) With(fields []zapcore.Field) zapcore.Core {
	return &debugCore{log: c.log.With(attrs(fields)...)}
}

// Check adds the core to an entry that it writes.
func (c *debugCore) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

// Write writes an entry.
func (c *debugCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	c.log.Debug("acme client", append([]any{"event", e.Message, "level", e.Level.String()}, attrs(fields)...)...)
	return nil
}

// Sync does nothing.
func (c *debugCore) Sync() error { return nil }

func attrs(fields []zapcore.Field) []any {
	encoded := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(encoded)
	}
	var list []any
	for key, v := range encoded.Fields {
		list = append(list, key, v)
	}
	return list
}
