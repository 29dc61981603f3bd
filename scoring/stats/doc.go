// Package stats computes the distributions and corrections behind the claims
// that the arena makes: Student's t, the normal distribution, and Holm's
// correction for many tests (docs/rules/board.md).
//
// Every function is pure and returns NaN for arguments outside its domain.
package stats
