// Package visibility decides what spectators may see of a match, and when
// (docs/rules.md, section 5). It is the only way to a public read: handlers, link
// previews, cards and the stream are given a Reader, and no interface of
// theirs reaches the rows behind it.
//
// It owns the reads of spectators (Reader), open votes (Votes) and the
// publishing of delayed events (DelayedPublisher). Only this package makes a
// Match, so code that takes one cannot be handed a raw row. All readers see
// the same, admins included.
//
// It leaves what each mode does to visibility/mode, the split of a
// sealed event to visibility/seal, rows to store, and the fan-out to
// stream. Two bulk rules stay in the store's SQL, over the column
// matches.delay: aggregates skip delayed matches and sealed games that run, and
// the relay reveals sealed envelopes of rounds that spectators have seen close. In
// a sealed game it reveals them when the match has finished.
package visibility
