// Package format implements the pairing and ranking rules of the formats as
// pure functions (docs/rules.md, section 8).
//
// It owns pairings and tables. It computes a season's next step from the
// season's state and keeps nothing between calls, so a season can stop at any
// point and resume on any node. The scheduler (package league) decides when to
// call it, tracks which agents are available and runs the matches. Package
// scoring rates the results.
package format
