package simulation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// check compares the database with the journals. Its rules are numbered as the
// invariants of the threat model.
func (w *world) check(ctx context.Context, s *store.Store, journals [][]*watched) error {
	matches, err := w.matches(ctx, s)
	if err != nil {
		return err
	}
	logs := map[string][]arena.Event{}
	statuses := map[arena.MatchStatus]int{}
	settled, err := w.settlements(ctx, s)
	if err != nil {
		return err
	}
	for id, m := range matches {
		statuses[m.Status]++
		if logs[id], err = w.checkMatch(ctx, s, m); err != nil {
			return err
		}
		if n := settled[id]; n > 1 || n == 1 && (m.Status != arena.MatchFinished || !m.Settings.Rated) {
			w.broken("3, 6", "match %s is %s (rated: %t) and settled %d times", id, m.Status, m.Settings.Rated, n)
		}
	}
	for _, journal := range journals {
		for _, seen := range journal {
			log := logs[seen.match]
			for i, sum := range seen.sums {
				if at := seen.after + int64(i); at >= int64(len(log)) || sha256.Sum256(log[at].AppendJSON(nil)) != sum {
					w.broken("11, 12", "match %s: a spectator saw another event %d than the log has", seen.match, at+1)
					break
				}
			}
			if end := seen.after + int64(len(seen.sums)); seen.ended && end != int64(len(log)) {
				w.broken("12", "match %s: the last event that a spectator saw is %d of %d", seen.match, end, len(log))
			}
		}
	}
	for p, at := range w.sightings {
		m := matches[p.match]
		rounds, err := s.Matches.Rounds(ctx, p.match)
		if err != nil {
			return err
		}
		if m.Settings.Visibility != arena.VisibilitySealed {
			continue
		}
		if p.round > len(rounds) || rounds[p.round-1].ClosedAt.IsZero() {
			w.broken("13", "match %s: something of round %d was seen, which is open", p.match, p.round)
		}
		_ = at
	}
	w.checkPosts(matches)
	w.checkWithdrawals(matches, logs)
	if err := w.checkSchedules(ctx, s, matches); err != nil {
		return err
	}
	w.log.Info("checked", "matches", statuses, "settlements", len(settled))
	if statuses[arena.MatchFinished] == 0 {
		w.broken("harness", "no match was finished")
	}
	return nil
}

func (w *world) matches(ctx context.Context, s *store.Store) (map[string]arena.Match, error) {
	all := map[string]arena.Match{}
	for p := (arena.Page{Limit: 100}); ; {
		some, next, err := s.Matches.Matches(ctx, arena.MatchFilter{}, p)
		if err != nil {
			return nil, err
		}
		for _, m := range some {
			all[m.ID] = m
		}
		if p.Cursor = next; next == "" {
			return all, nil
		}
	}
}

// settlements returns how often each match is settled (invariants 3 and 5).
func (w *world) settlements(ctx context.Context, s *store.Store) (map[string]int, error) {
	settled := map[string]int{}
	for after := int64(0); ; {
		some, err := s.Ratings.Settlements(ctx, "", after, 100)
		if err != nil || len(some) == 0 {
			return settled, err
		}
		for _, one := range some {
			if after++; one.Seq != after {
				w.broken("3", "settlement %d stands at place %d", one.Seq, after)
			}
			settled[one.MatchID]++
			if len(one.Changes) == 2 && one.Changes[0].K == one.Changes[1].K && one.Changes[0].Delta+one.Changes[1].Delta != 0 {
				w.broken("5", "settlement %d: a duel at equal K sums to %d", one.Seq, one.Changes[0].Delta+one.Changes[1].Delta)
			}
		}
	}
}

