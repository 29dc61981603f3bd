package arena

import "time"

// ClockSlack is how far the clocks of two nodes, or of a node and the database, may
// differ.
const ClockSlack = time.Minute

// MatchLease is how long a node holds a match without renewing its lease.
const MatchLease = 5 * time.Second

// Ahead reports whether a time at which something happened lies so far after now
// that the clock it was read from was ahead and has been set back since. Such a time
// says nothing: whatever waits for a while after it must not wait until then (threat
// C7).
func Ahead(at, now time.Time) bool { return at.After(now.Add(ClockSlack)) }
