// Package settings holds the rules for the settings of leagues: what they
// default to and which of them hold together.
//
// It is pure and leaves options of formats to league/format, generators to
// league/pack, judges to scoring, and everything that needs a store, such as
// whether a pack exists, to league.
package settings