// checkMatch checks the end of a match, its answers and its log, which it returns.
func (w *world) checkMatch(ctx context.Context, s *store.Store, m arena.Match) ([]arena.Event, error) {
	if !m.Status.Over() {
		w.broken("1", "match %s is %s in round %d (open: %t), epoch %d", m.ID, m.Status, m.Round, m.RoundOpen, m.Lease.Epoch)
	}
	answers, err := s.Matches.Answers(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	type cell struct {
		round int
		agent string
	}
	have := map[cell]bool{}
	for _, a := range answers {
		at := cell{a.Round, a.AgentID}
		if have[at] {
			w.broken("7", "match %s: two answers of agent %s in round %d", m.ID, a.AgentID, a.Round)
		}
		have[at] = true
		if a.Outcome != arena.OutcomeAnswered {
			continue
		}
		if a.Elapsed > m.Settings.TimeLimitIn(a.Round) {
			w.broken("8", "match %s: the answer of agent %s in round %d took %v", m.ID, a.AgentID, a.Round, a.Elapsed)
		}
		if from := w.byID[a.AgentID]; from == nil || a.Body == nil || !from.sent[fmt.Sprint(m.ID, a.Round, a.Body.Answer)] {
			w.broken("8", "match %s: agent %s never gave the answer that is stored for round %d", m.ID, a.AgentID, a.Round)
		}
	}
	var log []arena.Event
	for {
		some, err := s.Matches.EventsAfter(ctx, m.ID, int64(len(log)), 100)
		if err != nil {
			return nil, err
		}
		for _, e := range some {
			if e.Seq != int64(len(log)+1) {
				w.broken("11", "match %s: event %d at place %d", m.ID, e.Seq, len(log)+1)
			}
			log = append(log, e)
		}
		if len(some) == 0 {
			break
		}
	}
	ends := 0
	for _, e := range log {
		if e.Type.Ends() {
			ends++
		}
	}
	if m.Status.Over() && (ends != 1 || !log[len(log)-1].Type.Ends() || m.FinishedAt.IsZero()) {
		w.broken("2, 11", "match %s is %s: its log has %d ends, and it ended at %v", m.ID, m.Status, ends, m.FinishedAt)
	}
	return log, nil
}

// checkPosts checks that every request belongs to a match of its agent, and that no
// attempt was sent twice (invariant 14).
func (w *world) checkPosts(matches map[string]arena.Match) {
	for _, a := range w.agents {
		for p, times := range a.posts {
			m, ok := matches[p.match]
			seated := slices.ContainsFunc(m.Seats, func(s arena.Seat) bool { return s.AgentID == a.id })
			if !ok || !seated || p.round < 1 || p.round > m.Round {
				w.broken("14", "agent %s was asked in round %d of match %s, which is not stored", a.id, p.round, p.match)
			}
			if times > 1 && !a.pulls { // a poll may get a task again
				w.broken("14", "agent %s received attempt %d of round %d of match %s %d times", a.id, p.attempt, p.round, p.match, times)
			}
		}
	}
}

// checkWithdrawals checks that no owner gets an agent out of a match for free (threat F9): a
// match that an agent left because it was paused calls the pause of its owner a withdrawal.
// A pause counts if it came after the pairing, which nodes with wrong clocks cannot tell.
func (w *world) checkWithdrawals(matches map[string]arena.Match, logs map[string][]arena.Event) {
	found := 0
	for _, d := range w.withdrawals {
		m := matches[d.match]
		i := slices.IndexFunc(m.Seats, func(s arena.Seat) bool { return s.AgentID == d.agent })
		if i < 0 || m.Seats[i].State != arena.SeatLeft || m.Seats[i].OutRound > 0 || w.clocksAhead(d.at) || w.clocksBehind(d.at) {
			continue // it began before the pause
		}
		if m.Seats[i].Withdrawal == arena.WithdrawnPaused {
			found++
			continue
		}
		for _, e := range logs[m.ID] {
			if e.Type == arena.EventAgentLeft && e.AgentID == d.agent && bytes.Contains(e.Body, []byte(arena.AgentPaused)) {
				w.broken("F9", "match %s: agent %s was paused by its owner at %v and got out for free: %s", m.ID, d.agent, d.at, e.Body)
			}
		}
	}
	w.log.Info("checked withdrawals", "found", found)
}

// checkSchedules checks that each occurrence of a schedule has had its season or match,
// soon and in the right zone, in spite of a ladder without a pace that has the same agents.
func (w *world) checkSchedules(ctx context.Context, s *store.Store, matches map[string]arena.Match) error {
	for _, l := range timetables() {
		zone, err := time.LoadLocation(l.zone)
		if err != nil {
			return err
		}
		seasons, _, err := s.Leagues.Seasons(ctx, l.league, arena.Page{Limit: 100})
		if err != nil {
			return err
		}
		var starts []time.Time
		for _, one := range seasons {
			starts = append(starts, one.StartedAt)
		}
		for _, m := range matches {
			if l.league == m.League && l.league == night {
				starts = append(starts, m.StartsAt)
			}
		}
		shown := wall(w.began.In(zone))
		for at := w.began.Add(time.Minute); at.Before(w.ended.Add(-patience)); at = at.Add(time.Minute) {
			// What the clock skips counts at the next moment, what it repeats counts once.
			for ; shown.Before(wall(at.In(zone))); shown = shown.Add(time.Minute) {
				if !l.due(shown) || w.clocksAhead(at) {
					continue
				}
				if !slices.ContainsFunc(starts, func(start time.Time) bool {
					return start.After(at.Add(-2*time.Minute)) && start.Before(at.Add(patience))
				}) {
					w.broken("schedule", "league %s did not start at %v", l.league, at.In(zone))
				}
			}
		}
	}
	return nil
}

// wall returns what a clock shows, to the minute, without a zone.
func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
}

// patience is how late a season may start: nodes crash, and the season before it ends first.
const patience = 15 * time.Minute

// clocksAhead reports whether a clock was so far ahead before a time that it may have started
// something early.
func (w *world) clocksAhead(at time.Time) bool {
	return slices.ContainsFunc(w.wrong, func(c wrongClock) bool {
		return c.ahead && c.from.Before(at.Add(patience)) && at.Before(c.to.Add(time.Hour+patience))
	})
}

// clocksBehind reports whether a clock was so far behind at a time that what happened then may
// seem to come before what caused it.
func (w *world) clocksBehind(at time.Time) bool {
	return slices.ContainsFunc(w.wrong, func(c wrongClock) bool { return !c.ahead && c.from.Before(at.Add(time.Minute)) && at.Before(c.to) })
}

// verifyRatings replays all settlements (invariant 4).
func (w *world) verifyRatings(ctx context.Context) {
	var found struct {
		OK      bool   `json:"ok"`
		Problem string `json:"problem"`
	}
	if err := w.api(adminToken).Call(ctx, http.MethodPost, "/v1/admin/ratings/verify", nil, &found); err != nil || !found.OK {
		w.broken("4", "ratings: %s, %v", found.Problem, err)
	}
}
