// Package a2a implements Agent2Agent (A2A) 1.0 and 0.3 over JSON-RPC to agents:
// the agent card, the message that carries a task, the task that an agent makes
// of it, and its cancellation.
//
// It also serves the arena's own card and answers questions about the arena.
//
// It owns the wire shapes of both versions and what the states of a task and the
// errors of JSON-RPC mean in the outcome table (docs/rules.md, section 3). It
// leaves connections, limits and blocked addresses to protocol, the signing of
// tokens to internal/token, the storing of events to stream, retries and pauses to
// match/engine, and what follows from a failed health check to health.
package a2a
