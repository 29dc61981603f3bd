package main

import (
	"cmp"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// cell is one seat's part in one round.
type cell struct {
	match string
	round int
	agent string
}

// posts: every request that an agent received belongs to an attempt that the
// arena issued, no attempt twice, no more attempts than take-overs and
// re-sends explain (invariant 14); and what an agent answered in time, in a
// round that closed, is what is stored (invariants 7 and 8).
func (c *checker) posts() {
	received := map[cell][]post{}
	for _, p := range c.j.posts {
		if p.flaw != "" {
			c.broken("14", "agent %s received a request for match %s, round %d, attempt %d, but %s", p.agent, p.match, p.round, p.attempt, p.flaw)
			continue
		}
		received[cell{p.match, p.round, p.agent}] = append(received[cell{p.match, p.round, p.agent}], p)
	}
	for at, posts := range received {
		m, ok := c.f.matches[at.match]
		if !ok || at.round < 1 || at.round > len(m.rounds) || !slices.ContainsFunc(m.Seats, func(s arena.Seat) bool { return s.AgentID == at.agent }) {
			c.broken("14", "agent %s was asked in round %d of match %s, which is not stored", at.agent, at.round, at.match)
			continue
		}
		r := m.rounds[at.round-1]
		slices.SortFunc(posts, func(a, b post) int { return cmp.Compare(a.attempt, b.attempt) })
		for i, p := range posts {
			switch {
			case i > 0 && posts[i-1].attempt == p.attempt:
				c.broken("14", "agent %s received attempt %d of round %d of match %s twice, at %v and %v", at.agent, p.attempt, at.round, at.match, posts[i-1].at.UTC(), p.at.UTC())
			case p.attempt < 1 || p.attempt > r.Turn.MaxAttempts()*(r.Interruptions+1) && !p.pulled:
				c.broken("14", "agent %s received attempt %d of round %d of match %s, which was interrupted %d times", at.agent, p.attempt, at.round, at.match, r.Interruptions)
			case p.task != r.Task.ID:
				c.broken("14", "agent %s was asked task %s in round %d of match %s, the round's is %s", at.agent, p.task, at.round, at.match, r.Task.ID)
			}
		}
	}
	for _, m := range c.f.matches {
		for _, a := range m.answers {
			c.answer(m, a, received[cell{m.ID, a.Round, a.AgentID}])
		}
	}
}

// answer compares a stored answer with what the agent sent.
func (c *checker) answer(m *matchFacts, a arena.Answer, posts []post) {
	if a.Outcome == arena.OutcomeAnswered {
		i := slices.IndexFunc(posts, func(p post) bool {
			return a.Body != nil && p.answer == a.Body.Answer && p.secret == a.Body.Reasoning && p.kind == honest
		})
		switch {
		case i < 0:
			c.broken("8", "match %s: agent %s never gave the answer that is stored for round %d", m.ID, a.AgentID, a.Round)
		case i < len(posts)-1 && !posts[i].pulled: // a poll may get a task again that the agent works on
			c.broken("14", "match %s: the answer of agent %s in round %d came with attempt %d, and attempt %d was sent",
				m.ID, a.AgentID, a.Round, posts[i].attempt, posts[len(posts)-1].attempt)
		}
		return
	}
	if len(posts) == 0 || a.Round > len(m.rounds) || m.rounds[a.Round-1].ClosedAt.IsZero() {
		return
	}
	last := posts[len(posts)-1]
	if last.pulled && m.rounds[a.Round-1].Interruptions > 0 {
		return // the answer may have come to a node that was dead by then, and the task is asked again
	}
	if last.kind == honest && !last.replied.IsZero() && last.replied.Sub(last.at) < last.limit/2 && !c.asleep(last) {
		c.broken("7", "match %s: agent %s answered round %d within %v (attempt %d), stored is %s %q",
			m.ID, a.AgentID, a.Round, last.replied.Sub(last.at).Round(1e6), last.attempt, a.Outcome, a.Reason)
	}
}

// asleep reports whether a process was frozen, or not run by a busy machine,
// while the reply was waited for.
// One that wakes with its lease intact, since no other node could take it,
// finds the reply late by its own clock; no rule protects from that.
func (c *checker) asleep(p post) bool {
	return slices.ContainsFunc(slices.Concat(c.j.frozen, c.j.starved), func(s span) bool { return s.overlaps(p.at, p.at.Add(p.limit)) })
}

// deliveriesWereReceived: every attempt that brought a reply is in the
// journal of the agent that it was sent to (invariants 8 and 14).
func (c *checker) deliveriesWereReceived() {
	received, fetched := map[cell]map[int]bool{}, map[cell]bool{}
	for _, p := range c.j.posts {
		at := cell{p.match, p.round, p.agent}
		fetched[at] = fetched[at] || p.pulled // its deliveries have numbers of their own
		if received[at] == nil {
			received[at] = map[int]bool{}
		}
		received[at][p.attempt] = true
	}
	for _, d := range c.f.deliveries {
		at := cell{d.MatchID, d.Round, d.AgentID}
		if d.Status != 0 && !received[at][d.Attempt] && !fetched[at] {
			c.broken("14", "attempt %d of round %d of match %s is stored with status %d, agent %s never received it", d.Attempt, d.Round, d.MatchID, d.Status, d.AgentID)
		}
	}
}
