package join

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		`claude -p`:              {"claude", "-p"},
		"  a\t b\n c ":           {"a", "b", "c"},
		`sh -c 'echo "$HOME" |'`: {"sh", "-c", `echo "$HOME" |`},
		`a "b c" d`:              {"a", "b c", "d"},
		`a b\ c`:                 {"a", "b c"},
		`a ""`:                   {"a", ""},
		`a ''b"c"d`:              {"a", "bcd"},
		`a "x\"y" "\n" '\n'`:     {"a", `x"y`, `\n`, `\n`},
		`a "|" \;`:               {"a", "|", ";"},
		`ünïcödé "日本 語"`:         {"ünïcödé", "日本 語"},
		`curl http://x/?a=1&b=2`: {"curl", "http://x/?a=1&b=2"},
	} {
		if got, err := Split(line, true); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", line, got, err, want)
		}
	}
	if got, err := Split(`C:\Tools\agent.exe "a b"`, false); err != nil || !slices.Equal(got, []string{`C:\Tools\agent.exe`, "a b"}) {
		t.Errorf("Windows: %q, %v", got, err)
	}
	for line, want := range map[string]string{
		"": "empty", "  ": "empty", `''`: "empty", `a "b`: "not closed", `a 'b`: "not closed", `a \`: "backslash",
		"a | b": `"|"`, "a > b": "without a shell", "a && b": "without a shell", "a &": "without a shell",
	} {
		if got, err := Split(line, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want an error with %q", line, got, err, want)
		}
	}
}

// A word that is quoted comes out as it went in.
func FuzzSplit(f *testing.F) {
	f.Add(`claude -p`)
	f.Add(`a "b\" c`)
	f.Fuzz(func(t *testing.T, word string) {
		_, _ = Split(word, true)
		_, _ = Split(word, false)
		if !strings.Contains(word, "\r") && strings.ToValidUTF8(word, "") == word {
			quoted := "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
			if got, err := Split("x "+quoted, true); err != nil || len(got) != 2 || got[1] != word {
				t.Errorf("%q became %q, %v", word, got, err)
			}
		}
	})
}
