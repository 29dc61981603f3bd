// Package rules holds the rules of turn-based games as pure functions of a seed
// and the moves (docs/games.md): whose turn it is, what each player knows, which
// moves are legal, what spectators see, and the result.
//
// It is pure: no clock, no I/O, no randomness but the seed of a game. Players are
// numbers in a game; agents, matches, clocks and swapped sides belong to package
// game.
package rules
