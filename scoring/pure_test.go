package scoring_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/scoring/sandbox/sandboxtest"
)

func TestJudge_regex(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, answer string
		right           bool
	}{
		{`\d{4}`, "2024", true},
		{`\d{4}`, "  2024\n", true},
		{`\d{4}`, "in 2024", false},
		{`\d{4}`, "2024\n2025", false},
		{`(?i)canberra`, "CANBERRA", true},
		{`canberra`, "CANBERRA", false},
		{`cat|dog`, "dog", true},
		{`cat|dog`, "catdog", false}, // the whole answer, not one side of the bar
		{`cat|cats`, "cats", true},
		{`(?m)^a$`, "b\na", false},
		{`(?s)a.b`, "a\nb", true},
		{`a)|(b`, "b", false}, // invalid on its own
		{`(?=a)a`, "a", false},
		{`(a)\1`, "aa", false},
		{`[`, "[", false},
		{``, "", true},
		{`.*`, strings.Repeat("x", 16<<10), true},
		{`.*`, strings.Repeat("x", 16<<10+1), false},
		{strings.Repeat("a", 1_001), strings.Repeat("a", 1_001), false},
		{`(a{1000}){1000}`, "a", false},
		{`.{500}.{500}`, strings.Repeat("x", 1_000), false},
	} {
		t.Run(fmt.Sprintf("%.20q_%.20q", tt.pattern, tt.answer), func(t *testing.T) {
			t.Parallel()
			task := arena.Task{Answers: []string{"no such", tt.pattern}}
			if got := scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeRegex}, task, tt.answer) == arena.OnePoint; got != tt.right {
				t.Errorf("right = %v", got)
			}
		})
	}
}

func TestJudge_regexIsGos(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`([ab.]|\[ab\]|(a|b)[*+?]|\|){1,8}`).Draw(t, "pattern")
		answer := rapid.StringMatching(`[abc]{0,6}`).Draw(t, "answer")
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Skip()
		}
		re.Longest()
		want := re.FindString(answer) == answer && re.MatchString(answer)
		task := arena.Task{Answers: []string{pattern}}
		if got := scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeRegex}, task, answer) > 0; got != want {
			t.Fatalf("%q on %q: %v", pattern, answer, got)
		}
	})
}

func TestJudge_set(t *testing.T) {
	t.Parallel()
	primes := []string{"2, 3, 5, 7"}
	for _, tt := range []struct {
		name     string
		accepted []string
		answer   string
		whole    arena.Points
		partial  arena.Points
	}{
		{"same", primes, "2, 3, 5, 7", 1000, 1000},
		{"other order, repeats, other marks", primes, "7;5\n3,2;2", 1000, 1000},
		{"JSON", primes, `["7", "5", "3", "2"]`, 1000, 1000},
		{"numbers in JSON", primes, `[7, 5, 3, 2]`, 1000, 1000}, // no strings; but brackets are punctuation
		{"one missing", primes, "2,3,5", 0, 857},
		{"one too many", primes, "2,3,5,7,9", 0, 888},
		{"half and half", primes, "2,3,4,6", 0, 500},
		{"wrong ones twice count once", primes, "2,3,4,4,6,6", 0, 500},
		{"nothing right", primes, "1,4", 0, 0},
		{"empty", primes, "", 0, 0},
		{"only marks", primes, ",;\n,", 0, 0},
		{"several answers are members", []string{"New York, NY", "Boston"}, `["boston", "New York, NY"]`, 1000, 1000},
		{"as exact compares", []string{"The Beatles; Straße"}, "strasse, beatles", 1000, 1000},
		{"no expected", []string{" , "}, "a", 0, 0},
		{"and", []string{"red, green, blue"}, "red, green and blue", 1000, 1000},
		{"and behind a comma", []string{"red, green, blue"}, "Red, green, and blue.", 1000, 1000},
		{"and without a comma", []string{"red, blue"}, "red and blue", 1000, 1000},
		{"and in a member", []string{"rock and roll, jazz"}, "jazz, rock and roll", 1000, 1000},
		{"brackets around the list", []string{"{-2, 2}"}, "{2, -2}", 1000, 1000},
		{"sign", []string{"{-2, 2}"}, "{2, 2}", 0, 666},
		{"pairs", []string{"(1, 2), (3, 4)"}, "(3,4), (1,2)", 1000, 1000},
		{"other pairs", []string{"(1, 2), (3, 4)"}, "(1, 3), (2, 4)", 0, 0},
		{"bullets", primes, "- 2\n- 3\n- 5\n- 7", 1000, 1000},
		{"numbered", []string{"red, blue"}, "1. red\n2. blue", 1000, 1000},
		{"marked", primes, "Let me see.\nANSWER: 2, 3, 5, 7\n\nHope this helps!", 1000, 1000},
		{"quoted members", []string{"red, blue"}, `"red", "blue"`, 1000, 1000},
		{"a flood", primes, strings.Repeat("2,", 501), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			task := arena.Task{Answers: tt.accepted}
			if got := scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeSet}, task, tt.answer); got != tt.whole {
				t.Errorf("whole: %d, want %d", got, tt.whole)
			}
			if got := scoring.Judge(arena.JudgeSpec{Kind: arena.JudgeSet, Partial: true}, task, tt.answer); got != tt.partial {
				t.Errorf("partial: %d, want %d", got, tt.partial)
			}
		})
	}
}

