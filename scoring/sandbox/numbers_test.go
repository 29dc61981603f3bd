package sandbox

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Only names that hold numbers wherever they stand are free of a price.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`for (let i = 0, n = 9; i < n; i++) { const j = i * 2 + 1; }`: "i j n",
		`let a = 1, b = a + 2, c = '' + a, d = c, e; e = -c;`:         "a b e",
		`let i = 0; i += s;`:                      "",
		`let i = 0; i ||= s;`:                     "",
		`let i = 0; i -= s;`:                      "i",
		`let i = 0; [i] = s;`:                     "",
		`let i = 0; ({ i } = s);`:                 "",
		`let i = 0; ({ x: i = 1 } = s);`:          "",
		`let i = 0; [...i] = s;`:                  "",
		`let i = 0; for (i of s);`:                "",
		`let i = 0; for ([i] of s);`:              "",
		`let i = 0; (i) => 1;`:                    "",
		`let i = 0; (...i) => 1;`:                 "",
		`let i = 0; function f({ x: [i] }) {}`:    "",
		`let i = 0; function g() { var i = 's' }`: "",
		`let i = 0; { function i() {} }`:          "",
		`let i = 0; { class i {} }`:               "",
		`let i = 0; try {} catch (i) {}`:          "",
		`let i = 0; for (const i of s);`:          "",
		`let i = 0; for (var i in s);`:            "",
		`var i = 0;`:                              "",
		`let a = b, b = 1; b = c; let c = 's';`:   "",
	} {
		tree, err := read(answerJS, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		var names []string
		for _, name := range slices.Sorted(maps.Keys(numbers(tree))) {
			names = append(names, name.String())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
