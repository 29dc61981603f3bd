// Package runner plays matches: it claims a due match, puts one task after
// another to the seats, has the answers judged, closes each round and settles
// the match. It also takes over matches whose node has gone.
//
// It owns the outcome table over time (who is asked again, who leaves, who is
// paused), the start gun and the lease. It leaves rows to store, wire shapes
// to protocol, points, places and rating formulas to scoring, task choice to
// league, and fan-out to stream; it reaches all of them through the small
// interfaces below, which cmd/arena joins.
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
// renewed within 0.6 of its length (threat C2). A match that is given back, by
// a node that drains, does not wait for its lease to end and does not count as
// interrupted; one whose leases ran out five times is void.
//
// Only cmd/arena may import it.
package runner
