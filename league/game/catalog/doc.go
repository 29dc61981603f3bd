// Package catalog finds the rules of games by their names (docs/games.md): games
// in Go and in JavaScript that are part of the arena, and games that admins have
// uploaded.
//
// It owns the games in JavaScript that are part of the arena, the order in which
// names are looked up, and the check of an uploaded source. It leaves storing
// sources to its caller.
package catalog
