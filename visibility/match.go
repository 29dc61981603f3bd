package visibility

import (
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility/mode"
)

type row = arena.Match

// Match is a match as spectators may see it now. Only this package makes one;
// its fields are arena.Match's. For a running delayed match they have the values
// at the time when the last visible event was stored.
type Match struct {
	row
	rules     mode.Rules
	voteUntil time.Time
}

// newMatch makes every Match. m is the row as of the last visible event.
func newMatch(m arena.Match, rules mode.Rules) Match { return Match{row: m, rules: rules} }

// Scheduled returns a match that has just been created, without reading it. It
// contains only what spectators may see before the start, whatever m holds.
func Scheduled(m arena.Match) Match {
	m.Status, m.StartedAt, m.FinishedAt, m.VoidReason = arena.MatchScheduled, time.Time{}, time.Time{}, arena.VoidReason{}
	created, _ := mode.AsOf(m, m.Seq, nil) // fails on an event only
	return newMatch(created, mode.Of(created))
}

// Row returns the fields for code that treats visible and raw matches alike.
func (m Match) Row() arena.Match { return m.row }

// Rules returns what the match's visibility mode does.
func (m Match) Rules() mode.Rules { return m.rules }

// VoteUntil returns when the vote of spectators on the open round ends, or the
// zero time if none was open when the match was read.
func (m Match) VoteUntil() time.Time { return m.voteUntil }

// Log returns the handle with which the match's visible events are read.
func (m Match) Log() Log { return Log{matchID: m.ID, delayed: m.rules.HoldsBack()} }

// closed reports whether a round has closed as far as spectators can see.
func (m Match) closed(round int) bool {
	return round < m.Round || round == m.Round && !m.RoundOpen
}

// Log names the visible log of one match. It stays valid while the match runs
// and after it.
type Log struct {
	matchID string
	delayed bool // it may hold events that are not visible yet
}

// hides reports whether sealed parts of closed rounds are still hidden.
func (m Match) hides() bool { return m.rules.UntilEnd && m.Status != arena.MatchFinished }

// showsPrompts reports whether spectators may read what each seat of a game was
// asked: when the match has finished, unless texts of its agents were erased, which
// prompts may repeat.
func (m Match) showsPrompts() bool {
	return m.Settings.Game != nil && m.Status == arena.MatchFinished &&
		!slices.ContainsFunc(m.Seats, func(s arena.Seat) bool { return s.Name == arena.DeletedAgent })
}

// shown returns a visible round without what is not visible of it.
func (m Match) shown(round arena.Round) arena.Round {
	if !m.showsPrompts() {
		round.Turn.Prompts = nil
	}
	if !m.closed(round.No) {
		round.ClosedAt = time.Time{}
	}
	return round
}

// ClosedRound is a round that spectators have seen close, with all answers to
// it.
type ClosedRound struct {
	arena.Round
	Answers []arena.Answer   // ordered by agent; in a sealed game only legal moves until the match has finished
	Game    arena.ClosedGame // what a round of a game led to
}
