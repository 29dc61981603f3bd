package agora

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agora-arena/arena/internal/strictjson"
)

//go:embed phrases/*.json
var phraseFiles embed.FS

// intent is what plain words ask for.
type intent string

// The intents of the phrase books. No pattern matches intentHelp.
const (
	intentHelp      intent = ""
	intentAbout     intent = "about"
	intentRegister  intent = "register"
	intentLeagues   intent = "leagues"
	intentRules     intent = "rules"
	intentMine      intent = "mine" // the rating of the sender, or of an agent that it names
	intentLeader    intent = "leader"
	intentStandings intent = "standings"
	intentNext      intent = "next"
	intentMatches   intent = "matches"
)

// phraseBook is one language: how an intent is asked for, and the texts of the
// replies.
type phraseBook struct {
	Language string            `json:"language"`
	Words    []string          `json:"words"` // frequent ones, by which the language is known
	Intents  []phrases         `json:"intents"`
	Names    map[string]string `json:"names"` // of states and formats; others are shown as they are
	Texts    map[string]string `json:"texts"` // by key, with {placeholders}
}

// phrases are the patterns of an intent. A pattern is a list of words that occur
// in a text in this order, with any words between them; "|" separates
// alternatives, and a word that ends with "*" is the beginning of one.
type phrases struct {
	Intent   intent   `json:"intent"`
	Patterns []string `json:"patterns"`

	compiled [][][]string // by pattern and word: the alternatives
}

func (p *phrases) compile() {
	for _, pattern := range p.Patterns {
		var words [][]string
		for word := range strings.FieldsSeq(pattern) {
			words = append(words, strings.Split(word, "|"))
		}
		p.compiled = append(p.compiled, words)
	}
}

// languages are the files of phrase books; a tie goes to the first.
func languages() []string { return []string{"en", "es"} }

// readPhrases reads the phrase books.
func readPhrases() ([]*phraseBook, error) {
	var books []*phraseBook
	for _, language := range languages() {
		data, err := phraseFiles.ReadFile("phrases/" + language + ".json")
		b := &phraseBook{}
		if err == nil {
			err = strictjson.Unmarshal(data, b)
		}
		if err != nil {
			return nil, fmt.Errorf("phrases %s: %w", language, err)
		}
		for i := range b.Intents {
			b.Intents[i].compile()
		}
		books = append(books, b)
	}
	return books, nil
}

// maxTokens is how many words of a text are looked at.
const maxTokens = 200

// tokens returns the words of a text in lower case, without the accents of
// Spanish.
func tokens(text string) []string {
	plain := strings.NewReplacer("á", "a", "é", "e", "í", "i", "ó", "o", "ú", "u", "ü", "u", "ñ", "n")
	words := strings.FieldsFunc(plain.Replace(strings.ToLower(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-'
	})
	return words[:min(len(words), maxTokens)]
}

// understand returns the intent of a text and the book of its language.
func understand(books []*phraseBook, said []string) (intent, *phraseBook) {
	found, language := intentHelp, books[0]
	most, best := 0, 0
	for _, b := range books {
		meant, weight := b.intentOf(said)
		known := weight
		for _, word := range said {
			if slices.Contains(b.Words, word) {
				known++
			}
		}
		if known > most {
			most, language = known, b
		}
		if weight > best || weight == best && language == b && weight > 0 {
			best, found = weight, meant
		}
	}
	return found, language
}

// intentOf returns the intent whose longest pattern the text matches, the first
// of several, and the number of words of that pattern.
func (b *phraseBook) intentOf(said []string) (meant intent, weight int) {
	for _, p := range b.Intents {
		for _, words := range p.compiled {
			if len(words) > weight && matches(words, said) {
				meant, weight = p.Intent, len(words)
			}
		}
	}
	return meant, weight
}

// matches reports whether the words of a pattern occur in a text in their order.
func matches(pattern [][]string, said []string) bool {
	for _, word := range said {
		if len(pattern) == 0 {
			break
		}
		if slices.ContainsFunc(pattern[0], func(option string) bool {
			beginning, ok := strings.CutSuffix(option, "*")
			return word == option || ok && strings.HasPrefix(word, beginning)
		}) {
			pattern = pattern[1:]
		}
	}
	return len(pattern) == 0
}

// say returns a text with its placeholders filled in, given as name and value in
// turn.
func (b *phraseBook) say(key string, values ...string) string {
	for i := 0; i < len(values); i += 2 {
		values[i] = "{" + values[i] + "}"
	}
	return strings.NewReplacer(values...).Replace(b.Texts[key])
}

// name returns the name of a state or format.
func (b *phraseBook) name(id string) string {
	if name, ok := b.Names[id]; ok {
		return name
	}
	return id
}
