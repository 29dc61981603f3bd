package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// report is what a run prints.
type report struct {
	seed       uint64
	db         string
	took       time.Duration
	statuses   map[arena.MatchStatus]int
	reasons    map[string]int // of void matches
	rounds     int
	resumed    int // rounds that were interrupted
	answers    map[arena.Outcome]int
	events     int
	settled    int
	posts      int
	watched    int
	seen       int64
	reconnects int64
	closes     map[string]int
	faults     map[string]int
	claims     int
	again      int             // claims that resumed the match of another process
	kept       int             // suspect leases that were kept
	takeOvers  []time.Duration // after kill -9, the database being there; sorted
	overdue    []time.Duration // the same since the leases ran out, by the database's clock; sorted
	disturbed  int             // take-overs after kill -9 while no node could claim
	handOvers  []time.Duration // after SIGTERM, likewise
	refused    int64
	errors     map[string]int  // logged by nodes, by message
	starved    []time.Duration // sorted
	violations []violation
}

func newReport(r *chaosRun, f *facts, j *journals, closes map[string]int, violations []violation) *report {
	p := &report{
		seed: r.seed, db: r.o.db, took: time.Since(r.began), statuses: map[arena.MatchStatus]int{}, reasons: map[string]int{},
		answers: map[arena.Outcome]int{}, settled: len(f.settlements), posts: len(j.posts), watched: len(j.watched),
		seen: r.audience.events.Load(), reconnects: r.audience.reconnects.Load(), closes: closes, faults: map[string]int{},
		refused: r.load.refused.Load(), errors: complaints(r.cluster.allLives()), violations: violations,
	}
	for _, m := range f.matches {
		p.statuses[m.Status]++
		if m.Status == arena.MatchVoid {
			p.reasons[m.VoidReason.String()]++
		}
		p.rounds += len(m.rounds)
		for _, round := range m.rounds {
			if round.Interruptions > 0 {
				p.resumed++
			}
		}
		for _, a := range m.answers {
			p.answers[a.Outcome]++
		}
		p.events += len(m.log)
	}
	for _, d := range j.faults {
		p.faults[kindOf(d.name)]++
	}
	for _, s := range j.starved {
		p.starved = append(p.starved, s.to.Sub(s.from))
	}
	slices.Sort(p.starved)
	p.ownersOf(j)
	return p
}

// ownersOf counts how matches came to their nodes.
func (p *report) ownersOf(j *journals) {
	for _, g := range byMatch(j.tenures) {
		for i, t := range g {
			if i > 0 && t.epoch == g[i-1].epoch {
				p.kept++
			} else {
				p.claims++
			}
		}
	}
	gaps := handovers(j.tenures)
	p.again = len(gaps)
	for _, h := range gaps {
		switch away := j.disturbed(h); {
		case h.how == howKilled && away:
			p.disturbed++
		case h.how == howKilled:
			p.takeOvers = append(p.takeOvers, h.gap)
			p.overdue = append(p.overdue, h.overdue)
		case h.how == logGivenBack && !away:
			p.handOvers = append(p.handOvers, h.gap)
		}
	}
	slices.Sort(p.overdue)
}

// kindOf leaves the particulars out of a fault's name.
func kindOf(name string) string {
	for _, cut := range []string{" node ", " of ", " latency "} {
		if kind, _, ok := strings.Cut(name, cut); ok {
			name = kind
			if cut == " latency " {
				return kind + " latency"
			}
		}
	}
	return name
}

func (p *report) print(w io.Writer) {
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "  %-14s %s\n", name, fmt.Sprintf(format, args...))
	}
	matches := 0
	for _, n := range p.statuses {
		matches += n
	}
	_, _ = fmt.Fprintf(w, "seed %d on %s, %v\n", p.seed, p.db, p.took.Round(time.Second))
	line("matches", "%d: %s; refused requests %d", matches, counts(p.statuses), p.refused)
	if len(p.reasons) > 0 {
		line("void because", "%s", counts(p.reasons))
	}
	line("rounds", "%d, of which %d were interrupted", p.rounds, p.resumed)
	line("answers", "%s; %d requests reached an agent", counts(p.answers), p.posts)
	line("events", "%d in the logs, %d seen by spectators of %d matches", p.events, p.seen, p.watched)
	line("settlements", "%d", p.settled)
	line("faults", "%s", counts(p.faults))
	line("claims", "%d, %d of them resumed a match of another process; %d leases outlived an outage", p.claims, p.again, p.kept)
	line("take-over", "after kill -9: %s (%d more while a second fault stood in the way)", spread(p.takeOvers), p.disturbed)
	line("", "after the end of the lease, by the database's clock: %s; at most %v is right", spread(p.overdue), takeOverLimit)
	line("hand-over", "after SIGTERM: %s", spread(p.handOvers))
	line("spectators", "%d reconnects; connections ended with %s", p.reconnects, counts(p.closes))
	line("errors logged", "%s", counts(p.errors))
	line("machine", "too busy to run a process that was ready: %s; lateness then is no violation", spread(p.starved))
	line("violations", "%d", len(p.violations))
	rules := map[string]int{}
	for _, v := range p.violations {
		if rules[v.rule]++; rules[v.rule] <= 10 {
			_, _ = fmt.Fprintf(w, "    [%s] %s\n", v.rule, v.text)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		if n := rules[rule]; n > 10 {
			_, _ = fmt.Fprintf(w, "    [%s] and %d more\n", rule, n-10)
		}
	}
}

// totals are the counts of all seeds.
type totals struct {
	seeds, matches, rounds, answers, events, kills, again, violations int
	takeOvers                                                         []time.Duration
}

func (t *totals) add(p *report) {
	t.seeds++
	for _, n := range p.statuses {
		t.matches += n
	}
	for _, n := range p.answers {
		t.answers += n
	}
	t.rounds += p.rounds
	t.events += p.events
	t.kills += p.faults[howKilled]
	t.again += p.again
	t.violations += len(p.violations)
	t.takeOvers = append(t.takeOvers, p.takeOvers...)
}

func (t *totals) print(w io.Writer) {
	slices.Sort(t.takeOvers)
	_, _ = fmt.Fprintf(w, "%d seeds: %d matches, %d rounds, %d answers, %d events, %d kills, %d take-overs and hand-overs (after kill -9 alone: %s), %d violations\n",
		t.seeds, t.matches, t.rounds, t.answers, t.events, t.kills, t.again, spread(t.takeOvers), t.violations)
}

func counts[K ~string](m map[K]int) string {
	if len(m) == 0 {
		return "none"
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}

// spread returns number, median and worst of sorted durations.
func spread(sorted []time.Duration) string {
	if len(sorted) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, median %v, worst %v", len(sorted), sorted[len(sorted)/2].Round(time.Millisecond), sorted[len(sorted)-1].Round(time.Millisecond))
}
