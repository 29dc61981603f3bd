package scoring

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agora-arena/agora-go/modeltext"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// MaxMembers is the maximum size of a set; an answer with more members is wrong.
const MaxMembers = 500

// setPoints compares two sets of texts like the judge exact compares texts,
// without regard to order and repetition. The result is all or nothing or, with
// partial, the F1 score 2·right / (2·right + wrong + missing) in thousandths,
// rounded down, so that only the complete set gets arena.OnePoint.
func setPoints(accepted []string, answer string, partial, strict bool) arena.Points {
	same := text.same
	if strict {
		same = func(a, b text) bool { return a.written == b.written }
	} else {
		answer = read(answer)
	}
	expected := expectedMembers(accepted, same)
	given := members(answer, func(t text) bool { return slices.ContainsFunc(expected, func(e text) bool { return same(e, t) }) })
	if len(expected) == 0 || len(given) == 0 || len(given) > MaxMembers {
		return 0
	}
	named := make([]bool, len(expected))
	var wrong []text
	for _, g := range given {
		i := slices.IndexFunc(expected, func(e text) bool { return same(e, g) })
		switch {
		case i >= 0:
			named[i] = true
		case !slices.ContainsFunc(wrong, func(w text) bool { return same(w, g) }):
			wrong = append(wrong, g)
		}
	}
	right := 0
	for _, n := range named {
		if n {
			right++
		}
	}
	missing := len(expected) - right
	if !partial && (missing > 0 || len(wrong) > 0) {
		return 0
	}
	return arena.OnePoint * arena.Points(2*right) / arena.Points(2*right+len(wrong)+missing)
}

// expectedMembers reads the accepted answers of a task. A single one is a list,
// like an answer; if there are several, each is a member.
func expectedMembers(accepted []string, same func(a, b text) bool) (distinct []text) {
	var all []text
	if len(accepted) == 1 {
		all = members(accepted[0], func(text) bool { return true })
	} else {
		for _, a := range accepted {
			all = appendText(all, a)
		}
	}
	for _, t := range all {
		if !slices.ContainsFunc(distinct, func(d text) bool { return same(d, t) }) {
			distinct = append(distinct, t)
		}
	}
	return distinct
}

// members reads a list: a JSON array of strings, or texts between commas,
// semicolons and line ends, with or without brackets around the list. A last text
// that is not expected, but holds "and" or "or", is two: "red, green and blue". It
// stops after MaxMembers.
func members(s string, expected func(text) bool) []text {
	var parts []string
	if err := strictjson.Unmarshal([]byte(strings.TrimSpace(s)), &parts); err != nil || parts == nil {
		parts = splitList(s)
		if n := len(parts) - 1; n >= 0 && !expected(newText(parts[n])) {
			parts = append(parts[:n], conjunction.Split(" "+parts[n], 2)...)
		}
	}
	var all []text
	for _, p := range parts {
		if all = appendText(all, p); len(all) > MaxMembers {
			break
		}
	}
	return all
}

// conjunction matches what joins the last two members of a list.
var conjunction = regexp.MustCompile(`(?i)\s(?:and|or|y|e|&)\s`)

// bullet matches what marks a line as an item of a list.
var bullet = regexp.MustCompile(`(?m)^[ \t]*(?:[-*•][ \t]+|[0-9]{1,3}[.)][ \t]+)`)

// splitList splits a list at its separators, but not inside brackets: (1, 2), (3, 4).
func splitList(s string) (parts []string) {
	s = strings.TrimSpace(s)
	if lines := strings.Split(s, "\n"); len(lines) > 1 && len(bullet.FindAllString(s, -1)) == len(lines) {
		s = bullet.ReplaceAllString(s, "")
	}
	if inner, ok := withoutBrackets(s); ok {
		s = inner
	}
	depth, start := 0, 0
	for i, r := range s {
		switch {
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			depth = max(0, depth-1)
		case depth == 0 && strings.ContainsRune(",;\r\n，；、", r):
			parts = append(parts, s[start:i])
			start = i + utf8.RuneLen(r)
		}
	}
	return append(parts, s[start:])
}

// withoutBrackets returns what stands between the brackets around a whole list.
func withoutBrackets(s string) (string, bool) {
	if len(s) < 2 || !slices.Contains([]string{"[]", "{}", "()"}, s[:1]+s[len(s)-1:]) {
		return s, false
	}
	depth := 0
	for i, r := range s {
		if strings.ContainsRune("([{", r) {
			depth++
		} else if strings.ContainsRune(")]}", r) {
			depth--
		}
		if depth == 0 && i < len(s)-1 {
			return s, false
		}
	}
	return s[1 : len(s)-1], true
}

// appendText adds a member unless it is empty.
func appendText(all []text, s string) []text {
	if t := newText(modeltext.Unwrap(s)); t.close != "" {
		return append(all, t)
	}
	return all
}
