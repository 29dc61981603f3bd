// Package format holds the pure rules of the formats: who meets whom next,
// and who stands where (docs/rules.md, section 8).
//
// It owns pairings and tables. A season's state goes in, what happens next
// comes out; nothing is kept between calls, so a season can be stopped at any
// point and go on anywhere. It leaves to league (the scheduler) when to ask,
// who is there, and the matches themselves; to scoring what a match is worth.
//
// league imports it, and nobody else.
package format
