package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/recount"
)

// ExportCmd is `arena export`.
type ExportCmd struct {
	League string   `arg:"" placeholder:"LEAGUE" help:"Its slug."`
	Kind   []string `enum:"matches,rounds,answers,verdicts,ratings" default:"matches,rounds,answers,verdicts,ratings" placeholder:"KIND,…" help:"Only these kinds: ${enum}."`
	Out    string   `placeholder:"DIR" help:"The folder of the files; left out: the slug."`
	URL    string   `name:"url" placeholder:"URL" help:"The arena (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
}

// Help describes the files.
func (c *ExportCmd) Help() string {
	return `Writes the public data of a league into a folder, one file for each kind: a line of
JSON for each of its settled matches, rounds, answers, verdicts and settlements,
oldest first. card.json describes them, standings.json is the table.

A second call adds newer matches, or continues what was interrupted.

    arena export trivia --url https://arena.example
    arena export trivia --kind matches,ratings --out data
    arena verify --board trivia/*.json*`
}

const cardFile = "card.json"

// Run writes the files.
func (c *ExportCmd) Run(app *App) error {
	target, err := app.Target(c.URL, cli.Token{})
	if err != nil {
		return err
	}
	e := &exporter{App: app, client: apiclient.New(target.URL, ""), path: "/v1/leagues/" + url.PathEscape(c.League), dir: c.Out}
	if e.dir == "" {
		e.dir = c.League
	}
	if err := e.files(c.Kind); err != nil {
		return target.Explain(err)
	}
	return nil
}

// exporter is one run of `arena export`.
type exporter struct {
	*App

	client *apiclient.Client
	path   string // of the league
	dir    string
}

// files writes the table before the lines, so that they reach at least as far.
func (e *exporter) files(kinds []string) error {
	var card json.RawMessage
	if err := e.client.Call(e.Ctx, http.MethodGet, e.path+"/export", nil, &card); err != nil {
		return err
	}
	if err := os.MkdirAll(e.dir, 0o750); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	table, err := e.standings()
	if err != nil {
		return err
	}
	for name, document := range map[string]json.RawMessage{cardFile: card, recount.Standings: table} {
		if err := e.write(name, document); err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		if err := e.kind(kind); err != nil {
			return err
		}
	}
	return nil
}

// write writes a document, indented.
func (e *exporter) write(name string, document json.RawMessage) error {
	var text bytes.Buffer
	if err := json.Indent(&text, document, "", "  "); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	text.WriteByte('\n')
	return os.WriteFile(filepath.Join(e.dir, name), text.Bytes(), 0o600)
}

// standings returns the table with all its parts.
func (e *exporter) standings() (json.RawMessage, error) {
	var whole map[string]any
	for items, cursor := []any{}, ""; ; {
		var part map[string]any
		if err := e.client.Call(e.Ctx, http.MethodGet, e.path+"/standings?cursor="+url.QueryEscape(cursor), nil, &part); err != nil {
			return nil, err
		}
		if whole == nil {
			whole = part
		}
		some, _ := part["items"].([]any)
		items = append(items, some...)
		if cursor, _ = part["next_cursor"].(string); cursor == "" {
			whole["items"], whole["next_cursor"] = items, ""
			return json.Marshal(whole)
		}
	}
}

// kind writes the lines of a kind after those that its file has. A response that
// breaks off is continued as long as each brings a line.
func (e *exporter) kind(kind string) (err error) {
	name := filepath.Join(e.dir, kind+".jsonl")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // G304: who calls names the folder
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	was, err := continueAt(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for at := was; ; {
		w := &lineWriter{Writer: f, exporter: e, name: name, lines: at.lines}
		failed := e.client.Call(e.Ctx, http.MethodGet, fmt.Sprintf("%s/export?kind=%s&since=%d", e.path, kind, at.since), nil, w)
		w.clear()
		if failed == nil {
			_, err = fmt.Fprintf(e.Stdout, "%s: %d lines, %d of them new\n", plaintext.Terminal(name), w.lines, w.lines-was.all)
			return err
		}
		if _, refused := errors.AsType[*apiclient.Problem](failed); refused || e.Ctx.Err() != nil {
			return failed
		}
		next, err := continueAt(f)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if next.since <= at.since {
			return failed
		}
		at = next
	}
}

// lineAt is where a file of lines continues.
type lineAt struct {
	since int64 // the settlement after which lines are missing
	lines int   // up to it
	all   int   // with those after it that were dropped, since they will come again
}

// continueAt finds where a file of lines continues, and cuts it there: behind its
// second to last settlement. Lines of the last one may be missing.
func continueAt(f *os.File) (p lineAt, err error) {
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		return p, err
	}
	var offset, begin, last int64 // begin: of the lines of the last settlement
	for r := bufio.NewReaderSize(f, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // an unfinished line
			break
		}
		if err != nil {
			return p, err
		}
		settlement, ok := settlementOf(line)
		if !ok || settlement < last {
			return p, fmt.Errorf("line %d is not one of an export; choose another folder with --out", p.all+1)
		}
		if settlement > last {
			begin, p.since, p.lines, last = offset, last, p.all, settlement
		}
		offset += int64(len(line))
		p.all++
	}
	if err = f.Truncate(begin); err != nil {
		return p, err
	}
	_, err = f.Seek(begin, io.SeekStart)
	return p, err
}

// settlementOf returns the settlement with which a line begins.
func settlementOf(line []byte) (settlement int64, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"settlement":`))
	number, _, found := bytes.Cut(rest, []byte(","))
	settlement, err := strconv.ParseInt(string(number), 10, 64)
	return settlement, ok && found && err == nil
}

// lineWriter counts lines and shows their number on a terminal.
type lineWriter struct {
	io.Writer
	*exporter

	name  string
	lines int
	shown time.Time
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.lines += bytes.Count(p[:n], []byte("\n"))
	if now := w.Now(); cli.IsTerminal(w.Stderr) && now.Sub(w.shown) >= time.Second {
		w.shown = now
		_, _ = fmt.Fprintf(w.Stderr, "\r%s: %d lines", plaintext.Terminal(w.name), w.lines)
	}
	return n, err
}

// clear removes the number.
func (w *lineWriter) clear() {
	if !w.shown.IsZero() {
		_, _ = fmt.Fprint(w.Stderr, "\r\x1b[K")
	}
}
