// Package league decides what is played: which tasks a league has, which
// settings hold together, who meets whom, and when.
//
// Pure parts: the check and the defaults of settings, the choice of a round's
// task, and the pairing of the formats ladder and elimination (rulebook,
// section 8). One actor: the Scheduler, which looks at every running league
// and creates its matches.
//
// It leaves packs and generators to league/pack, playing to arena/runner,
// points and ratings to scoring, storage to store, and the clock of schedules
// (cron) to arena/server, which calls Tick.
//
// It imports arena, scoring and league/pack; arena/api and arena/server meet it
// through interfaces and functions that arena/server joins.
package league
