// Package runner plays matches: it claims a due match, or creates one under
// its own lease, puts one task after another to the seats, has the answers
// judged, closes each round and settles the match. It also takes over matches
// whose node has gone.
//
// It owns the outcome table over time (who is asked again, who leaves, who is
// paused), the start gun and the lease. It leaves rows to store, wire shapes
// to protocol, points, places and rating formulas to scoring, task choice to
// league, and fan-out to stream; it reaches all of them through the small
// interfaces below, which arena/server joins.
//
//	           claim               open                all seats have an outcome
//	ready ───────────────▶ running ─────▶ round open ───────────────────▶ round closed
//	                         │  ▲                                             │
//	     lease lost, crash   │  └───────────── not over yet ──────────────────┤
//	     (another node       │                                                │ over
//	      resumes here)      ▼                                                ▼
//	                       void ◀── own fault, a duel's seat left ──      finished
//
// Every write carries the lease's epoch, so a node that lost its lease
// changes nothing. A run looks at the stored state first: finished rounds and
// stored answers stay, only what is missing is asked again.
//
// What the database cannot fence stands behind the node's own clock: no
// request leaves, and no outcome is read from the clock, unless the lease was
// renewed within 0.6 of its length (threat C2). While the database is away the
// match waits with what it has in memory, and goes on under the same epoch if
// its lease is renewed before anyone else claims it, however late (threats C5,
// C6). A process that stood still gives up what it played: it cannot believe
// its clock.
//
// A match whose node was lost five times while it judged the match is void: it
// may be what breaks them. The match is marked in the write that stores the last
// outcome of a round, and the mark is cleared by the write that closes the round;
// other matches of the node are not charged. Judges that compare answers are asked
// and run nothing here, so their matches are not marked.
// What a draining node gives back does not count. Nor does a lease that ran
// out while its node could not reach the database: the node keeps or claims
// the match again, or takes the count back when it finds that another one has
// claimed it. After an outage nobody claims for two heartbeats, so that those
// who play come first.
//
// Only arena/server may import it.
package runner
