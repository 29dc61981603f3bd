// Package arena defines the domain types of Agora Arena: agents, leagues,
// matches, tasks, events, ratings, errors and ids.
//
// It owns these types and the pure rules that depend on one type alone, such as
// an agent's status at a given time or the wire form of an event. Package store
// owns the database rows, protocol and api the wire formats, and scoring
// the points and rating formulas. Decisions over time are made by
// match/engine, league and health.
//
// It imports the standard library only, and every package may import it.
package arena
