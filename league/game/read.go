package game

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/agora-arena/agora-go/modeltext"
	"github.com/agora-arena/arena/league/game/rules"
)

// maxComment is the length in bytes of the text below a move on a first line. In a
// longer one it may be only the beginning of a thought.
const maxComment = 300

// readMove returns the legal move that a text stands for. The text itself decides
// if it is a legal move. Otherwise the move is read in the marked answer, or else in
// the whole text, its last line, or its first line with a short comment below. Other
// words of a text are not read, because prose mentions moves that are not made. Two
// different legal moves are refused.
func (g series) readMove(ctx context.Context, st rules.State, player int, text string) (string, error) {
	r := reader{rules: g.rules, state: st, player: player, tried: map[string]bool{}}
	text = strings.TrimSpace(text)
	if err := r.try(ctx, text); err != nil || len(r.moves) > 0 {
		return strings.Join(r.moves, ""), err
	}
	answer, marked := modeltext.Answer(text)
	if !marked {
		clean := modeltext.Clean(text)
		if first, comment, more := strings.Cut(clean, "\n"); more && len(comment) <= maxComment {
			if err := r.read(ctx, first); err != nil {
				return "", err
			}
			if len(r.moves) > 0 { // a comment that names another move may take it back
				if err := r.read(ctx, strings.Fields(comment)...); err != nil {
					return "", err
				}
			}
		}
		if err := r.read(ctx, clean); err != nil {
			return "", err
		}
	}
	if err := r.read(ctx, answer); err != nil {
		return "", err
	}
	switch len(r.moves) {
	case 0:
		return "", r.refused
	case 1:
		return r.moves[0], nil
	}
	return "", rules.Illegalf("the answer can be read as two different moves; answer with one move and nothing else")
}

// reader collects the different legal moves that parts of a text stand for.
type reader struct {
	rules   rules.Rules
	state   rules.State
	player  int
	tried   map[string]bool
	moves   []string
	refused *rules.IllegalError // why the last part is no move
}

// maxLayers is how many enclosures of a part are removed. It bounds the calls of a
// script for one answer.
const maxLayers = 8

// read tries each part, and what remains when its enclosures are removed one after
// the other.
func (r *reader) read(ctx context.Context, parts ...string) error {
	for _, part := range parts {
		inner := strings.TrimSpace(part)
		for range maxLayers {
			if inner == "" || len(inner) > rules.MaxMove || r.tried[inner] {
				break
			}
			r.tried[inner] = true
			if err := r.try(ctx, inner); err != nil {
				return err
			}
			inner = peel(inner)
		}
	}
	return nil
}

// try asks the rules for the move that a text stands for. The error is a fault of the
// rules.
func (r *reader) try(ctx context.Context, text string) error {
	if len(text) > rules.MaxMove {
		r.refused = rules.Illegalf("a move has at most %d bytes", rules.MaxMove)
		return nil
	}
	move, err := r.rules.Parse(ctx, r.state, r.player, text)
	if illegal, ok := errors.AsType[*rules.IllegalError](err); ok {
		r.refused = illegal
		return nil
	}
	if err == nil && !slices.Contains(r.moves, move) {
		r.moves = append(r.moves, move)
	}
	return err
}

var (
	// leadIn matches words that introduce a move.
	leadIn = regexp.MustCompile(`(?i)^(?:` +
		`i(?:['’]ll|\s+will)?(?:\s+(?:play|choose|pick|select|take|say|bid|move|go\s+(?:with|for)))?(?:\s+to)?\s` +
		`|(?:(?:my|the)\s+)?(?:(?:next|final|best)\s+)?(?:move|action|bid|play)\s*(?::|\s(?:is|would\s+be|will\s+be)\b:?|\s)` +
		`)\s*`)
	// bullet matches the mark before an item of a list, for example a list of options.
	bullet = regexp.MustCompile(`^[-*•]\s+`)
	// moveNumber matches the number of a move in a game's notation. A number before
	// another number may be a move itself.
	moveNumber = regexp.MustCompile(`^[0-9]{1,3}\s?(?:\.{1,3}|…)\s*(\pL.*|0-0.*)$`)
)

// peel returns a text without the outermost part that is no part of a move: marks of
// Markdown, a full stop or exclamation mark, brackets, a bullet, words that introduce a
// move, or its number. Without any of these it returns the text itself.
func peel(s string) string {
	if inner := modeltext.Unwrap(s); inner != s {
		return inner
	}
	if inner := strings.TrimSpace(strings.TrimRight(s, ".!")); inner != s {
		return inner
	}
	for _, pair := range []string{"[]", "()"} {
		if n := len(s); n > 2 && s[0] == pair[0] && s[n-1] == pair[1] && !strings.ContainsAny(s[1:n-1], pair) {
			return strings.TrimSpace(s[1 : n-1])
		}
	}
	for _, prefix := range []*regexp.Regexp{bullet, leadIn} {
		if at := prefix.FindStringIndex(s); at != nil {
			return s[at[1]:]
		}
	}
	if parts := moveNumber.FindStringSubmatch(s); parts != nil {
		return parts[1]
	}
	return s
}
