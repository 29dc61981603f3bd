package scoring_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

func exactly(accepted, answer string) bool {
	return scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeExact}, arena.Task{Answers: []string{accepted}}, answer) > 0
}

// Marks that change the meaning count, and decoration does not.
func TestJudge_exactMarks(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"5", "–5"},
		{"5", "‑5"},
		{"5", "⁻5"},
		{"5", "﹣5"},
		{"40", "(-40)"},
		{"40", "(40)"},
		{"5", ".5"},
		{"5", "5!"},
		{"f", "f'"},
		{"f", "f″"},
		{"x", "!x"},
		{"x", "~x"},
		{"$5", "$-5"},
		{"€5", "−€5"},
		{"10^-3", "10^3"},
		{"102", "10²"},
		{"x2", "x²"},
		{"11/2", "1½"},
		{"log28", "log₂8"},
		{"x_1", "x1"},
		{"x_1", "x^1"},
		{"[1, 1]", "[-1, 1]"},
		{"{-2, 2}", "{2, 2}"},
		{"(0, 1]", "[0, 1)"},
		{"(0, 1]", "(0, 1)"},
		{"{1, 2}", "(1, 2)"},
		{"a[0]", "a{0}"},
		{"( [ ] )", "( [ ) ]"},
		{"< < >", "< >"},
		{"a-b", "a b"},
		{"a-b", "ab"},
		{"a-b", "a+b"},
		{"x*y", "x y"},
		{"p -> q", "p q"},
		{"y = -x", "y = x"},
		{"e^-x", "e^x"},
		{"2-sqrt(3)", "2 sqrt(3)"},
		{"2 -3", "2 - 3"},
		{"O", "O-"},
		{"AB-", "AB"},
		{"AC/DC", "AC DC"},
		{"snake_case", "snake case"},
		{"foo()", "foo"},
		{"i--", "i"},
		{"C++", "C"},
		{"C#", "C"},
		{"C\\n", "C n"},
		{"3:1", "3-1"},
		{"1/2", "1-2"},
		{"1,3", "13"},
		{"(1,234)", "(1234)"},
		{"1.000", "1000"},
		{"v1.2", "v12"},
		{"192.168.1.1", "19216811"},
		{"example.com", "examplecom"},
		{"../a", "a"},
		{"Rock & Roll", "Rock Roll"},
		{"50%", "50"},
		{"#1", "1"},
		{"@x", "x"},
		{"resign", "re-sign"},
		{"Mercury (planet)", "Mercury planet"},
		{"a b", "ab"},
		{"a x", "x"},
		{"5° N", "5 N"},
		{"Der Spiegel", "Spiegel"},
		{"café", "cafe"},
		{"Spider-Man", "Spiderman"},
		{"no", "not"},
		{"", ""},
		{" ", ""},
		{`\frac{1}{2}`, `-\frac{1}{2}`},
		{`6 - 5i`, `6 + 5i`},
		{`p - q`, `p q`},
	} {
		if exactly(pair[0], pair[1]) || exactly(pair[1], pair[0]) {
			t.Errorf("%q and %q are the same", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{
		{"Canberra", "canberra."},
		{"Canberra", `"Canberra"`},
		{"Canberra", "“Canberra”"},
		{"Canberra", "« Canberra »"},
		{"Canberra", "**Canberra**"},
		{"Canberra", "Canberra!"},
		{"Canberra", "ANSWER: Canberra\n\nHope this helps!"},
		{"Canberra", "The answer is Canberra."},
		{"Canberra", "<think>Sydney?</think>Canberra"},
		{"Canberra", "```\nCanberra\n```"},
		{"U.S.A.", "USA"},
		{"E.T.", "ET"},
		{"J.R.R. Tolkien", "JRR Tolkien"},
		{"Dr. Who", "Dr Who"},
		{"Spider-Man", "Spider Man"},
		{"Mother-in-law", "mother in law"},
		{"T-shirt", "t shirt"},
		{"L'Oréal", "L’Oréal"},
		{"rock 'n' roll", "rock n roll"},
		{"Guns N' Roses", "Guns N Roses"},
		{"Who's there?", "whos there"},
		{"1914–1918", "1914-1918"},
		{"Batman: The Movie", "Batman The Movie"},
		{"Let's eat, grandma", "Let's eat grandma"},
		{"wait…what", "wait what"},
		{"¿Qué?", "qué"},
		{"北京", "北京。"},
		{"July 4, 1999", "July 4 1999"},
		{"-5", "−5"},
		{"-5", "–5"},
		{"(1, 3)", "(1,3)"},
		{"2, 1, 3", "2,1,3"},
		{"x = -2", "x=-2"},
		{"5 - 3", "5-3"},
		{"10^-3", "10⁻³"},
		{"10^-3", "10^{-3}"},
		{"x^2", "x²"},
		{"H2O", "H₂O"},
		{"1,234,567", "1234567"},
		{"1,000 apples", "1000 apples"},
		{"1/2", "½"},
		{"5 °C", "5°C"},
		{"$ 5", "$5"},
		{"50 %", "50%"},
		{"5.", "5"},
		{"72", "72,"},
		{"( [ ] )", "([])"},
		{"The Beatles", "Beatles"},
		{"❤", "❤️"},
		{"ab", "a\u0000b"},
		{"New York", "New\u00a0York"},
		{"Straße", "STRASSE"},
		{"?", "?"},
		{"!", "!"},
	} {
		if !exactly(pair[0], pair[1]) || !exactly(pair[1], pair[0]) {
			t.Errorf("%q and %q differ", pair[0], pair[1])
		}
	}
}

// With the match strict, only the texts as they are written count.
func TestJudge_strict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind     string
		options  []string
		accepted []string
		answer   string
		right    bool
	}{
		{arena.JudgeExact, nil, []string{"Canberra"}, " Canberra\n", true},
		{arena.JudgeExact, nil, []string{"Canberra"}, "canberra", false},
		{arena.JudgeExact, nil, []string{"Canberra"}, "Canberra.", false},
		{arena.JudgeExact, nil, []string{"Canberra"}, "**Canberra**", false},
		{arena.JudgeExact, nil, []string{"é"}, "e\u0301", true},
		{arena.JudgeExact, nil, []string{""}, "", false},
		{arena.JudgeChoice, []string{"a", "A"}, []string{"A"}, "A", true},
		{arena.JudgeChoice, []string{"Perth", "Canberra"}, []string{"Canberra"}, "b", true},
		{arena.JudgeChoice, []string{"Perth", "Canberra"}, []string{"Canberra"}, "canberra", false},
		{arena.JudgeSet, nil, []string{"a, B"}, "B,a", true},
		{arena.JudgeSet, nil, []string{"a, B"}, "b,a", false},
	} {
		spec := arena.JudgeSpec{Kind: tt.kind, Match: arena.MatchStrict}
		if got := scoring.Judge(spec, arena.Task{Options: tt.options, Answers: tt.accepted}, tt.answer) > 0; got != tt.right {
			t.Errorf("%s: %q for %q: right = %t", tt.kind, tt.answer, tt.accepted, got)
		}
	}
}

