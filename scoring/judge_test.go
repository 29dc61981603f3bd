package scoring_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

func TestJudge_exact(t *testing.T) {
	t.Parallel()
	tests := []struct {
		accepted, answer string
		right            bool
	}{
		{"Canberra", "Canberra", true},
		{"Canberra", "  canberra \n", true},
		{"Canberra", "CANBERRA.", true},
		{"Canberra", "**Canberra**", true},
		{"Canberra", "Sydney", false},
		{"Canberra", "Canberra, Sydney", false},
		{"Canberra", "It is Canberra", false},
		{"Canberra", "", false},
		{"", "", false},
		{"The Beatles", "beatles", true},
		{"Beatles", "the Beatles", true},
		{"Casa Rosada", "La Casa Rosada", true},
		{"un gato", "el gato", true},
		{"gato", "los gatos", false},
		{"The A Team", "A-Team", true},
		{"La La Land", "Land", false},
		{"Gone with the Wind", "Gone with Wind", false}, // articles fall at the start only
		{"The", "A", false},
		{"São Paulo", "Sa\u0303o Paulo", true}, // decomposed
		{"São Paulo", "Sao Paulo", false},
		{"Straße", "STRASSE", true},
		{"ΟΔΟΣ", "οδος", true}, // final sigma
		{"Kelvin", "\u212aelvin", true},
		{"Canberra", "Ｃａｎｂｅｒｒａ", true},
		{"Canberra", "Can\u200bberra\u00ad", true},
		{"Canberra", "\u202eCanberra", true},
		{"U.S.A.", "USA", true},
		{"O'Brien", "O’Brien", true},
		{"O'Brien", "OBrien", true},
		{"well-known", "well known", true},
		{"...no one is looking.", "No one is looking", true},
		{"wait...what", "wait what", true},
		{"-5", "5", false},
		{"-5", "\u22125", true},
		{"3.14", "314", false},
		{"10:30", "1030", false},
		{"1914-1918", "1914–1918", true},
		{"2,1,3", "2, 1, 3", true},
		{"C++", "C", false},
		{"C#", "C", false},
		{"50%", "50", false},
		{"$5", "5", false},
		{"?", "?", true},
		{"?", "!", false},
		{"x", "?", false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%q_%q", tt.accepted, tt.answer), func(t *testing.T) {
			t.Parallel()
			spec := arena.JudgeSpec{Kind: arena.JudgeExact}
			task := arena.Task{Answers: []string{"something else", tt.accepted}}
			if got := scoring.Judge(spec, task, tt.answer) == arena.OnePoint; got != tt.right {
				t.Errorf("right = %v, want %v", got, tt.right)
			}
		})
	}
}

