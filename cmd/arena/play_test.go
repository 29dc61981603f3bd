package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A whole match of a game without an agent of one's own.
func TestPlay_game(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "match.jsonl")
	args := []string{"play", "--game", "connect_four", "--games", "2", "--seed", "3", "--addr", "127.0.0.1:0", "--out", log, "random", "deep=minimax"}
	code, out, errs := call(t, nil, args...)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if _, again, _ := call(t, nil, args...); board(again) != board(out) {
		t.Errorf("the same seed plays\n%s\nand then\n%s", out, again)
	}
	for _, want := range []string{
		"started, 2 games of connect_four, unrated", "game 1 of 2: 1 random (x) · deep (o)", "game 2 of 2: deep (x) · 1 random (o)",
		"game 2 of 2 over: deep 1, 1 random 0", "     1  deep                     2", "arena replay --open",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	events, err := os.ReadFile(log)
	must(t, err)
	if !bytes.Contains(events, []byte(`"type":"match_finished"`)) || !bytes.Contains(events, []byte(`"moves":[{`)) {
		t.Errorf("log of %d bytes", len(events))
	}
}

// A program of one's own plays without an endpoint.
func TestPlay_program(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, os.Environ(), "play", "--league", "words", "--pack", wordPack(t, 2), "--rounds", "2", "--addr", "127.0.0.1:0", knowing, clueless)
	if code != exitOK || !strings.Contains(out, "     1  know                     2") || !strings.Contains(out, "     2  guess                    0") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// board returns the lines of a screen without those that begin with a time.
func board(screen string) string {
	var lines []string
	for line := range strings.Lines(screen) {
		if strings.HasPrefix(line, "         ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestPlay_game_refuses(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--league=SLUG or --game=NAME": {"random", "random"},
		"connect_four":                 {"--game", "go", "random", "random"},
		"is no option of connect_four": {"--game", "connect_four", "--option", "komi=7", "random", "random"},
		"games_per_match":              {"--game", "connect_four", "--games", "21", "random", "random"},
		"max_seats":                    {"--game", "connect_four", "random", "random", "random"},
		"named by the URL":             {"--league", "trivia", "random", "random"},
		"can't be used together":       {"--game", "connect_four", "--generator", "arithmetic", "random", "random"},
		"a match needs two agents":     {"--game", "connect_four", "random"},
		"agents of aap have no keys":   {"--game", "connect_four", "minimax", "deep=aap=k@http://127.0.0.1:1"},
	} {
		code, out, errs := call(t, nil, append([]string{"play", "--addr", "127.0.0.1:0"}, args...)...)
		if code == exitOK || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %s%s; want %q", args, code, out, errs, want)
		}
	}
}