func TestJudge_setOrderAndRepeats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-f]{1,3}`)
		accepted := rapid.SliceOfN(word, 1, 8).Draw(t, "accepted")
		given := rapid.SliceOfN(word, 1, 8).Draw(t, "given")
		spec := arena.JudgeSpec{Kind: arena.JudgeSet, Partial: true}
		points := func(accepted, given []string) arena.Points {
			return scoring.Judge(spec, arena.Task{Answers: []string{strings.Join(accepted, ",")}}, strings.Join(given, ";"))
		}
		p := points(accepted, given)
		other := append(append([]string{}, given...), given[rapid.IntRange(0, len(given)-1).Draw(t, "repeat")])
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		if q := points(accepted, other); q != p {
			t.Fatalf("%v gave %d, %v gave %d", given, p, other, q)
		}
		if p < 0 || p > arena.OnePoint || points(given, accepted) != p {
			t.Fatalf("%d, the other way %d", p, points(given, accepted))
		}
		spec.Partial = false
		if whole := points(accepted, given); whole != 0 && whole != arena.OnePoint || (whole > 0) != (p == arena.OnePoint) {
			t.Fatalf("%d in part, %d as a whole", p, whole)
		}
	})
}

func TestJudge_json(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		accepted, answer string
		tolerance        float64
		right            bool
	}{
		{`{"a": [1, true, null], "b": "x"}`, ` {"b":"x","a":[1,true,null]}`, 0, true},
		{`[1, 2]`, `[2, 1]`, 0, false},
		{`{"a": 1}`, `{"a": 1, "b": 2}`, 0, false},
		{`{"a": 1, "b": 2}`, `{"a": 1, "c": 2}`, 0, false},
		{`{"a": null}`, `{}`, 0, false},
		{`1`, `1.0`, 0, true},
		{`1`, `1e0`, 0, true},
		{`100`, `1E+2`, 0, true},
		{`0`, `-0.0e5`, 0, true},
		{`0.1`, `0.1000000000000000000000001`, 0, false},
		{`9007199254740993`, `9007199254740992`, 0, false},
		{`1e400`, `1e401`, 0, false},
		{`1e400`, `10e399`, 0, true},
		{`1e999999999999`, `10e999999999998`, 0, true},
		{`1e999999999999`, `1`, 1, false},
		{`0.3`, `0.30000000000000004`, 1e-9, true},
		{`[0.3]`, `[0.4]`, 0.1, true},
		{`[0.3]`, `[0.41]`, 0.1, false},
		{`1`, `"1"`, 0, false},
		{`1`, `true`, 0, false},
		{`"é"`, `"\u00e9"`, 0, true},
		{`"a"`, `"A"`, 0, false},
		{`{"a": 1}`, `{"a": 1, "a": 1}`, 0, false},
		{`{"a": 1}`, `{"a": 1, "\u0061": 1}`, 0, false},
		{`{"a": 1}`, `{"a": 1} `, 0, true},
		{`{"a": 1}`, `{"a": 1} x`, 0, false},
		{`{"a": 1}`, `{'a': 1}`, 0, false},
		{`1`, `01`, 0, false},
		{`1`, `NaN`, 0, false},
		{`[]`, strings.Repeat("[", 1_000_000), 0, false},
		{`null`, `null`, 0, true},
		{`null`, ``, 0, false},
	} {
		t.Run(fmt.Sprintf("%.30q_%.30q", tt.accepted, tt.answer), func(t *testing.T) {
			t.Parallel()
			spec := arena.JudgeSpec{Kind: arena.JudgeJSON, Tolerance: tt.tolerance}
			task := arena.Task{Answers: []string{`"another"`, tt.accepted}}
			if got := scoring.Judge(spec, task, tt.answer) == arena.OnePoint; got != tt.right {
				t.Errorf("right = %v", got)
			}
		})
	}
}

// anyJSON draws a JSON value of a few levels.
func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int32(), func(n int32) any { return float64(n) / 8 }),
		rapid.Map(rapid.StringMatching(`[a-zé"\\]{0,4}`), func(s string) any { return s }),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(anyJSON(depth-1), 0, 4), func(a []any) any { return a }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-c]`), anyJSON(depth-1), 0, 3), func(m map[string]any) any { return m }),
	)
}

