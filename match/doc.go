// Package match is the service for matches: it creates them, ends them and has them judged
// again, for admins, owners who challenge and the scheduler of leagues.
//
// It owns the rules for these operations, the match_scheduled event and the
// match_void event of matches that end outside a round, and the audit entries
// about all of it. It leaves who meets whom to league, storing a new match,
// playing and judging to match/engine, and rows to store.
//
// It imports arena and internal/plaintext. Callers name matches by id and act as
// an arena.Caller; failures are *arena.Error.
package match
