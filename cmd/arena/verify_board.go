package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/recount"
	"github.com/agora-arena/arena/record"
)

// board computes a table from exported files, and compares and prints it. The name of
// a file says what it is, also behind a prefix: trivia-matches.jsonl. All others are
// signed records.
func (c *VerifyCmd) board(app *App, keys []byte, source string) (err error) {
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			err = errors.Join(err, f.Close())
		}
	}()
	e := recount.Export{Records: map[string]record.Record{}}
	lines := map[string]*os.File{recount.Matches: nil, recount.Answers: nil, recount.Ratings: nil}
	for _, file := range c.Files {
		name := exportedAs(file)
		switch name {
		case cardFile, "rounds.jsonl", "verdicts.jsonl": // no rating depends on them
		case recount.Standings:
			data, err := c.read(app, file)
			if err != nil {
				return err
			}
			if e.Table, err = recount.ReadTable(data); err != nil {
				return err
			}
		case recount.Matches, recount.Answers, recount.Ratings:
			f, err := os.Open(file) //nolint:gosec // G304: who calls names the file
			if err != nil {
				return err
			}
			opened, lines[name] = append(opened, f), f
		default:
			r, _, _, err := c.record(app, file, keys, source)
			if err != nil {
				return err
			}
			r.Log, r.Chain = nil, nil // verified, and the largest part
			e.Records[r.Match.MatchID] = r
		}
	}
	for name, f := range lines {
		if f == nil {
			return fmt.Errorf("--board needs %s, %s and %s of arena export; %s is missing", recount.Matches, recount.Answers, recount.Ratings, name)
		}
	}
	e.Matches, e.Answers, e.Ratings = lines[recount.Matches], lines[recount.Answers], lines[recount.Ratings]
	result, err := recount.Verify(e)
	if err != nil {
		return err
	}
	if result.Settlements == 0 {
		return errors.New("no settlement could be compared: the files are empty")
	}
	return printBoard(app, e, result)
}

// exportedAs returns the name under which a file was exported, without a prefix.
func exportedAs(file string) string {
	base := filepath.Base(file)
	for _, name := range []string{recount.Matches, recount.Answers, recount.Ratings, recount.Standings, cardFile, "rounds.jsonl", "verdicts.jsonl"} {
		if strings.HasSuffix(base, name) {
			return name
		}
	}
	return ""
}

// printBoard prints a table that was computed.
func printBoard(app *App, e recount.Export, r recount.Result) error {
	lines := []string{fmt.Sprintf("good: league %s, %d settlements to settlement %d; %d signed records agree", r.League, r.Settlements, r.Last, len(e.Records))}
	switch {
	case e.Table == nil:
		lines = append(lines, "not compared with the table of the arena: "+recount.Standings+" was not given")
	case e.Table.FitSettlement > 0:
		lines = append(lines, fmt.Sprintf("the table of the arena agrees, and its refit at settlement %d", r.Fitted))
	default:
		lines = append(lines, "the table of the arena agrees; it has no refit yet")
	}
	if r.NoFit != nil {
		lines = append(lines, r.NoFit.Error())
	}
	for i, line := range lines {
		lines[i] = plaintext.Terminal(line)
	}
	if _, err := io.WriteString(app.Stdout, strings.Join(lines, "\n  ")+"\n"); err != nil {
		return err
	}
	t := tabwriter.NewWriter(app.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "AGENT\tNAME\tRATING\tMATCHES\tREFIT\t95 %\tRANKS") // a tabwriter reports errors at Flush
	for _, line := range r.Lines {
		fit, interval, ranks := "-", "-", "-"
		if f := line.Fit; f != nil {
			fit, interval, ranks = elo(f.Rating), elo(f.Low)+" to "+elo(f.High), strconv.Itoa(f.RankLow)
			if f.RankHigh > f.RankLow {
				ranks += " to " + strconv.Itoa(f.RankHigh)
			}
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", plaintext.Terminal(line.AgentID), plaintext.Terminal(line.Name), elo(line.Rating), line.Matches, fit, interval, ranks)
	}
	return t.Flush()
}
