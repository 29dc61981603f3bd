// Package builtin plays for the opponents that come with the program: its driver
// computes their replies in this process (docs/leagues.md).
//
// It owns the dice of a reply and how many replies are computed at once. What the
// players answer is package league/game/players. It reads no match but the settings and
// the seed of the one that asks.
package builtin
