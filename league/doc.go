// Package league decides what is played: which tasks a league has, who enters
// it, who meets whom, and when.
//
// The Service creates and changes leagues and their entries, imports packs, and owns their
// state machine and audit entries. Entries decides which agents may enter a
// league, Tasks which task a round has, and the Scheduler looks at every running
// league and has its matches created (docs/rules.md, section 8).
//
// It leaves the rules of settings to league/settings, cron expressions to
// league/schedule, pairings to league/format, packs and generators to
// league/pack, matches to match, points and ratings to scoring, storage to
// store, and the intervals of Tick to server.
package league
