package join

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// shellWords are words that a shell would interpret. A program that is started
// without a shell would get them as arguments.
func shellWords() []string {
	return []string{"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"}
}

// Split splits a command line into words as a POSIX shell does: by white space,
// with single quotes, double quotes and backslashes. Nothing is expanded. If
// backslash is false, a backslash is an ordinary character, as in the paths of
// Windows.
func Split(line string, backslash bool) ([]string, error) {
	var words []string
	var word strings.Builder
	started, quoted := false, false // a word has begun; a part of it was quoted
	quote := rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case backslash && r == '\\' && quote != '\'':
			if i++; i == len(runes) {
				return nil, errors.New("the last character is a backslash")
			}
			if quote == '"' && !strings.ContainsRune("\\\"$`\n", runes[i]) {
				word.WriteRune('\\')
			}
			if runes[i] != '\n' {
				word.WriteRune(runes[i])
			}
			started, quoted = true, true
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started, quoted = r, true, true
		case strings.ContainsRune(" \t\r\n", r):
			if !started {
				continue
			}
			if !quoted && slices.Contains(shellWords(), word.String()) {
				return nil, noShell(word.String())
			}
			words = append(words, word.String())
			word.Reset()
			started, quoted = false, false
		default:
			word.WriteRune(r)
			started = true
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("a quote (%c) is not closed", quote)
	case started && !quoted && slices.Contains(shellWords(), word.String()):
		return nil, noShell(word.String())
	case started:
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}

func noShell(word string) error {
	return fmt.Errorf("the command runs without a shell, so %q has no meaning: quote it, or use sh -c '…'", word)
}
