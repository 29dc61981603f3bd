// Package arena holds the words of Agora Arena: agents, leagues, matches,
// tasks, events, ratings, errors and ids. Every other room speaks in them.
//
// It owns the meaning of each word and the pure rules that follow from one
// word alone (an agent's status at an instant, the wire form of an event).
// It leaves rows to store, wire shapes to protocol and arena/api, points and
// rating formulas to scoring, and every decision over time to the actors
// (arena/match/engine, league, health).
//
// It imports the standard library only; every room may import it.
package arena
