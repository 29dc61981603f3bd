package pack

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// pointing is how the answer of an entry names one of its options.
type pointing int

const (
	byContent pointing = iota // by its text; or, if no option has that text, by its label, letter or index
	byLabel                   // by its letter, or by its label if the options have labels; else by its text
	byIndex                   // by its index from 0
	byNumber                  // by its number from 1
)

// What an answer can be. Reports have these words.
const (
	meansText   = "text"
	meansLetter = "letter"
	meansLabel  = "label"
	meansIndex  = "index"
)

// resolveAnswers trims the options of the entries and replaces letters, labels
// and indexes by the text of the option that they name. It fills in how the file
// was read.
//
// The whole file determines whether indexes begin at 0 or 1: see usage.base. A file
// whose answers are indexes and that shows neither is an error. An answer that is
// the text of one option and the letter or index of another is rejected if other
// entries name options that way.
func resolveAnswers(contents *arena.PackContents, entries []entry) error {
	u := usageOf(entries)
	u.kind = "field"
	if contents.Format == CSV {
		u.kind = "column"
	}
	describe(&contents.Reading, entries)
	first, evidence, err := u.base()
	if err != nil && u.indexes > 0 && !u.texts && !u.letters {
		if u.via != nil && contents.Format != OpenTDB {
			contents.Map = u.via.String()
		}
		return err
	}
	if u.indexes > 0 && err == nil {
		contents.Reading.FirstIndex, contents.Reading.Evidence = &first, evidence
	}
	numbers := false
	for i := range entries {
		e := &entries[i]
		if e.err == nil {
			e.given = strings.Join(e.task.Answers, " "+listMark+" ")
		}
		switch {
		case e.err != nil:
		case len(e.task.Options) > 0:
			e.resolve(u)
			e.dropRepeats()
			_, number := wholeNumber(e.given)
			numbers = numbers || e.err == nil && number && e.pointing == byContent && e.means == meansText
		case e.pointing != byContent:
			e.err = errors.New("the options are missing")
		case len(e.task.Answers) > 0:
			e.means = meansText
		}
		if e.pointing == byIndex || e.pointing == byNumber {
			declared := int(e.pointing - byIndex)
			contents.Reading.FirstIndex, contents.Reading.Evidence = &declared, "declared"
		}
	}
	if n := len(contents.Reading.LeftOut); n > 1 && noOptions(entries) {
		contents.Reading.Notes = append(contents.Reading.Notes, fmt.Sprintf(
			"The answers are letters or small numbers, no column holds options, and %d columns are left out. If some of them are the options, name them in the mapping: options=a+b+c.", n))
	}
	if numbers && u.indexes == 0 {
		contents.Reading.Notes = append(contents.Reading.Notes,
			"The answers are numbers and the texts of options: they are read as texts. If they are indexes, map them to answer_index (from 0) or answer_number (from 1).")
	}
	return nil
}

// noOptions reports whether no entry has options although every answer could name
// one.
func noOptions(entries []entry) bool {
	some := false
	for i := range entries {
		e := &entries[i]
		if e.err != nil {
			continue
		}
		if _, number := wholeNumber(e.given); len(e.task.Options) > 0 || !number && placeOfLetter(e.given) < 0 {
			return false
		}
		some = true
	}
	return some
}

// usage records how the entries of one file name their options.
type usage struct {
	kind    string  // of names: column or field
	via     mapping // of the first entry that has one
	texts   bool    // an answer is only a text
	letters bool    // an answer is only a letter or label
	indexes int     // the line of the first answer that is only an index; 0: none
	zero    int     // the line of the first index 0
	last    int     // the line of the first index that equals the number of options
	highest int     // that index
	counted []count // numbers that are texts of options too
}

// count is a number that is an index if other entries have indexes.
type count struct{ n, options, line int }

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
		e.text = -1
		if len(e.task.Answers) == 1 {
			e.text = e.placeOfText(strings.TrimSpace(e.task.Answers[0]))
		}
		if e.pointing != byContent || len(e.task.Answers) == 0 || len(e.task.Answers) > 1 && !e.points() {
			continue
		}
		if u.via == nil {
			u.via = e.via
		}
		for _, answer := range e.task.Answers {
			u.add(e, strings.TrimSpace(answer))
		}
	}
	for _, c := range u.counted {
		if u.indexes > 0 {
			u.addIndex(c)
		}
	}
	return u
}

