// Package mode defines the visibility modes of a match: live, sealed and
// delayed (docs/rules.md, section 5). Rules is the one value from which the engine,
// the stream and the public reads take what a mode does. AsOf restores a match
// as it stood at an earlier event.
//
// It is pure and keeps no state. It leaves the split of a sealed event to
// visibility/seal and the reads of spectators to visibility.
package mode
