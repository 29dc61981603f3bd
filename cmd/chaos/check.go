package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// checker collects violations. Its rules are numbered as the invariants of
// the threat model.
type checker struct {
	f    *facts
	j    *journals
	list []violation
}

// check compares the facts with the journals.
func check(f *facts, j *journals) []violation {
	c := &checker{f: f, j: j}
	for _, id := range slices.Sorted(maps.Keys(f.matches)) {
		m := f.matches[id]
		c.end(m)
		c.log(m)
		c.roundsOf(m)
		c.points(m)
	}
	if len(f.matches) > 0 && (len(j.tenures) == 0 || len(j.posts) == 0) {
		c.broken("harness", "%d matches, and %d claims and %d requests were written down: the journals are blind", len(f.matches), len(j.tenures), len(j.posts))
	}
	c.promises()
	c.settlementRows()
	c.replay()
	c.posts()
	c.deliveriesWereReceived()
	c.watched()
	c.sealed()
	c.epochs()
	c.owners()
	c.takeOvers()
	return c.list
}

func (c *checker) broken(rule, format string, args ...any) {
	c.list = append(c.list, violation{rule, fmt.Sprintf(format, args...)})
}

// end: every match has exactly one end, and its last event reports it
// (invariants 1 and 2).
func (c *checker) end(m *matchFacts) {
	if !m.Status.Over() {
		c.broken("1", "match %s is %s: round %d, open %t, epoch %d", m.ID, m.Status, m.Round, m.RoundOpen, m.Lease.Epoch)
		return
	}
	if m.FinishedAt.IsZero() {
		c.broken("2", "match %s is %s and has no end", m.ID, m.Status)
	}
	if m.Status == arena.MatchVoid && m.VoidReason.Code == "" {
		c.broken("2", "match %s is void for no reason", m.ID)
	}
	switch code := m.VoidReason.Code; code {
	case arena.VoidArenaFailed, arena.VoidAgentsUnreachable, arena.VoidRequestFailed, arena.VoidTaskSourceFailed:
		c.broken("1", "match %s is void, and no fault of the run excuses it: %s", m.ID, code)
	default:
	}
	ends := map[arena.EventType]int{}
	for _, e := range m.log {
		if e.Type == arena.EventMatchFinished || e.Type == arena.EventMatchVoid {
			ends[e.Type]++
		}
	}
	want := arena.EventMatchVoid
	if m.Status == arena.MatchFinished {
		want = arena.EventMatchFinished
	}
	if len(ends) != 1 || ends[want] != 1 {
		c.broken("2", "match %s is %s, its log has the ends %v", m.ID, m.Status, ends)
	}
}

// promises: everything that a node has confirmed is stored.
func (c *checker) promises() {
	for _, id := range c.j.acked {
		if _, ok := c.f.matches[id]; !ok {
			c.broken("1", "match %s was confirmed and is not there", id)
		}
	}
	for _, id := range c.j.voided {
		if m, ok := c.f.matches[id]; ok && m.Status != arena.MatchVoid {
			c.broken("1", "match %s was confirmed to be void and is %s", id, m.Status)
		}
	}
}

// roundsOf: rounds are numbered without gaps; all rounds are closed, unless the
// match became void; each closed round has one answer, in time, of each seat that
// played it (invariants 7 and 8).
func (c *checker) roundsOf(m *matchFacts) {
	closed := map[int]bool{}
	for i, r := range m.rounds {
		if r.No != i+1 {
			c.broken("11", "match %s: round %d is stored at place %d", m.ID, r.No, i+1)
		}
		closed[r.No] = !r.ClosedAt.IsZero()
		if !closed[r.No] && (m.Status == arena.MatchFinished || i < len(m.rounds)-1) {
			c.broken("1", "match %s is %s and its round %d never closed", m.ID, m.Status, r.No)
		}
	}
	type cell struct {
		round int
		agent string
	}
	answers := map[cell]bool{}
	for _, a := range m.answers {
		key := cell{a.Round, a.AgentID}
		if answers[key] {
			c.broken("7", "match %s: two answers of agent %s in round %d", m.ID, a.AgentID, a.Round)
		}
		answers[key] = true
		if a.Outcome == arena.OutcomeAnswered && a.Elapsed > m.Settings.TimeLimitIn(a.Round) {
			c.broken("8", "match %s: the answer of agent %s in round %d took %v", m.ID, a.AgentID, a.Round, a.Elapsed)
		}
		if a.Judged != closed[a.Round] {
			c.broken("7", "match %s: the answer of agent %s in round %d (closed: %t) is judged: %t", m.ID, a.AgentID, a.Round, closed[a.Round], a.Judged)
		}
	}
	for _, s := range m.Seats {
		for _, r := range m.rounds {
			_, acts := r.Prompt(s.No)
			played := acts && (s.State == arena.SeatActive || s.OutRound >= r.No)
			if closed[r.No] && played != answers[cell{r.No, s.AgentID}] {
				c.broken("7", "match %s: agent %s (%s since round %d) has an answer in round %d: %t", m.ID, s.AgentID, s.State, s.OutRound, r.No, !played)
			}
		}
	}
}

