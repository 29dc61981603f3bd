package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Process has a command's connections to the outside: streams, environment, clock.
type Process struct {
	Ctx     context.Context // ends with the first SIGINT or SIGTERM; here because a command is one call
	Environ []string        // KEY=VALUE, as os.Environ gives it
	Stdin   io.Reader
	Stdout  io.Writer // results
	Stderr  io.Writer // logs and errors
	Now     func() time.Time
}

// Getenv returns the value of an environment variable, "" when it is not set.
func (p *Process) Getenv(key string) string {
	for _, kv := range p.Environ {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			return v
		}
	}
	return ""
}

// print writes to standard output.
func (p *Process) print(format string, args ...any) error {
	_, err := fmt.Fprintf(p.Stdout, format, args...)
	return err
}

// Style returns the style of standard output: with colors on a terminal, unless
// NO_COLOR is set.
func (p *Process) Style() Style {
	return Style(IsTerminal(p.Stdout) && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb")
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Style decides whether text is colored.
type Style bool

// The colors of text.
const (
	None   = ""
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// Paint returns text in a color.
func (s Style) Paint(color, text string) string {
	if !s || color == None || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
