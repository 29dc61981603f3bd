// Package rules holds the rules of turn-based games as pure functions of a seed
// and the moves (docs/games.md): whose turn it is, what each player knows, which
// moves are legal, what spectators see, and the result.
//
// It is pure: no clock, no I/O, no randomness but the seed of a game. It knows
// players by their number in a game and nothing of agents, matches, clocks and
// sides that are swapped; these belong to package game.
package rules
