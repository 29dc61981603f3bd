package audit

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
)

// mostNumbers is the number of tasks that a finding lists.
const mostNumbers = 20

// shortestContained is the length from which on an open answer is searched in its
// question, in characters: short ones are in any text.
const shortestContained = 3

// Tasks returns what a reader of tasks can guess from their text and order: which
// option is right by its place or its length, answers that their question contains,
// and tasks that are there twice. It compares the answers of MostTasks tasks, and
// looks for duplicates among all.
func Tasks(tasks []arena.Task) []arena.AuditFinding {
	some := Spread(tasks, MostTasks)
	findings := []arena.AuditFinding{}
	for _, g := range guesses() {
		if f, p := test(g, some); p < level {
			findings = append(findings, f)
		}
	}
	if f, found := position(some); found {
		findings = append(findings, f)
	}
	if f, found := duplicates(tasks); found {
		findings = append(findings, f)
	}
	return findings
}

// guess is a rule by which a reader answers some tasks. pick reports whether the rule
// names an answer to a task, whether that one is right, and the probability that luck
// is.
type guess struct {
	kind string
	pick func(t arena.Task) (chance float64, named, right bool)
}

func guesses() []guess {
	return []guess{
		{arena.FoundFirst, option(func([]string) int { return 0 })},
		{arena.FoundLast, option(func(o []string) int { return len(o) - 1 })},
		{arena.FoundLongest, option(func(o []string) int { return only(o, func(a, b int) bool { return a > b }) })},
		{arena.FoundShortest, option(func(o []string) int { return only(o, func(a, b int) bool { return a < b }) })},
		{arena.FoundContained, contained},
	}
}

// option is a guess that takes the option with the index that choose returns; -1 is
// none.
func option(choose func(options []string) int) func(arena.Task) (float64, bool, bool) {
	return func(t arena.Task) (float64, bool, bool) {
		if len(t.Options) < 2 {
			return 0, false, false
		}
		i := choose(t.Options)
		if i < 0 {
			return 0, false, false
		}
		return chance(t), true, slices.Contains(t.Answers, t.Options[i])
	}
}

// chance returns the probability that an option drawn at random is right.
func chance(t arena.Task) float64 {
	right := 0
	for _, o := range t.Options {
		if slices.Contains(t.Answers, o) {
			right++
		}
	}
	return float64(max(right, 1)) / float64(len(t.Options))
}

// only returns the one option whose length is ahead of all others, -1 if there is
// none.
func only(options []string, ahead func(a, b int) bool) int {
	best, unique := 0, true
	for i := 1; i < len(options); i++ {
		a, b := utf8.RuneCountInString(options[i]), utf8.RuneCountInString(options[best])
		switch {
		case ahead(a, b):
			best, unique = i, true
		case a == b:
			unique = false
		}
	}
	if !unique {
		return -1
	}
	return best
}

// contained guesses the one option that is in the question, and for an open
// question whatever is in it.
func contained(t arena.Task) (float64, bool, bool) {
	question := words(t.Description)
	within := func(s string) bool {
		w := words(s)
		return strings.TrimSpace(w) != "" && strings.Contains(question, w)
	}
	if len(t.Options) == 0 {
		right := slices.ContainsFunc(t.Answers, func(a string) bool { return utf8.RuneCountInString(a) >= shortestContained && within(a) })
		return OpenChance, true, right
	}
	named := slices.DeleteFunc(slices.Clone(t.Options), func(o string) bool { return !within(o) })
	if len(named) != 1 {
		return 0, false, false
	}
	return chance(t), true, slices.Contains(t.Answers, named[0])
}

// words returns the words of a text in lower case between single spaces.
func words(s string) string {
	fields := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return " " + strings.Join(fields, " ") + " "
}

// test counts how often a guess is right. p is the probability that luck alone is
// right as often.
func test(g guess, tasks []arena.Task) (f arena.AuditFinding, p float64) {
	f.Kind = g.kind
	var chances []float64
	for _, t := range tasks {
		chance, named, right := g.pick(t)
		if !named {
			continue
		}
		chances = append(chances, chance)
		if right {
			f.Tasks++
		}
	}
	f.Of, f.Chance = len(chances), mean(chances)
	return f, tail(chances, f.Tasks)
}

// position returns the place between the first and the last at which the right
// option is more often than by chance.
func position(tasks []arena.Task) (f arena.AuditFinding, found bool) {
	most := 0
	for _, t := range tasks {
		most = max(most, len(t.Options))
	}
	for at := 1; at < most-1; at++ {
		f, p := test(guess{arena.FoundPosition, option(func(o []string) int {
			if at >= len(o)-1 {
				return -1
			}
			return at
		})}, tasks)
		if p < level/float64(most) {
			return f, true
		}
	}
	return f, false
}

// duplicates reports tasks that repeat an earlier one, by their indexes.
func duplicates(tasks []arena.Task) (f arena.AuditFinding, found bool) {
	f = arena.AuditFinding{Kind: arena.FoundDuplicate, Of: len(tasks)}
	seen := map[string]bool{}
	for i, t := range tasks {
		options := make([]string, 0, len(t.Options))
		for _, o := range t.Options {
			options = append(options, spaced(o))
		}
		slices.Sort(options)
		key := spaced(t.Description) + "\x00" + strings.Join(options, "\x00")
		if seen[key] {
			if f.Tasks++; len(f.Numbers) < mostNumbers {
				f.Numbers = append(f.Numbers, i)
			}
		}
		seen[key] = true
	}
	return f, f.Tasks > 0
}

// spaced returns a text in lower case with single spaces.
func spaced(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }
