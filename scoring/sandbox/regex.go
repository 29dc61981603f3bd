package sandbox

import (
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// What a regular expression may be.
const (
	maxPattern = 1_000 // bytes
	maxProgram = 1_000 // RE2 instructions

	costPattern = 100 // steps, and bytes, to compile a byte of it
	costPart    = 50  // steps to compile a part of it, with repeats written out
	costState   = 200 // bytes of such a part

	searchSteps = 8 // RE2 instructions that one step pays for, for each character that a search reads
)

// matcher compiles patterns and keeps the matches of the last text, so that a
// loop of exec pays for one search.
type matcher struct {
	compiled map[string]*pattern
	last     *pattern
	text     string
	matches  [][]int
}

type pattern struct {
	re    *regexp.Regexp
	after *regexp.Regexp // the same behind one character and anything: see find
	price int64          // steps for each character that a search reads, in searchSteps parts of one
}

// match returns all matches of a pattern in a text: for each the positions of
// the whole and of every group, in UTF-16 units, -1 for groups that took no
// part; the last element holds the names of the groups. Arguments: pattern,
// flags, text. A pattern that RE2 does not have is a string that says why.
func (r *run) match(call goja.FunctionCall) goja.Value {
	source, flags, subject := call.Argument(0).String(), call.Argument(1).String(), call.Argument(2).String()
	p, err := r.pattern(source, flags)
	if err != nil {
		return r.vm.ToValue(err.Error())
	}
	m := &r.matcher
	r.pay(16+int64(len(subject))>>4, 4*int64(len(subject)))
	if r.over != nil {
		return goja.Undefined()
	}
	if m.last != p || m.text != subject {
		m.last, m.text, m.matches = p, subject, r.findAll(p, subject)
		toUTF16(subject, m.matches)
	}
	r.pay(int64(len(m.matches)), int64(len(m.matches)+1)*int64(p.re.NumSubexp()+1)*4*costElement)
	if r.over != nil {
		return goja.Undefined()
	}
	out := make([]any, 0, len(m.matches)+1)
	for _, positions := range m.matches {
		row := make([]any, len(positions))
		for i, at := range positions {
			row[i] = at
		}
		out = append(out, r.vm.NewArray(row...))
	}
	names := make([]any, p.re.NumSubexp()+1)
	for i, name := range p.re.SubexpNames() {
		names[i] = name
	}
	return r.vm.NewArray(append(out, r.vm.NewArray(names...))...)
}

// findAll returns all matches of a pattern, as FindAllStringSubmatchIndex does.
// That function may read the whole text for every match; here each search pays
// for the characters that it reads, while it reads them.
func (r *run) findAll(p *pattern, s string) [][]int {
	var matches [][]int
	for at, lastEnd := 0, -1; at <= len(s) && r.over == nil; {
		m := r.find(p, s, at)
		if m == nil || r.over != nil {
			break
		}
		empty := m[1] == at
		if !empty || m[0] != lastEnd { // an empty match right behind another one does not count
			matches = append(matches, m)
			r.pay(0, int64(len(m))*8)
		}
		at, lastEnd = m[1], m[1]
		if empty {
			_, width := utf8.DecodeRuneInString(s[at:])
			at += max(width, 1)
		}
	}
	return matches
}

// find returns the first match that begins at a position or behind it. A search
// begins one character before, so that \b and ^ see what stands there.
func (r *run) find(p *pattern, s string, at int) []int {
	if at == 0 {
		return p.re.FindReaderSubmatchIndex(&paidReader{run: r, price: p.price, text: s})
	}
	_, width := utf8.DecodeLastRuneInString(s[:at])
	m := p.after.FindReaderSubmatchIndex(&paidReader{run: r, price: p.price, text: s[at-width:]})
	if m == nil {
		return nil
	}
	m = m[2:] // the whole of the pattern is group 1
	for i := range m {
		if m[i] >= 0 {
			m[i] += at - width
		}
	}
	return m
}

// paidReader reads a text for a search and pays for every character. It ends
// the text when a limit is reached.
type paidReader struct {
	run         *run
	price, owed int64
	text        string
}

// ReadRune implements io.RuneReader.
func (p *paidReader) ReadRune() (rune, int, error) {
	if p.text == "" {
		p.run.pay(p.owed/searchSteps, 0)
		p.owed = 0
		return 0, 0, io.EOF
	}
	if p.owed += p.price; p.owed >= 64*searchSteps {
		if p.run.pay(p.owed/searchSteps, 0); p.run.over != nil {
			return 0, 0, io.EOF
		}
		p.owed = 0
	}
	c, width := utf8.DecodeRuneInString(p.text)
	p.text = p.text[width:]
	return c, width, nil
}

// pattern compiles a pattern of JavaScript, once.
func (r *run) pattern(source, flags string) (*pattern, error) {
	key := flags + "/" + source
	if p, ok := r.matcher.compiled[key]; ok {
		return p, nil
	}
	price := costPattern * int64(10+len(source))
	r.pay(price, price)
	if len(source) > maxPattern {
		return nil, errors.New("the pattern is too long")
	}
	re2, err := parser.TransformRegExp(source, strings.Contains(flags, "s"), strings.Contains(flags, "u"))
	if err != nil {
		return nil, errors.New("not available in a pattern: " + err.Error())
	}
	for _, f := range [...]string{"i", "m"} {
		if strings.Contains(flags, f) {
			re2 = "(?" + f + ")" + re2
		}
	}
	parsed, err := syntax.Parse(re2, syntax.Perl)
	if err != nil {
		return nil, errors.New("not a pattern")
	}
	parts := expanded(parsed)
	if parts > maxProgram { // before it is
		return nil, errors.New("the pattern is too large")
	}
	if r.pay(costPart*int64(parts), costState*int64(parts)); r.over != nil {
		return nil, r.over
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return nil, errors.New("the pattern is too large")
	}
	p := &pattern{}
	if p.re, err = regexp.Compile(re2); err == nil {
		p.after, err = regexp.Compile(`\A(?s:.)(?s:.)*?(` + re2 + `)`)
	}
	if err != nil {
		return nil, errors.New("not a pattern")
	}
	// In the worst case each character meets every instruction, and each of these
	// copies the positions of all groups.
	p.price = int64(len(program.Inst)) * int64(8+p.re.NumSubexp()) / 8
	if r.matcher.compiled == nil {
		r.matcher.compiled = map[string]*pattern{}
	}
	r.matcher.compiled[key] = p
	return p, nil
}

// expanded estimates how many parts a pattern has with its repeats written
// out.
func expanded(re *syntax.Regexp) int {
	parts := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		parts += expanded(sub)
	}
	if re.Op == syntax.OpRepeat {
		parts *= max(re.Min, re.Max, 1)
	}
	return parts
}

// toUTF16 turns byte positions of a text into UTF-16 positions.
func toUTF16(s string, matches [][]int) {
	var starts, units []int // of runes
	unit := 0
	for i, c := range s {
		if c >= utf8.RuneSelf && starts == nil {
			starts, units = []int{0}, []int{0}
		}
		if starts != nil {
			starts, units = append(starts, i), append(units, unit)
		}
		unit += max(utf16.RuneLen(c), 1)
	}
	if starts == nil { // all ASCII
		return
	}
	starts, units = append(starts, len(s)), append(units, unit)
	for _, m := range matches {
		for i, at := range m {
			if at < 0 {
				continue
			}
			// Positions before the first rune that is not ASCII are the same.
			if j := sort.SearchInts(starts, at); j < len(starts) && starts[j] == at {
				m[i] = units[j]
			}
		}
	}
}