// settlementRows: one settlement for each finished match that moved ratings,
// none for any other; seats and the last event agree (invariants 3, 5
// and 6).
func (c *checker) settlementRows() {
	settled := map[string]arena.Settlement{}
	for i, s := range c.f.settlements {
		if s.Seq != int64(i+1) {
			c.broken("3", "settlement %d stands at place %d", s.Seq, i+1)
		}
		if _, twice := settled[s.MatchID]; twice {
			c.broken("3", "match %s is settled twice", s.MatchID)
		}
		settled[s.MatchID] = s
		m, ok := c.f.matches[s.MatchID]
		if !ok || m.Status != arena.MatchFinished || !m.Settings.Rated {
			c.broken("6", "match %s is settled and not a finished rated match", s.MatchID)
		}
		if len(s.Changes) == 2 && s.Changes[0].K == s.Changes[1].K && s.Changes[0].Delta+s.Changes[1].Delta != 0 {
			c.broken("5", "settlement %d: a duel at equal K sums to %d", s.Seq, s.Changes[0].Delta+s.Changes[1].Delta)
		}
	}
	for _, m := range c.f.matches {
		changes := map[string]arena.RatingChange{}
		for _, ch := range settled[m.ID].Changes {
			changes[ch.AgentID] = ch
		}
		for _, s := range m.Seats {
			ch, moved := changes[s.AgentID]
			if moved != (s.Delta != nil) || moved && (ch.Delta != *s.Delta || ch.Before != s.Before) {
				c.broken("3", "match %s: the seat of agent %s and the settlement differ", m.ID, s.AgentID)
			}
		}
		if m.Status == arena.MatchFinished && len(m.log) > 0 {
			c.finalChanges(m, settled[m.ID].Changes)
		}
	}
}

// finalChanges: match_finished reports exactly what was settled.
func (c *checker) finalChanges(m *matchFacts, changes []arena.RatingChange) {
	var body struct {
		Rated   bool `json:"rated"`
		Changes []struct {
			AgentID string  `json:"agent_id"`
			Before  float64 `json:"rating_before"`
			Delta   float64 `json:"rating_delta"`
		} `json:"rating_changes"`
	}
	if err := decode(m.log[len(m.log)-1].Body, &body); err != nil {
		c.broken("2", "match %s: %v", m.ID, err)
		return
	}
	same := body.Rated == (len(changes) > 0) && len(body.Changes) == len(changes)
	for i := 0; same && i < len(changes); i++ {
		reported, stored := body.Changes[i], changes[i]
		same = reported.AgentID == stored.AgentID && elo(reported.Before) == stored.Before && elo(reported.Delta) == stored.Delta
	}
	if !same {
		c.broken("2", "match %s: its last event and its settlement differ", m.ID)
	}
}

// watched: each spectator has an exact slice of the log, byte for byte
// (invariants 11 and 12). One that received the end has it.
func (c *checker) watched() {
	sums := map[string][]seenEvent{}
	for _, w := range c.j.watched {
		m, ok := c.f.matches[w.match]
		if !ok {
			continue // promises reports it
		}
		log, ok := sums[w.match]
		if !ok {
			log = digest(m.log)
			sums[w.match] = log
		}
		for i, e := range w.events {
			switch {
			case e.seq != w.after+1+int64(i):
				c.broken("12", "spectator %d of match %s: event %d at place %d after %d", w.spectator, w.match, e.seq, i+1, w.after)
			case e.seq > int64(len(log)):
				c.broken("12", "spectator %d of match %s saw event %d, the log ends at %d", w.spectator, w.match, e.seq, len(log))
			case log[e.seq-1].sum != e.sum:
				c.broken("11", "spectator %d of match %s saw another event %d than the log has", w.spectator, w.match, e.seq)
			default:
				continue
			}
			break
		}
		switch last := w.position(); {
		case !w.ended && c.j.busless:
		case !w.ended:
			c.broken("12", "spectator %d of match %s never heard the end: it has %d of %d, %d connections broke", w.spectator, w.match, last, len(log), w.lost)
		case last != unknown && last < int64(len(log)):
			c.broken("12", "spectator %d of match %s received the end at event %d of %d", w.spectator, w.match, last, len(log))
		}
	}
}

// sealed: no hidden part of a round was seen before the round closed
// (invariant 13).
func (c *checker) sealed() {
	for p, at := range c.j.sightings {
		m, ok := c.f.matches[p.match]
		if !ok || m.Settings.Visibility != arena.VisibilitySealed {
			continue
		}
		if p.round < 1 || p.round > len(m.rounds) {
			c.broken("13", "match %s: something of round %d was seen, it has %d", p.match, p.round, len(m.rounds))
			continue
		}
		if closed := m.rounds[p.round-1].ClosedAt; closed.IsZero() || at.Before(closed) {
			c.broken("13", "match %s: something sealed of round %d was seen at %v, it closed at %v", p.match, p.round, at.UTC(), closed)
		}
	}
}

// byRule orders violations for printing.
func byRule(a, b violation) int { return cmp.Compare(a.rule, b.rule) }
