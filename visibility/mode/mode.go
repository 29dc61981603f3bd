package mode

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility/seal"
)

// Rules are what a visibility mode does to one match. The zero value hides
// nothing.
type Rules struct {
	// Sealed hides what agents write until the round has closed.
	Sealed bool
	// UntilEnd keeps sealed parts hidden until the match has finished. Sealed parts
	// of a void match stay hidden.
	UntilEnd bool
	// Delay is the time from an event to the moment when spectators may see it.
	Delay time.Duration
}

// HoldsBack reports whether events are visible later than they are stored.
func (r Rules) HoldsBack() bool { return r.Delay > 0 }

// Of returns the rules of a match. A match that is over has no delay. A mode
// that is not known is treated as sealed. Agents of a turn-based game may write
// what their opponents must not know: where their texts are sealed, they stay so
// until the end, and a game in which players know different things is sealed in
// any mode.
func Of(m arena.Match) Rules {
	v, untilEnd := m.Settings.Visibility, m.Settings.UntilEnd()
	r := Rules{Sealed: v.Sealed() || untilEnd, UntilEnd: untilEnd}
	if !v.Sealed() && !m.Status.Over() {
		r.Delay = v.Delay()
	}
	return r
}

// RevealFrom returns the first round whose sealed parts become public when a
// round closes. finished is whether the match ends then and is not void. Above the
// round: none do.
func (r Rules) RevealFrom(round int, finished bool) int {
	switch {
	case !r.UntilEnd:
		return round
	case finished:
		return 1
	default:
		return round + 1
	}
}

// Seal returns an event in the form in which it is stored: in a sealed match
// its texts are hidden and replaced by a commitment.
func (r Rules) Seal(e arena.Event) (arena.Event, error) {
	if !r.Sealed {
		return e, nil
	}
	return seal.Event(e)
}

// PublishedAtOnce reports whether events that end with last are published when
// they are committed. Events that are not are left to the delayed publisher.
// The end of a match is never delayed: it follows when everything before it is
// visible.
func (r Rules) PublishedAtOnce(last arena.Event) bool {
	return !r.HoldsBack() || last.Type.Ends()
}
