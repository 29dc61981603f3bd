package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// BenchCurvesCmd is `arena bench curves`.
type BenchCurvesCmd struct {
	Dir string `arg:"" help:"Folder for the pictures; those of the documentation are in docs/pictures."`
}

// Help describes what is measured.
func (c *BenchCurvesCmd) Help() string {
	return `Runs other benchmarks with growing loads, each in a process of its own, and draws
how the figures grow as SVG files: duels at once, agents that wait, spectators, and
matches in the database. Takes about ten minutes; nothing else should run.`
}

// curve is one picture.
type curve struct {
	file, title, x, y string
	loads             []int
	args              func(load int) []string
	lines             []string                               // their names
	read              func(output []byte) ([]float64, error) // one value for each line
}

// values returns a function that decodes the object of a benchmark and takes one
// value for each line from it.
func values[F any](of func(F) []float64) func([]byte) ([]float64, error) {
	return func(output []byte) ([]float64, error) {
		var f F
		if err := json.Unmarshal(output, &f); err != nil {
			return nil, fmt.Errorf("figures: %w", err)
		}
		return of(f), nil
	}
}

func benchCurves() []curve {
	return []curve{
		{
			"duels", "Processor time of duels at once (SQLite)", "duels at once", "µs for each seat and round",
			[]int{10, 50, 100, 250, 500, 1000},
			func(n int) []string {
				return []string{"match", "--seats=3", "--rounds=1", "--duel-rounds=10", fmt.Sprintf("--duels=%d", n)}
			},
			[]string{"arena", "bare requests"},
			values(func(f matchFigures) []float64 { return []float64{f.Duels.CPUMicros, f.Duels.BareCPUMicros} }),
		},
		{
			"polls", "Memory of agents that wait for tasks", "agents", "KB for each",
			[]int{100, 500, 1000, 4000},
			func(n int) []string { return []string{"polls", "--wait=5s", fmt.Sprintf("--agents=%d", n)} },
			[]string{"arena", "bare HTTP server"},
			values(func(f pollFigures) []float64 { return []float64{kb(f.Arena.Bytes), kb(f.Bare.Bytes)} }),
		},
		{
			"spectators", "Delay of an event of a match with many spectators", "spectators", "ms at p99",
			[]int{100, 500, 1000, 4000},
			func(n int) []string { return []string{"stream", "--duration=3s", fmt.Sprintf("--spectators=%d", n)} },
			[]string{"arena", "bare writes"},
			values(func(f streamFigures) []float64 { return []float64{f.Arena.Single.Delay.P99, f.Bare.Single.Delay.P99} }),
		},
		{
			"reads", "Reads of the pages as matches grow in number (SQLite)", "finished matches", "ms at p99",
			[]int{10_000, 50_000, 200_000},
			func(n int) []string { return []string{"reads", fmt.Sprintf("--matches=%d", n)} },
			[]string{"lobby", "matches", "matches of an agent", "a match's log"},
			values(func(f readFigures) []float64 {
				p99 := map[string]float64{}
				for _, r := range f.Reads {
					p99[r.What] = r.MS.P99
				}
				return []float64{p99["the lobby"], p99["matches"], p99["matches of an agent"], p99["its events"]}
			}),
		},
	}
}

// Run measures and draws.
func (c *BenchCurvesCmd) Run(app *App) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	for _, v := range benchCurves() {
		points := make([][]float64, len(v.lines))
		for _, load := range v.loads {
			args := append(v.args(load), "--json")
			_, _ = fmt.Fprintln(app.Stderr, strings.Join(args, " "), "…")
			var out bytes.Buffer
			cmd := exec.CommandContext(app.Ctx, self, args...) //nolint:gosec // this very program
			cmd.Stdout, cmd.Stderr = &out, app.Stderr
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%v: %w", args, err)
			}
			got, err := v.read(out.Bytes())
			if err != nil {
				return fmt.Errorf("%v: %w", args, err)
			}
			for i, y := range got {
				points[i] = append(points[i], y)
			}
		}
		file := filepath.Join(c.Dir, v.file+".svg")
		if err := os.WriteFile(file, v.draw(points, time.Now()), 0o644); err != nil { //nolint:gosec // G306: a file of the source tree
			return fmt.Errorf("picture: %w", err)
		}
	}
	return nil
}

