// Package engine plays matches. It claims a due match, or creates one under its
// own lease, opens one round after another, sends the prompts of the match's game
// to the seats, closes each round with the game's scores and settles the match.
// It also takes over matches whose node is gone.
//
// It owns the outcome table over time (retries, no-shows, pauses), simultaneous
// dispatch and the lease. Rows belong to store, wire formats to protocol, what a
// round asks and what replies are worth to league/game, places and ratings to
// scoring, the choice of tasks to league, and fan-out to stream. The engine reaches them through the small interfaces that it declares,
// and server connects them.
//
//	           claim               open                all seats have an outcome
//	ready ───────────────▶ running ─────▶ round open ───────────────────▶ round closed
//	                         │  ▲                                             │
//	     lease lost, crash   │  └───────────── not over yet ──────────────────┤
//	     (another node       │                                                │ over
//	      resumes here)      ▼                                                ▼
//	                       void ◀─ own fault, an opponent of a duel left ─  finished
//
// Every write carries the epoch of the lease, so a node that lost its lease
// changes nothing. A run begins with the stored state: closed rounds and stored
// answers stay, and only missing answers are requested again.
//
// The node's own clock guards the operations that the database cannot fence. No
// request is sent, and no outcome depends on the clock, unless the lease was
// renewed within 0.6 of its length (threat C2). While the database is
// unavailable, the match waits with its state in memory. It continues under the
// same epoch if its lease is renewed before another node claims it, however late
// (threats C5, C6). A process that was stalled drops its runs, because its
// readings of the clock are worthless.
//
// A match is void after five interruptions. An interruption is a lease that ended
// because its node died while it judged the match, which may be the cause. The
// write that stores the last outcome of a round marks the match as being judged,
// and the write that closes the round clears the mark. Other matches of the node
// are not charged. A judge that compares answers runs nothing on the node, so its
// matches are not marked. Two other ends of a lease do not count: the release by
// a draining node, and an expiry while the database was unavailable. In the
// latter case the node keeps or claims the match again, or reverts the
// interruption when another node has claimed the match. After an outage a node
// claims nothing for two heartbeats, so that the holders of leases can renew them
// first.
//
// Only server may import it.
package engine