func TestJudge_jsonReformatted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v, other := anyJSON(3).Draw(t, "value"), anyJSON(2).Draw(t, "other")
		compact, _ := json.Marshal(v)
		indented, _ := json.MarshalIndent(v, " ", "\t")
		spec := arena.JudgeSpec{Kind: arena.JudgeJSON}
		task := arena.Task{Answers: []string{string(compact)}}
		if scoring.Judge(spec, task, string(indented)) != arena.OnePoint {
			t.Fatalf("%s is not %s", compact, indented)
		}
		different, _ := json.Marshal(other)
		if same := scoring.Judge(spec, task, string(different)) > 0; same != (string(different) == string(compact)) {
			t.Fatalf("%s and %s: %v", compact, different, same)
		}
	})
}

func cases(pairs ...string) []arena.Case {
	var all []arena.Case
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, arena.Case{Args: json.RawMessage(pairs[i]), Want: json.RawMessage(pairs[i+1])})
	}
	return all
}

// judgeCode runs an answer in this process and returns its points.
func judgeCode(t testing.TB, spec arena.JudgeSpec, task arena.Task, answer string) arena.Points {
	t.Helper()
	runner, err := sandboxtest.New()
	if err != nil {
		t.Fatal(err)
	}
	results, err := runner.Run(t.Context(), scoring.CodeScript(task.Cases, answer, spec))
	if err != nil {
		t.Fatal(err)
	}
	return scoring.CodePoints(task.Cases, results, spec)
}

