// Package rehearsal plays a few private rounds against one agent, with faults
// injected, and reports what the agent should have done and what it did.
//
// It owns the faults (how each is injected), the tasks and the reference agent
// that answers them, the time of a rehearsal and the verdicts. It leaves
// requests, credentials and the outcome table to the drivers of the matches,
// points to the judge, and permissions and quotas to registry. It stores
// nothing: a rehearsal has no match, no events and no rating.
//
// It imports the domain types and record; its parts are handed in. Only
// server imports it.
package rehearsal
