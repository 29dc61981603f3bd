package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// guessed is the guess of a file's format.
type guessed struct {
	format  string
	mapping mapping  // that the names suggest, if no format has them
	names   []string // of the columns or members
	table   bool     // a table with a header
	err     error    // columns that look like options and have no clear order
}

// guess returns the guessed format of a text file.
func guess(data []byte) guessed {
	switch {
	case isJSON(data):
		return guessJSON(data)
	case isOpenTriviaQA(data):
		return guessed{format: OpenTriviaQA}
	}
	return guessCSV(data)
}

// isJSON reports whether a text begins like an object or a list of objects.
func isJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return startsObject(data) || bytes.HasPrefix(data, []byte("["))
}

// isOpenTriviaQA reports whether one of the first lines begins a question.
func isOpenTriviaQA(data []byte) bool {
	for n, line := range lines(data) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("#Q")) {
			return true
		}
		if n > 20 {
			break
		}
	}
	return false
}

// sampleRows is the number of objects that guess examines.
const sampleRows = 10

func guessJSON(data []byte) guessed {
	if file, err := readObject(bytes.TrimSpace(data)); err == nil {
		switch {
		case file["results"] != nil:
			return guessed{format: OpenTDB}
		case file["examples"] != nil:
			return guessed{format: BIGBench}
		}
	}
	members := map[string]json.RawMessage{}
	n := 0
	for r := range jsonRows(data) {
		if values, err := readObject(r.object); err == nil {
			maps.Copy(members, values)
		}
		if n++; n == sampleRows {
			break
		}
	}
	return guessMembers(members)
}

// guessMembers returns the format of objects with the given members.
func guessMembers(members map[string]json.RawMessage) guessed {
	g := guessed{names: slices.Collect(maps.Keys(members))}
	sortNaturally(g.names)
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return members[n] == nil })
	}
	switch {
	case has("description"):
		g.format = JSONL
		if m, _ := suggest(g.names); m != nil && !has("cases") && (m["context"] != nil || !has("options") && len(m["options"]) > 0) {
			g.mapping = m // the arena's own names, and more than they hold
		}
	case has("question", "correct_answer", "incorrect_answers"):
		g.format = OpenTDB
	case has("question", "answer") && bytes.Contains(members["answer"], []byte("####")):
		g.format = GSM8K
	case has("question", "answerKey"):
		g.format = ARC
	case has("question", "options", "correct"):
		g.format = AQuA
	case has("question", "answer") && (has("choices") || has("options")) && !has("answer_idx"):
		g.format = MMLU
	default:
		g.format = JSONL
		g.mapping, g.err = suggest(g.names)
	}
	return g
}

func guessCSV(data []byte) guessed {
	g := guessed{format: CSV, table: true}
	first, _, err := csvTable(data)
	if err != nil {
		return g
	}
	g.names = namesOf(first)
	m, err := suggest(g.names)
	if last := len(first) - 1; last >= 3 && m == nil && err == nil {
		if place := placeOfLetter(strings.TrimSpace(first[last])); place >= 0 && place < last-1 {
			return guessed{format: MMLU}
		}
	}
	if _, own := readHeader(first); own != nil {
		g.mapping, g.err = m, err
		if g.err == nil {
			g.err = repeatedOptions(g.names)
		}
	}
	return g
}

// repeatedOptions returns an error if several columns that look like options have
// one name.
func repeatedOptions(names []string) error {
	for i, n := range names {
		count := 1
		for _, other := range names[i+1:] {
			if plainName(other) == plainName(n) {
				count++
			}
		}
		if stem := singular(plainName(n)); count > 1 && stem != "" && slices.Contains(optionStems(), stem) {
			return fmt.Errorf("%d columns have the name %q: give them different names, such as option_1", count, clip(n))
		}
	}
	return nil
}
