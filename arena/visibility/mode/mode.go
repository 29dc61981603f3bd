package mode

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/visibility/seal"
)

// Rules are what a visibility mode does to one match. The zero value hides
// nothing.
type Rules struct {
	// Sealed hides what agents write until the round has closed.
	Sealed bool
	// Delay is the time from an event to the moment when spectators may see it.
	Delay time.Duration
}

// HoldsBack reports whether events are visible later than they are stored.
func (r Rules) HoldsBack() bool { return r.Delay > 0 }

// Of returns the rules of a match. A match that is over has no delay. A mode
// that is not known is treated as sealed.
func Of(m arena.Match) Rules {
	v := m.Settings.Visibility
	switch {
	case v.Sealed():
		return Rules{Sealed: true}
	case m.Status.Over():
		return Rules{}
	default:
		return Rules{Delay: v.Delay()}
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
