package pack

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
)

// parseOpenTriviaQA reads the format of OpenTriviaQA:
//
//	#Q a question, which may continue
//	on the following lines
//	^ the right answer
//	A an option
//	B the right answer
//
// with two to six options, and blank lines anywhere. Published files mix
// encodings and line ends and contain typing errors. A malformed entry is
// reported, not repaired, with one exception: a repeated wrong option is left
// out and reported.
func parseOpenTriviaQA(data []byte) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		var q *question
		for n, raw := range lines(data) {
			line, err := decodeLine(raw)
			line = strings.TrimSpace(line)
			rest, isQuestion := strings.CutPrefix(line, "#Q")
			switch {
			case line == "" && err == nil:
				continue
			case isQuestion:
				if q != nil && !yield(q.entry()) {
					return
				}
				q = &question{line: n}
				q.description = append(q.description, strings.TrimSpace(rest))
			case q == nil:
				q = &question{line: n, err: errors.New("text before the first #Q")}
			default:
				q.read(line)
			}
			if err != nil && n != q.line {
				err = fmt.Errorf("line %d: %w", n, err)
			}
			q.fail(err)
		}
		if q != nil {
			yield(q.entry())
		}
	}
}

// question is an entry under construction.
type question struct {
	line        int
	description []string // lines
	answer      string
	answered    bool // ^ was read: what follows are options
	options     []string
	err         error // the first error
}

// fail keeps the first of the errors that are not nil.
func (q *question) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// read adds a line after the one with #Q. Before the ^, every line belongs to
// the question, even one that begins like an option ("A beauty show?").
func (q *question) read(line string) {
	if rest, ok := strings.CutPrefix(line, "^"); ok {
		if q.answered {
			q.fail(errors.New("two answers (^)"))
		}
		q.answered, q.answer = true, strings.TrimSpace(rest)
		return
	}
	if !q.answered {
		q.description = append(q.description, line)
		return
	}
	const letters = "ABCDEF"
	letter, option, _ := strings.Cut(line, " ")
	switch {
	case len(letter) != 1 || !strings.Contains(letters, letter):
		q.fail(fmt.Errorf("%q is neither an option nor a question", clip(line)))
	case strings.Index(letters, letter) != len(q.options):
		q.fail(fmt.Errorf("option %s is not the one that is next", letter))
	}
	q.options = append(q.options, strings.TrimSpace(option))
}

func (q *question) entry() entry {
	e := entry{line: q.line, err: q.err, mends: true}
	if e.err != nil {
		return e
	}
	switch {
	case !q.answered:
		e.err = errors.New("no answer (^)")
	case q.answer == "":
		e.err = errors.New("the answer (^) is empty")
	case len(q.options) < 2:
		e.err = fmt.Errorf("%d options: a choice needs two", len(q.options))
	default:
		e.task = arena.Task{
			Description: strings.Join(q.description, "\n"),
			Answers:     []string{q.answer},
			Options:     q.options,
		}
	}
	return e
}

var errDamaged = errors.New("the text is damaged: bytes that are neither UTF-8 nor Windows-1252")

// decodeLine reads one line as UTF-8, or else as Windows-1252 if that is
// unambiguous: every byte above ASCII is defined there and stands alone.
// Such bytes side by side, or the first byte of a UTF-8 sequence with a "?"
// behind it, are the remains of a UTF-8 character that some program cut.
func decodeLine(raw []byte) (string, error) {
	if utf8.Valid(raw) {
		return string(raw), nil
	}
	var b strings.Builder
	for i, c := range raw {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
			continue
		}
		r := fromWindows1252(c)
		var next byte
		if i+1 < len(raw) {
			next = raw[i+1]
		}
		if r == utf8.RuneError || next >= utf8.RuneSelf || next == '?' && c >= 0xC2 && c <= 0xF4 {
			return strings.ToValidUTF8(string(raw), "\uFFFD"), errDamaged
		}
		b.WriteRune(r)
	}
	return b.String(), nil
}

// fromWindows1252 returns the character of a byte from 0x80 on, or RuneError for
// the five that are undefined.
func fromWindows1252(c byte) rune {
	if c >= 0xA0 {
		return rune(c) // as in Latin-1
	}
	const high = "€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ"
	return []rune(high)[c-0x80]
}