func (u *usage) add(e *entry, answer string) {
	options := len(e.task.Options)
	label, _ := e.placeOfLabel(answer)
	isText := e.text >= 0
	n, isNumber := wholeNumber(answer)
	switch {
	case isText && isNumber && e.counted:
		u.counted = append(u.counted, count{n, options, e.line})
	case isText:
		u.texts = u.texts || label < 0 && !isNumber
	case label >= 0:
		u.letters = true
	case isNumber:
		u.addIndex(count{n, options, e.line})
	}
}

func (u *usage) addIndex(c count) {
	if c.n > c.options {
		return // of no option
	}
	if u.indexes == 0 {
		u.indexes = c.line
	}
	if c.n == 0 && u.zero == 0 {
		u.zero = c.line
	}
	if c.n == c.options && u.last == 0 {
		u.last, u.highest = c.line, c.n
	}
}

// placeOfText returns the place of the option with a text, or -1. A number in a
// column that is called an index is no text.
func (e *entry) placeOfText(text string) int {
	if _, number := wholeNumber(text); number && e.indexed {
		return -1
	}
	return placeOfText(e.task.Options, text)
}

// base returns the number of a file's first index, and the evidence for it: an
// index of 0, one that equals the number of options, or columns of options that
// are numbered from 0.
func (u usage) base() (first int, evidence string, err error) {
	fromZero := ""
	if options := u.via["options"]; len(options) > 1 {
		if _, n, letter, ok := numberIn(options[0]); ok && n == 0 && !letter {
			fromZero = options[0]
		}
	}
	contradiction := ""
	switch {
	case u.zero > 0 && u.last > 0:
		contradiction = fmt.Sprintf("line %d has 0, and line %d has %d, the number of options", u.zero, u.last, u.highest)
	case u.zero > 0:
		return 0, "zero", nil
	case u.last > 0 && fromZero != "":
		contradiction = fmt.Sprintf("the options begin with %q, and line %d has %d, the number of options", clip(fromZero), u.last, u.highest)
	case u.last > 0:
		return 1, "count", nil
	case fromZero != "":
		return 0, "names", nil
	}
	column := "the answer"
	if name := u.via.answerColumn(); name != "" {
		column = fmt.Sprintf("the %s %q", u.kind, clip(name))
	}
	if contradiction != "" {
		err = fmt.Errorf("%s has indexes from 0 and from 1: %s", column, contradiction)
	} else {
		err = fmt.Errorf("%s is the index of an option, as in line %d, and the file does not show whether the first option is 0 or 1", column, u.indexes)
	}
	if u.via["answer"] == nil {
		return 0, "", fmt.Errorf("%w: write the text or the letter of the option", err)
	}
	return 0, "", fmt.Errorf("%w: import the file with the mapping %s if it is 0, or %s if it is 1", err, u.via.withAnswer("answer_index"), u.via.withAnswer("answer_number"))
}

// withAnswer returns the text of a mapping with the answer as another part.
func (m mapping) withAnswer(target string) string {
	other := maps.Clone(m)
	delete(other, "answer")
	other[target] = m["answer"]
	return other.String()
}

// points reports whether all answers of an entry can name an option by label,
// letter or index, and none is the text of one.
func (e *entry) points() bool {
	options := foldAll(e.task.Options)
	return !slices.ContainsFunc(e.task.Answers, func(a string) bool {
		answer := strings.TrimSpace(a)
		label, _ := e.placeOfLabel(answer)
		_, number := wholeNumber(answer)
		_, text := slices.BinarySearch(options, fold(answer))
		return text || label < 0 && !number
	})
}

// resolve replaces the answers of an entry with options by the texts of the
// options that they name. Of several accepted answers, either all name options by
// letter, label or index, or they are texts, of which some may be no option.
func (e *entry) resolve(u usage) {
	if len(e.task.Answers) > 1 && !e.points() {
		e.means = meansText
		options := foldAll(e.task.Options)
		for _, a := range e.task.Answers {
			if _, found := slices.BinarySearch(options, fold(a)); !found {
				e.warnings = append(e.warnings, fmt.Sprintf("the accepted answer %q is not among the options", clip(a)))
				break // one report of an entry is enough
			}
		}
		return
	}
	for i, a := range e.task.Answers {
		answer := strings.TrimSpace(a)
		place, means, err := e.place(answer, u)
		options := len(e.task.Options)
		switch {
		case err != nil:
			e.err = err
			return
		case place >= options || place < -1:
			e.err = fmt.Errorf("the answer is option %s, and there are %d options", strings.ToUpper(clip(answer)), options)
			return
		case place >= 0:
			e.task.Answers[i], e.means = e.task.Options[place], means
		}
	}
}

