package league

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// coolDown moves the idle agents that their budget or the league's pace keeps from
// playing now to those that wait. Built-in opponents have neither.
func (t *tick) coolDown(ctx context.Context, l arena.League, r *roster) error {
	r.until, r.budget = map[string]time.Time{}, map[string]bool{}
	if len(r.idle) == 0 {
		return nil // most ticks: spare the store the queries
	}
	pace := l.Settings.PaceInForce()
	since := t.now.Add(-recently)
	if pace != (arena.Pace{UnratedFiller: pace.UnratedFiller}) {
		since = t.now.Add(-arena.PaceWindow - pace.Pause)
	}
	if l.Settings.Format == arena.FormatLadder {
		pace.Pause = max(pace.Pause, t.LadderPause)
	}
	played, err := t.Store.Played(ctx, l.Slug, t.now.Add(-arena.PaceWindow), since)
	if err != nil {
		return fmt.Errorf("read who has played: %w", err)
	}
	r.last = make(map[string]time.Time, len(played))
	for id, p := range played {
		r.last[id] = p.Last
	}
	if err := t.readUses(ctx, r.idle); err != nil {
		return err
	}
	r.idle = slices.DeleteFunc(r.idle, func(a arena.Agent) bool {
		c, blocked := t.cooldownOf(a, l.Settings)
		ready := pace.Ready(played[a.ID])
		switch {
		case a.BuiltIn():
			return false // it is there for every agent at any time
		case blocked:
			r.budget[a.ID] = true
			if r.until[a.ID] = c.Until; !c.Until.IsZero() && ready.After(c.Until) {
				r.until[a.ID] = ready
			}
		case ready.After(t.now):
			r.until[a.ID] = ready
		default:
			return false
		}
		r.cooling = append(r.cooling, a)
		return true
	})
	return nil
}

// readUses reads what agents with a budget have used of today, in one query for
// all that this tick has not seen yet.
func (t *tick) readUses(ctx context.Context, agents []arena.Agent) error {
	var days []arena.AgentDay
	for _, a := range agents {
		if _, known := t.uses[a.ID]; !known && !a.Budget.IsZero() {
			days = append(days, t.zones.Day(a, t.now))
		}
	}
	if len(days) == 0 {
		return nil
	}
	uses, err := t.Store.DayUses(ctx, days)
	if err != nil {
		return fmt.Errorf("read the use of budgets: %w", err)
	}
	for _, d := range days {
		t.uses[d.AgentID] = uses[d.AgentID]
	}
	return nil
}

// cooldownOf returns why an agent's budget keeps it from a match now.
func (t *tick) cooldownOf(a arena.Agent, s arena.Settings) (arena.BudgetCooldown, bool) {
	if a.Budget.IsZero() {
		return arena.BudgetCooldown{}, false
	}
	use := t.uses[a.ID]
	return a.Budget.CooldownAt(t.now, t.zones.Of(a.Budget), t.zones.Day(a, t.now), use, use.MatchTokens(a, s))
}

// spend notes that a match of this tick counts for the agent's budget.
func (t *tick) spend(a arena.Agent, s arena.Settings) {
	if use, budgeted := t.uses[a.ID]; budgeted {
		t.uses[a.ID] = use.Add(use.MatchTokens(a, s))
	}
}

// nextReady returns when the first agent that waits may play again; zero: not known.
func (r roster) nextReady() (next time.Time) {
	for _, until := range r.until {
		next = sooner(next, until)
	}
	return next
}

// note describes why a ladder has too few idle agents, or nothing if that is only a matter
// of its pace.
func (r roster) note(league string) arena.Note {
	switch have := len(r.idle) + len(r.busy) + len(r.cooling); {
	case have < 2:
		return r.needs(league, 2, len(r.idle))
	case len(r.cooling) > len(r.budget):
		return arena.Note{}
	}
	return arena.BudgetsStopNote(2, len(r.idle), len(r.budget))
}

// needs is the note of a league that has too few agents.
func (r roster) needs(league string, least, has int) arena.Note {
	if len(r.silent) > 0 {
		return arena.NotOfferedNote(least, has, league, r.silent)
	}
	return arena.NeedsAgentsNote(least, has)
}

// recently is how far back a league without a pace looks for the last match of each
// agent. It is longer than any pause of the scheduler's own.
const recently = time.Hour

// budgetDeadline is how long a season waits for an agent that its budget stops,
// unless its pairings wait longer for any agent.
const budgetDeadline = 24 * time.Hour

// coolingUntil reports whether a pairing waits for an agent that is there but may not
// play yet, and until when at most; zero: as long as the pace of the league wants.
func (s *season) coolingUntil(agentID string, p arena.Pairing) (until time.Time, cooling bool) {
	if _, cooling = s.until[agentID]; !cooling || !s.budget[agentID] {
		return time.Time{}, cooling
	}
	return p.CreatedAt.Add(max(s.Options.Forfeit, budgetDeadline)), true
}
