package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/scoring/sprt"
)

// duelReport is the result of a duel, as --json prints it.
type duelReport struct {
	Verdict string `json:"verdict"`          // better, not_better, undecided
	Reason  string `json:"reason,omitempty"` // why it is undecided: max_matches, tasks, repeats, interrupted
	Summary string `json:"summary"`          // for people: one sentence
	Old     string `json:"old"`
	New     string `json:"new"`
	Played  string `json:"played"` // what

	Elo0  float64 `json:"elo0"`
	Elo1  float64 `json:"elo1"`
	LLR   float64 `json:"llr"`
	Bound float64 `json:"bound"` // of the ratio, and its negative

	Pairs     sprt.Pairs `json:"pairs"` // matches in which the new agent had 0, ½, 1, 1½, 2 points
	Score     float64    `json:"score"` // of the new agent, 0 to 1
	Elo       duelElo    `json:"elo"`
	Matches   int        `json:"matches"`
	Identical int        `json:"identical"` // not counted
	Failed    int        `json:"failed"`    // not counted

	Missed  duelSides[map[string]int] `json:"missed"` // tasks or moves that were not answered, by outcome
	Asked   duelSides[int]            `json:"asked"`
	Tokens  duelSides[int64]          `json:"tokens"` // that the agents declared
	Seconds float64                   `json:"seconds"`

	Forecast []duelForecast `json:"forecast"`
}

// duelSides has a value of each agent.
type duelSides[T any] struct {
	Old T `json:"old"`
	New T `json:"new"`
}

func sides[T any](v [2]T) duelSides[T] { return duelSides[T]{v[0], v[1]} }

