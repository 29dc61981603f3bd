package pack_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
)

// TestDocs runs the examples of docs/packs.md.
func TestDocs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/packs.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)

	var met []string
	for _, block := range regexp.MustCompile("(?s)```([a-z0-9]+)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		tasks, skipped, err := pack.Parse(block[1], []byte(block[2]), pack.DefaultLimits())
		if err != nil || skipped != nil || len(tasks) == 0 {
			t.Errorf("%s: %d tasks, skipped %v, error %v:\n%s", block[1], len(tasks), skipped, err, block[2])
		}
		met = append(met, block[1])
	}
	for _, format := range pack.Formats() {
		if !slices.Contains(met, format) {
			t.Errorf("no example of the format %s", format)
		}
	}

	limits := pack.DefaultLimits()
	for _, row := range []string{
		fmt.Sprintf("| file | %d MiB, %s entries |", limits.File>>20, thousands(limits.Entries)),
		fmt.Sprintf("| description | %d KiB |", limits.Description>>10),
		fmt.Sprintf("| option, accepted answer | %d bytes; 2 to %d options, %d answers |", limits.Option, limits.Options, limits.Answers),
		fmt.Sprintf("| topic, difficulty, input_format, output_format | %d bytes |", limits.Word),
		fmt.Sprintf("| cases of a programming task | %d, %d KiB each |", limits.Cases, limits.Case>>10),
		fmt.Sprintf("| max_tokens | 1 to %s; 0 or left out: the league's |", thousands(pack.MaxTokens)),
		fmt.Sprintf("| invalid entries that are reported | %s |", thousands(limits.Skipped)),
	} {
		if !strings.Contains(page, row) {
			t.Errorf("the limits do not have the row %s", row)
		}
	}

	var samples strings.Builder
	samples.WriteString("| generator | difficulty | task | answer |\n|---|---|---|---|\n")
	for _, name := range pack.Generators() {
		if row := fmt.Sprintf("| `%s` | `%s` |", name, pack.GeneratorJudge(name)); !strings.Contains(page, row) {
			t.Errorf("the generator %s and its judge are missing", name)
		}
		for _, difficulty := range []int{1, 3, 5} {
			task, err := pack.Generate(arena.GeneratorSpec{Name: name, Difficulty: difficulty}, 42, 1)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&samples, "| `%s` | %d | %s | %s |\n", name, difficulty, strings.ReplaceAll(task.Description, "*", `\*`), task.Answers[0])
		}
	}
	if !strings.Contains(page, samples.String()) {
		t.Errorf("docs/packs.md does not hold what the generators make:\n%s", samples.String())
	}
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
