// Package vote is the service for votes of spectators on open rounds: it says
// which vote is open and counts what spectators cast.
//
// It owns who may vote, what the labels of a ballot stand for, under which
// hashes a vote is stored and how many count from one address. It leaves what
// voters may see to arena/visibility, cookies to arena/api, rows to store, and
// what votes are worth to arena/judge.
//
// It imports arena, arena/quota (whose error a voter over the limit gets) and
// arena/visibility. Callers act as an arena.Caller;
// failures are *arena.Error.
package vote