// place returns the place of the option that an answer names, or -1. It may be
// out of range. means is what the answer is.
func (e *entry) place(answer string, u usage) (place int, means string, err error) {
	switch e.pointing {
	case byLabel:
		place, means = e.placeByLabel(answer)
		return place, means, nil
	case byIndex, byNumber:
		if letter := placeOfLetter(answer); letter >= 0 && letter < len(e.task.Options) {
			return letter, meansLetter, nil
		}
		place, err = placeByNumber(answer, int(e.pointing-byIndex), len(e.task.Options))
		return place, meansIndex, err
	case byContent:
	}
	return e.placeByContent(answer, u)
}

// placeOfLabel returns the place that an answer names by the label of an option,
// by the name of its column or by its letter, or -1. It may be out of range.
func (e *entry) placeOfLabel(answer string) (place int, means string) {
	if len(e.labels) > 0 {
		return slices.IndexFunc(e.labels, func(l string) bool { return strings.EqualFold(l, answer) }), meansLabel
	}
	if place = placeOfLetter(answer); place >= 0 {
		return place, meansLetter
	}
	name := func(s string) string { return strings.Join(wordsOf(s), " ") }
	wanted := name(answer)
	return slices.IndexFunc(e.columns, func(c string) bool { return wanted != "" && name(c) == wanted }), meansLabel
}

func (e *entry) placeByLabel(answer string) (place int, means string) {
	label, means := e.placeOfLabel(answer)
	if label >= 0 && label < len(e.task.Options) || e.text < 0 {
		return label, means
	}
	return e.text, meansText
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
// it returns the place that a label, letter or index names.
func (e *entry) placeByContent(answer string, u usage) (place int, means string, err error) {
	options := e.task.Options
	text := e.text
	other, means := e.placeOfLabel(answer)
	number, isNumber := wholeNumber(answer)
	doubtful := u.letters || len(e.labels) > 0 && !u.texts // the label of another option may be meant
	if other < 0 && isNumber && (text < 0 || u.indexes > 0) {
		first, _, err := u.base()
		if err != nil && number <= len(options) {
			return 0, "", err
		}
		if other, err = placeByNumber(answer, first, len(options)); err != nil {
			return 0, "", err
		}
		means, doubtful = meansIndex, true
	}
	switch {
	case text < 0 && other < 0:
		if fits := loosely(options, answer); len(fits) > 1 {
			return 0, "", fmt.Errorf("the answer %q fits options %c and %c", clip(answer), 'A'+fits[0], 'A'+fits[1])
		}
		return -1, "", nil
	case text < 0:
		return other, means, nil
	case other < 0 || other == text || other >= len(options) || !doubtful:
		return text, meansText, nil
	case means == meansIndex && e.counted:
		return other, means, nil
	}
	return 0, "", fmt.Errorf("the answer %q is the text of option %c, and other entries would mean option %c by it", clip(answer), 'A'+text, 'A'+other)
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
// text, or -1 if there is none or more than one.
func placeOfText(options []string, text string) int {
	if place := slices.Index(options, text); place >= 0 {
		return place // for speed
	}
	if place := placeOfSame(options, text); place >= 0 {
		return place
	}
	if fits := loosely(options, text); len(fits) == 1 {
		return fits[0]
	}
	return -1
}

// loosely returns the places of the options that a judge that compares loosely
// would match with a text.
func loosely(options []string, text string) (places []int) {
	for i, o := range options {
		if scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeExact}, arena.Task{Answers: []string{o}}, text) == arena.OnePoint {
			places = append(places, i)
		}
	}
	return places
}

// placeOfSame returns the place of the option that differs from a text at most
// in case and spaces, or -1.
func placeOfSame(options []string, text string) int {
	return slices.IndexFunc(options, func(o string) bool { return !scoring.Distinct(o, text) })
}

// placeOfLetter returns 0 for A to 25 for Z, in either case and also as "(A)",
// "A)" or "A.", and -1 for every other text.
func placeOfLetter(s string) int {
	if len(s) > 1 {
		s = strings.TrimRight(strings.TrimLeft(s, "(["), ".):]")
	}
	if len(s) != 1 || s[0]|0x20 < 'a' || s[0]|0x20 > 'z' {
		return -1
	}
	return int(s[0] | 0x20 - 'a')
}

// maxIndex is the largest number that can be an index of an option.
const maxIndex = 26

// wholeNumber reads a text that can be an index.
func wholeNumber(s string) (int, bool) {
	s = strings.TrimSuffix(s, ".0") // of a table that was written by a program for numbers
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= maxIndex && s[0] != '+' && s[0] != '-'
}