func TestJudge_choice(t *testing.T) {
	t.Parallel()
	cities := []string{"Sydney", "Canberra", "Melbourne", "Perth"}
	blood := []string{"B", "AB", "A", "O"}
	tests := []struct {
		name    string
		options []string
		right   string
		answer  string
		want    bool
	}{
		{"text", cities, "Canberra", "canberra", true},
		{"other text", cities, "Canberra", "Sydney", false},
		{"letter", cities, "Canberra", "B", true},
		{"lower letter", cities, "Canberra", "b", true},
		{"letter of another", cities, "Canberra", "A", false},
		{"letter bracket", cities, "Canberra", "B)", true},
		{"letter stop", cities, "Canberra", "b.", true},
		{"letter colon", cities, "Canberra", "b:", true},
		{"letter in brackets", cities, "Canberra", "(B)", true},
		{"open bracket", cities, "Canberra", "(B", false},
		{"option letter", cities, "Canberra", "Option B", true},
		{"option letter bracket", cities, "Canberra", "option b)", true},
		{"letter and text", cities, "Canberra", "B) Canberra", true},
		{"letter in brackets and text", cities, "Canberra", "(B) Canberra", true},
		{"option letter and text", cities, "Canberra", "Option B: Canberra", true},
		{"text beats letter", cities, "Canberra", "A) Canberra", true},
		{"text beats letter, wrong", cities, "Canberra", "B) Sydney", false},
		{"letter and a comment", cities, "Canberra", "B) the capital", true},
		{"two options", cities, "Canberra", "Sydney or Canberra", false},
		{"letter and two options", cities, "Canberra", "B) Sydney or Canberra", false},
		{"two letters", cities, "Canberra", "A B", false},
		{"square brackets", cities, "Canberra", "[B]", true},
		{"bold", cities, "Canberra", "**B**", true},
		{"bold with text", cities, "Canberra", "**B.** Canberra", true},
		{"boxed", cities, "Canberra", `$\boxed{\text{B}}$`, true},
		{"dash", cities, "Canberra", "B - Canberra", true},
		{"long dash", cities, "Canberra", "B — the capital", true},
		{"statement", cities, "Canberra", "The answer is B. Note that A is a common distractor.", true},
		{"statement of the text", cities, "Canberra", "The correct answer is Canberra.", true},
		{"pick", cities, "Canberra", "I would pick B — a safe choice.", true},
		{"comment below", cities, "Canberra", "B\n\nBecause it is the capital.", true},
		{"JSON", cities, "Canberra", "```json\n{\"answer\": \"B\"}\n```", true},
		{"reasoning", cities, "Canberra", "<think>A or C?</think>B", true},
		{"accents", []string{"São Paulo", "Rio"}, "São Paulo", "Sao Paulo", true},
		{"number", []string{"0.5", "5"}, "0.5", ".5", true},
		{"number with a unit", []string{"5 km", "50 km"}, "5 km", "5", true},
		{"line of a list", cities, "Canberra", "- Canberra", true},
		{"line of a list, or a sign", []string{"5", "-5"}, "5", "- 5", false},
		{"taken back", cities, "Canberra", "B. Wait, it is C.", false},
		{"either", cities, "Canberra", "B or C", false},
		{"letters in a list", cities, "Canberra", "B, C", false},
		{"letter and another letter", cities, "Canberra", "B) or C)", false},
		{"letters run together", cities, "Canberra", "BC", false},
		{"an article", cities, "Sydney", "A good question", false},
		{"initial of a name", []string{"Newton", "Albert Einstein"}, "Newton", "A. Einstein", false},
		{"grade that is no option", []string{"B", "A"}, "B", "A-", false},
		{"letter in Cyrillic", cities, "Canberra", "В", false},
		{"list", cities, "Canberra", `["B"]`, false},
		{"number of the option", cities, "Canberra", "2", false},
		{"letter behind the last", cities, "Canberra", "E", false},
		{"full-width letter", cities, "Canberra", "Ｂ", true},
		{"a word", cities, "Canberra", "Bravo", false},
		{"nothing", cities, "Canberra", "", false},
		{"brackets only", cities, "Canberra", "()", false},
		{"not ascii", cities, "Canberra", "é", false},
		{"kelvin sign is not a byte", cities, "Canberra", "option ", false},
		{"letter that is an option's text", blood, "A", "A", true},
		{"letter that is another option's text", blood, "B", "A", false},
		{"letter and text of other options", blood, "AB", "B", false},
		{"close text beats loose", []string{"Peru", "Peru?"}, "Peru?", "peru?", true},
		{"fits two options", []string{"the wall", "a wall"}, "a wall", "wall", false},
		{"letter and text that fits two", []string{"the wall", "a wall"}, "a wall", "B) wall", false},
		{"no options", nil, "Canberra", "Canberra", true},
		{"no options, letter", nil, "Canberra", "B", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := arena.JudgeSpec{Kind: arena.JudgeChoice}
			task := arena.Task{Options: tt.options, Answers: []string{tt.right}}
			if got := scoring.Judge(spec, task, tt.answer) == arena.OnePoint; got != tt.want {
				t.Errorf("%q: right = %v, want %v", tt.answer, got, tt.want)
			}
		})
	}

	t.Run("accepted spelling that is no option", func(t *testing.T) {
		t.Parallel()
		task := arena.Task{Options: cities, Answers: []string{"Canberra", "Canberra, Australia"}}
		if scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeChoice}, task, "canberra australia") != arena.OnePoint {
			t.Error("an accepted answer was refused")
		}
	})
}

