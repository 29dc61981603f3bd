package protocoltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Transcript collects the messages of an exchange for a page of the
// documentation, and compares the two. What differs from run to run is replaced.
type Transcript struct {
	text     strings.Builder
	replaces []replacement
}

type replacement struct {
	found *regexp.Regexp
	with  string
}

// Replace lets every match of an expression appear as a text. A "#" in it is the
// number of the match among the different ones, from 1.
func (tr *Transcript) Replace(expression, with string) {
	tr.replaces = append(tr.replaces, replacement{regexp.MustCompile(expression), with})
}

// Say adds a sentence.
func (tr *Transcript) Say(text string) { tr.text.WriteString(text + "\n\n") }

// Add adds a request or a reply, by its first line and its JSON.
func (tr *Transcript) Add(t testing.TB, line string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	fmt.Fprintf(&tr.text, "```json\n// %s\n%s\n```\n\n", line, strings.Join(joinShort(strings.Split(b.String(), "\n")), "\n"))
}

// maxLine is the most bytes of a line that joinShort makes.
const maxLine = 110

// joinShort writes each object and list of indented JSON on one line where that
// line is short.
func joinShort(lines []string) (joined []string) {
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if !strings.HasSuffix(line, "{") && !strings.HasSuffix(line, "[") {
			joined = append(joined, line)
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		end := i + 1 + slices.IndexFunc(lines[i+1:], func(l string) bool {
			return strings.HasPrefix(l, indent+"}") || strings.HasPrefix(l, indent+"]")
		})
		short := line
		for _, member := range lines[i+1 : end+1] {
			member = strings.TrimLeft(member, " ")
			if strings.HasSuffix(short, ",") {
				short += " "
			}
			short += member
		}
		if len(short) <= maxLine {
			joined, i = append(joined, short), end
			continue
		}
		joined = append(joined, line)
	}
	return joined
}

// AddLine adds a request without a body.
func (tr *Transcript) AddLine(line string) { fmt.Fprintf(&tr.text, "```http\n%s\n```\n\n", line) }

// Check compares the transcript with the page, where it stands between two
// comments, or writes it there.
func (tr *Transcript) Check(t testing.TB, page string, write bool) {
	t.Helper()
	text := tr.text.String()
	for _, r := range tr.replaces {
		var seen []string
		text = r.found.ReplaceAllStringFunc(text, func(found string) string {
			n := 0
			for n < len(seen) && seen[n] != found {
				n++
			}
			if n == len(seen) {
				seen = append(seen, found)
			}
			return strings.ReplaceAll(r.with, "#", fmt.Sprint(n+1))
		})
	}
	data, err := os.ReadFile(page) //nolint:gosec // a page that the test names
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- transcript -->\n\n", "<!-- end of the transcript -->"
	before, rest, ok := strings.Cut(string(data), begin)
	there, after, ended := strings.Cut(rest, end)
	switch {
	case !ok || !ended:
		t.Fatalf("%s has no place for a transcript", page)
	case write:
		if err := os.WriteFile(page, []byte(before+begin+text+end+after), 0o600); err != nil { //nolint:gosec // the same page
			t.Fatal(err)
		}
	case there != text:
		t.Errorf("%s differs from what happens; run the test with -update and look at the difference:\n%s", page, text)
	}
}