func TestCodePoints(t *testing.T) {
	t.Parallel()
	sum := cases(`[1, 2]`, `3`, `[0.1, 0.2]`, `0.3`, `[5, 5]`, `10`, `[-1, 1]`, `0`)
	for _, tt := range []struct {
		name, answer string
		cases        []arena.Case
		tolerance    float64
		whole        arena.Points
		partial      arena.Points
	}{
		{"right", `function solve(a, b) { return a + b }`, sum, 1e-9, 1000, 1000},
		{"no tolerance", `function solve(a, b) { return a + b }`, sum, 0, 0, 750},
		{"fenced", "Here you are:\n```js\nconst solve = (a, b) => a + b\n```\nGood luck!", sum, 1e-9, 1000, 1000},
		{"fenced without a language", "```\nconst solve = (a, b) => a + b\n```", sum, 1e-9, 1000, 1000},
		{"two blocks", "```js\nconst a = 1\n```\n```js\nconst solve = (a, b) => a + b\n```", sum, 1e-9, 0, 0},
		{"another language", "```python\ndef solve(a, b): return a + b\n```", sum, 1e-9, 0, 0},
		{"throws once", `function solve(a, b) { if (a < 0) throw 1; return a + b }`, sum, 1e-9, 0, 750},
		{"loops once", `function solve(a, b) { while (a < 0); return a + b }`, sum, 1e-9, 0, 750},
		{"loops always", `function solve(a, b) { while (true); }`, sum, 1e-9, 0, 0},
		{"memory once", `function solve(a, b) { for (const k = []; a < 0; k.push([])); return a + b }`, sum, 1e-9, 0, 750},
		{"text for numbers", `function solve(a, b) { return String(a + b) }`, sum, 1e-9, 0, 0},
		{"nothing", ``, sum, 1e-9, 0, 0},
		{"objects in any order", `const solve = () => ({ b: [1, 2], a: 'é' })`, cases(`[]`, `{"a":"\u00e9","b":[1,2]}`), 0, 1000, 1000},
		{"remembers the last case", `let n = 0; const solve = () => n++`, cases(`[]`, `0`, `[]`, `0`), 0, 1000, 1000},
		{"looks for the expected value", `function solve() { return globalThis.want || globalThis.cases || this.want || arguments[1] || null }`, cases(`[]`, `42`), 0, 0, 0},
		{"no cases", `const solve = () => 1`, nil, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := arena.JudgeSpec{Kind: arena.JudgeCode, Tolerance: tt.tolerance}
			task := arena.Task{Cases: tt.cases}
			if got := judgeCode(t, spec, task, tt.answer); got != tt.whole {
				t.Errorf("whole: %d, want %d", got, tt.whole)
			}
			spec.Partial = true
			if got := judgeCode(t, spec, task, tt.answer); got != tt.partial {
				t.Errorf("partial: %d, want %d", got, tt.partial)
			}
		})
	}
}

func FuzzJudge_pure(f *testing.F) {
	for _, seed := range [][2]string{
		{`(a|b)*c`, "abac"},
		{`[`, "["},
		{"a, b; c", `["c", "b"]`},
		{`{"a": [1e3, "\ud83d\ude00"]}`, `{"a":[1000,"😀"]}`},
		{`1e999999999`, `-1E-99999999999999999999`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, accepted, answer string) {
		task := arena.Task{Answers: []string{accepted}}
		for _, kind := range []string{arena.JudgeRegex, arena.JudgeSet, arena.JudgeJSON} {
			spec := arena.JudgeSpec{Kind: kind, Partial: kind == arena.JudgeSet, Tolerance: 0.5}
			p := scoring.Judge(spec, task, answer)
			if p < 0 || p > arena.OnePoint {
				t.Errorf("%s gave %d", kind, p)
			}
			if again := scoring.Judge(spec, task, answer); again != p {
				t.Errorf("%s gave %d, then %d", kind, p, again)
			}
			if p > 0 && !scoring.Accepts(spec, task) {
				t.Errorf("%s gave %d for a task that it does not accept", kind, p)
			}
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	for _, bb := range []struct {
		kind, accepted, answer string
	}{
		{arena.JudgeExact, "The Beatles", "beatles."},
		{arena.JudgeChoice, "Canberra", "B) Canberra"},
		{arena.JudgeNumber, "1200", "$1,200.00"},
		{arena.JudgeRegex, `(?i)\d{4}-\d\d-\d\d`, "2024-02-29"},
		{arena.JudgeSet, "2, 3, 5, 7, 11, 13", "13, 11, 7, 5, 3, 2"},
		{arena.JudgeJSON, `{"a": [1, 2, 3], "b": {"c": null}}`, `{"b":{"c":null},"a":[1.0,2.0,3.0]}`},
	} {
		b.Run(bb.kind, func(b *testing.B) {
			task := arena.Task{Answers: []string{bb.accepted}, Options: []string{"Sydney", bb.accepted}}
			for b.Loop() {
				if scoring.Judge(arena.JudgeSpec{Kind: bb.kind}, task, bb.answer) != arena.OnePoint {
					b.Fatal("wrong")
				}
			}
		})
	}
}
