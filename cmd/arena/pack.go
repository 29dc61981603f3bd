package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/league/pack"
)

// PackCmd is `arena pack`.
type PackCmd struct {
	Check PackCheckCmd `cmd:"" help:"Show how a file of tasks would be imported, without a server."`
}

// PackCheckCmd is `arena pack check`.
type PackCheckCmd struct {
	packFlags

	File string `arg:"" type:"existingfile" help:"The file."`
	JSON bool   `name:"json" help:"Print the report as one JSON object."`
}

// packFlags are how a file of tasks is read.
type packFlags struct {
	Format string `default:"auto" enum:"auto,jsonl,csv,opentriviaqa,opentdb,gsm8k,mmlu,arc,aqua,bigbench" help:"${enum}; auto is what the file looks like."`
	Map    string `placeholder:"PART=COLUMN,…" help:"The columns or fields that hold each part, in files of other forms."`
}

// Help shows mappings.
func (c *PackCheckCmd) Help() string {
	return `Guesses the format and prints how the file was understood: the columns of the
question, its context, options and answer; three tasks, with the right options
marked and what the answer in the file means; and what was left out. Lists every
problem with its line. Exits with 1 when an entry cannot be used.

    arena pack check questions.csv
    arena pack check --map description=question,options=choices,answer=label set.jsonl

Parts of a task are description, context, options, answer (or answer_index from 0,
answer_number from 1), topic, difficulty, input_format, output_format, max_tokens and
rules. Context and options may have several columns: options=a+b+c.`
}

// What a check shows.
const (
	packSamples = 3
	packLines   = 1000
)

// Run reads the file and prints what it found.
func (c *PackCheckCmd) Run(app *App) error {
	data, err := readPackFile(c.File)
	if err != nil {
		return err
	}
	found, err := pack.Read(pack.Source{Format: c.Format, Map: c.Map, Data: data}, pack.DefaultLimits())
	problem := ""
	if err != nil {
		problem = plaintext.Terminal(err.Error())
	}
	if err := c.print(app.Stdout, found.Report(problem, packSamples, packLines)); err != nil {
		return err
	}
	switch {
	case problem != "":
		return errors.New(problem)
	case len(found.Skipped) > 0:
		return fmt.Errorf("%d of %d entries cannot be used", len(found.Skipped), len(found.Skipped)+len(found.Tasks))
	}
	return nil
}

// readPackFile reads a file of tasks.
func readPackFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read the pack: %w", err)
	}
	if most := int64(pack.DefaultLimits().File); info.Size() > most {
		return nil, fmt.Errorf("the file has %d bytes, the limit is %d", info.Size(), most)
	}
	data, err := os.ReadFile(name) //nolint:gosec // G304: the user's own file
	if err != nil {
		return nil, fmt.Errorf("read the pack: %w", err)
	}
	return data, nil
}

func (c *PackCheckCmd) print(w io.Writer, r arena.PackReport) error {
	if c.JSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(label, text string) {
		if text != "" {
			_, _ = fmt.Fprintf(t, "%s:\t%s\n", label, plaintext.Terminal(text))
		}
	}
	line("format", r.Format)
	line("map", r.Map)
	line("columns", strings.Join(r.Names, ", "))
	line("question", r.Reading.Description)
	line("context", strings.Join(r.Reading.Context, ", "))
	line("options", strings.Join(r.Reading.Options, ", "))
	line("answer", r.Reading.Answer+firstIndex(r.Reading))
	line("left out", strings.Join(r.Reading.LeftOut, ", "))
	if r.Reading.EmptyRows > 0 {
		line("empty rows", fmt.Sprint(r.Reading.EmptyRows))
	}
	for _, n := range r.Reading.Notes {
		line("note", n)
	}
	line("tasks", fmt.Sprint(r.Tasks))
	for i, s := range r.Samples {
		_, _ = fmt.Fprintln(t)
		line(fmt.Sprintf("%d", i+1), ends(strings.Join(strings.Fields(s.Description), " ")))
		for j, o := range s.Options {
			mark := ' '
			if slices.Contains(s.Right, j) {
				mark = '*'
			}
			line(fmt.Sprintf("%c %c", mark, 'A'+j), o)
		}
		line("  answer", strings.Join(s.Answer, " or ")+meaning(s, r.Reading))
		line("  topic", s.Topic)
	}
	for _, list := range []struct {
		title string
		lines []arena.SkippedLine
	}{{"cannot be used", r.Skipped}, {"warnings", r.Warnings}} {
		if len(list.lines) > 0 {
			_, _ = fmt.Fprintf(t, "\n%s:\n", list.title)
		}
		for _, l := range list.lines {
			_, _ = fmt.Fprintf(t, "  line %d:\t%s\n", l.Line, plaintext.Terminal(l.Reason))
		}
	}
	return t.Flush()
}

// ends shortens a text in its middle: a passage often stands before the question.
func ends(text string) string {
	const head, tail = 120, 80
	runes := []rune(text)
	if len(runes) <= head+tail {
		return text
	}
	return string(runes[:head]) + " … " + string(runes[len(runes)-tail:])
}

// firstIndex returns the index of the first option and the evidence for it, as text.
func firstIndex(r arena.PackReading) string {
	if r.FirstIndex == nil {
		return ""
	}
	return fmt.Sprintf(", indexes from %d: %s", *r.FirstIndex, map[string]string{
		"zero": "an answer is 0", "count": "an answer is the number of options",
		"names": "the columns of the options are numbered from 0", "declared": "as the format or the mapping says",
	}[r.Evidence])
}

// meaning returns how the answer in the file was read, unless it is the text itself.
func meaning(s arena.PackSample, r arena.PackReading) string {
	switch s.Means {
	case "letter", "label":
		return fmt.Sprintf(" (the %s %s in line %d)", s.Means, s.Given, s.Line)
	case "index":
		return fmt.Sprintf(" (%s in line %d, an index from %d)", s.Given, s.Line, *r.FirstIndex)
	}
	return ""
}
