package modeltext

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// MaxText is the length in bytes of the end of a text that is read; what stands
// before it is ignored.
const MaxText = 64 << 10

// Answer returns the answer in a text: the field "answer" of a JSON object, what
// follows the last ANSWER line, "The answer is" or ####, or the only \boxed{…};
// without any of these, the code block at its end or the last line that is not
// empty. marked reports whether
// the text marked its answer in one of these ways.
func Answer(text string) (answer string, marked bool) {
	text = Clean(text)
	if answer, ok := field(text); ok {
		return answer, true
	}
	if answer, ok := afterMarker(text); ok {
		return Unwrap(answer), true
	}
	if answer, ok := boxed(text); ok {
		return Unwrap(answer), true
	}
	if block, ok := lastBlock(text); ok {
		return Unwrap(block), false
	}
	return Unwrap(lastLine(text)), false
}

// escapes matches terminal escape codes: CSI (colors, cursor), OSC (titles,
// links) and two-character ones.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])`)

// reasoning matches the end of what a model thinks before it answers. The tag
// that opens it is often a part of the prompt and missing in the text.
var reasoning = regexp.MustCompile(`(?i)</(?:think|thinking|thought|reasoning|reflection)>`)

// lineEnds makes every end of a line a newline, and removes byte order marks.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "")

// Clean returns a text without terminal escape codes, without the reasoning
// before its answer, and without a code fence around all of it.
func Clean(text string) string {
	text = strings.ToValidUTF8(text[max(0, len(text)-MaxText):], "")
	text = escapes.ReplaceAllString(text, "")
	text = lineEnds.Replace(text)
	if ends := reasoning.FindAllStringIndex(text, -1); len(ends) > 0 {
		text = text[ends[len(ends)-1][1]:]
	}
	return unfence(strings.TrimSpace(text))
}

// unfence removes a code fence that encloses the whole text.
func unfence(text string) string {
	const fence = "```"
	inner, ok := strings.CutPrefix(text, fence)
	if !ok {
		return text
	}
	if inner, ok = strings.CutSuffix(inner, fence); !ok || strings.Contains(inner, fence) {
		return text
	}
	if language, rest, ok := strings.Cut(inner, "\n"); ok && !strings.ContainsAny(strings.TrimSpace(language), " \t{[") {
		inner = rest
	}
	return strings.TrimSpace(inner)
}

// Object returns the JSON object in a text that has one beside prose: the text
// between its first { and its last }, if that is valid.
func Object(text string) (json.RawMessage, bool) {
	text = Clean(text)
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from || !json.Valid([]byte(text[from:to+1])) {
		return nil, false
	}
	return json.RawMessage(text[from : to+1]), true
}

// field returns the field answer of a text that is one JSON object.
func field(text string) (string, bool) {
	if !strings.HasPrefix(text, "{") {
		return "", false
	}
	var object struct {
		Answer json.RawMessage `json:"answer"`
	}
	if json.Unmarshal([]byte(text), &object) != nil || object.Answer == nil {
		return "", false
	}
	var s string
	if json.Unmarshal(object.Answer, &s) == nil {
		return Unwrap(s), true
	}
	return string(object.Answer), true
}

const (
	decoration = "[\\s*_#>`~-]*"
	adjective  = `(?:(?:final|correct|right|best)\s+)?`
)

var (
	// answerLine matches the beginning of a line that holds the answer.
	answerLine = regexp.MustCompile(`(?im)^` + decoration + `(?:(?:so|thus|therefore|hence),?\s+)?(?:(?:the|my)\s+)?` + adjective +
		`(?:answer|option|choice)\s*[*_]*\s*(?::[*_]*|\s(?:is|would\s+be)\b[*_]*\s*:?[*_]*)[ \t]*|^####[ \t]+`)
	// closing matches the beginning of what models like to write at the end.
	closing = regexp.MustCompile(`(?i)^(?:i\s+)?(?:hope|let\s+me\s+know|feel\s+free|if\s+you|please|happy|glad|good\s+luck|best\s+of\s+luck|thank|cheers|is\s+there|would\s+you)\b`)
)

