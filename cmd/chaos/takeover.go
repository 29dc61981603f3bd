package main

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// handover is how long a match had no owner between two tenures.
type handover struct {
	match   string
	epoch   int64  // of the second
	how     string // the first one ended
	gap     time.Duration
	at      time.Time     // when the first one ended
	overdue time.Duration // how long the lease had run out when it was claimed, by the database's clock
}

// handovers returns all gaps between owners.
func handovers(all []tenure) []handover {
	var gaps []handover
	for _, g := range byMatch(all) {
		for i := 1; i < len(g); i++ {
			before := g[i-1]
			if before.epoch == g[i].epoch {
				continue // it was suspect, and kept
			}
			gaps = append(gaps, handover{g[i].match, g[i].epoch, before.how, g[i].from().Sub(before.to.from), before.to.from, g[i].overdue})
		}
	}
	slices.SortFunc(gaps, func(a, b handover) int { return cmp.Compare(a.gap, b.gap) })
	return gaps
}

// afterwards is how long after an outage of the database nodes leave matches
// to those that had them (two heartbeats), and a sweep.
const afterwards = 3 * time.Second

// disturbed reports that a second fault delayed a hand-over. Without
// a database, or without another node, no node can claim, and one that freezes
// while it claims holds up the others: such gaps measure the second fault.
func (j *journals) disturbed(h handover) bool {
	end := h.at.Add(h.gap)
	if slices.ContainsFunc(j.starved, func(s span) bool { return s.overlaps(end.Add(-h.overdue), end) }) {
		return true // no process ran when it was due
	}
	return slices.ContainsFunc(j.faults, func(d done) bool {
		switch kind := kindOf(d.name); {
		case strings.HasPrefix(kind, "database"), kind == "disk full":
			return span{d.from, d.to.Add(afterwards)}.overlaps(h.at, end)
		case kind == "freeze", kind == "rolling restart":
			return d.overlaps(h.at, end)
		default:
			return j.nodes == 1 && d.from.After(h.at) && d.from.Before(end)
		}
	})
}

// takeOverLimit is how long after the end of its lease a match waits at most
// for another node.
const takeOverLimit = time.Second

// takeOvers: a match whose node was killed is claimed within a second of the
// end of its lease (threat C1). The database's clock decides, for a loaded
// machine makes every clock between two processes look slow.
func (c *checker) takeOvers() {
	for _, h := range handovers(c.j.tenures) {
		if h.how == howKilled && h.overdue > takeOverLimit && !c.j.disturbed(h) {
			c.broken("C1", "match %s, epoch %d: its node was killed at %s, and it was claimed %v after its lease had run out, %v after the kill",
				h.match, h.epoch, clock(h.at), h.overdue, h.gap)
		}
	}
}
