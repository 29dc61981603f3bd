// Package scripted makes rules of games from JavaScript files (docs/games.md).
//
// It owns what the functions of a file are called with and what they may return:
// everything a script returns is checked before it is used. It leaves running
// scripts to the caller's pool of worker processes (internal/script), and their
// language and limits to scoring/sandbox.
package scripted
