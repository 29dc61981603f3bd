// Package players has the built-in opponents: for each game of the arena one that
// plays at random, one that takes what gains at once and one that looks ahead, and for
// questions those that know a stated share of the answers (docs/leagues.md).
//
// It is pure: no clock, no I/O, and no randomness but the dice that it is given. The
// players of games get what any agent gets, the observation of its seat, and so do not
// know what is hidden from it. Searches are bounded by the number of positions.
package players
