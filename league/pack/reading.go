package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// listedColumns is how many columns, or columns without a part, a report lists.
const listedColumns = 100

// describe fills in the columns or members that the parts of the tasks were read
// from, and those that no task holds.
func describe(r *arena.PackReading, entries []entry) {
	unused := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		if r.Description == "" && e.via != nil {
			r.Description, r.Answer = e.via["description"][0], e.via.answerColumn()
		}
		for _, c := range e.via["context"] {
			if !slices.Contains(r.Context, c) {
				r.Context = append(r.Context, c)
			}
		}
		if len(r.Options) == 0 {
			r.Options = e.via["options"]
		}
		for _, name := range e.unused {
			if !unused[name] && len(unused) < listedColumns {
				unused[name] = true
				r.LeftOut = append(r.LeftOut, name)
			}
		}
	}
	sortNaturally(r.LeftOut)
}

// source returns where the answer of a checked entry comes from.
func (e *entry) source() arena.TaskSource {
	s := arena.TaskSource{Line: e.line, Given: e.given, Means: e.means, Right: []int{}}
	for i, o := range e.task.Options {
		if slices.ContainsFunc(e.task.Answers, func(a string) bool { return !scoring.Distinct(o, a) }) {
			s.Right = append(s.Right, i)
		}
	}
	return s
}

// questions are the checked entries by their question, folded.
type questions map[string][]variant

// variant is one answer to a question, with its texts folded.
type variant struct {
	entry            *entry
	answers, options []string
}

// maxVariants is how many entries with one question are compared with a new one.
const maxVariants = 8

// add warns about a question that the file asks before with another answer.
// Questions with options contradict each other only if one offers the answer of
// the other as a wrong one: "Which of these is a fish?" may have many answers.
func (q questions) add(e *entry) {
	v := variant{e, foldAll(e.task.Answers), foldAll(e.task.Options)}
	key := fold(e.task.Description)
	for _, before := range q[key] {
		if slices.Equal(before.answers, v.answers) && slices.Equal(before.options, v.options) {
			return
		}
		if before.contradicts(v) {
			e.warnings = append(e.warnings, fmt.Sprintf("the question of line %d again, with another answer: %q there, %q here",
				before.entry.line, clip(before.entry.task.Answers[0]), clip(e.task.Answers[0])))
			break
		}
	}
	if len(q[key]) < maxVariants {
		q[key] = append(q[key], v)
	}
}

func (v variant) contradicts(other variant) bool {
	if len(v.answers) == 0 || len(other.answers) == 0 || overlap(v.answers, other.answers) {
		return false
	}
	return len(v.options) == 0 || len(other.options) == 0 || overlap(v.answers, other.options) || overlap(other.answers, v.options)
}

// fold returns a text in lower case without surplus spaces.
func fold(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// foldAll folds and sorts texts.
func foldAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = fold(t)
	}
	slices.Sort(out)
	return out
}

// overlap reports whether two sorted lists have a text in common.
func overlap(a, b []string) bool {
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(a[0], b[0]); {
		case c == 0:
			return true
		case c < 0:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return false
}
