package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"text/tabwriter"
	"time"
)

// BenchAllCmd is `arena bench all`.
type BenchAllCmd struct {
	Freeze string `placeholder:"FILE" help:"Save the ratios in a file as the baseline of a release (cmd/arena-bench/baselines.json)."`
	JSON   bool   `help:"Print one JSON object."`
}

// Help describes what is measured.
func (c *BenchAllCmd) Help() string {
	return `Runs the other benchmarks one after another, each in a process of its own, and
prints one table: each figure, its bare baseline from the same run, the ratio and
the ratio of the last release. Lower is better. A benchmark with a ratio that is
10 % worse than the release runs again; the ratio is marked if three of three runs
are worse. The exit code does not depend on the figures.`
}

//go:embed baselines.json
var releaseJSON []byte

// release are the frozen ratios of a release by name of figure.
type release struct {
	Date   string             `json:"date"`
	Commit string             `json:"commit"`
	Ratios map[string]float64 `json:"ratios"`
}

// figure is one row of the table.
type figure struct {
	Name    string  `json:"figure"`
	Unit    string  `json:"unit"`
	Arena   float64 `json:"arena"`
	Bare    float64 `json:"bare,omitempty"` // 0: there is no bare baseline
	Ratio   float64 `json:"ratio,omitempty"`
	Release float64 `json:"release_ratio,omitempty"` // 0: not known
	Worse   bool    `json:"worse"`
}

// allFigures is the whole table.
type allFigures struct {
	ReleaseDate   string   `json:"release_date"`
	ReleaseCommit string   `json:"release_commit"`
	Figures       []figure `json:"figures"`
}

const (
	worseBy    = 1.1             // times the ratio of the release
	markRuns   = 3               // all of which must be worse
	rerunUntil = 5 * time.Minute // after the start; later no benchmark runs again
)

// benchJob is a benchmark with the figures that the table takes from it.
type benchJob struct {
	args []string
	read func(output []byte) ([]figure, error)
}

// from returns a function that decodes the object of a benchmark and takes figures from it.
func from[F any](figures func(F) []figure) func([]byte) ([]figure, error) {
	return func(output []byte) ([]figure, error) {
		var f F
		if err := json.Unmarshal(output, &f); err != nil {
			return nil, fmt.Errorf("figures: %w", err)
		}
		return figures(f), nil
	}
}

func benchJobs() []benchJob {
	return []benchJob{
		{[]string{"match", "--game=connect_four"}, from(func(f matchFigures) []figure {
			return []figure{
				{Name: "seat and round, 100 seats", Unit: "CPU µs", Arena: f.Match.CPUMicros, Bare: f.Match.BareCPUMicros},
				{Name: "seat and round, duels", Unit: "CPU µs", Arena: f.Duels.CPUMicros, Bare: f.Duels.BareCPUMicros},
				{Name: "move of connect_four, beside duels", Unit: "CPU µs", Arena: f.Game.CPUMicros, Bare: f.Duels.CPUMicros},
			}
		})},
		{[]string{"start"}, from(func(f startFigures) []figure {
			return []figure{{Name: "start of a match, beside a commit", Unit: "ms p50", Arena: f.Start.P50, Bare: f.Commit.P50}}
		})},
		{[]string{"stream"}, from(func(f streamFigures) []figure {
			return []figure{
				{Name: "delivery, steady", Unit: "CPU µs", Arena: f.Arena.Single.CPUMicros, Bare: f.Bare.Single.CPUMicros},
				{Name: "delivery, bursts", Unit: "CPU µs", Arena: f.Arena.Burst.CPUMicros, Bare: f.Bare.Burst.CPUMicros},
				{Name: "delivery, saturated", Unit: "CPU µs", Arena: f.Arena.Flat.CPUMicros, Bare: f.Bare.Flat.CPUMicros},
			}
		})},
		{[]string{"events"}, from(func(f eventFigures) []figure {
			return []figure{
				{Name: "event of an agent", Unit: "CPU µs", Arena: f.CPUMicros, Bare: f.BareCPU},
				{Name: "agent to spectator", Unit: "ms p50", Arena: f.Delay.P50, Bare: f.BareDelay.P50},
			}
		})},
		{[]string{"match", "--waiting=500"}, from(func(f matchFigures) []figure {
			return []figure{
				{Name: "waiting duel", Unit: "KB", Arena: kb(f.Waiting.MatchBytes)},
				{Name: "time limit, beside a timer", Unit: "ms p50", Arena: f.Waiting.Staggered.Timer.P50, Bare: f.Waiting.Staggered.Bare.P50},
			}
		})},
		{[]string{"polls", "--agents=500", "--wait=5s"}, from(func(f pollFigures) []figure {
			return []figure{
				{Name: "waiting agent", Unit: "KB", Arena: kb(f.Arena.Bytes), Bare: kb(f.Bare.Bytes)},
				{Name: "poll of a waiting agent", Unit: "CPU µs", Arena: f.Arena.PollMicro, Bare: f.Bare.PollMicro},
			}
		})},
		{[]string{"reads", "--matches=20000"}, from(func(f readFigures) []figure {
			slowest := readCost{}
			for _, r := range f.Reads {
				if r.MS.P99 > slowest.MS.P99 {
					slowest = r
				}
			}
			return []figure{{Name: "slowest read: " + slowest.What, Unit: "ms p99", Arena: slowest.MS.P99}}
		})},
	}
}

