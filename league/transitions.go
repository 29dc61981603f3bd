package league

import (
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// transition is one move of the state machine.
type transition struct {
	from []arena.LeagueStatus
	to   arena.LeagueStatus
}

// transitions is the whole state machine of a league (docs/rules.md, section 8).
func transitions() map[arena.LeagueAction]transition {
	const draft, open, running, paused, frozen, finished = arena.LeagueDraft, arena.LeagueOpen, arena.LeagueRunning,
		arena.LeaguePaused, arena.LeagueFrozen, arena.LeagueFinished
	return map[arena.LeagueAction]transition{
		arena.OpenLeague:     {[]arena.LeagueStatus{draft, finished}, open}, // once more, for another season
		arena.StartLeague:    {[]arena.LeagueStatus{open}, running},
		arena.StartLeagueNow: {[]arena.LeagueStatus{open, running}, running},
		arena.PauseLeague:    {[]arena.LeagueStatus{running, frozen}, paused},
		arena.ResumeLeague:   {[]arena.LeagueStatus{paused, frozen}, running},
		arena.FreezeLeague:   {[]arena.LeagueStatus{running}, frozen},
		arena.FinishLeague:   {[]arena.LeagueStatus{open, running, paused, frozen}, finished},
	}
}

// apply moves a league to the state that follows from an action at a time.
// Only refuse changes the state of a league beside it, once it is created.
func apply(l *arena.League, action arena.LeagueAction, at time.Time) error {
	switch archived := !l.ArchivedAt.IsZero(); {
	case action == arena.ArchiveLeague && !archived:
		l.ArchivedAt = at
		return nil
	case action == arena.UnarchiveLeague && archived:
		l.ArchivedAt = time.Time{}
		return nil
	case action == arena.UnarchiveLeague:
		return arena.Errorf(arena.CodeConflict, "league %s is not archived", l.Slug)
	case archived:
		return arena.Errorf(arena.CodeConflict, "league %s is archived; unarchive it first", l.Slug)
	}
	t, known := transitions()[action]
	switch {
	case !known:
		return arena.Errorf(arena.CodeInvalid, "%q is not an action of leagues", action)
	case !slices.Contains(t.from, l.Status):
		if l.Note.Code == arena.NoteAudit {
			return arena.Errorf(arena.CodeConflict, "league %s is %s: %s; %s needs it to be %s", l.Slug, l.Status, l.Note, action, anyOf(t.from))
		}
		return arena.Errorf(arena.CodeConflict, "league %s is %s; %s needs it to be %s", l.Slug, l.Status, action, anyOf(t.from))
	}
	if action == arena.StartLeagueNow {
		if l.Status == t.to && l.Schedule == "" {
			return arena.Errorf(arena.CodeConflict, "league %s is %s and has no schedule to wait for", l.Slug, l.Status)
		}
		l.NextRunAt = at // the occurrence that the scheduler takes next
	}
	if l.Status == arena.LeaguePaused && l.Note.Code.OfJudge() {
		l.JudgeSince, l.Note = at, arena.Note{} // its verdicts until now have had their consequence
	}
	if l.Note.Code == arena.NoteAudit {
		l.Note = arena.Note{} // who opens or resumes it has read it
	}
	l.Status = t.to
	return nil
}

// refuse keeps a league from opening because of what its audit found: it goes back to
// a draft, or pauses if it runs already.
func refuse(l *arena.League, found []string) {
	switch {
	case len(found) == 0:
		return
	case l.Status == arena.LeagueOpen:
		l.Status = arena.LeagueDraft
	case pairs(*l):
		l.Status = arena.LeaguePaused
	default:
		return
	}
	l.Note = arena.AuditNote(found)
}

// anyOf lists states: "running or frozen".
func anyOf(states []arena.LeagueStatus) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	return strings.Join(words, " or ")
}
