// Package vote is the service for votes of spectators on open rounds: it says
// which vote is open and counts what spectators cast. It also counts their guesses on
// sealed questions.
//
// It owns who may vote, what the labels of a ballot stand for, under which
// hashes a vote is stored and how many count from one address. It leaves what
// voters may see to visibility, cookies to api, rows to store, and
// what votes are worth to judge.
//
// It imports arena, internal/quota (whose error a voter over the limit gets) and
// visibility. Callers act as an arena.Caller;
// failures are *arena.Error.
package vote
