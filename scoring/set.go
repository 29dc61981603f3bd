package scoring

import (
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// MaxMembers is the maximum size of a set; an answer with more members is wrong.
const MaxMembers = 500

// setPoints compares two sets of texts like the judge exact compares texts,
// without regard to order and repetition. The result is all or nothing or, with
// partial, the F1 score 2·right / (2·right + wrong + missing) in thousandths,
// rounded down, so that only the complete set gets arena.OnePoint.
func setPoints(accepted []string, answer string, partial bool) arena.Points {
	expected, given := expectedMembers(accepted), members(answer)
	if len(expected) == 0 || len(given) == 0 || len(given) > MaxMembers {
		return 0
	}
	named := make([]bool, len(expected))
	var wrong []text
	for _, g := range given {
		i := slices.IndexFunc(expected, g.same)
		switch {
		case i < 0:
			if !slices.ContainsFunc(wrong, g.same) {
				wrong = append(wrong, g)
			}
		default:
			named[i] = true
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
func expectedMembers(accepted []string) []text {
	if len(accepted) == 1 {
		return distinct(members(accepted[0]))
	}
	all := make([]text, 0, len(accepted))
	for _, a := range accepted {
		all = appendText(all, a)
	}
	return distinct(all)
}

// members reads a list: a JSON array of strings, or texts between commas,
// semicolons and line ends. It stops after MaxMembers.
func members(s string) []text {
	var parts []string
	if err := strictjson.Unmarshal([]byte(strings.TrimSpace(s)), &parts); err != nil || parts == nil {
		parts = strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",;\r\n，；", r) })
	}
	var all []text
	for _, p := range parts {
		if all = appendText(all, p); len(all) > MaxMembers {
			break
		}
	}
	return all
}

// appendText adds a member unless it is empty.
func appendText(all []text, s string) []text {
	if t := newText(s); t.close != "" {
		return append(all, t)
	}
	return all
}

// distinct removes members that are equivalent to an earlier one.
func distinct(all []text) []text {
	var out []text
	for _, t := range all {
		if !slices.ContainsFunc(out, t.same) {
			out = append(out, t)
		}
	}
	return out
}
