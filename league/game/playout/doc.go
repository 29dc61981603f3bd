// Package playout tries out the rules of a game with random games (docs/games.md,
// "Checking a game"): whether equal calls return equal results, exactly the
// listed moves are legal, every game ends, and points are in range.
//
// It is pure: a seed chooses the moves, and the clock that measures costs is a
// parameter. It leaves the rules to package rules and its implementations.
package playout
