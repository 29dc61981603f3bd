// Package settings defines the defaults of league settings and checks that they
// are consistent.
//
// It is pure. Package league/format checks the options of formats, league/pack
// checks generators and scoring checks judges. Package league makes the checks
// that need a store, such as whether a pack exists.
package settings