// The picture in pixels, and the plot in it.
const (
	curveWidth, curveHeight                  = 780, 300
	plotLeft, plotRight, plotTop, plotBottom = 64, 560, 48, 244
)

// draw returns the picture: loads on a logarithmic axis, values from 0 on, points for
// each line.
func (v *curve) draw(points [][]float64, now time.Time) []byte {
	most := 0.0
	for _, line := range points {
		for _, y := range line {
			most = max(most, y)
		}
	}
	step := tickStep(most)
	top := step * math.Ceil(most/step)
	first, last := math.Log(float64(v.loads[0])), math.Log(float64(v.loads[len(v.loads)-1]))
	x := func(load int) float64 {
		return plotLeft + (plotRight-plotLeft)*(math.Log(float64(load))-first)/(last-first)
	}
	y := func(value float64) float64 { return plotBottom - (plotBottom-plotTop)*value/top }
	var b bytes.Buffer
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12">`, curveWidth, curveHeight)
	put(`<title>%s</title>`, html.EscapeString(v.title))
	put(`<style>text{fill:#333}.grid{stroke:#8884}.l0{stroke:#2563eb;fill:#2563eb}.l1{stroke:#b45309;fill:#b45309}.l2{stroke:#15803d;fill:#15803d}.l3{stroke:#9333ea;fill:#9333ea}` +
		`polyline{fill:none!important;stroke-width:2}@media(prefers-color-scheme:dark){text{fill:#ccc}}</style>`)
	put(`<text x="%d" y="24" font-size="15">%s</text>`, plotLeft, html.EscapeString(v.title))
	for at := 0.0; at <= top+step/2; at += step {
		put(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`, plotLeft, plotRight, y(at), y(at), plotLeft-8, y(at)+4, at)
	}
	for _, load := range v.loads {
		put(`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x(load), plotBottom+18, thousands(load))
	}
	put(`<text x="%d" y="%d" text-anchor="middle">%s</text>`, (plotLeft+plotRight)/2, plotBottom+38, html.EscapeString(v.x))
	put(`<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>`, (plotTop+plotBottom)/2, html.EscapeString(v.y))
	label := math.Inf(-1) // where the last label of a line stands
	for _, i := range byEnd(points) {
		var line strings.Builder
		for n, value := range points[i] {
			fmt.Fprintf(&line, "%.1f,%.1f ", x(v.loads[n]), y(value))
			put(`<circle class="l%d" cx="%.1f" cy="%.1f" r="3"/>`, i, x(v.loads[n]), y(value))
		}
		end := points[i][len(points[i])-1]
		label = max(label+16, y(end))
		put(`<polyline class="l%d" points="%s"/><text x="%d" y="%.1f">%s: %.3g</text>`, i, strings.TrimSpace(line.String()), plotRight+10, label+4, html.EscapeString(v.lines[i]), end)
	}
	put(`<text x="%d" y="%d" text-anchor="end" font-size="10">%s, %d processors</text>`, curveWidth-8, curveHeight-6, now.UTC().Format(time.DateOnly), runtime.GOMAXPROCS(0))
	put(`</svg>`)
	return b.Bytes()
}

// tickStep returns 1, 2 or 5 times a power of ten, at most six of which reach most.
func tickStep(most float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(most/6)))
	for _, times := range []float64{1, 2, 5} {
		if most <= 6*times*step {
			return times * step
		}
	}
	return 10 * step
}

// thousands writes a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// byEnd returns the lines in the order of their last values, highest first.
func byEnd(points [][]float64) []int {
	lines := make([]int, len(points))
	for i := range lines {
		lines[i] = i
	}
	end := func(i int) float64 { return points[i][len(points[i])-1] }
	slices.SortStableFunc(lines, func(a, b int) int { return cmp.Compare(end(b), end(a)) })
	return lines
}