// terms draws expressions of one-letter names, numbers, operators and brackets.
func terms() *rapid.Generator[string] {
	atom := rapid.OneOf(rapid.SampledFrom([]string{"x", "y", "n", "f'", "π", "x_1", "∪", "∞"}), rapid.Map(rapid.IntRange(0, 2000), func(n int) string { return fmt.Sprint(n) }))
	operator := rapid.SampledFrom([]string{"+", " - ", "*", "/", "^", " = ", ", ", " < ", "!", " → ", ".", ":"})
	bracket := rapid.SampledFrom([][2]string{{"(", ")"}, {"[", "]"}, {"{", "}"}, {"-", ""}, {"", ""}, {"~", ""}})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for i := range rapid.IntRange(1, 4).Draw(t, "terms") {
			if i > 0 {
				b.WriteString(operator.Draw(t, "operator"))
			}
			around := bracket.Draw(t, "bracket")
			b.WriteString(around[0] + atom.Draw(t, "atom") + around[1])
		}
		return b.String()
	})
}

// The comparison is reflexive and symmetric, and no text equals one with another
// sign, digit, bracket or operator.
func TestJudge_exactRelation(t *testing.T) {
	t.Parallel()
	const marks = "+-*/^_=<>~()[]{}0123456789"
	rapid.Check(t, func(t *rapid.T) {
		a, b := terms().Draw(t, "a"), terms().Draw(t, "b")
		if !exactly(a, a) {
			t.Fatalf("%q is not itself", a)
		}
		if exactly(a, b) != exactly(b, a) {
			t.Fatalf("%q and %q: not symmetric", a, b)
		}
		runes := []rune(a)
		i := rapid.IntRange(0, len(runes)-1).Draw(t, "place")
		if !strings.ContainsRune(marks, runes[i]) {
			t.Skip()
		}
		changed := slices.Clone(runes)
		changed[i] = rune(marks[rapid.IntRange(0, len(marks)-1).Draw(t, "mark")])
		for _, other := range []string{string(changed), string(slices.Delete(slices.Clone(runes), i, i+1)), string(slices.Insert(slices.Clone(runes), i, '-'))} {
			if other != a && exactly(a, other) {
				t.Fatalf("%q and %q are the same", a, other)
			}
		}
	})
}

// An option is right when an accepted answer names it, however alike the options
// are: neither the letter nor the text of another one scores.
func TestJudge_choiceTwins(t *testing.T) {
	t.Parallel()
	choice := arena.JudgeSpec{Kind: arena.JudgeChoice}
	check := func(t interface{ Errorf(string, ...any) }, a, b string) {
		for i, right := range []string{a, b} {
			task := arena.Task{Options: []string{a, b, "other one", "another two"}, Answers: []string{right}}
			if scoring.CheckTask(choice, task) != nil {
				continue // refused at import
			}
			for j, option := range []string{a, b} {
				for _, answer := range []string{option, "AB"[j : j+1], "(" + "AB"[j:j+1] + ") " + option} {
					if got := scoring.Judge(choice, task, answer) > 0; got != (i == j) {
						t.Errorf("options %q and %q, right %q, answer %q: right = %t", a, b, right, answer, got)
					}
				}
			}
		}
	}
	for _, pair := range [][2]string{
		{"(1, 3)", "(-1, 3)"},
		{"$5", "-$5"},
		{"0.5", ".5"},
		{"a-b", "a b"},
		{"Let's eat, grandma", "Let's eat grandma"},
		{"it's", "its"},
		{"e.g.", "eg"},
		{`"null"`, "null"},
		{"The wall", "A wall"},
		{"Resume", "Résumé"},
		{"Polish", "polish"},
		{"1,000", "1000"},
		{"50%", "0.5"},
		{"x", "x."},
		{"10²", "10^2"},
		{"Spider-Man", "Spider Man"},
	} {
		check(t, pair[0], pair[1])
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := terms().Draw(t, "a"), terms().Draw(t, "b")
		if strings.Join(strings.Fields(a), " ") != strings.Join(strings.Fields(b), " ") {
			check(t, a, b)
		}
	})
}
