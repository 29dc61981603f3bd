// Package scoring turns answers into points, points into places and places
// into rating changes (docs/rules.md, section 6 and 7).
//
// It owns the pure judges, what their settings and tasks may be, the order of seats, who drops out of an
// elimination match, when a match is over and the rating system
// "agora-elo-1". It leaves asking judges to arena/judge, the playing of rounds
// to arena/match/engine and the writing of ratings to store.
//
// It also owns what stands beside the ratings and moves none of them: refits,
// Glicko-2 and calibration.
//
// Everything here is a pure function: no clock, no randomness, no storage, and
// the same bits on every architecture, but for refits and Glicko-2, which may
// differ in the last digit shown. Answers of the judge code run in worker
// processes (arena/script); scoring names the calls and compares the results.
// It imports arena, the strict JSON decoder, the standard library and Unicode
// normalization.
package scoring
