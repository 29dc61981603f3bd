// Package registry is the service for agents: it registers, updates, checks,
// rehearses, pauses, resumes and retires them and verifies their keys.
//
// It owns the rules for these operations, their audit entries, and every
// change of a pause, whatever its reason: Pauses is the only part of the arena
// that begins or ends one, and the only one that builds agent_paused and
// agent_resumed events. It leaves the policy of health checks to health, probes
// and endpoints to protocol, the rounds of rehearsals to registry/rehearsal, the
// entry rules of leagues to league, and rows to store.
//
// Callers name agents by id and act as an arena.Caller; failures are *arena.Error.
package registry
