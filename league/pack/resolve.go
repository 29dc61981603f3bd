package pack

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// pointing is how the answer of an entry names one of its options.
type pointing int

const (
	byContent pointing = iota // by its text; or, if no option has that text, by its letter or index
	byLabel                   // by its letter, or by its label if the options have labels; else by its text
	byIndex                   // by its index from 0
	byNumber                  // by its number from 1
)

// resolveAnswers trims the options of the entries and replaces letters, labels
// and indexes by the text of the option that they name.
//
// The whole file determines whether indexes begin at 0 or 1: an index of 0, or
// one that equals the number of options, decides it. An answer that is the text
// of one option and the letter or index of another is rejected if other entries
// name options that way.
func resolveAnswers(entries []entry) {
	u := usageOf(entries)
	for i := range entries {
		e := &entries[i]
		switch {
		case e.err != nil:
		case len(e.task.Options) > 0:
			e.resolve(u)
			e.dropRepeats()
		case e.pointing != byContent:
			e.err = errors.New("the options are missing")
		}
	}
}

// usage records how the entries of one file name their options.
type usage struct {
	letters, indexes bool
	zero, last       bool // an index is 0; an index is the number of options
}

// usageOf trims the options of all entries and collects how those by content
// name options.
func usageOf(entries []entry) (u usage) {
	for i := range entries {
		e := &entries[i]
		if e.err != nil || len(e.task.Options) == 0 {
			continue
		}
		for j, o := range e.task.Options {
			e.task.Options[j] = strings.TrimSpace(o)
		}
		if e.pointing != byContent || len(e.task.Answers) != 1 {
			continue
		}
		answer, options := strings.TrimSpace(e.task.Answers[0]), len(e.task.Options)
		if placeOfText(e.task.Options, answer) >= 0 {
			continue
		}
		if n, ok := wholeNumber(answer); ok && n <= options {
			u.indexes, u.zero, u.last = true, u.zero || n == 0, u.last || n == options
		}
		u.letters = u.letters || placeOfLetter(answer) >= 0
	}
	return u
}

// base returns the number of a file's first index.
func (u usage) base() (int, error) {
	switch {
	case u.zero && u.last:
		return 0, errors.New("the file has indexes from 0 and from 1: write the text or the letter of the option")
	case u.zero:
		return 0, nil
	case u.last:
		return 1, nil
	}
	return 0, errors.New("the answer is an index, and the file does not show whether indexes begin at 0 or at 1: map it to answer_index (from 0) or answer_number (from 1)")
}

// resolve replaces the one answer of an entry with options by the text of the
// option that it names.
func (e *entry) resolve(u usage) {
	if len(e.task.Answers) != 1 {
		return
	}
	answer := strings.TrimSpace(e.task.Answers[0])
	place, err := e.place(answer, u)
	options := len(e.task.Options)
	switch {
	case err != nil:
		e.err = err
	case place >= options || place < -1:
		e.err = fmt.Errorf("the answer is option %s, and there are %d options", strings.ToUpper(clip(answer)), options)
	case place >= 0:
		if text := placeOfText(e.task.Options, answer); e.pointing == byContent && text >= 0 {
			e.task.Answers = []string{answer} // in its own spelling
			return
		}
		e.task.Answers = []string{e.task.Options[place]}
	}
}

// place returns the place of the option that an answer names, or -1. It may be
// out of range.
func (e *entry) place(answer string, u usage) (int, error) {
	switch e.pointing {
	case byLabel:
		return e.placeByLabel(answer), nil
	case byIndex:
		return placeByNumber(answer, 0, len(e.task.Options))
	case byNumber:
		return placeByNumber(answer, 1, len(e.task.Options))
	case byContent:
	}
	return placeByContent(e.task.Options, answer, u)
}

func (e *entry) placeByLabel(answer string) int {
	label := placeOfLetter(answer)
	if len(e.labels) > 0 {
		label = slices.IndexFunc(e.labels, func(l string) bool { return strings.EqualFold(l, answer) })
	}
	text := placeOfText(e.task.Options, answer)
	if label >= 0 && label < len(e.task.Options) || text < 0 {
		return label
	}
	return text
}

// placeByNumber returns the place that a number names if the first option has
// the number first. For a smaller number it returns a place behind the options.
func placeByNumber(answer string, first, options int) (int, error) {
	n, ok := wholeNumber(answer)
	if !ok {
		return 0, fmt.Errorf("the answer %q is not the index of an option", clip(answer))
	}
	if n < first {
		return options, nil
	}
	return n - first, nil
}

// placeByContent returns the place of the option with the given text. Otherwise
// it returns the place that a letter or index names, if the file uses these.
func placeByContent(options []string, answer string, u usage) (int, error) {
	text, letter := placeOfText(options, answer), placeOfLetter(answer)
	number, isNumber := wholeNumber(answer)
	other := -1
	switch {
	case letter >= 0 && (text < 0 || u.letters):
		other = letter
	case isNumber && (text < 0 || u.indexes):
		base, err := u.base()
		if err != nil && number <= len(options) {
			return 0, err
		}
		if other, err = placeByNumber(answer, base, len(options)); err != nil {
			return 0, err
		}
	}
	if text < 0 {
		return other, nil
	}
	if other >= 0 && other != text && other < len(options) {
		return 0, fmt.Errorf("the answer %q is the text of option %c, and other entries would mean option %c by it", clip(answer), 'A'+text, 'A'+other)
	}
	return text, nil
}

// dropRepeats removes and reports repeated wrong options. A repeated right
// option stays, and the entry is rejected as a likely mistake.
func (e *entry) dropRepeats() {
	if !e.mends || e.err != nil {
		return
	}
	var kept []string
	var places []int // in the file
	for i, o := range e.task.Options {
		first := placeOfSame(kept, o)
		if first < 0 || o == "" || slices.ContainsFunc(e.task.Answers, func(a string) bool { return !scoring.Distinct(o, a) }) {
			kept, places = append(kept, o), append(places, i)
			continue
		}
		e.warnings = append(e.warnings, fmt.Sprintf("options %c and %c are the same (%q): the second is left out", 'A'+places[first], 'A'+i, clip(o)))
	}
	e.task.Options = kept
}

// placeOfText returns the place of the option that a judge would match with a
// text, or -1.
func placeOfText(options []string, text string) int {
	if place := placeOfSame(options, text); place >= 0 {
		return place
	}
	return slices.IndexFunc(options, func(o string) bool {
		return scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeExact}, arena.Task{Answers: []string{o}}, text) == arena.OnePoint
	})
}

// placeOfSame returns the place of the option that differs from a text at most
// in case and spaces, or -1.
func placeOfSame(options []string, text string) int {
	return slices.IndexFunc(options, func(o string) bool { return !scoring.Distinct(o, text) })
}

// placeOfLetter returns 0 for A to 25 for Z, in either case, and -1 for every
// other text.
func placeOfLetter(s string) int {
	if len(s) != 1 || s[0]|0x20 < 'a' || s[0]|0x20 > 'z' {
		return -1
	}
	return int(s[0] | 0x20 - 'a')
}

// maxIndex is the largest number that can be an index of an option.
const maxIndex = 26

// wholeNumber reads a text that can be an index.
func wholeNumber(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= maxIndex && s[0] != '+' && s[0] != '-'
}