const (
	shortAnswer  = 200 // bytes of an answer on one line, and
	shortComment = 300 // of a comment below it, which is not a part of it
)

// afterMarker returns what follows the last line that begins with ANSWER:, without
// what was added below it.
func afterMarker(text string) (string, bool) {
	found := answerLine.FindAllStringIndex(text, -1)
	for _, at := range slices.Backward(found) {
		marker, rest := text[at[0]:at[1]], text[at[1]:]
		answer := strings.TrimSpace(rest)
		if answer == "" { // the answer stands before it
			text = text[:at[0]]
			continue
		}
		if strings.Count(marker, "**")%2 == 1 { // "**Answer: 42**"
			line, below, _ := strings.Cut(answer, "\n")
			answer = strings.Replace(line, "**", "", 1) + "\n" + below
		}
		return withoutComment(strings.TrimSpace(answer)), true
	}
	return "", false
}

// withoutComment removes a comment below an answer.
func withoutComment(answer string) string {
	first, below, more := strings.Cut(answer, "\n\n")
	if more && len(first) <= shortAnswer && len(below) <= shortComment && !strings.Contains(first, "\n") && !strings.Contains(answer, "```") {
		return first
	}
	for {
		i := strings.LastIndex(answer, "\n")
		if i < 0 || !closing.MatchString(strings.TrimSpace(answer[i:])) {
			return answer
		}
		answer = strings.TrimSpace(answer[:i])
	}
}

// boxed returns the content of the only \boxed{…} of a text.
func boxed(text string) (answer string, ok bool) {
	const open = `\boxed{`
	for rest := text; ; {
		i := strings.Index(rest, open)
		if i < 0 {
			return answer, ok
		}
		rest = rest[i+len(open):]
		end := closingBrace(rest)
		if end < 0 || ok && answer != rest[:end] {
			return "", false
		}
		answer, ok = rest[:end], true
		rest = rest[end:]
	}
}

// closingBrace returns the index of the brace that closes the one before s, or -1.
func closingBrace(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// lastBlock returns the only code block of a text that ends with it.
func lastBlock(text string) (string, bool) {
	parts := strings.Split(text, "```")
	if len(parts) != 3 || parts[2] != "" {
		return "", false
	}
	return unfence("```" + parts[1] + "```"), true
}

// lastLine returns the last line that is not empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// Unwrap removes what encloses the whole text and is no part of it: emphasis and
// code marks of Markdown, quotation marks, and the marks and text commands of
// LaTeX. It keeps brackets, which may be a part of an answer.
func Unwrap(s string) string {
	for {
		s = strings.TrimSpace(s)
		inner, ok := unwrapOnce(s)
		if !ok {
			return s
		}
		s = inner
	}
}

func unwrapOnce(s string) (string, bool) {
	for _, pair := range [][2]string{
		{"**", "**"},
		{"*", "*"},
		{"`", "`"},
		{`"`, `"`},
		{"'", "'"},
		{"“", "”"},
		{"‘", "’"},
		{"«", "»"},
		{"„", "“"},
		{"$$", "$$"},
		{"$", "$"},
		{`\(`, `\)`},
		{`\[`, `\]`},
		{"<answer>", "</answer>"},
	} {
		inner, opened := strings.CutPrefix(s, pair[0])
		inner, closed := strings.CutSuffix(inner, pair[1])
		if opened && closed && len(s) > len(pair[0])+len(pair[1]) && strings.TrimSpace(inner) != "" &&
			!strings.Contains(inner, pair[0]) && !strings.Contains(inner, pair[1]) {
			return inner, true
		}
	}
	for _, command := range []string{`\boxed{`, `\fbox{`, `\text{`, `\textbf{`, `\textit{`, `\mathrm{`, `\mathbf{`, `\mbox{`} {
		inner, ok := strings.CutPrefix(s, command)
		if !ok {
			continue
		}
		if end := closingBrace(inner); end >= 0 && end == len(inner)-1 && strings.TrimSpace(inner[:end]) != "" {
			return inner[:end], true
		}
	}
	return s, false
}