// Run measures and prints.
func (c *BenchAllCmd) Run(app *App) error {
	var last release
	if err := json.Unmarshal(releaseJSON, &last); err != nil {
		return fmt.Errorf("baselines.json: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	began := time.Now()
	all := allFigures{ReleaseDate: last.Date, ReleaseCommit: last.Commit}
	for _, job := range benchJobs() {
		figures, err := last.judge(func() ([]figure, error) {
			if !c.JSON {
				_, _ = fmt.Fprintln(app.Stderr, job.args, "…")
			}
			var out bytes.Buffer
			cmd := exec.CommandContext(app.Ctx, self, append(job.args, "--json")...) //nolint:gosec // this very program
			cmd.Stdout, cmd.Stderr = &out, app.Stderr
			if err := cmd.Run(); err != nil {
				return nil, fmt.Errorf("run: %w", err)
			}
			return job.read(out.Bytes())
		}, func() bool { return time.Since(began) < rerunUntil })
		if err != nil {
			return fmt.Errorf("%v: %w", job.args, err)
		}
		all.Figures = append(all.Figures, figures...)
	}
	if c.Freeze != "" {
		if err := freeze(c.Freeze, time.Now(), all.Figures); err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(all)
	}
	return all.print(app.Stdout)
}

// judge measures once, or up to markRuns times while a ratio was worse in all
// runs and again allows another. It returns the figures of the first run.
func (r *release) judge(measure func() ([]figure, error), again func() bool) ([]figure, error) {
	var first []figure
	runs := 0
	for worse := true; worse && runs < markRuns && (runs == 0 || again()); runs++ {
		figures, err := measure()
		if err != nil {
			return nil, err
		}
		worse = false
		for i := range figures {
			f := &figures[i]
			if f.Bare > 0 {
				f.Ratio = f.Arena / f.Bare
			}
			f.Release = r.Ratios[f.Name]
			f.Worse = f.Release > 0 && f.Ratio > worseBy*f.Release && (first == nil || first[i].Worse)
			worse = worse || f.Worse
		}
		if first == nil {
			first = figures
			continue
		}
		for i := range first {
			first[i].Worse = figures[i].Worse
		}
	}
	for i := range first {
		first[i].Worse = first[i].Worse && runs == markRuns
	}
	return first, nil
}

// freeze saves the ratios as the baseline of a release. It leaves the commit empty,
// to be filled in by hand.
func freeze(file string, now time.Time, figures []figure) error {
	r := release{Date: now.UTC().Format(time.DateOnly), Ratios: map[string]float64{}}
	for _, f := range figures {
		if f.Ratio > 0 {
			r.Ratios[f.Name] = f.Ratio
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil { //nolint:gosec // G306: a file of the source tree
		return fmt.Errorf("freeze: %w", err)
	}
	return nil
}

// print prints the table. A dash stands for a figure that is not known.
func (a *allFigures) print(out io.Writer) error {
	number := func(v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf("%.3g", v)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "figure\tunit\tarena\tbare\tratio\trelease %s\tmark\n", a.ReleaseDate)
	for _, f := range a.Figures {
		mark := ""
		if f.Worse {
			mark = "worse"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, f.Unit, number(f.Arena), number(f.Bare), number(f.Ratio), number(f.Release), mark)
	}
	return w.Flush()
}