func TestJudge_number(t *testing.T) {
	t.Parallel()
	tests := []struct {
		accepted, answer string
		tolerance        float64
		right            bool
	}{
		{"18", "18", 0, true},
		{"18", "18.", 0, true},
		{"18", " 18.00 ", 0, true},
		{"18", "+18", 0, true},
		{"18", "-18", 0, false},
		{"-18", "−18", 0, true},
		{"18", "$18", 0, true},
		{"18", "$ 18.00.", 0, true},
		{"18", "US$18", 0, true},
		{"-18", "-$18", 0, true},
		{"-18", "$-18", 0, true},
		{"18", "-$-18", 0, false},
		{"18", "18€", 0, true},
		{"18", "18 dollars", 0, true},
		{"18", "18 USD", 0, true},
		{"50", "50%", 0, true},
		{"0.5", "50%", 0, false}, // a percentage is judged as written
		{"50", "50 percent.", 0, true},
		{"18", "18 apples", 0, true},
		{"18", "18 19", 0, false},
		{"18", "17 or 18", 0, false},
		{"18", "= 18", 0, true},
		{"18", "eighteen", 0, false},
		{"18", "", 0, false},
		{"18", "$", 0, false},
		{"18", ".", 0, false},
		{"18", "0x12", 0, false},
		{"8", "010", 0, false},
		{"10", "010", 0, true},
		{"1200", "1,200", 0, true},
		{"1200", "1 200", 0, true},
		{"1200", "1\u202f200", 0, true},
		{"1200", "$1200", 0, true},
		{"1200", "1.2e3", 0, true},
		{"1200", "1.2E+3", 0, true},
		{"1200", "１２００", 0, true},
		{"1,200", "1200", 0, true},
		{"1200", "12,00", 0, false},
		{"1200", "1,20", 0, false},
		{"1200300", "1,200,300", 0, true},
		{"1200300", "1,200 300", 0, false},
		{"0.75", "3/4", 0, true},
		{"0.75", "3 / 4", 0, true},
		{"-0.75", "-3/4", 0, true},
		{"3/4", ".75", 0, true},
		{"1/3", "0.333", 0.001, true},
		{"1/3", "0.333", 0, false},
		{"2", "8/04", 0, true}, // never octal
		{"1.25", "010/8", 0, true},
		{"0", "3/0", 0, false},
		{"1.5", "1 1/2", 0, true},
		{"5.5", "1 100/200", 0, false},
		{"5.5", "1½", 0, false},
		{"102", "10²", 0, false},
		{"3", "3.3", 0.3, true}, // the tolerance is the decimal that was written
		{"3", "3.31", 0.3, false},
		{"3", "2.7", 0.3, true},
		{"9007199254740993", "9007199254740992", 0, false}, // beyond float64
		{"1", "1e999", 0, false},
		{"1", "1e1000", 0, false},
		{"1", "1e999999999", 0, false},
		{"1", "nan", 1e9, false},
		{"1", "inf", 1e9, false},
		{"one", "one", 0, false}, // this judge compares numbers only
		{"72", "72,", 0, true},
		{"42", "$42$", 0, true},
		{"42", "\\boxed{42}", 0, true},
		{"42", "**42**", 0, true},
		{"42", "USD 42", 0, true},
		{"42", "42 CHF", 0, true},
		{"42", "R$ 42", 0, true},
		{"42", "x = 42", 0, true},
		{"42", "≈ 42", 0, true},
		{"42", "6 * 7 = 42\n#### 42", 0, true},
		{"42", "The answer is 42.", 0, true},
		{"42", "<think>41?</think>42", 0, true},
		{"42", "٤٢", 0, true},
		{"7000", "7000 grams", 0, true},
		{"7000", "7000 km/h", 0, true},
		{"25", "25 °C", 0, true},
		{"1200000", "1'200'000", 0, true},
		{"1200000", "1_200_000", 0, true},
		{"1234567", "12,34,567", 0, true},
		{"1234.5", "1.234,5", 0, true},
		{"3.14", "3,14", 0, false},
		{"1200", "1.2 × 10^3", 0, true},
		{"1200", "1.2 \\times 10^{3}", 0, true},
		{"1200", "1.2·10³", 0, true},
		{"0.75", "\\frac{3}{4}", 0, true},
		{"1.5", "1½", 0, true},
		{"0.5", "½", 0, true},
		{"-0.5", "1/-2", 0, true},
		{"-5", "–5", 0, true},
		{"-5", "- 5", 0, true},
		{"-5", "(5)", 0, true},
		{"5", "(5)", 0, false},
		{"5", "--5", 0, false},
		{"2000000", "2 million", 0, true},
		{"2000", "2k", 0, true},
		{"5", "5 dozen", 0, false},
		{"5", "5 and a half", 0, false},
		{"5", "5 squared", 0, false},
		{"5", "5 out of ten", 0, false},
		{"5", "5 of 6", 0, false},
		{"5", "between 4 and 5", 0, false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%q_%q", tt.accepted, tt.answer), func(t *testing.T) {
			t.Parallel()
			spec := arena.JudgeSpec{Kind: arena.JudgeNumber, Tolerance: tt.tolerance}
			task := arena.Task{Answers: []string{tt.accepted}}
			if got := scoring.Judge(spec, task, tt.answer) == arena.OnePoint; got != tt.right {
				t.Errorf("right = %v, want %v", got, tt.right)
			}
		})
	}
}

