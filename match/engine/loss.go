package engine

import (
	"context"
	"time"
)

// A standby that takes over may lack the last commits of the primary. The node knows
// how far the logs of its matches were, and compares once the storage is back.

// remembered is how long a node remembers a match that it no longer plays.
const remembered = time.Minute

// played is a match that this node no longer plays.
type played struct {
	matchID, league string
	seq             int64 // of the last event that it stored
	until           time.Time
}

// remember notes how far the log of a match was when its run ended. e.mu is held.
func (e *Engine) remember(mr *matchRun) {
	now := e.o.Now()
	for len(e.played) > 0 && now.After(e.played[0].until) {
		e.played = e.played[1:]
	}
	e.played = append(e.played, played{mr.m.ID, mr.m.League, mr.published.Load(), now.Add(remembered)})
}

// mayHaveLost reports whether the storage was unavailable, so that another one may have
// taken over, and logs were not compared since. A node claims nothing then: a match that
// it starts again soon has as many events as it had.
func (e *Engine) mayHaveLost() bool { return e.compared.Load() != e.outages.Load() }

// findLosses compares the logs of this node's matches with the database if they
// mayHaveLost events, and reports the matches that did. Those that the node plays are
// given back, and continue from what is stored.
func (e *Engine) findLosses(ctx context.Context) error {
	outages := e.outages.Load()
	if e.compared.Load() == outages {
		return nil
	}
	type known struct {
		league string
		seq    int64
		run    *matchRun // nil: it has ended
	}
	matches := map[string]known{}
	e.mu.Lock()
	for _, p := range e.played {
		matches[p.matchID] = known{p.league, max(p.seq, matches[p.matchID].seq), nil}
	}
	for _, mr := range e.runs {
		matches[mr.m.ID] = known{mr.m.League, max(mr.published.Load(), matches[mr.m.ID].seq), mr}
	}
	e.mu.Unlock()
	ids := make([]string, 0, len(matches))
	for id := range matches {
		ids = append(ids, id)
	}
	stored, err := e.o.Store.LastSeqs(ctx, ids)
	if err != nil {
		return err
	}
	for id, m := range matches {
		seq, found := stored[id]
		switch {
		case !found:
			e.o.Logger.Error("the database has lost a match", "match_id", id, "league", m.league, "seq", m.seq)
		case seq < m.seq && m.run != nil:
			m.run.rewind(ctx, seq)
		case seq < m.seq:
			e.reportLoss(id, m.league, m.seq, seq)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, p := range e.played { // so that no loss is reported twice
		e.played[i].seq = min(p.seq, stored[p.matchID])
	}
	e.compared.Store(outages)
	return nil
}

func (e *Engine) reportLoss(matchID, league string, seq, stored int64) {
	e.o.Logger.Error("the database has lost the last events of a match, which runs again from what is stored",
		"match_id", matchID, "league", league, "seq", seq, "stored_seq", stored)
}

// rewind reports that the database has lost the match's events after seq, and gives the
// match back, since the state of this run no longer matches what is stored. A run that
// ends its match anyway only reports it.
func (mr *matchRun) rewind(ctx context.Context, seq int64) {
	ending := mr.done.Swap(true)
	if !ending {
		mr.released.Store(true) // before published changes: see rewound
	}
	if known := mr.published.Swap(seq); known > seq {
		mr.engine.reportLoss(mr.m.ID, mr.m.League, known, seq)
	}
	if ending {
		return
	}
	mr.releaseMidRound(ctx)
	_ = mr.loseLease() // the run returns the error
}

// rewound reports whether the database has lost events of the match, and gives it back
// then. A write that does not fit the stored round is how a run finds out first.
func (mr *matchRun) rewound(ctx context.Context) bool {
	known := mr.published.Load()
	if mr.released.Load() { // a heartbeat was faster
		return true
	}
	stored, err := retry(ctx, mr, func() (map[string]int64, error) { return mr.engine.o.Store.LastSeqs(ctx, []string{mr.m.ID}) })
	seq, found := stored[mr.m.ID]
	if err != nil || !found || seq >= known {
		return false
	}
	mr.rewind(ctx, seq)
	mr.engine.outages.Add(1) // other matches
	return true
}
