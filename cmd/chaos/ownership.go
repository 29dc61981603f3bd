package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// tenure is the time in which one process treated a match as its own,
// by its own log. A process that was frozen may have made a claim at any time
// before it logs it, and the tenure may have ended at any time while it
// was stalled: it did nothing until it resumed.
type tenure struct {
	match   string
	epoch   int64
	process string // "2.3": the third process of node 2
	claimed span   // when the claim was made, as closely as it is known
	to      span   // when the belief ended, likewise
	how     string
	overdue time.Duration // since when the lease before had run out, by the database's clock
}

// from is when the process knew of its claim.
func (t tenure) from() time.Time { return t.claimed.to }

// The messages of match/engine that begin and end a tenure, and the store's
// that reports a lease which had run out.
const (
	logTakenOver = "match taken over"
	logClaimed   = "match claimed"
	logKept      = "lease kept"
	logSuspect   = "lease suspect"
	logGivenBack = "match given back"
	logLeaseLost = "lease lost"
	logLetGo     = "match let go"
	logGraceOver = "grace is over, open rounds are given back" // of all matches of the process
)

// howKilled is the end of a tenure without a log line.
const howKilled = "kill -9"

// tenures reads the logs of all processes.
func tenures(lives []*life) []tenure {
	var all []tenure
	for _, l := range lives {
		all = append(all, l.tenures()...)
	}
	return all
}

func (l *life) tenures() []tenure {
	type key struct {
		match string
		epoch int64
	}
	var order []*tenure
	held := map[key]*tenure{}
	overdue := map[key]time.Duration{}
	for line := range logLines(l.log) {
		k := key{line.MatchID, line.Epoch}
		switch line.Message {
		case logTakenOver:
			overdue[k] = time.Duration(line.OverdueMS) * time.Millisecond
		case logClaimed, logKept:
			held[k] = &tenure{
				match: k.match, epoch: k.epoch, process: fmt.Sprintf("%d.%d", l.node, l.no), claimed: span{line.Time, line.Time},
				overdue: overdue[k],
			}
			order = append(order, held[k])
		case logGraceOver:
			for _, t := range held {
				t.end(line)
			}
		case logSuspect, logGivenBack, logLeaseLost, logLetGo:
			if t, ok := held[k]; ok {
				t.end(line)
			}
		}
	}
	all := make([]tenure, 0, len(order))
	for _, t := range order {
		if t.to.to.IsZero() {
			t.to, t.how = l.killed, howKilled
			if l.killed.to.IsZero() {
				t.to, t.how = span{t.from(), time.Now()}, "unknown"
			}
		}
		for _, f := range l.frozen {
			t.asleep(f)
		}
		all = append(all, *t)
	}
	return all
}

// end records the first line after which the process no longer owns the match.
func (t *tenure) end(line logLine) {
	if t.to.to.IsZero() {
		t.to, t.how = span{line.Time, line.Time}, line.Message
	}
}

// waking is how long after a freeze a process still reads what came before.
const waking = 2 * time.Second

// asleep widens what a freeze makes uncertain.
func (t *tenure) asleep(f span) {
	if f.overlaps(t.from().Add(-waking), t.from()) {
		t.claimed.from = minTime(t.claimed.from, f.from)
	}
	if f.overlaps(t.claimed.from, t.to.to) {
		t.to.from = maxTime(t.claimed.from, minTime(t.to.from, f.from))
	}
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func maxTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// byMatch groups tenures, in the order of their epochs.
func byMatch(all []tenure) map[string][]tenure {
	groups := map[string][]tenure{}
	for _, t := range all {
		groups[t.match] = append(groups[t.match], t)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b tenure) int { return cmp.Compare(a.epoch, b.epoch) })
	}
	return groups
}

// epochs: each claim has a higher epoch than the one before it, unless the
// same process kept its match, and the row ends with no lower one (invariant 9).
func (c *checker) epochs() {
	for match, g := range byMatch(c.j.tenures) {
		for i, t := range g {
			if i > 0 && (t.epoch == g[i-1].epoch && t.process != g[i-1].process || t.claimed.to.Before(g[i-1].claimed.from)) {
				c.broken("9", "match %s: process %s claimed epoch %d at %s, process %s epoch %d at %s", match,
					g[i-1].process, g[i-1].epoch, clock(g[i-1].from()), t.process, t.epoch, clock(t.from()))
			}
			if m, ok := c.f.matches[match]; ok && m.Lease.Epoch < t.epoch {
				c.broken("9", "match %s: process %s claimed epoch %d, the row has %d", match, t.process, t.epoch, m.Lease.Epoch)
			}
		}
	}
}

// act is an operation of the ownership model: a process takes the match under
// an epoch, or lets it go.
type act struct {
	epoch int64
	take  bool
}

// ownership is the model of a match that has at most one owner: its state is
// the epoch under which it is owned, 0 when it is not.
func ownership() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, _ any) (bool, any) {
			owner, _ := state.(int64)
			a, _ := input.(act)
			if a.take {
				return owner == 0, a.epoch
			}
			return owner == a.epoch, int64(0)
		},
	}
}

// owners: at no time do two processes treat a match as theirs
// (invariant 10).
func (c *checker) owners() {
	for match, g := range byMatch(c.j.tenures) {
		if len(g) < 2 {
			continue
		}
		var history []porcupine.Operation
		for i, t := range g {
			history = append(history,
				porcupine.Operation{ClientId: i, Input: act{t.epoch, true}, Call: t.claimed.from.UnixNano(), Return: t.claimed.to.UnixNano()},
				porcupine.Operation{ClientId: i, Input: act{t.epoch, false}, Call: max(t.to.from.UnixNano(), t.claimed.from.UnixNano()+1), Return: max(t.to.to.UnixNano(), t.claimed.to.UnixNano()+1)})
		}
		if porcupine.CheckOperationsTimeout(ownership(), history, 10*time.Second) == porcupine.Illegal {
			var owners []string
			for _, t := range g {
				owners = append(owners, fmt.Sprintf("epoch %d: process %s from %s to %s (%s)", t.epoch, t.process, clock(t.from()), clock(t.to.to), t.how))
			}
			c.broken("10", "match %s had two owners: %s", match, strings.Join(owners, "; "))
		}
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
