package agora_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/agora-arena/arena/protocol/agora"
)

// 8.1, and what is tolerated beside it.
func TestParseDocument(t *testing.T) {
	t.Parallel()
	const meta = "name: A\ndescription: B\nmultiround: true\n"
	for text, ok := range map[string]bool{
		meta + "---\nspec\n": true,
		meta + "---":         true,
		meta + "version: 3\ntags: [a, b]\n---\nx":          true, // further metadata
		"---\n" + meta + "---\nspec":                       true, // as libraries write it
		meta + "---\n" + meta + "---\nspec":                true, // readable both ways
		strings.ReplaceAll(meta+"---\nspec", "\n", "\r\n"): true,
		meta:                                false, // no separator
		meta + " ---\nspec":                 false, // that is no separator
		"name: A\nmultiround: true\n---\nx": false,
		"name: A\ndescription: B\n---\nx":   false,
		"name: A\ndescription: B\nmultiround: maybe\n---\nx":  false,
		"name: [A]\ndescription: B\nmultiround: true\n---\nx": false,
		meta + "name: C\n---\nx":                              false, // said twice
		"- name\n---\nx":                                      false,
		"---\nspec":                                           false,
		"":                                                    false,
		"\xff" + meta + "---\n":                               false,
		meta + "---\n" + strings.Repeat("x", agora.MaxDocument): false,
	} {
		d, err := agora.ParseDocument(text)
		if (err == nil) != ok || ok && (d.Name != "A" || d.Description != "B" || !d.Multiround || d.Text != text) {
			t.Errorf("%.60q: %+v, %v", text, d, err)
		}
	}
}

// 8.2: the SHA-1 of the whole text, nothing normalized. The sum of "abc" is the
// example of FIPS 180.
func TestDocument_Hash(t *testing.T) {
	t.Parallel()
	if got := (agora.Document{Text: "abc"}).Hash(); got != "a9993e364706816aba3e25717850c26c9cd0d89d" {
		t.Errorf("%s", got)
	}
	seen := map[string]bool{}
	for _, text := range []string{"a\nb", "a\r\nb", "\ufeffa\nb", "a\nb\n"} {
		seen[agora.Document{Text: text}.Hash()] = true
	}
	if len(seen) != 4 {
		t.Error("texts that differ have one hash")
	}
	const want = "a9993e364706816aba3e25717850c26c9cd0d89d"
	raw, err := hex.DecodeString(want)
	must(t, err)
	standard := base64.StdEncoding.EncodeToString(raw)
	for in, want := range map[string]string{
		want: want, strings.ToUpper(want): want, standard: want,
		standard[:27]: "", "\n" + standard[1:]: "", standard + "\n": "", want[:39]: "", want + "0": "", strings.Repeat("g", 40): "",
		"": "", "negotiation": "", strings.ReplaceAll(standard, "=", "-"): "",
	} {
		if got := agora.NormalHash(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSourceText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"data:text/plain;charset=utf-8,a%0Ab":       "a\nb",
		"data:text/plain;charset=UTF-8,a+b":         "a+b",
		"data:text/markdown,a":                      "a",
		"data:,a":                                   "a",
		"data:text/plain;charset=utf-8;base64,YQ==": "a",
		"data:;base64,YQ%3D%3D":                     "a",
		"name: x\n---\ny":                           "name: x\n---\ny",
		"data:text/plain;charset=latin1,a":          "",
		"data:application/json,{}":                  "",
		"data:text/plain":                           "",
		"data:text/plain,%zz":                       "",
		"data:text/plain;base64,???":                "",
		"https://elsewhere.example/a.txt":           "",
		"ftp://x":                                   "",
	} {
		if got, ok := agora.SourceText(in); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %t", in, got, ok)
		}
	}
}
