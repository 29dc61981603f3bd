package pack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// optionNames returns the columns that hold one option each, in their order:
// A, B, C, or option1, option2, or the wrong answers beside the right one. It
// returns nil if there are none, and an error if columns look like options and
// have no clear order: an option that is left out shifts the key.
func optionNames(names []string, m mapping) ([]string, error) {
	used := m.columns()
	free := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(used, n) })
	families := familiesOf(free)
	for _, f := range families {
		if f.known {
			return f.inOrder()
		}
	}
	if wrong := wrongNames(free); len(wrong) > 0 {
		return append([]string{m["answer"][0]}, wrong...), nil
	}
	if len(families) == 1 && len(families[0].columns) > 2 {
		return families[0].inOrder()
	}
	return nil, nil
}

// optionStems lists the words that name options, the clearest first. "" is for
// columns such as A or 1.
func optionStems() []string {
	return []string{
		"option", "opt", "op", "choice", "", "alternative", "alt", "candidate", "ending", "variant", "answer", "ans", "a", "response", "reply",
		"sol", "solution", "hypothesis", "possible", "item", "mc",
	}
}

// otherStems lists words of numbered columns that hold no options.
func otherStems() []string {
	return []string{
		"explanation", "rationale", "feedback", "hint", "note", "comment", "tag", "label", "id", "image", "img", "url", "link", "ref", "reference", "source", "score",
		"point", "weight", "count", "vote", "correct", "right", "is", "question", "q", "sentence", "sent", "paragraph", "ctx", "context", "fact", "metadata", "col", "column",
		"incorrect", "wrong", "distractor", "false",
	}
}

// family is columns whose names differ only in a number or letter.
type family struct {
	stem    string // the names without the number or letter
	letters bool
	known   bool // the stem is a word for options
	rank    int  // of the stem, the clearest first
	columns []numbered
}

// numbered is a column with the number or letter in its name; 0 for A.
type numbered struct {
	name string
	n    int
}

// familiesOf returns the families of columns that can be options, the clearest
// first.
func familiesOf(names []string) []family {
	byStem := map[string]*family{}
	for _, name := range names {
		stem, n, letter, ok := numberIn(name)
		if !ok {
			continue
		}
		key := fmt.Sprint(stem, letter)
		if byStem[key] == nil {
			byStem[key] = &family{stem: stem, letters: letter}
		}
		byStem[key].columns = append(byStem[key].columns, numbered{name, n})
	}
	var families []family
	for _, key := range slices.Sorted(maps.Keys(byStem)) {
		if f := byStem[key]; f.rate() {
			families = append(families, *f)
		}
	}
	slices.SortStableFunc(families, func(a, b family) int { return cmp.Compare(a.rank, b.rank) })
	return families
}

// rate sorts the columns, ranks the family, and reports whether it can be
// options.
func (f *family) rate() bool {
	words := strings.Fields(f.stem)
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(otherStems(), w) }) {
		return false
	}
	stems := optionStems()
	f.rank = len(stems) * 2
	if i := slices.Index(stems, f.stem); i >= 0 {
		f.known, f.rank = true, i
	} else if i := slices.IndexFunc(stems, func(s string) bool { return s != "" && slices.Contains(words, s) }); i >= 0 {
		f.known, f.rank = true, len(stems)+i
	}
	slices.SortStableFunc(f.columns, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
	if f.stem == "" && f.letters { // Q is no option of A and B
		for i := 1; i < len(f.columns); i++ {
			if f.columns[i].n > f.columns[i-1].n+2 {
				f.columns = f.columns[:i]
			}
		}
	}
	return len(f.columns) > 1 && (f.known || f.columns[0].n <= 1) && !(f.letters && f.columns[0].n > 0)
}

// inOrder returns the columns, or an error if one is missing among them or two
// have the same number.
func (f *family) inOrder() ([]string, error) {
	var columns []string
	for i, c := range f.columns {
		columns = append(columns, c.name)
		if i > 0 && c.n == f.columns[i-1].n {
			return nil, fmt.Errorf("the columns %q and %q look like options and have the same number", clip(f.columns[i-1].name), clip(c.name))
		}
	}
	first, last := f.columns[0].n, f.columns[len(f.columns)-1].n
	if first > 1 || last-first != len(columns)-1 {
		return nil, fmt.Errorf("the columns %s look like options, and their numbers have a gap: name all options in the mapping, such as options=%s",
			quoted(columns), strings.Join(columns, "+"))
	}
	return columns, nil
}

// wrongNames returns the columns that hold wrong answers, in the order of their
// numbers.
func wrongNames(names []string) []string {
	var columns []numbered
	for i, name := range names {
		plain := plainName(name)
		if !slices.ContainsFunc([]string{"distractor", "incorrect", "wrong", "falseanswer", "badanswer"}, func(w string) bool { return strings.HasPrefix(plain, w) }) ||
			strings.Contains(plain, "explanation") || strings.Contains(plain, "feedback") {
			continue
		}
		n := i
		if _, number, _, ok := numberIn(name); ok {
			n = number
		}
		columns = append(columns, numbered{name, n})
	}
	slices.SortStableFunc(columns, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
	var wrong []string
	for _, c := range columns {
		wrong = append(wrong, c.name)
	}
	return wrong
}

// numberIn splits a name into its stem and its number or letter: "choice_10",
// "options[10].text", "Option (A)", "optionA" and "opa" have one.
func numberIn(name string) (stem string, n int, letter, ok bool) {
	words := wordsOf(name)
	for i, w := range slices.Backward(words) {
		var rest string
		switch number, err := strconv.Atoi(w); {
		case err == nil:
			n = number
		case len(w) == 1 && placeOfLetter(w) >= 0 && !(i == 0 && len(words) > 1):
			n, letter = placeOfLetter(w), true
		case len(words) == 1 && len(w) > 1 && placeOfLetter(w[len(w)-1:]) >= 0 && slices.Contains(optionStems(), w[:len(w)-1]):
			rest, n, letter = w[:len(w)-1], placeOfLetter(w[len(w)-1:]), true
		default:
			continue
		}
		var others []string
		for j, o := range words {
			if j == i {
				o = rest
			}
			if o = singular(o); o != "" && o != "text" && o != "value" {
				others = append(others, o)
			}
		}
		return strings.Join(others, " "), n, letter, true
	}
	return "", 0, false, false
}

// wordsOf returns the words and numbers of a name in lower case: option and 1
// for "option_1", "Option 1" and "option1", option and a for "optionA".
func wordsOf(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = nil
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if n := len(word); n > 0 && (unicode.IsDigit(word[n-1]) != unicode.IsDigit(r) || unicode.IsLower(word[n-1]) && unicode.IsUpper(r)) {
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// singular removes the plural of a word, so that options.0 belongs to option.
func singular(word string) string {
	if len(word) > 3 && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "is") {
		return strings.TrimSuffix(word, "s")
	}
	return word
}

// sortNaturally sorts names and labels so that choice10 comes behind choice9.
func sortNaturally(names []string) {
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(slices.CompareFunc(wordsOf(a), wordsOf(b), func(v, w string) int {
			x, errX := strconv.Atoi(v)
			y, errY := strconv.Atoi(w)
			if errX == nil && errY == nil {
				return cmp.Compare(x, y)
			}
			return cmp.Compare(v, w)
		}), cmp.Compare(a, b))
	})
}

// quoted lists names.
func quoted(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, strconv.Quote(clip(n)))
	}
	return strings.Join(out, ", ")
}
