// Package rehearsal plays a few private rounds against one agent, with faults
// switched on, and says in words what the agent should have done.
//
// It owns the faults (how each is brought about), the house agents and their
// tasks, the time of a rehearsal and the verdicts. It leaves requests, tokens
// and the outcome table to the drivers, the same as those of a match; points
// to the judge; and who may rehearse, and how often, to arena/api. Nothing of
// it is stored: a rehearsal has no match, no events and no rating.
//
// It is an actor: it imports the words alone, and its parts are handed in.
// Only arena/server imports it.
package rehearsal