// TestJudge_properties holds for every text: an answer that the pack itself
// accepts is right, case and space do not matter.
func TestJudge_properties(t *testing.T) {
	t.Parallel()
	exact := arena.JudgeSpec{Kind: arena.JudgeExact}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		other := rapid.String().Draw(t, "other")
		if strings.TrimSpace(s) == "" {
			t.Skip()
		}
		right := func(accepted, answer string) bool {
			return scoring.Judge(exact, arena.Task{Answers: []string{accepted}}, answer) > 0
		}
		if right(s, other) != right(other, s) {
			t.Fatalf("%q and %q: not symmetric", s, other)
		}
		if right(s, "\t "+s+"\n") != right(s, s) {
			t.Fatalf("%q: outer space matters", s)
		}
		options := arena.Task{Options: []string{"zzz", s}, Answers: []string{s}}
		if right(s, s) && scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeChoice}, options, s) != arena.OnePoint {
			t.Fatalf("%q: a right option was refused", s)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		task := arena.Task{Answers: []string{fmt.Sprint(n)}}
		number := arena.JudgeSpec{Kind: arena.JudgeNumber}
		for _, form := range []string{"%d", " %d.", "%d.0", "%d/1", "%d%%"} {
			if answer := fmt.Sprintf(form, n); scoring.Judge(number, task, answer) != arena.OnePoint {
				t.Fatalf("%q was refused", answer)
			}
		}
		if n < math.MaxInt64 && scoring.Judge(number, task, fmt.Sprint(n+1)) != 0 {
			t.Fatalf("%d was accepted for %d", n+1, n)
		}
	})
}

func TestJudge_unknownKindGivesNothing(t *testing.T) {
	t.Parallel()
	if p := scoring.Judge(arena.JudgeSpec{Kind: "coin"}, arena.Task{Answers: []string{"x"}}, "x"); p != 0 {
		t.Errorf("points = %d", p)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("Canberra", "B) Canberra")
	f.Add("1,200", "$1 200.")
	f.Add("½", "1/2")
	f.Fuzz(func(t *testing.T, accepted, answer string) {
		task := arena.Task{Answers: []string{accepted}, Options: []string{accepted, "other"}}
		for _, kind := range []string{arena.JudgeExact, arena.JudgeChoice, arena.JudgeNumber} {
			spec := arena.JudgeSpec{Kind: kind}
			if p := scoring.Judge(spec, task, answer); p != 0 && p != arena.OnePoint {
				t.Errorf("%s gave %d", kind, p)
			}
		}
	})
}
