package agora

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// DocumentText returns one of the arena's documents by the name of its file.
func DocumentText(name string) string {
	data, err := documentFiles.ReadFile("documents/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	return string(data)
}

// What the tests look at from outside.
var (
	NormalHash      = normalHash
	SourceText      = sourceText
	DecodeMessage   = decodeMessage
	DecodeReply     = decodeReply
	DecodeWellknown = decodeWellknown
)

// Understand returns the intent and the language of a text.
func Understand(t testing.TB, text string) (meant, language string) {
	t.Helper()
	books, err := readPhrases()
	if err != nil {
		t.Fatal(err)
	}
	found, book := understand(books, tokens(text))
	return string(found), book.Language
}

// Intents returns the intents of the English patterns, which every language must
// have.
func Intents(t testing.TB) []string {
	t.Helper()
	books, err := readPhrases()
	if err != nil {
		t.Fatal(err)
	}
	var intents []string
	for _, p := range books[0].Intents {
		intents = append(intents, string(p.Intent))
	}
	for _, b := range books {
		for i, p := range b.Intents {
			if string(p.Intent) != intents[i] {
				t.Errorf("%s has the intent %s, want %s", b.Language, p.Intent, intents[i])
			}
		}
	}
	return intents
}

// Placeholders returns the placeholders of each text of a language, in order.
func Placeholders(t testing.TB, language string) map[string]string {
	t.Helper()
	books, err := readPhrases()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, b := range books {
		for key, text := range b.Texts {
			if b.Language == language {
				names := regexp.MustCompile(`\{[a-z_]+\}`).FindAllString(text, -1)
				slices.Sort(names)
				found[key] = strings.Join(names, " ")
			}
		}
	}
	return found
}
