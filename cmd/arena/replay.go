package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/agora-arena/arena/web"
)

// ReplayCmd is `arena replay`.
type ReplayCmd struct {
	File string `arg:"" placeholder:"FILE" type:"existingfile" help:"The log of a match, one event per line: what arena play --out writes."`
	Addr string `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where the page is while this runs; port 0 takes a free one."`
	Open bool   `help:"Open the page in the browser."`
}

// Help describes what is shown.
func (c *ReplayCmd) Help() string {
	return `Serves the replay page with a match from a file, on this machine and until it is
interrupted. Nothing is sent anywhere.

    arena play --league trivia --out match.jsonl URL URL
    arena replay --open match.jsonl

The log of any match will do: curl -H 'Accept: application/x-ndjson' ARENA/v1/matches/MATCH/events?limit=1000`
}

// The page that is shown, and where it finds the file.
const (
	replayPage = "/replay"
	replayFile = "/replay-file.jsonl"
	// replayPolicy lets the page use its own files only, like the arena's.
	replayPolicy = "default-src 'self'; img-src 'self' data:; style-src 'self'; style-src-attr 'unsafe-inline'; " +
		"object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// Run serves until it is interrupted.
func (c *ReplayCmd) Run(app *App) error {
	if err := looksLikeLog(c.File); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(app.Ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	server := &http.Server{Handler: replayHandler(c.File), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	page := "http://" + l.Addr().String() + replayPage + "?file=" + url.QueryEscape(replayFile)
	_, err = fmt.Fprintf(app.Stdout, "%s\n", page)
	if err == nil && c.Open {
		if opening := openPage(app.Ctx, page); opening != nil {
			_, err = fmt.Fprintf(app.Stderr, "the browser did not open: %v\n", opening)
		}
	}
	if err == nil {
		select {
		case <-app.Ctx.Done():
		case err = <-served:
			return fmt.Errorf("replay: %w", err)
		}
	}
	err = errors.Join(err, server.Close())
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// looksLikeLog refuses a file that cannot be a log; the page reports errors in
// single lines.
func looksLikeLog(path string) error {
	f, err := os.Open(path) //nolint:gosec // G304: the file that its owner named
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	line, err := bufio.NewReader(io.LimitReader(f, 1<<20)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("replay: %w", err)
	}
	var first struct {
		Seq   int             `json:"seq"`
		Match json.RawMessage `json:"match"`
	}
	if err := json.Unmarshal(line, &first); err != nil || first.Seq == 0 && first.Match == nil {
		return fmt.Errorf("%s: line 1 is neither an event nor {\"match\":…}: this is no log of a match", path)
	}
	return nil
}

// replayHandler serves the page and the file, and no API: there is none here.
func replayHandler(path string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+replayFile, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Cache-Control", "no-store")
		http.ServeFile(w, r, path)
	})
	mux.HandleFunc("/v1/", http.NotFound)
	mux.Handle("/", web.Handler(nil, nil, nil))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", replayPolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		mux.ServeHTTP(w, r)
	})
}

// openPage opens a page in the system's browser.
func openPage(ctx context.Context, page string) error {
	name, args := "xdg-open", []string{page}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", page}
	}
	return exec.CommandContext(ctx, name, args...).Run() //nolint:gosec // G204: of the address, only the port varies
}
