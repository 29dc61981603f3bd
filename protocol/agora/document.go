package agora

import (
	"crypto/sha1" //nolint:gosec // the standard names documents by SHA-1; what is acted on is compared by its whole text
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

//go:embed documents/*.txt
var documentFiles embed.FS

// MaxDocument is the most that a Protocol Document may have, in bytes.
const MaxDocument = 64 << 10

// Document is a Protocol Document: YAML metadata, a line of three hyphens, and
// the specification in words (standard, section 8.1).
type Document struct {
	Name        string
	Description string
	Multiround  bool
	Text        string // the whole of it
}

// Hash is the document's identifier: the SHA-1 of the whole text in 40
// lower-case hexadecimal digits (standard, section 8.2).
func (d Document) Hash() string { return hashOf(d.Text) }

// Source is the text as a data URI, for protocolSources.
func (d Document) Source() string {
	return "data:text/plain;charset=utf-8," + strings.ReplaceAll(url.QueryEscape(d.Text), "+", "%20")
}

// Base64Hash returns the document's identifier in base64.
func (d Document) Base64Hash() string {
	sum := sha1.Sum([]byte(d.Text)) //nolint:gosec // see above
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Base64Source returns the text as a data URI in base64.
func (d Document) Base64Source() string {
	return "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(d.Text))
}

func hashOf(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

// ParseDocument reads a Protocol Document. A line of hyphens before the
// metadata is passed over, as some libraries ask for one.
func ParseDocument(text string) (Document, error) {
	if len(text) > MaxDocument {
		return Document{}, fmt.Errorf("a Protocol Document has at most %d bytes, this one has %d", MaxDocument, len(text))
	}
	if !utf8.ValidString(text) {
		return Document{}, errors.New("a Protocol Document is UTF-8")
	}
	rest := text
	if line, after, _ := strings.Cut(rest, "\n"); isSeparator(line) {
		rest = after
	}
	var head strings.Builder
	found := false
	for line := range strings.Lines(rest) {
		if found = isSeparator(strings.TrimSuffix(line, "\n")); found {
			break
		}
		head.WriteString(line)
	}
	if !found {
		return Document{}, errors.New("no line of three hyphens ends the metadata")
	}
	var meta struct {
		Name        *string `yaml:"name"`
		Description *string `yaml:"description"`
		Multiround  *bool   `yaml:"multiround"`
	}
	if err := yaml.Unmarshal([]byte(head.String()), &meta); err != nil {
		return Document{}, errors.New("the metadata is not YAML with name, description (texts) and multiround (true or false)")
	}
	if meta.Name == nil || meta.Description == nil || meta.Multiround == nil {
		return Document{}, errors.New("the metadata needs name, description and multiround")
	}
	return Document{Name: *meta.Name, Description: *meta.Description, Multiround: *meta.Multiround, Text: text}, nil
}

func isSeparator(line string) bool { return strings.TrimRight(line, " \t\r") == "---" }

// documents are the arena's own.
type documents struct {
	round, judge, health                           Document // which it sends
	agent, standings, matches, rules, registration Document // which it answers
}

func readDocuments() (d documents, err error) {
	for name, into := range map[string]*Document{
		"round": &d.round, "judge": &d.judge, "health": &d.health, "agent": &d.agent, "standings": &d.standings,
		"matches": &d.matches, "rules": &d.rules, "registration": &d.registration,
	} {
		text, err := documentFiles.ReadFile("documents/" + name + ".txt")
		if err == nil {
			*into, err = ParseDocument(string(text))
		}
		if err != nil {
			return d, fmt.Errorf("document %s: %w", name, err)
		}
	}
	return d, nil
}

// normalHash returns the one spelling of a document's hash: lower-case hex. Hex
// in any case and the base64 of the same 20 bytes are read; "" is no hash.
func normalHash(s string) string {
	if len(s) == hex.EncodedLen(sha1.Size) {
		if _, err := hex.DecodeString(s); err != nil {
			return ""
		}
		return strings.ToLower(s)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) != sha1.Size || strings.ContainsAny(s, "\r\n") {
		return ""
	}
	return hex.EncodeToString(raw)
}

// sourceText returns the text that a source holds in itself: raw, or as a data
// URI of text in UTF-8. A URL holds none, and is never fetched.
func sourceText(source string) (text string, ok bool) {
	head, data, isURI := strings.Cut(source, ",")
	if !strings.HasPrefix(head, "data:") {
		if !strings.Contains(source, "\n") { // a document has lines
			return "", false
		}
		return source, true
	}
	if !isURI {
		return "", false
	}
	kind, params, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(head, "data:")), ";")
	params, encoded := strings.CutSuffix(";"+params, ";base64")
	charset := strings.Trim(params, "; ")
	if kind != "" && !strings.HasPrefix(kind, "text/") || charset != "" && charset != "charset=utf-8" && charset != "charset=utf8" {
		return "", false
	}
	unescaped, err := url.PathUnescape(data)
	if err != nil {
		return "", false
	}
	if !encoded {
		return unescaped, true
	}
	raw, err := base64.StdEncoding.DecodeString(unescaped)
	return string(raw), err == nil
}

// contradicts reports whether sources hold texts and none of them, nor all of
// them together, is the document. Two texts may have one SHA-1.
func (d Document) contradicts(sources []string) bool {
	var all strings.Builder
	for _, source := range sources {
		text, ok := sourceText(source)
		if ok && text == d.Text {
			return false
		}
		if ok {
			all.WriteString(text)
		}
	}
	return all.Len() > 0 && all.String() != d.Text
}