// duelElo is a strength with its 95 % interval. null is infinite.
type duelElo struct {
	Mean *float64 `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// duelForecast is the expected number of matches for a share of drawn games.
type duelForecast struct {
	Draws   float64 `json:"draws"`
	Elo0    int     `json:"elo0"`    // if the truth is Elo0
	Between int     `json:"between"` // if it is between the two
	Elo1    int     `json:"elo1"`
}

// forecastOf returns the forecast for shares of drawn games that are common.
func forecastOf(test sprt.Test) (all []duelForecast) {
	for _, draws := range []float64{0.3, 0.6, 0.8} {
		pairs := func(elo float64) int { return int(math.Ceil(test.ExpectedPairs(elo, draws))) }
		all = append(all, duelForecast{draws, pairs(test.Elo0), pairs((test.Elo0 + test.Elo1) / 2), pairs(test.Elo1)})
	}
	return all
}

// The verdicts of reports, and the reasons of undecided ones.
const (
	verdictBetter    = "better"
	verdictNotBetter = "not_better"
	verdictUndecided = "undecided"

	reasonMatches     = "max_matches"
	reasonTasks       = "tasks"
	reasonRepeats     = "repeats"
	reasonInterrupted = "interrupted"
)

// report returns the result of the duel.
func (d *duel) report(c *DuelCmd, took time.Duration, interrupted bool) duelReport {
	t := d.tally
	e := t.pairs.Estimate()
	r := duelReport{
		Old: d.agents.targets[0].name, New: d.agents.targets[1].name, Played: d.plan.what,
		Elo0: c.Elo0, Elo1: c.Elo1, LLR: t.test.LLR(t.pairs), Bound: sprt.Bound,
		Pairs: t.pairs, Score: t.pairs.Score(), Elo: duelElo{finite(e.Elo), finite(e.Low), finite(e.High)},
		Matches: t.matches, Identical: t.identical, Failed: t.failed,
		Missed: sides(t.missed), Asked: sides(t.asked), Tokens: sides(t.tokens), Seconds: took.Seconds(), Forecast: forecastOf(t.test),
	}
	switch {
	case t.verdict == sprt.Better:
		r.Verdict = verdictBetter
	case t.verdict == sprt.NotBetter:
		r.Verdict = verdictNotBetter
	default:
		r.Verdict, r.Reason = verdictUndecided, reasonMatches
		switch {
		case interrupted:
			r.Reason = reasonInterrupted
		case t.repeats >= mostRepeats:
			r.Reason = reasonRepeats
		case d.limit < c.MaxMatches:
			r.Reason = reasonTasks
		}
	}
	r.Summary = r.sentence()
	return r
}

// finite returns a number, or nil for an infinite one.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// sentence returns the verdict with its numbers.
func (r duelReport) sentence() string {
	switch r.Verdict {
	case verdictBetter:
		by := ""
		if r.Elo0 != 0 {
			by = fmt.Sprintf(" by more than %g Elo", r.Elo0)
		}
		return fmt.Sprintf("better: %s beats %s%s; the log-likelihood ratio %s has reached %.2f after %s", r.New, r.Old, by, ratio(r.LLR), r.Bound, r.numbers())
	case verdictNotBetter:
		return fmt.Sprintf("not better: %s does not beat %s by %g Elo; the log-likelihood ratio %s has reached −%.2f after %s", r.New, r.Old, r.Elo1, ratio(r.LLR), r.Bound, r.numbers())
	}
	why := map[string]string{
		reasonMatches: "the limit of matches is reached", reasonTasks: "the pack has no more tasks",
		reasonRepeats: fmt.Sprintf("the last %d matches had been played before", mostRepeats), reasonInterrupted: "it was interrupted",
	}[r.Reason]
	return fmt.Sprintf("undecided, because %s; the log-likelihood ratio is %s of ±%.2f after %s", why, ratio(r.LLR), r.Bound, r.numbers())
}

// numbers returns the matches and the estimate.
func (r duelReport) numbers() string {
	return fmt.Sprintf("%s (%s), %s", matches(r.Matches), strings.Trim(fmt.Sprint(r.Pairs), "[]"), eloText(r.Elo))
}

// matches returns a number of matches as text.
func matches(n int) string {
	if n == 1 {
		return "1 match"
	}
	return fmt.Sprintf("%d matches", n)
}

// eloText returns a strength with its interval.
func eloText(e duelElo) string {
	number := func(v *float64, infinite string) string {
		if v == nil {
			return infinite
		}
		return minus(fmt.Sprintf("%+.0f", math.Round(*v)+0)) // adding 0 removes the sign of a zero
	}
	mean := number(e.Mean, "beyond measure")
	return fmt.Sprintf("Elo %s (95 %% interval %s to %s)", mean, number(e.Low, "−∞"), number(e.High, "+∞"))
}

// ratio returns a log-likelihood ratio as text.
func ratio(v float64) string { return minus(fmt.Sprintf("%.2f", v)) }

// minus returns a number with the sign of print.
func minus(number string) string { return strings.Replace(number, "-", "−", 1) }

// counts returns numbers by name: "timeout 3, error 1".
func counts(m map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}

// duelPrinter prints a duel. On a terminal, progress is one line that changes.
type duelPrinter struct {
	w     io.Writer
	live  bool
	names [2]string
	open  bool  // the last line is progress that may be replaced
	mark  int   // matches at which the next line of progress is printed
	timed bool  // the time of a match has been printed
	err   error // the first failed write
}

func (p *duelPrinter) print(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

// line writes a line.
func (p *duelPrinter) line(format string, args ...any) {
	p.end()
	p.print(plaintext.Terminal(fmt.Sprintf(format, args...)) + "\n")
}

// end ends the line of progress.
func (p *duelPrinter) end() {
	if p.open {
		p.print("\n")
	}
	p.open = false
}

// forecast writes what is played and how long it may take.
func (p *duelPrinter) forecast(d *duel, c *DuelCmd) {
	unit := "task"
	if d.plan.game != "" {
		unit = "game"
	}
	p.line("old: %s", p.names[0])
	p.line("new: %s", p.names[1])
	p.line("plays: %s, %d %ss a match, in league %s", d.plan.what, unitsOfMatch, unit, d.plan.slug)
	p.line("test: Elo %g against %g, a mean score of %.3f against %.3f a %s, both errors 5 %%", c.Elo0, c.Elo1, sprt.ExpectedScore(c.Elo0), sprt.ExpectedScore(c.Elo1), unit)
	for _, f := range forecastOf(d.tally.test) {
		p.line("forecast: %d matches at Elo %g, %d between, %d at Elo %g, if %.0f %% of %ss are drawn", f.Elo0, c.Elo0, f.Between, f.Elo1, c.Elo1, 100*f.Draws, unit)
	}
	limit := fmt.Sprintf("limit: %s, %d at once", matches(d.limit), d.concurrent)
	if d.limit < c.MaxMatches {
		limit += fmt.Sprintf("; the pack has no more tasks (%d)", len(d.plan.tasks))
	}
	p.line("%s; time and tokens of a match are measured with the first", limit)
	if d.plan.again > 0 {
		p.line("left out: %d tasks that repeat another", d.plan.again)
	}
}

// waits writes why the next match does not begin.
func (p *duelPrinter) waits(err error) { p.line("waiting: %v", err) }

// progress writes the running estimate: on a terminal always, else after 1, 2, 5, 10,
// 20, 50 … matches.
func (p *duelPrinter) progress(d *duel) {
	t := d.tally
	if t.matches == 0 {
		return
	}
	if !p.timed {
		p.timed = true
		p.time(d)
	}
	if !p.live && t.matches < p.mark {
		return
	}
	for p.mark = 1; p.mark <= t.matches; {
		switch lead := leading(p.mark); lead {
		case 2:
			p.mark = p.mark / 2 * 5
		default:
			p.mark *= 2
		}
	}
	e := t.pairs.Estimate()
	text := fmt.Sprintf("%s: LLR %s of ±%.2f, %s", matches(t.matches), ratio(t.test.LLR(t.pairs)), sprt.Bound, eloText(duelElo{finite(e.Elo), finite(e.Low), finite(e.High)}))
	if t.identical > 0 {
		text += fmt.Sprintf(", %d identical", t.identical)
	}
	if t.failed > 0 {
		text += fmt.Sprintf(", %d without a result", t.failed)
	}
	if p.live {
		p.print("\r\x1b[K" + text)
		p.open = true
		return
	}
	p.line("%s", text)
}

// leading returns the first digit of a number.
func leading(n int) int {
	for n >= 10 {
		n /= 10
	}
	return n
}

// time writes what a match has taken, and what the duel takes by the forecast.
func (p *duelPrinter) time(d *duel) {
	t := d.tally
	least, most := math.MaxInt, 0
	for _, f := range forecastOf(t.test) {
		least, most = min(least, f.Elo0, f.Elo1), max(most, f.Between)
	}
	least, most = min(least, d.limit), min(most, d.limit)
	one := t.took / time.Duration(t.matches)
	all := func(n int) time.Duration {
		return (one * time.Duration(n) / time.Duration(d.concurrent)).Round(time.Second)
	}
	text := fmt.Sprintf("time: %s a match, so %s to %s for %d to %d matches", one.Round(time.Millisecond), all(least), all(most), least, most)
	if tokens := (t.tokens[0] + t.tokens[1]) / int64(t.matches); tokens > 0 {
		text += fmt.Sprintf("; tokens: %d a match, so %d to %d", tokens, tokens*int64(least), tokens*int64(most))
	} else {
		text += "; the agents declare no tokens"
	}
	p.line("%s", text)
}

// report writes the result.
func (p *duelPrinter) report(r duelReport) {
	p.line("")
	for i, missed := range []map[string]int{r.Missed.Old, r.Missed.New} {
		if len(missed) > 0 {
			p.line("%s did not answer: %s", p.names[i], counts(missed))
		}
	}
	if r.Identical > 0 {
		p.line("played like an earlier one, and not counted again: %s", matches(r.Identical))
	}
	if r.Failed > 0 {
		p.line("without a result, and not counted: %s", matches(r.Failed))
	}
	if r.Tokens.Old+r.Tokens.New > 0 {
		p.line("tokens: old %d, new %d", r.Tokens.Old, r.Tokens.New)
	}
	p.line("%s", r.Summary)
}
