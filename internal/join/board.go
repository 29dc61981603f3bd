package join

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/internal/plaintext"
)

// board prints lines and, on a terminal, one line below them that changes.
type board struct {
	out  io.Writer
	live bool
	now  func() time.Time

	mu     sync.Mutex
	status string
}

// clearLine moves to the beginning of the line and clears it.
const clearLine = "\r\x1b[K"

// line prints a line that stays.
func (b *board) line(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := plaintext.Terminal(fmt.Sprintf(format, args...))
	if b.live {
		_, _ = fmt.Fprintf(b.out, "%s%s %s\n%s", clearLine, b.now().Format(time.TimeOnly), text, b.status)
		return
	}
	_, _ = fmt.Fprintf(b.out, "%s %s\n", b.now().Format(time.TimeOnly), text)
}

// show replaces the line that changes. It needs a terminal.
func (b *board) show(format string, args ...any) {
	if !b.live {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// A line that wraps could not be cleared.
	if b.status = plaintext.Terminal(fmt.Sprintf(format, args...)); b.status != "" {
		b.status = shorten("         "+b.status, 79)
	}
	_, _ = fmt.Fprint(b.out, clearLine+b.status)
}

// close clears the line that changes.
func (b *board) close() {
	if b.live {
		b.show("")
		_, _ = fmt.Fprint(b.out, clearLine)
	}
}

// logs is a handler of log records that prints warnings and errors.
type logs struct {
	board *board
	attrs []slog.Attr
}

// Enabled reports whether a record of this level is printed.
func (l logs) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle prints a record as one line.
func (l logs) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		fmt.Fprintf(&text, ", %s: %s", strings.ReplaceAll(a.Key, "_", " "), shorten(a.Value.String(), maxLine))
		return true
	}
	for _, a := range l.attrs {
		add(a)
	}
	r.Attrs(add)
	l.board.line("%s", text.String())
	return nil
}

// WithAttrs returns a handler that adds attributes.
func (l logs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logs{l.board, append(slices.Clip(l.attrs), attrs...)}
}

// WithGroup returns the same handler; groups are not used here.
func (l logs) WithGroup(string) slog.Handler { return l }
