package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/apiclient"
)

// Twice as fast is half the time.
func TestDemo_pace(t *testing.T) {
	t.Parallel()
	for speed, factor := range map[float64]float64{1: 1, 2: 0.5, 0.5: 2, 100: 0.01} {
		if got := (&DemoCmd{Speed: speed}).pace(); got != factor {
			t.Errorf("speed %g makes thinking times %g times as long, want %g", speed, got, factor)
		}
	}
}

// The leagues of games play: a match of each ends, in whatever order.
func TestDemo_games(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, w := io.Pipe()
	done := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		done <- run(ctx, []string{"demo", "--addr", "127.0.0.1:0", "--agents", "8", "--speed", "100", "--verbose"}, nil, strings.NewReader(""), w, &errs)
		_ = w.Close()
	}()
	arena := ""
	for lines := bufio.NewScanner(out); arena == "" && lines.Scan(); {
		if _, url, found := strings.Cut(lines.Text(), "watch        "); found {
			arena = url
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if arena == "" {
		t.Fatalf("exit %d: %s", <-done, errs.String())
	}
	for _, slug := range []string{demoFour, demoPoker} {
		err := follow(ctx, apiclient.New(arena, ""), url.Values{"league": {slug}}, func(e liveEvent) error {
			switch e.Type {
			case "match_finished":
				return errStop
			case "match_void":
				return errors.New("a match is void: " + e.words().Reason)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", slug, err)
		}
	}
	cancel()
	if code := <-done; code != exitOK {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	// The agents of a demo send most of its requests: a line for each would hide the others.
	if log := errs.String(); strings.Contains(log, `"msg":"request"`) || !strings.Contains(log, `"msg":"serving"`) {
		t.Errorf("logged %d lines, a line for each request or nothing: %.2000s", strings.Count(log, "\n"), log)
	}
}

func TestDemo_refusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--agents=7": "want 8 to 96", "--agents=97": "want 8 to 96", "--speed=0": "want more than 0", "--speed=101": "at most 100",
		"--addr=0.0.0.0:0": "listens on 127.0.0.1 only",
	} {
		if code, _, stderr := call(t, nil, "demo", args); code != exitFailure || !strings.Contains(stderr, says) {
			t.Errorf("arena demo %s: exit %d, %s", args, code, stderr)
		}
	}
}
